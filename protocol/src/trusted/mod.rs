//! The trusted surface: what native sources and platforms send, checked field by field before an object sees it.
//!
//! Each type is made by `from_value`, which collects every violation, and then crosses to the object as it is.

pub mod activation;
pub mod checkpoint;
pub mod delivery;
pub mod evidence;
pub mod source;
