//! The sans-IO cores of the two object classes, and the commands by which they are called.
//!
//! Nothing here awaits, reads a clock or makes a random number: a core is given its [`storage::Store`], the time and an
//! id source, and gives back an answer and [`effects::Effects`] to be carried out after the commit. The object classes
//! in the Worker, and the tests here, do the rest. One command is one transaction.

pub mod commands;
pub mod effects;
pub mod environment;
pub mod error;
pub mod principal;
pub mod storage;
pub mod wake_queue;
