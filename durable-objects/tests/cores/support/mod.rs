//! Principals and queues on native stores, and the protocol between them.
//!
//! The object classes in the Worker do what [`World`] does, with awaits in place of [`network::Message`]s:
//!
//! 1. A command runs in one transaction. Its alarm is part of the commit.
//! 2. After the commit come the effects: frames to watchers, bells, and a `Notify` to each queue that is owed notices.
//! 3. A take that gives [`Step::Ask`] calls `Grant`; the answer goes to `granted`, the lack of one to `grant_failed`.
//! 4. An end gives an `Ending`, told to the principal by `EndTurn`; the answer goes to `ended`. Without one, the alarm
//!    tells it again.
//! 5. A tool is checked by the queue, then used at the principal.
//! 6. At its alarm a principal delivers the notices that are due, and a queue repeats `due` until nothing is.
//!
//! An object may die between any two of these. What it awaited is then forgotten ([`World::reset`]); its database and
//! its alarm are not.

pub mod ask;
pub mod executions;
pub mod invariants;
pub mod network;
pub mod objects;
pub mod peek;
pub mod pushes;
pub mod rest;

use std::collections::{BTreeMap, BTreeSet};

use durable_objects::commands;
use durable_objects::commands::principal::{
    Disposition, EndTurn, PrincipalCall, PrincipalCommand, Replay, Tool, ToolReply, TurnOutcome,
    UseTool,
};
use durable_objects::commands::wake_queue::{
    Assign, CallTool, End, Heartbeat, HeartbeatReply, Notify, Take, Turn, TurnAuthority,
    WakeQueueCommand,
};
use durable_objects::effects::{Effects, OwedNotice, OwedSettlement};
use durable_objects::environment::Environment;
use durable_objects::error::CoreError;
use durable_objects::principal::{self, Done};
use durable_objects::storage::native::NativeStore;
use durable_objects::storage::{Store, Transactional};
use durable_objects::wake_queue::{Due, Ending, Run, Step, WakeQueue};
use protocol::error::A2aError;
use serde::de::DeserializeOwned;

use executions::Execution;
use network::{Address, Awaiting, Message};
use objects::{Counter, PrincipalObject, QueueObject, Watcher};

/// The lease the queues give, in milliseconds.
pub const LEASE_MS: i64 = 60_000;

/// The reply in the bytes of an answer that carries one.
pub fn decode<T: DeserializeOwned>(answer: &[u8]) -> T {
    commands::answer(answer).unwrap().unwrap()
}

/// Why a call gave no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The core refused it.
    Refused(A2aError),
    /// The object died after the commit, or the call got lost: whether it took effect is unknown to the caller.
    Lost,
}

impl Failure {
    /// The name of the refusal.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Refused(error) => error.reason.as_str(),
            Self::Lost => "LOST",
        }
    }
}

/// What a caller outside the objects is answered, later.
#[derive(Debug)]
pub enum Answer {
    Turn(Option<Turn>),
    Disposition(Disposition),
    Tool(ToolReply),
    Failed(Failure),
}

/// Waits for an [`Answer`].
pub type Ticket = u64;

/// Everything: objects, calls in flight, the clock.
pub struct World {
    pub now_ms: i64,
    pub principals: BTreeMap<String, PrincipalObject>,
    pub queues: BTreeMap<String, QueueObject>,
    /// Calls and answers on their way between objects.
    pub in_flight: Vec<Message>,
    /// Turns that reached a resident, by their ids: whose queue, and which task.
    pub handed_out: BTreeMap<String, (String, String)>,
    /// Every effect of a tool that broke invariant 4, as a sentence.
    pub strays: Vec<String>,
    /// The next command's object dies after its commit.
    pub dies_after_commit: bool,
    /// Wakes are pushed to a URL of the resident's.
    pub pushes: bool,
    /// Nobody answers at that URL.
    pub is_deaf: bool,
    /// What executors are at work on.
    pub executions: Vec<Execution>,
    /// For a test of the tests: no frame reaches its watchers, and how many did not.
    pub loses_frames: bool,
    pub lost_frames: u32,
    /// For a test of the tests: no notice leaves its outbox, which forgets it; and how many were lost.
    pub loses_notices: bool,
    /// Sources take what they are told of at once.
    pub tells_sources: bool,
    /// What sources were told, in order.
    pub settled: Vec<OwedSettlement>,
    pub lost_notices: u32,
    /// How often each event was logged.
    pub logged: BTreeMap<&'static str, u32>,
    answers: BTreeMap<Ticket, Answer>,
    next_ticket: Ticket,
    ids: Counter,
}

impl World {
    /// One queue, `resident`, which serves all of these principals.
    pub fn of(principals: &[&str]) -> Self {
        let mut world = Self {
            now_ms: 1_700_000_000_000,
            principals: BTreeMap::new(),
            queues: BTreeMap::new(),
            in_flight: Vec::new(),
            handed_out: BTreeMap::new(),
            strays: Vec::new(),
            dies_after_commit: false,
            pushes: false,
            is_deaf: false,
            executions: Vec::new(),
            loses_frames: false,
            lost_frames: 0,
            loses_notices: false,
            tells_sources: true,
            settled: Vec::new(),
            lost_notices: 0,
            logged: BTreeMap::new(),
            answers: BTreeMap::new(),
            next_ticket: 0,
            ids: Counter::default(),
        };
        for principal in principals {
            world.add_principal(principal, "resident");
        }
        world
    }

    /// A principal served by that resident's queue.
    pub fn add_principal(&mut self, principal: &str, resident: &str) {
        self.principals
            .insert(principal.to_owned(), PrincipalObject::new(resident));
        self.queues
            .entry(resident.to_owned())
            .or_insert_with(QueueObject::new);
    }

    // Commands, each one transaction.

    /// Runs a command of a principal, on behalf of the queue that serves it unless one is named.
    pub fn command(
        &mut self,
        principal: &str,
        resident: Option<&str>,
        command: PrincipalCommand,
    ) -> Result<Vec<u8>, Failure> {
        let object = self.principals.get_mut(principal).expect("a principal");
        let call = PrincipalCall {
            principal: principal.to_owned(),
            resident: resident.unwrap_or(&object.resident).to_owned(),
            command,
        };
        // As on the wire, so that every call is proved to survive it.
        let bytes = commands::encode(&call).unwrap();
        let call: PrincipalCall = commands::decode(&bytes).unwrap();
        let (now_ms, ids) = (self.now_ms, &mut self.ids);
        let ran = object.store.transaction(|store| {
            let environment = Environment { now_ms, ids };
            principal::handle(store, environment, &call)
        });
        let (reply, effects) = ran.map_err(refused)?;
        self.carry_out(principal, effects)?;
        Ok(reply)
    }

    /// Runs a step of a principal's that no call asks for, in a transaction of its own.
    pub fn step<T>(
        &mut self,
        principal: &str,
        work: impl FnOnce(&mut principal::Principal<'_, NativeStore>) -> Result<T, CoreError>,
    ) -> Result<T, Failure> {
        let object = self.principals.get_mut(principal).expect("a principal");
        let (now_ms, ids) = (self.now_ms, &mut self.ids);
        let resident = object.resident.clone();
        let ran = object.store.transaction(|store| {
            let environment = Environment { now_ms, ids };
            principal::run(store, environment, (principal, &resident), work)
        });
        let (answer, effects) = ran.map_err(refused)?;
        self.carry_out(principal, effects)?;
        Ok(answer)
    }

    /// What follows a principal's commit, unless its object dies right then.
    fn carry_out(&mut self, principal: &str, effects: Effects) -> Result<(), Failure> {
        self.log(&effects);
        let object = self.principals.get_mut(principal).expect("a principal");
        object.set_alarm(effects.alarm_ms);
        if std::mem::take(&mut self.dies_after_commit) {
            self.reset(&Address::Principal(principal.to_owned()));
            return Err(Failure::Lost);
        }
        for frame in &effects.frames {
            for watcher in &mut object.watchers {
                if self.loses_frames && watcher.task_id == frame.task_id {
                    self.lost_frames += 1;
                } else {
                    watcher.see(frame);
                }
            }
        }
        for owed in effects.settlements {
            if self.tells_sources {
                principal::settlement_told(&object.store, owed.settlement_id).unwrap();
            }
            self.settled.push(owed);
        }
        self.deliver_notices(principal, effects.notices);
        Ok(())
    }

    fn log(&mut self, effects: &Effects) {
        for event in &effects.log {
            *self.logged.entry(event.event).or_default() += 1;
        }
    }

    fn lose_notices(&mut self, principal: &str, notices: &[OwedNotice]) {
        for owed in notices {
            let object = &self.principals[principal];
            object
                .store
                .execute(
                    "DELETE FROM outbox WHERE outbox_id = ?1",
                    &[owed.outbox_id.into()],
                )
                .unwrap();
            self.lost_notices += 1;
        }
    }

    fn deliver_notices(&mut self, principal: &str, notices: Vec<OwedNotice>) {
        if self.loses_notices {
            self.lose_notices(principal, &notices);
            return;
        }
        let mut by_queue: BTreeMap<String, Vec<OwedNotice>> = BTreeMap::new();
        for owed in notices {
            by_queue
                .entry(owed.resident.clone())
                .or_default()
                .push(owed);
        }
        for (resident, notices) in by_queue {
            let command = WakeQueueCommand::Notify(Notify {
                resident: resident.clone(),
                notices: notices.iter().map(|owed| owed.notice.clone()).collect(),
            });
            self.call(
                Address::Principal(principal.to_owned()),
                Address::Queue(resident),
                commands::encode(&command).unwrap(),
                Awaiting::Admissions(notices),
            );
        }
    }

    /// Runs a command of a queue.
    pub fn queue<T>(
        &mut self,
        resident: &str,
        command: impl FnOnce(WakeQueue<'_, NativeStore>) -> Run<T>,
    ) -> Result<T, Failure> {
        let object = self.queues.get_mut(resident).expect("a queue");
        let (now_ms, pushes, ids) = (self.now_ms, self.pushes, &mut self.ids);
        let ran = object.store.transaction(|store| {
            let environment = Environment { now_ms, ids };
            command(WakeQueue::new(store, environment, resident, LEASE_MS).pushing(pushes))
        });
        let (answer, effects) = ran.map_err(refused)?;
        object.set_alarm(effects.alarm_ms);
        if std::mem::take(&mut self.dies_after_commit) {
            self.reset(&Address::Queue(resident.to_owned()));
            return Err(Failure::Lost);
        }
        for event in &effects.log {
            *self.logged.entry(event.event).or_default() += 1;
        }
        object.rings.extend(effects.rings);
        for event in effects.log {
            if event.event == "wake_queue_depth" {
                let depth = event
                    .fields
                    .into_iter()
                    .find(|(name, _)| *name == "pending");
                object.logged_depth = depth.map(|(_, depth)| depth);
            }
        }
        Ok(answer)
    }

    // What a resident does. Whatever takes a call to a principal is answered later.

    /// Begins a take.
    pub fn begin_take(&mut self, resident: &str, session: &str) -> Ticket {
        let ticket = self.ticket();
        let command = Take {
            resident: resident.to_owned(),
            session: session.to_owned(),
            lease_ms: None,
        };
        let step = self.queue(resident, |queue| queue.take(&command));
        self.follow(resident, session, ticket, step);
        ticket
    }

    /// Tells a session that has just started whom it serves, as the Worker does, and takes again.
    fn assign(&mut self, resident: &str, session: &str) -> Result<Step, Failure> {
        let assign = Assign {
            resident: resident.to_owned(),
            session: session.to_owned(),
            principals: self
                .principals
                .iter()
                .filter(|(_, object)| object.resident == resident)
                .map(|(principal, _)| principal.clone())
                .collect(),
        };
        self.queue(resident, |queue| queue.assign(&assign))?;
        let take = Take {
            resident: resident.to_owned(),
            session: session.to_owned(),
            lease_ms: None,
        };
        self.queue(resident, |queue| queue.take(&take))
    }

    fn follow(
        &mut self,
        resident: &str,
        session: &str,
        ticket: Ticket,
        step: Result<Step, Failure>,
    ) {
        match step {
            Ok(Step::Ask { principal, grant }) => {
                let awaiting = Awaiting::Grant {
                    ticket,
                    session: session.to_owned(),
                    turn_id: grant.turn_id.clone(),
                };
                self.call_principal(
                    resident,
                    &principal,
                    PrincipalCommand::Grant(grant),
                    awaiting,
                );
            }
            Ok(Step::Turn(turn)) => {
                self.handed_out.insert(
                    turn.turn_id.clone(),
                    (resident.to_owned(), turn.task_id.clone()),
                );
                self.answer(ticket, Answer::Turn(Some(turn)));
            }
            Ok(Step::Nothing) => self.answer(ticket, Answer::Turn(None)),
            Ok(Step::Started) => {
                let step = self.assign(resident, session);
                self.follow(resident, session, ticket, step);
            }
            Err(failure) => self.answer(ticket, Answer::Failed(failure)),
        }
    }

    /// Begins the end of a turn.
    pub fn begin_end(&mut self, resident: &str, turn_id: &str, outcome: TurnOutcome) -> Ticket {
        let ticket = self.ticket();
        let command = End {
            resident: resident.to_owned(),
            turn_id: turn_id.to_owned(),
            task_id: None,
            outcome,
        };
        match self.queue(resident, |queue| queue.end(&command)) {
            Ok(ending) => self.report(resident, ending, Some(ticket), false),
            Err(failure) => self.answer(ticket, Answer::Failed(failure)),
        }
        ticket
    }

    fn report(&mut self, resident: &str, ending: Ending, ticket: Option<Ticket>, at_alarm: bool) {
        let awaiting = Awaiting::End {
            ticket,
            turn_id: ending.report.turn_id.clone(),
            at_alarm,
        };
        let command = PrincipalCommand::EndTurn(EndTurn::from(ending.report));
        self.call_principal(resident, &ending.principal, command, awaiting);
    }

    /// Begins the use of a tool.
    pub fn begin_tool(
        &mut self,
        resident: &str,
        turn: &Turn,
        authority: TurnAuthority,
        tool: Tool,
    ) -> Ticket {
        let ticket = self.ticket();
        let command = CallTool {
            resident: resident.to_owned(),
            turn_id: turn.turn_id.clone(),
            task_id: turn.task_id.clone(),
            authority,
            tool,
        };
        match self.queue(resident, |queue| queue.check(&command)) {
            Ok(checked) => {
                let tool = PrincipalCommand::UseTool(UseTool {
                    turn_id: command.turn_id,
                    task_id: command.task_id,
                    tool: command.tool,
                });
                self.call_principal(resident, &checked.principal, tool, Awaiting::Tool(ticket));
            }
            Err(failure) => self.answer(ticket, Answer::Failed(failure)),
        }
        ticket
    }

    /// A sign of life.
    pub fn heartbeat(
        &mut self,
        resident: &str,
        turn_id: &str,
        authority: TurnAuthority,
    ) -> Result<HeartbeatReply, Failure> {
        let command = Heartbeat {
            turn_id: turn_id.to_owned(),
            authority,
        };
        self.queue(resident, |queue| queue.heartbeat(&command))
    }

    // Alarms.

    /// The object whose alarm goes off first, and when.
    pub fn next_alarm(&self) -> Option<(Address, i64)> {
        let principals = self.principals.iter().filter_map(|(name, object)| {
            Some((Address::Principal(name.clone()), object.alarm_ms?))
        });
        let queues = self
            .queues
            .iter()
            .filter_map(|(name, object)| Some((Address::Queue(name.clone()), object.alarm_ms?)));
        principals.chain(queues).min_by_key(|(_, at_ms)| *at_ms)
    }

    /// The object's alarm goes off now.
    pub fn fire(&mut self, address: &Address) {
        match address {
            Address::Principal(name) => {
                if self.fail_overdue_executions(name).is_err() {
                    return;
                }
                let (now_ms, ids) = (self.now_ms, &mut self.ids);
                let object = self.principals.get_mut(name).expect("a principal");
                let compacted = object
                    .store
                    .transaction(|store| principal::compact(store, Environment { now_ms, ids }));
                compacted.unwrap();
                let ids = &mut self.ids;
                let done = std::mem::take(&mut object.done);
                let (due, of_notices) = object
                    .store
                    .transaction(|store| {
                        principal::due_notices(store, Environment { now_ms, ids }, &done)
                    })
                    .unwrap();
                let ids = &mut self.ids;
                object
                    .store
                    .transaction(|store| {
                        principal::fail_abandoned_deliveries(store, Environment { now_ms, ids })
                    })
                    .unwrap();
                let ids = &mut self.ids;
                let (settlements, of_settlements) = object
                    .store
                    .transaction(|store| {
                        principal::due_settlements(store, Environment { now_ms, ids })
                    })
                    .unwrap();
                self.settled.extend(settlements);
                object.alarm_ms = principal::next_due_ms(&object.store).unwrap();
                self.log(&of_notices);
                self.log(&of_settlements);
                if std::mem::take(&mut self.dies_after_commit) {
                    self.reset(address);
                } else {
                    self.deliver_notices(name, due);
                }
            }
            Address::Queue(name) => {
                self.queues.get_mut(name).expect("a queue").alarm_ms = None;
                self.carry_on(name);
            }
        }
    }

    /// One round of a queue's `due`; the rest follows when what it asks has been answered.
    fn carry_on(&mut self, resident: &str) {
        match self.queue(resident, |queue| queue.due()) {
            Ok(Due::End(ending)) => self.report(resident, ending, None, true),
            Ok(Due::Replay { principal, replay }) => {
                self.ask_to_replay(resident, principal, replay);
            }
            Ok(Due::Push(push)) => self.push(resident, push),
            Ok(Due::Nothing) | Err(Failure::Lost) => {}
            Err(failure) => panic!("a queue's alarm was refused: {failure:?}"),
        }
    }

    fn ask_to_replay(&mut self, resident: &str, principal: String, replay: Replay) {
        let command = PrincipalCommand::Replay(replay.clone());
        let to = principal.clone();
        let awaiting = Awaiting::Replay(principal, replay);
        self.call_principal(resident, &to, command, awaiting);
    }

    /// The object leaves memory and starts anew: what it awaited is forgotten and its sockets are closed.
    pub fn reset(&mut self, address: &Address) {
        match address {
            Address::Principal(name) => {
                let object = self.principals.get_mut(name).expect("a principal");
                object.life += 1;
                object.watchers.clear();
                object.done = Done::default();
            }
            Address::Queue(name) => {
                let object = self.queues.get_mut(name).expect("a queue");
                object.life += 1;
                object.rings.clear();
                // Lost where it dies again right then; the start after that went well.
                let started = self.queue(name, |queue| queue.started());
                assert!(matches!(started, Ok(()) | Err(Failure::Lost)));
            }
        }
    }

    /// Subscribes to a task; the snapshot comes in the same step.
    pub fn watch(&mut self, principal: &str, task_id: &str) -> Result<(), Failure> {
        let object = self.principals.get_mut(principal).expect("a principal");
        let snapshot =
            principal::watch(&object.store, task_id, &Default::default(), true).map_err(refused)?;
        object.watchers.push(Watcher::new(task_id, snapshot));
        Ok(())
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }

    fn answer(&mut self, ticket: Ticket, answer: Answer) {
        self.answers.insert(ticket, answer);
    }

    /// The answer to a ticket, once.
    pub fn take_answer(&mut self, ticket: Ticket) -> Option<Answer> {
        self.answers.remove(&ticket)
    }

    /// All principals, by name.
    pub fn names(&self) -> BTreeSet<String> {
        self.principals.keys().cloned().collect()
    }
}

fn refused(error: CoreError) -> Failure {
    match error {
        CoreError::Refused(error) => Failure::Refused(error),
        CoreError::Store(error) => panic!("the store failed: {error}"),
    }
}
