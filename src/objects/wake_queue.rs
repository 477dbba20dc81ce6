//! The WakeQueueObject class.
//!
//! A waiting resident is a hibernating WebSocket, the doorbell: it holds nothing in memory, and a ring carries nothing.
//! What it announces is taken by a call of its own. A resident whose going was not noticed may still be granted a turn
//! that way: its lease ends it, or its next session does.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use durable_objects::commands;
use durable_objects::commands::principal::{Disposition, EndTurn, GrantReply, UseTool};
use durable_objects::commands::wake_queue::{
    CallTool, End, Take, TakeReply, Turn, WakeQueueCommand,
};
use durable_objects::effects::{Effects, LogEvent};
use durable_objects::error::CoreError;
use durable_objects::storage::{StoreError, Transactional, migrations};
use durable_objects::wake_queue::{Due, DuePush, Ending, Run, Step, WAKE_BELL, WakeQueue};
use js_sys::Promise;
use protocol::error::{A2aError, Reason};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::alarm::Alarm;
use super::at_work::AtWork;
use super::{accepted, answer, bytes, fault, with_environment, write_log};
use super::{model, push};
use crate::calls::{self, Objects};
use crate::config::{self, Config};
use crate::runtime::clock;
use crate::runtime::env::Env;
use crate::runtime::log;
use crate::runtime::object_call::CallError;
use crate::runtime::promise::promise;
use crate::runtime::random;
use crate::runtime::request::Request;
use crate::runtime::response::{JsResponse, respond_now};
use crate::runtime::sockets::WebSocket;
use crate::runtime::sql::Database;
use crate::runtime::storage::ObjectState;

/// What a ring says.
const RING: &str = "ring";

/// The age of a last ping at which a doorbell is given up, in milliseconds.
const BELL_SILENCE_MS: i64 = 120_000;

/// One resident's queue. A panic leaves it usable: what it changes is a transaction.
#[wasm_bindgen]
pub struct WakeQueueObject(AssertUnwindSafe<Rc<Inner>>);

pub(super) struct Inner {
    state: ObjectState,
    database: Database,
    pub(super) objects: Objects,
    alarm: Alarm,
    lease_ms: i64,
    config: Rc<Config>,
    /// The session under which a model takes this queue's turns, where one does.
    model_session: String,
    model_works: AtWork,
}

#[wasm_bindgen]
impl WakeQueueObject {
    /// Brings the schema up to date. What a former life left to do is due at once.
    ///
    /// # Errors
    /// Where the storage can't be used: every call to the object then fails the same way.
    #[wasm_bindgen(constructor)]
    pub fn new(state: ObjectState, env: &Env) -> Result<Self, JsValue> {
        let storage = state.storage();
        let start = || -> Result<Inner, CoreError> {
            let database = storage.database()?;
            migrations::migrate(&database, migrations::WAKE_QUEUE)?;
            let inner = Inner {
                database,
                objects: Objects::of(env),
                alarm: Alarm::new(&storage),
                lease_ms: config::lease_ms(env),
                config: config::of(env),
                model_session: random::uuid_v4().to_string(),
                model_works: AtWork::default(),
                state: state.clone(),
            };
            inner.run("", |queue| queue.started())?;
            if inner.config.model.is_some() {
                // What waits may have been waiting for a former life: the alarm looks.
                inner.alarm.no_later_than(clock::now_ms())?;
            }
            Ok(inner)
        };
        let inner = start().map_err(|error| fault("object_not_started", &error.to_string()))?;
        inner.state.answer_pings()?;
        Ok(Self(AssertUnwindSafe(Rc::new(inner))))
    }

    /// The bytes of one `WakeQueueCommand`; those of its answer, or a promise of them where a principal must be asked.
    ///
    /// # Errors
    /// A fault of ours, already logged.
    pub fn call(&self, command: &[u8]) -> Result<JsValue, JsValue> {
        let command: WakeQueueCommand = commands::decode(command)
            .map_err(|error| fault("command_not_read", &error.to_string()))?;
        let inner = Rc::clone(&self.0);
        match command {
            WakeQueueCommand::Notify(notify) => {
                let outcome = inner.run(&notify.resident, |queue| queue.notify(&notify));
                let answer = answer_of(outcome)?;
                Inner::let_model_work(&inner, &notify.resident);
                Ok(answer)
            }
            WakeQueueCommand::Heartbeat(heartbeat) => {
                let outcome = inner.run("", |queue| queue.heartbeat(&heartbeat));
                answer_of(outcome)
            }
            WakeQueueCommand::Assign(assign) => {
                let outcome = inner.run(&assign.resident, |queue| queue.assign(&assign));
                answer_of(outcome)
            }
            WakeQueueCommand::Inspect(_) => {
                let outcome = with_environment(|environment| {
                    WakeQueue::new(&inner.database, environment, "", inner.lease_ms).inspect()
                });
                answer_of(outcome)
            }
            WakeQueueCommand::Take(take) => {
                Ok(promise(async move { answer_of(inner.take(&take).await) }).into())
            }
            WakeQueueCommand::End(end) => {
                Ok(promise(async move { answer_of(inner.end(&end).await) }).into())
            }
            WakeQueueCommand::CallTool(call) => {
                Ok(promise(async move { inner.call_tool(call).await }).into())
            }
        }
    }

    /// A doorbell's upgrade.
    ///
    /// # Errors
    /// A fault of ours, already logged.
    pub fn fetch(&self, request: &Request) -> Result<JsResponse, JsValue> {
        let line = request.line();
        let Some(bell) = calls::bell_from_path(&line.path) else {
            return respond_now(404, &[], "no such bell");
        };
        self.0.let_in(bell)
    }

    /// What is due now.
    pub fn alarm(&self) -> Promise {
        let inner = Rc::clone(&self.0);
        promise(async move {
            inner.alarm.gone_off();
            let resident = inner.state.name().unwrap_or_default();
            Inner::let_model_work(&inner, &resident);
            if let Err(error) = inner.do_what_is_due().await {
                inner.alarm.try_again(&error);
            }
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Doorbells have nothing to say but pings, which the platform answers.
    #[wasm_bindgen(js_name = webSocketMessage)]
    pub fn web_socket_message(&self, _socket: &WebSocket, _message: &JsValue) {}

    /// The Worker has closed its end: closing ours ends the doorbell.
    #[wasm_bindgen(js_name = webSocketClose)]
    pub fn web_socket_close(&self, socket: &WebSocket) {
        socket.close(1000, "");
    }

    /// The connection to the Worker broke.
    #[wasm_bindgen(js_name = webSocketError)]
    pub fn web_socket_error(&self, socket: &WebSocket) {
        socket.close(1011, "");
    }
}

impl Inner {
    /// Runs one command of the core in a transaction and carries out its effects.
    pub(super) fn run<T>(
        &self,
        resident: &str,
        command: impl FnOnce(WakeQueue<'_, Database>) -> Run<T>,
    ) -> Result<T, CoreError> {
        let (answer, effects) = self.database.transaction(|database| {
            with_environment(|environment| {
                let queue = WakeQueue::new(database, environment, resident, self.lease_ms);
                command(queue.pushing(self.config.push.is_some()))
            })
        })?;
        self.carry_out(&effects)?;
        Ok(answer)
    }

    fn carry_out(&self, effects: &Effects) -> Result<(), StoreError> {
        for bell in &effects.rings {
            self.state.broadcast(bell, RING);
        }
        let says = |event: &&LogEvent| self.config.logs_requests || !event.is_routine;
        write_log(effects.log.iter().filter(says));
        if let Some(at_ms) = effects.alarm_ms {
            self.alarm.no_later_than(at_ms)?;
        }
        Ok(())
    }

    pub(super) async fn take(&self, take: &Take) -> Result<TakeReply, CoreError> {
        let mut step = self.run(&take.resident, |queue| queue.take(take))?;
        loop {
            match step {
                Step::Turn(turn) => return Ok(taken(Some(turn))),
                Step::Nothing => return Ok(taken(None)),
                Step::Started => {
                    return Ok(TakeReply {
                        turn: None,
                        started: true,
                    });
                }
                Step::Ask { principal, grant } => {
                    let turn_id = grant.turn_id.clone();
                    let reply: Result<GrantReply, Unanswered> = self
                        .objects
                        .principal(&principal, &take.resident, grant)
                        .await
                        .into_answer("grant_failed");
                    match reply {
                        Ok(reply) => {
                            step = self.run(&take.resident, |queue| {
                                queue.granted(&turn_id, &take.session, &reply)
                            })?;
                        }
                        Err(Unanswered) => {
                            self.run(&take.resident, |queue| queue.grant_failed(&turn_id))?;
                            return Ok(taken(None));
                        }
                    }
                }
            }
        }
    }

    pub(super) async fn end(&self, end: &End) -> Result<Disposition, CoreError> {
        let ending = self.run(&end.resident, |queue| queue.end(end))?;
        match self.report(&end.resident, ending).await? {
            Some(disposition) => Ok(disposition),
            // The end stands and the alarm reports it: only what became of the task can't be said now.
            None => Err(A2aError::new(
                Reason::Unavailable,
                "the turn is over; what becomes of its task is decided shortly",
            )
            .into()),
        }
    }

    /// Reports the end of a turn to its principal. None where it could not be reached: the alarm tries again.
    async fn report(
        &self,
        resident: &str,
        ending: Ending,
    ) -> Result<Option<Disposition>, CoreError> {
        let turn_id = ending.report.turn_id.clone();
        let reply: Result<Disposition, Unanswered> = self
            .objects
            .principal(&ending.principal, resident, EndTurn::from(ending.report))
            .await
            .into_answer("end_turn_failed");
        let Ok(disposition) = reply else {
            return Ok(None);
        };
        self.run(resident, |queue| queue.ended(&turn_id, &disposition))?;
        Ok(Some(disposition))
    }

    /// Checks the turn and passes the tool on. The principal's answer goes back as it came.
    async fn call_tool(&self, call: CallTool) -> Result<JsValue, JsValue> {
        let checked = match self.run(&call.resident, |queue| queue.check(&call)) {
            Ok(checked) => checked,
            Err(error) => return answer(Err(error)),
        };
        let CallTool {
            resident,
            turn_id,
            task_id,
            tool,
            ..
        } = call;
        let tool = UseTool {
            turn_id,
            task_id,
            tool,
        };
        self.objects
            .principal_answer(&checked.principal, &resident, tool)
            .await
            .map(|answer| bytes(&answer))
            .map_err(|error| fault("tool_failed", &error.to_string()))
    }

    async fn do_what_is_due(&self) -> Result<(), CoreError> {
        let resident = self.state.name().unwrap_or_default();
        // Bounded: what can't be done now is postponed by the core, so each round takes up something else.
        for _ in 0..64 {
            match self.run(&resident, |queue| queue.due())? {
                Due::Nothing => return Ok(()),
                Due::End(ending) => {
                    self.report(&resident, ending).await?;
                }
                Due::Push(due) => self.push(&resident, due).await?,
                Due::Replay { principal, replay } => {
                    let mut next = Some(replay);
                    while let Some(replay) = next {
                        let answer = self
                            .objects
                            .principal(&principal, &resident, replay.clone())
                            .await
                            .into_answer("replay_failed")
                            .ok();
                        next = self.run(&resident, |queue| {
                            queue.replayed(&principal, &replay, answer.as_ref())
                        })?;
                    }
                }
            }
        }
        self.alarm.no_later_than(clock::now_ms())?;
        Ok(())
    }

    fn rings_already(&self, bell: &str) -> Result<bool, StoreError> {
        with_environment(|environment| {
            WakeQueue::new(&self.database, environment, "", self.lease_ms).rings_already(bell)
        })
    }

    async fn push(&self, resident: &str, due: DuePush) -> Result<(), CoreError> {
        match (due, &self.config.push) {
            (DuePush::Tell(wake), Some(to)) => {
                let delivered = push::push(to, resident).await;
                self.run(resident, |queue| queue.pushed(&wake, delivered))
            }
            // Pushing was switched off: the wakes wait to be taken, as all do.
            (DuePush::Tell(wake), None) => self.run(resident, |queue| queue.pushed(&wake, true)),
            (DuePush::Fail { principal, report }, _) => {
                let activation_id = report.activation_id;
                let recorded = self
                    .objects
                    .principal(&principal, resident, report)
                    .await
                    .into_answer("wake_failed_not_recorded");
                match recorded {
                    Ok(_) => self.run(resident, |queue| {
                        queue.wake_failed(&principal, activation_id)
                    }),
                    Err(Unanswered) => Ok(()),
                }
            }
        }
    }

    /// Has the model work on what waits, if a model is this queue's resident and is not at work already.
    fn let_model_work(this: &Rc<Self>, resident: &str) {
        let is_its_queue = |config: &Config| {
            config
                .model
                .as_ref()
                .is_some_and(|model| model.resident == resident)
        };
        if !is_its_queue(&this.config) {
            return;
        }
        let Some(shift) = this.model_works.begin() else {
            return;
        };
        let inner = Rc::clone(this);
        let work = promise(async move {
            let _shift = shift;
            if let Some(model) = &inner.config.model {
                // What came while the model was still at work was left to it.
                while model::work(&inner, &inner.config, model, &inner.model_session).await
                    && inner.rings_already(WAKE_BELL).unwrap_or(false)
                {}
            }
            Ok(JsValue::UNDEFINED)
        });
        if let Err(error) = this.state.wait_until(&work) {
            log::error("model_not_kept", &[("reason", &error.to_string())]);
        }
    }

    fn let_in(&self, bell: &str) -> Result<JsResponse, JsValue> {
        let now_ms = clock::now_ms();
        for socket in self.state.sockets(None) {
            let seen_ms = self.state.last_ping_ms(&socket).or_else(|| {
                socket
                    .attachment()
                    .and_then(|opened_ms| opened_ms.parse::<i64>().ok())
            });
            if seen_ms.is_none_or(|seen| now_ms.saturating_sub(seen) > BELL_SILENCE_MS) {
                socket.close(1001, "silent");
            }
        }
        let missed = self
            .rings_already(bell)
            .map_err(|error| fault("storage_failed", &error.to_string()))?;
        let accepted = self.state.accept(&[bell], Some(&now_ms.to_string()))?;
        if missed {
            accepted.socket.send(RING);
        }
        Ok(accepted.response)
    }
}

fn taken(turn: Option<Turn>) -> TakeReply {
    TakeReply {
        turn,
        started: false,
    }
}

/// The other object gave no answer; why is logged.
struct Unanswered;

trait IntoAnswer<T> {
    fn into_answer(self, event: &'static str) -> Result<T, Unanswered>;
}

impl<T> IntoAnswer<T> for Result<Result<T, A2aError>, CallError> {
    fn into_answer(self, event: &'static str) -> Result<T, Unanswered> {
        match self {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => {
                log::error(event, &[("reason", &error.to_string())]);
                Err(Unanswered)
            }
            Err(error) => {
                log::error(event, &[("reason", &error.to_string())]);
                Err(Unanswered)
            }
        }
    }
}

fn answer_of<T: Serialize>(outcome: Result<T, CoreError>) -> Result<JsValue, JsValue> {
    match outcome {
        Ok(reply) => accepted(&reply),
        Err(error) => answer(Err(error)),
    }
}
