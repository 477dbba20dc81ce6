//! Native intake: what sources and trusted platforms are promised.

mod anchors;
mod deliveries;
pub mod event;
mod intake;
mod model;
mod operators;
mod poison;
mod retention;
mod sources;
