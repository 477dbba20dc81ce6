//! The PrincipalObject class.

use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use durable_objects::commands;
use durable_objects::commands::principal::{PrincipalCall, PrincipalCommand, Send, Watch};
use durable_objects::commands::wake_queue::{Admission, Notify};
use durable_objects::effects::{Effects, Frame, OwedNotice, OwedSettlement};
use durable_objects::error::CoreError;
use durable_objects::principal::{self, Answer, Begun, Done, Timer};
use durable_objects::storage::{StoreError, Transactional, migrations};
use js_sys::{JsString, Promise};
use protocol::error::{A2aError, Reason};
use wasm_bindgen::prelude::*;

use super::agents::{Agents, Answered};
use super::alarm::Alarm;
use super::answers::Answers;
use super::at_work::AtWork;
use super::execution::Executor;
use super::settlement::Untold;
use super::{accepted, answer, fault, settlement, with_environment, write_log};
use crate::calls::{self, Objects};
use crate::runtime::clock;
use crate::runtime::env::Env;
use crate::runtime::log;
use crate::runtime::object_call::CallError;
use crate::runtime::promise::{promise, start};
use crate::runtime::request::Request;
use crate::runtime::response::{JsResponse, respond_now};
use crate::runtime::sockets::WebSocket;
use crate::runtime::sql::Database;
use crate::runtime::storage::ObjectState;

/// How often watchers are looked through while there are any, in milliseconds. Each look wakes the object.
const WATCHER_SWEEP_MS: i64 = 300_000;

/// The age of a last ping at which a watcher is given up, in milliseconds: several ticks of the Worker's.
const WATCHER_SILENCE_MS: i64 = 90_000;

/// The most notices delivered to a queue in one call.
const MAX_BATCH: usize = 64;

/// One principal's object. A panic leaves it usable: what it changes is a transaction, or a cell set in one step.
#[wasm_bindgen]
pub struct PrincipalObject(AssertUnwindSafe<Rc<Inner>>);

pub(super) struct Inner {
    state: ObjectState,
    pub(super) database: Database,
    objects: Objects,
    alarm: Alarm,
    /// Notices committed and not handed to their queue yet.
    owed: RefCell<Vec<OwedNotice>>,
    done: RefCell<Done>,
    delivering: AtWork,
    /// When the delivery that is at work last called a queue.
    delivering_since_ms: Cell<i64>,
    untold: Rc<Untold>,
    answers: Answers<JsValue>,
    env: Env,
    /// Watchers open, as far as it is known.
    watchers: Cell<u32>,
    pub(super) executor: Executor,
    pub(super) agents: Agents,
}

#[wasm_bindgen]
impl PrincipalObject {
    /// Brings the schema up to date and re-arms the alarm for whatever a former life left to do.
    ///
    /// # Errors
    /// Where the storage can't be used: every call to the object then fails the same way.
    #[wasm_bindgen(constructor)]
    pub fn new(state: ObjectState, env: &Env) -> Result<Self, JsValue> {
        let storage = state.storage();
        let start = || -> Result<Inner, StoreError> {
            let database = storage.database()?;
            migrations::migrate(&database, migrations::PRINCIPAL)?;
            let agents = Agents::of(env);
            database.transaction(|database| {
                principal::agents::adopt(database, &agents.remotes().definitions)?;
                principal::agents::take_over(database, clock::now_ms())
            })?;
            let alarm = Alarm::new(&storage);
            if let Some(due_ms) = principal::next_due_ms(&database)? {
                alarm.no_later_than(due_ms)?;
            }
            Ok(Inner {
                database,
                objects: Objects::of(env),
                alarm,
                owed: RefCell::default(),
                done: RefCell::default(),
                delivering: AtWork::default(),
                delivering_since_ms: Cell::new(0),
                untold: Rc::default(),
                answers: Answers::new(),
                env: env.clone(),
                watchers: Cell::new(u32::try_from(state.sockets(None).len()).unwrap_or(u32::MAX)),
                executor: Executor::of(env.service("EXECUTOR")),
                agents,
                state: state.clone(),
            })
        };
        let inner = start().map_err(|error| fault("object_not_started", &error.to_string()))?;
        inner.state.answer_pings()?;
        Ok(Self(AssertUnwindSafe(Rc::new(inner))))
    }

    /// The bytes of one `PrincipalCall`; those of its answer, or a promise of them where an executor is asked first.
    ///
    /// # Errors
    /// A fault of ours, already logged.
    pub fn call(&self, command: &[u8]) -> Result<JsValue, JsValue> {
        let changes = self.0.database.changes();
        if let Some(answer) = self.0.answers.find(command, changes) {
            return Ok(answer);
        }
        let call: PrincipalCall = commands::decode(command)
            .map_err(|error| fault("command_not_read", &error.to_string()))?;
        if let PrincipalCommand::GetTask(_) = &call.command {
            return Inner::read_task(&self.0, command, &call);
        }
        if let PrincipalCommand::Send(send) = &call.command
            && let Some(max_watchers) = send.max_watchers
            && !self.0.has_room(max_watchers)
        {
            return self.0.answer_without_room(&call, send, max_watchers);
        }
        if let (PrincipalCommand::Send(_), Some(service)) =
            (&call.command, &self.0.executor.service)
        {
            let (inner, service) = (Rc::clone(&self.0), service.clone());
            return start(async move { Inner::send_by_executor(inner, service, call).await });
        }
        if self.0.waits_for_agents(&call) {
            let inner = Rc::clone(&self.0);
            return start(async move {
                match Inner::serve_agents(Rc::clone(&inner), call).await? {
                    Answered::Answer(answer) => Ok(answer),
                    Answered::NotYet(call) => Inner::answer_now(&inner, &call),
                }
            });
        }
        Inner::answer_now(&self.0, &call)
    }

    /// A watcher's upgrade: the snapshot goes out in the step that lets the watcher in.
    ///
    /// # Errors
    /// A fault of ours, already logged.
    pub fn fetch(&self, request: &Request) -> Result<JsResponse, JsValue> {
        let line = request.line();
        let watch: Watch =
            calls::watch_from_path(&line.path).ok_or_else(|| fault("watch_not_read", "path"))?;
        self.0.watch(&watch)
    }

    /// What is due now.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.0);
        promise(async move {
            inner.alarm.gone_off();
            if let Err(error) = Inner::do_what_is_due(&inner).await {
                inner.alarm.try_again(&error);
            }
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Watchers have nothing to say but pings, which the platform answers.
    #[wasm_bindgen(js_name = webSocketMessage)]
    pub fn web_socket_message(&self, _socket: &WebSocket, _message: &JsValue) {}

    /// The Worker has closed its end: closing ours ends the watcher.
    #[wasm_bindgen(js_name = webSocketClose)]
    pub fn web_socket_close(&self, socket: &WebSocket) {
        self.0.watcher_left();
        socket.close(1000, "");
    }

    /// The connection to the Worker broke.
    #[wasm_bindgen(js_name = webSocketError)]
    pub fn web_socket_error(&self, socket: &WebSocket) {
        self.0.watcher_left();
        socket.close(1011, "");
    }
}

impl Inner {
    /// Carries a command out that waits for nobody.
    fn answer_now(this: &Rc<Self>, call: &PrincipalCall) -> Result<JsValue, JsValue> {
        let handle = |database: &Database| {
            with_environment(|environment| principal::answer(database, environment, call))
        };
        let outcome = if call.command.only_reads() {
            handle(&this.database)
        } else {
            this.database.transaction(handle)
        };
        match outcome {
            Ok((Answer::Body(text), effects)) => {
                Self::carry_out(this, effects)?;
                Ok(JsValue::from_str(&text))
            }
            Ok((Answer::Bytes(reply), effects)) => {
                Self::carry_out(this, effects)?;
                answer(Ok(reply))
            }
            Err(error) => answer(Err(error)),
        }
    }

    /// Reads a task, and keeps the answer for who asks the same again.
    fn read_task(
        this: &Rc<Self>,
        command: &[u8],
        call: &PrincipalCall,
    ) -> Result<JsValue, JsValue> {
        let answer = Self::answer_now(this, call)?;
        if let Some(text) = answer.dyn_ref::<JsString>() {
            let bytes = usize::try_from(text.length()).unwrap_or(usize::MAX);
            let changes = this.database.changes();
            this.answers.keep(command, changes, &answer, bytes);
        }
        Ok(answer)
    }

    pub(super) fn state(&self) -> &ObjectState {
        &self.state
    }

    pub(super) fn carry_out(this: &Rc<Self>, effects: Effects) -> Result<(), JsValue> {
        for frame in &effects.frames {
            this.send(frame);
        }
        write_log(&effects.log);
        if !effects.notices.is_empty() {
            this.owed.borrow_mut().extend(effects.notices);
            Self::deliver_soon(this);
        }
        if !effects.settlements.is_empty() {
            Self::tell_soon(this, effects.settlements);
        }
        // Last: what is committed is carried out also where there can be no alarm, which would only do it again.
        if let Some(at_ms) = effects.alarm_ms {
            this.alarm
                .no_later_than(at_ms)
                .map_err(|error| fault("alarm_not_set", &error.to_string()))?;
        }
        Ok(())
    }

    fn send(&self, frame: &Frame) {
        let mut text = String::with_capacity(frame.json.len().saturating_add(1));
        text.push(frame.kind.letter());
        text.push_str(&frame.json);
        self.state.broadcast(&frame.task_id, &text);
    }

    /// Hands owed notices to their queues, one call at a time, so that those of a burst travel together. None of the calls
    /// has a timer, which would cost as much as a notice: the alarm, which is set for as long as a notice is owed, sees
    /// one that does not come back.
    fn deliver_soon(this: &Rc<Self>) {
        let Some(shift) = this.delivering.begin() else {
            return;
        };
        let inner = Rc::clone(this);
        let delivery = promise(async move {
            while shift.goes_on()
                && let Some((resident, batch)) = inner.next_batch()
            {
                inner.delivering_since_ms.set(clock::now_ms());
                Self::deliver(&inner, resident, batch).await;
            }
            Ok(JsValue::UNDEFINED)
        });
        if let Err(error) = this.state.wait_until(&delivery) {
            log::error("delivery_not_kept", &[("reason", &error.to_string())]);
        }
    }

    fn next_batch(&self) -> Option<(String, Vec<OwedNotice>)> {
        let mut owed = self.owed.borrow_mut();
        let resident = owed.first()?.resident.clone();
        let (batch, rest): (Vec<_>, Vec<_>) = owed
            .drain(..)
            .partition(|notice| notice.resident == resident);
        *owed = rest;
        let mut batch = batch;
        if batch.len() > MAX_BATCH {
            let later = batch.split_off(MAX_BATCH);
            owed.extend(later);
        }
        Some((resident, batch))
    }

    /// What is not answered stays in the outbox, and the alarm tries it again.
    async fn deliver(this: &Rc<Self>, resident: String, batch: Vec<OwedNotice>) {
        let notify = Notify {
            resident: resident.clone(),
            notices: batch.iter().map(|owed| owed.notice.clone()).collect(),
        };
        let reason = match this.objects.notify(&resident, notify).await {
            Ok(Ok(admissions)) => return Self::delivered(this, batch, admissions),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        log::error(
            "notify_failed",
            &[("resident", &resident), ("reason", &reason)],
        );
    }

    fn delivered(this: &Rc<Self>, batch: Vec<OwedNotice>, admissions: Vec<Admission>) {
        let answered = batch.into_iter().zip(admissions).collect();
        let answered = this.done.borrow_mut().take_from(answered);
        let is_full = this.done.borrow().is_full();
        if answered.is_empty() && !is_full {
            return;
        }
        let done = if is_full {
            this.done.take()
        } else {
            Done::default()
        };
        let outcome = this.database.transaction(|database| {
            with_environment(|environment| {
                principal::notices_answered(database, environment, &answered, &done)
            })
        });
        let carried_out = match outcome {
            Ok(effects) => Self::carry_out(this, effects),
            Err(error) => Err(fault("storage_failed", &error.to_string())),
        };
        // A fault is logged where it arose; the outbox still holds what it concerns.
        drop(carried_out);
    }

    /// Tells each source of its settlements, one at a time, whatever the others do. What is not taken is told again at
    /// the alarm.
    fn tell_soon(this: &Rc<Self>, settlements: Vec<OwedSettlement>) {
        for line in Untold::add(&this.untold, settlements) {
            let inner = Rc::clone(this);
            let telling = promise(async move {
                while let Some(owed) = line.next() {
                    if settlement::tell(&inner.env, &owed).await
                        && let Err(error) =
                            principal::settlement_told(&inner.database, owed.settlement_id)
                    {
                        drop(fault("storage_failed", &error.to_string()));
                    }
                }
                Ok(JsValue::UNDEFINED)
            });
            if let Err(error) = this.state.wait_until(&telling) {
                log::error("telling_not_kept", &[("reason", &error.to_string())]);
            }
        }
    }

    /// Does everything that is due. Each job stands alone: what one can't do keeps no other from being done, and the first
    /// failure is what the alarm tries again for.
    async fn do_what_is_due(this: &Rc<Self>) -> Result<(), CoreError> {
        let now_ms = clock::now_ms();
        let mut outcome = Ok(());
        let mut done = |job: Result<(), CoreError>| {
            if outcome.is_ok() {
                outcome = job;
            }
        };
        done(Self::deliver_due(this));
        for work in [
            principal::fail_overdue_executions,
            principal::fail_abandoned_deliveries,
            principal::compact,
        ] {
            let effects = this.database.transaction(|database| {
                with_environment(|environment| work(database, environment))
            });
            // A fault in carrying effects out is logged where it arises; what is committed stands.
            done(effects.map(|effects| drop(Self::carry_out(this, effects))));
        }
        done(Self::tell_due(this));
        done(Self::follow_due(this));
        done(this.sweep_due(now_ms));
        done(
            principal::next_due_ms(&this.database)
                .and_then(|due_ms| match due_ms {
                    Some(due_ms) => this.alarm.no_later_than(due_ms),
                    None => Ok(()),
                })
                .map_err(CoreError::from),
        );
        outcome
    }

    /// Lets others deliver where a call to a queue has taken too long.
    fn give_up_delivery(&self) {
        let since_ms = self.delivering_since_ms.get();
        let overdue_ms = since_ms.saturating_add(self.objects.queue_deadline_ms().into());
        if self.delivering.is_begun() && clock::now_ms() >= overdue_ms {
            log::error(
                "notify_failed",
                &[("reason", &CallError::Deadline.to_string())],
            );
            self.delivering.take_over();
        }
    }

    fn deliver_due(this: &Rc<Self>) -> Result<(), CoreError> {
        this.give_up_delivery();
        let done = this.done.take();
        let (due, effects) = this.database.transaction(|database| {
            with_environment(|environment| principal::due_notices(database, environment, &done))
        })?;
        drop(Self::carry_out(this, effects));
        if !due.is_empty() {
            this.owed.borrow_mut().extend(due);
            Self::deliver_soon(this);
        }
        Ok(())
    }

    fn tell_due(this: &Rc<Self>) -> Result<(), CoreError> {
        let (due, effects) = this.database.transaction(|database| {
            with_environment(|environment| principal::due_settlements(database, environment))
        })?;
        drop(Self::carry_out(this, effects));
        if !due.is_empty() {
            Self::tell_soon(this, due);
        }
        Ok(())
    }

    fn sweep_due(&self, now_ms: i64) -> Result<(), CoreError> {
        let is_due = self
            .database
            .transaction(|database| principal::take_timer(database, Timer::WatcherSweep, now_ms))?;
        if is_due {
            self.sweep_watchers(now_ms)?;
        }
        Ok(())
    }

    /// Whether one more watcher fits. The count is kept as watchers come and go; at the cap it is taken anew, since not
    /// every disconnect is reported.
    fn has_room(&self, max_watchers: u32) -> bool {
        if self.watchers.get() >= max_watchers {
            let open = self.state.sockets(None).len();
            self.watchers.set(u32::try_from(open).unwrap_or(u32::MAX));
        }
        self.watchers.get() < max_watchers
    }

    /// Answers a message that no watcher could follow: a duplicate gets its prior outcome, anything new is refused.
    fn answer_without_room(
        &self,
        call: &PrincipalCall,
        send: &Send,
        max_watchers: u32,
    ) -> Result<JsValue, JsValue> {
        let scope = (call.principal.as_str(), call.resident.as_str());
        let begun = with_environment(|environment| {
            principal::begin_execution(&self.database, environment, scope, send)
        });
        match begun {
            Ok(Begun::Answered(reply)) => accepted(&reply),
            Ok(Begun::Ask(_)) => answer(Err(too_many_watchers(max_watchers).into())),
            Err(error) => answer(Err(error)),
        }
    }

    fn watcher_left(&self) {
        self.watchers.set(self.watchers.get().saturating_sub(1));
    }

    fn watch(&self, watch: &Watch) -> Result<JsResponse, JsValue> {
        if !self.has_room(watch.max_watchers) {
            let error = too_many_watchers(watch.max_watchers);
            return respond_now(error.http_status(), &[], &calls::refusal_text(&error));
        }
        let snapshot =
            match principal::watch(&self.database, &watch.task_id, &watch.view, watch.subscribe) {
                Ok(snapshot) => snapshot,
                Err(CoreError::Refused(error)) => {
                    return respond_now(error.http_status(), &[], &calls::refusal_text(&error));
                }
                Err(CoreError::Store(error)) => {
                    return Err(fault("storage_failed", &error.to_string()));
                }
            };
        let now_ms = clock::now_ms();
        let accepted = self
            .state
            .accept(&[&watch.task_id], Some(&now_ms.to_string()))?;
        let mut frame = String::with_capacity(snapshot.json.len().saturating_add(1));
        frame.push(snapshot.kind.letter());
        frame.push_str(&snapshot.json);
        accepted.socket.send(&frame);
        self.watchers.set(self.watchers.get().saturating_add(1));
        self.expect_sweep(now_ms)
            .map_err(|error| fault("storage_failed", &error.to_string()))?;
        Ok(accepted.response)
    }

    fn expect_sweep(&self, now_ms: i64) -> Result<(), StoreError> {
        let due_ms = now_ms.saturating_add(WATCHER_SWEEP_MS);
        principal::set_timer(&self.database, Timer::WatcherSweep, due_ms)?;
        self.alarm.no_later_than(due_ms)
    }

    /// Closes watchers whose Worker has not pinged for long: a client's disconnect is not always reported.
    fn sweep_watchers(&self, now_ms: i64) -> Result<(), StoreError> {
        let mut remaining = false;
        for socket in self.state.sockets(None) {
            let seen_ms = self.state.last_ping_ms(&socket).or_else(|| {
                socket
                    .attachment()
                    .and_then(|opened_ms| opened_ms.parse().ok())
            });
            if seen_ms.is_some_and(|seen| now_ms.saturating_sub(seen) < WATCHER_SILENCE_MS) {
                remaining = true;
            } else {
                socket.close(1001, "silent");
            }
        }
        if remaining {
            self.expect_sweep(now_ms)?;
        }
        Ok(())
    }
}

/// The cap on watchers, by the name of the var that sets it.
fn too_many_watchers(max_watchers: u32) -> A2aError {
    A2aError::new(
        Reason::ResourceExhausted,
        "you have as many streams and waiting sends open as this agent takes at once: close some",
    )
    .with("cap", "A2A_MAX_WATCHERS")
    .with("max", max_watchers.to_string())
}
