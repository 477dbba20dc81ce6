//! Other agents, called by alias: definitions, cards, calls, and what their settlements do to the task that asked.

mod family;
mod following;
mod remote;
mod resources;
mod streams;
mod waiting;
