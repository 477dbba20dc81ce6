//! The Worker.

pub mod runtime;
