//! Other A2A agents, called by alias (seed *Outbound agents as Worker Functionality*, *Outbound resources*).
//!
//! The object that carries a call out goes round three steps, each a transaction or an exchange:
//!
//! 1. [`connect`] says how the agent is reached, or that its card must be fetched first; [`prepared`] takes the card in.
//! 2. `next_call_step` leases a call that is due and says what to ask the agent; the lease is what a crash leaves behind.
//! 3. `absorb_outcome` takes the agent's answer in. A settlement is one durable activation of the task that made the
//!    call (`settle`), written in the same transaction.
//!
//! The invariants:
//!
//! - *A settlement is told once.* It is counted in the call's row, and its claim's key is that count.
//! - *A message is sent at least once under one messageId.* It is written before it is sent, and sent again by the same id
//!   where its answer was lost.
//! - *What is followed ends.* A call has a deadline, and so has what cannot be understood.

mod calls;
pub mod catalog;
mod exchange;
mod family;
mod follow;
mod preparation;
mod resources;
mod send;
mod settle;
mod stream;
mod waiting;

pub use calls::{MAX_CALLS_OF_TASK, MAX_FOLLOWED};
pub use exchange::{Exchange, Outcome, Response};
pub use family::adopt;
pub use follow::{Kind, Step, lease_due, reached_by, scope_of, take_over};
pub use preparation::{Connect, Connection, candidate, connect, prepared, to_discover};
pub use send::{Outgoing, UnderTurn, address};
pub use stream::{Heard, StreamStep, Subscription, stream_opened};
