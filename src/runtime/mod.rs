//! What workerd offers, bound safely and with few crossings. Nothing else in the Worker touches JavaScript.
//!
//! The bindings are bare `wasm-bindgen`: crossing between WebAssembly and JavaScript is what a request costs most, so
//! each operation is one function of `glue.js` rather than a dozen of small wrappers. Every binding that can throw is
//! declared `catch`; none panics.
//!
//! Worker side: [`request`], [`body`], [`response`], [`env`], [`object_call`], [`frames`], [`stream`],
//! [`rate_limiter`].
//! Object side: [`storage`], [`sql`], [`sockets`].
//! Both: [`clock`], [`random`], [`log`], [`timer`], [`promise`], [`instance`].
//!
//! `shell.mjs` is the module that workerd loads: it hands each event to the Rust exports and rebuilds the instance
//! after a trap.

pub mod ai;
pub mod body;
pub mod clock;
pub mod dataset;
pub mod env;
pub mod frames;
pub mod instance;
pub mod log;
pub mod object_call;
pub mod post;
pub mod promise;
pub mod random;
pub mod rate_limiter;
pub mod remote;
pub mod request;
pub mod response;
pub mod service;
pub mod sockets;
pub mod sql;
pub mod storage;
pub mod stream;
pub mod timer;
