//! Other A2A agents that a principal may call: what a definition may say, where it may lead, what is believed of a remote
//! card and of a remote answer, and what of it all an agent gets to see.
//!
//! The source is the second seed, *Outbound agents as Worker Functionality* and *Outbound resources*. Everything that
//! comes from a remote agent is somebody else's word: bounded here, and shown to an agent only between untrusted-content
//! markers, or on one line without control characters.

pub mod address;
pub mod alias;
pub mod answer;
pub mod card;
pub mod definition;
pub mod freshness;
pub mod headers;
pub mod object;
pub mod problem;
pub mod reference;
pub mod render;
pub mod target;
pub mod vars;
