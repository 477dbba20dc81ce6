//! Calls between objects, as things that can be lost, repeated, delayed and overtaken.

use durable_objects::effects::OwedNotice;

use super::{Failure, Ticket, World};

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Principal(String),
    Queue(String),
}

impl Address {
    pub fn name(&self) -> &str {
        match self {
            Self::Principal(name) | Self::Queue(name) => name,
        }
    }
}

/// What a caller goes on with when it is answered. It lives in memory, so a reset forgets it.
#[derive(Debug, Clone)]
pub enum Awaiting {
    Admissions(Vec<OwedNotice>),
    Grant {
        ticket: Ticket,
        session: String,
        turn_id: String,
    },
    End {
        ticket: Option<Ticket>,
        turn_id: String,
        at_alarm: bool,
    },
    Replay(String),
    Tool(Ticket),
}

/// A message in flight.
#[derive(Debug, Clone)]
pub enum Message {
    Request {
        from: Address,
        /// The caller's life; the answer to an earlier one is nobody's.
        life: u32,
        to: Address,
        body: Vec<u8>,
        /// None where the caller does not wait any more.
        awaiting: Option<Awaiting>,
    },
    Reply {
        to: Address,
        life: u32,
        awaiting: Awaiting,
        answer: Result<Vec<u8>, Failure>,
    },
}

impl World {
    /// Loses a message. Whoever waits for it is told that no answer came.
    pub fn lose(&mut self, index: usize) {
        match self.in_flight.remove(index) {
            Message::Request {
                from,
                life,
                awaiting,
                ..
            } => self.give_up(from, life, awaiting),
            Message::Reply {
                to, life, awaiting, ..
            } => self.give_up(to, life, Some(awaiting)),
        }
    }

    /// Repeats a request. The second answer reaches nobody.
    pub fn repeat(&mut self, index: usize) {
        if let Message::Request {
            from,
            life,
            to,
            body,
            ..
        } = &self.in_flight[index]
        {
            let again = Message::Request {
                from: from.clone(),
                life: *life,
                to: to.clone(),
                body: body.clone(),
                awaiting: None,
            };
            self.in_flight.push(again);
        }
    }

    /// The caller stops waiting, but its request is still on the way.
    pub fn time_out(&mut self, index: usize) {
        if let Message::Request {
            from,
            life,
            awaiting,
            ..
        } = &mut self.in_flight[index]
        {
            let (from, life, awaiting) = (from.clone(), *life, awaiting.take());
            self.give_up(from, life, awaiting);
        }
    }

    fn give_up(&mut self, to: Address, life: u32, awaiting: Option<Awaiting>) {
        if let Some(awaiting) = awaiting {
            self.in_flight.push(Message::Reply {
                to,
                life,
                awaiting,
                answer: Err(Failure::Lost),
            });
        }
    }
}
