//! The two cores together, natively: what they promise, one sentence a test, and a simulation of everything at once.

// Tests assert: a panic there is the report. These are the tests' own functions, which clippy.toml does not exempt.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used
)]

mod support;

mod acceptance;
mod agents;
mod cancel;
mod continuation;
mod deliveries;
mod executor;
mod frames;
mod growth;
mod idempotency;
mod lists;
mod long_artifacts;
mod migrations;
mod moves;
mod native;
mod outbox;
mod plans;
mod pushes;
mod queue_bounds;
mod sessions;
mod simulation;
mod tools;
mod turns;
mod upgrade;
