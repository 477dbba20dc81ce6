//! Calls between objects, as things that can be lost, repeated, delayed and overtaken.

use durable_objects::commands;
use durable_objects::commands::principal::{
    Disposition, GrantReply, PrincipalCommand, Replay, ReplayReply, Tool,
};
use durable_objects::commands::wake_queue::{Admission, WakeQueueCommand};
use durable_objects::effects::OwedNotice;
use durable_objects::environment::Environment;
use durable_objects::principal::{self, Done};
use durable_objects::storage::Transactional;

use super::{Answer, Failure, Ticket, World, decode};

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
    Replay(String, Replay),
    Tool(Ticket),
    WakeFailed {
        principal: String,
        activation_id: i64,
    },
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

    pub(super) fn call_principal(
        &mut self,
        resident: &str,
        principal: &str,
        command: PrincipalCommand,
        awaiting: Awaiting,
    ) {
        self.call(
            Address::Queue(resident.to_owned()),
            Address::Principal(principal.to_owned()),
            commands::encode(&command).unwrap(),
            awaiting,
        );
    }

    pub(super) fn call(&mut self, from: Address, to: Address, body: Vec<u8>, awaiting: Awaiting) {
        let life = self.life(&from);
        self.in_flight.push(Message::Request {
            from,
            life,
            to,
            body,
            awaiting: Some(awaiting),
        });
    }

    fn life(&self, address: &Address) -> u32 {
        match address {
            Address::Principal(name) => self.principals[name].life,
            Address::Queue(name) => self.queues[name].life,
        }
    }

    /// Delivers a message in flight. What its receiver says next is in flight then.
    pub fn deliver(&mut self, index: usize) {
        match self.in_flight.remove(index) {
            Message::Request {
                from,
                life,
                to,
                body,
                awaiting,
            } => {
                let answer = match &to {
                    Address::Principal(name) => self.principal_receives(&from, name, &body),
                    Address::Queue(name) => self.queue_receives(name, &body),
                };
                if let Some(awaiting) = awaiting {
                    self.in_flight.push(Message::Reply {
                        to: from,
                        life,
                        awaiting,
                        answer,
                    });
                }
            }
            Message::Reply {
                to,
                life,
                awaiting,
                answer,
            } => {
                if self.life(&to) == life {
                    self.resume(&to, awaiting, answer);
                }
            }
        }
    }

    fn principal_receives(
        &mut self,
        from: &Address,
        principal: &str,
        body: &[u8],
    ) -> Result<Vec<u8>, Failure> {
        let command: PrincipalCommand = commands::decode(body).unwrap();
        let Address::Queue(resident) = from else {
            panic!("only queues call principals");
        };
        let acted = match &command {
            PrincipalCommand::UseTool(used) if !matches!(used.tool, Tool::Read { .. }) => {
                Some((used.turn_id.clone(), used.task_id.clone()))
            }
            _ => None,
        };
        let answer = self.command(principal, Some(resident), command);
        if let (Some((turn_id, task_id)), Ok(_) | Err(Failure::Lost)) = (acted, &answer) {
            let turn = self.queues[resident].turn();
            if turn != Some((turn_id.clone(), task_id.clone())) {
                self.strays.push(format!(
                    "a tool of {turn_id} acted on {task_id} under {turn:?}"
                ));
            }
        }
        answer
    }

    fn queue_receives(&mut self, resident: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let WakeQueueCommand::Notify(notify) = commands::decode(body).unwrap() else {
            panic!("principals only notify");
        };
        if !self.queues.contains_key(resident) {
            // A sabotage made it up.
            return Err(Failure::Lost);
        }
        self.queue(resident, |queue| queue.notify(&notify))
            .map(|admissions| commands::accepted(&admissions).unwrap())
    }

    fn resume(&mut self, at: &Address, awaiting: Awaiting, answer: Result<Vec<u8>, Failure>) {
        let name = at.name();
        match (awaiting, answer) {
            (Awaiting::Admissions(notices), Ok(bytes)) => {
                let admissions: Vec<Admission> = decode(&bytes);
                self.notices_answered(name, notices.into_iter().zip(admissions).collect());
            }
            // The notices stay in the outbox, and the alarm tries again.
            (Awaiting::Admissions(_), Err(_)) => {}
            (
                Awaiting::Grant {
                    ticket,
                    session,
                    turn_id,
                },
                Ok(bytes),
            ) => {
                let reply: GrantReply = decode(&bytes);
                let step = self.queue(name, |queue| queue.granted(&turn_id, &session, &reply));
                self.follow(name, &session, ticket, step);
            }
            (
                Awaiting::Grant {
                    ticket, turn_id, ..
                },
                Err(failure),
            ) => {
                let released = self.queue(name, |queue| queue.grant_failed(&turn_id));
                self.answer(ticket, Answer::Failed(released.err().unwrap_or(failure)));
            }
            (
                Awaiting::End {
                    ticket,
                    turn_id,
                    at_alarm,
                },
                answer,
            ) => {
                let answer = answer.and_then(|bytes| {
                    let disposition: Disposition = decode(&bytes);
                    self.queue(name, |queue| queue.ended(&turn_id, &disposition))?;
                    Ok(disposition)
                });
                let failed = answer.is_err();
                if let Some(ticket) = ticket {
                    self.answer(
                        ticket,
                        answer.map_or_else(Answer::Failed, Answer::Disposition),
                    );
                }
                if at_alarm && !failed {
                    self.carry_on(name);
                }
            }
            (Awaiting::Replay(principal, replay), answer) => {
                let answer: Option<ReplayReply> = answer.ok().map(|bytes| decode(&bytes));
                let replayed = self.queue(name, |queue| {
                    queue.replayed(&principal, &replay, answer.as_ref())
                });
                match replayed {
                    Ok(Some(next)) => self.ask_to_replay(name, principal, next),
                    Ok(None) => self.carry_on(name),
                    Err(_) => {}
                }
            }
            (Awaiting::Tool(ticket), Ok(bytes)) => {
                self.answer(ticket, Answer::Tool(decode(&bytes)));
            }
            (Awaiting::Tool(ticket), Err(failure)) => self.answer(ticket, Answer::Failed(failure)),
            (
                Awaiting::WakeFailed {
                    principal,
                    activation_id,
                },
                Ok(_),
            ) => {
                let forgotten =
                    self.queue(name, |queue| queue.wake_failed(&principal, activation_id));
                if forgotten.is_ok() {
                    self.carry_on(name);
                }
            }
            // It stays owed, and the alarm tries again.
            (Awaiting::WakeFailed { .. }, Err(_)) => {}
        }
    }

    /// A queue's answer to notices has arrived.
    pub fn notices_answered(&mut self, principal: &str, answered: Vec<(OwedNotice, Admission)>) {
        let (now_ms, ids) = (self.now_ms, &mut self.ids);
        let object = self.principals.get_mut(principal).expect("a principal");
        let answered = object.done.take_from(answered);
        let is_full = object.done.is_full();
        if answered.is_empty() && !is_full {
            return;
        }
        let done = if is_full {
            std::mem::take(&mut object.done)
        } else {
            Done::default()
        };
        let effects = object
            .store
            .transaction(|store| {
                let environment = Environment { now_ms, ids };
                principal::notices_answered(store, environment, &answered, &done)
            })
            .unwrap();
        object.set_alarm(effects.alarm_ms);
    }
}
