//! The program `resident` as a whole, against a stand-in that speaks the resident surface over real TCP.
//! The end-to-end suite runs the same program against the Worker.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a panic is how a test reports, in what it is built of too"
)]

mod example_agent;
mod process;
mod running;
mod signals;
mod standin;
mod tools;
mod trouble;
