//! The rules of the A2A v1.0 wire, without I/O.
//!
//! Everything here is a function of its arguments: no network, no storage, no clock, no randomness. The Worker calls
//! it before a request reaches an object, so that an object only ever sees valid, bounded, authenticated commands, and
//! the objects call it to render what they store.
//!
//! The way of an inbound message:
//!
//! 1. [`json::parse`] turns bytes into a [`serde_json::Value`] that is unambiguous: valid UTF-8, no duplicate keys,
//!    bounded nesting and size in memory.
//! 2. [`send::SendRequest::from_value`] checks every field against the contract and collects what is wrong, each
//!    violation under its full path, into one [`error::A2aError`].
//! 3. [`digest::message_digest`] makes the value that decides whether a repeated `messageId` is a retry or a conflict.
//! 4. The message is serialized once, as it is stored and, behind the ids of its context and task, as every reader gets
//!    it.
//!
//! Maps are sorted: `serde_json` without `preserve_order` keeps them in a `BTreeMap`, so the text of a value is
//! canonical and two texts of one value have one digest.

pub mod agents;
pub mod canonical;
pub mod cursor;
pub mod digest;
pub mod error;
mod fields;
pub mod ids;
pub mod json;
pub mod mcp;
pub mod message;
pub mod model;
pub mod part;
pub mod push;
pub mod query;
pub mod send;
pub mod sse;
pub mod state;
pub mod time;
pub mod untrusted;

pub mod card;
pub mod conditional;
pub mod configuration;
pub mod cors;
pub mod credentials;
pub mod elicitation;
pub mod entity_tag;
pub mod executor;
pub mod extensions;
mod field_path;
pub mod http;
pub mod http_date;
pub mod manifest;
pub mod openapi;
pub mod outfitter_task;
pub mod pseudonym;
pub mod routes;
pub mod trace_context;
pub mod trusted;
pub mod version;
