//! Asking the executor about a message (`EXECUTOR`, another Worker), and carrying its lines out as they come.
//!
//! While it decides, a duplicate of the message waits for the same outcome. The answer to the caller is due with the
//! first line; what follows goes to watchers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use durable_objects::commands::principal::{PrincipalCall, PrincipalCommand, Send, SendReply};
use durable_objects::effects::Effects;
use durable_objects::environment::Environment;
use durable_objects::error::CoreError;
use durable_objects::principal::{self, Begun, Executed};
use durable_objects::storage::{StoreError, Transactional};
use futures::channel::oneshot;
use protocol::error::{A2aError, Reason};
use protocol::executor::{Line, MAX_LINE_BYTES};
use wasm_bindgen::JsValue;

use super::principal::Inner;
use super::{accepted, answer, fault, with_environment};
use crate::runtime::log;
use crate::runtime::promise::start;
use crate::runtime::service::{Lines, Service, ServiceError};
use crate::runtime::sql::Database;

/// How long an executor may take from being asked to its first whole line, and then for each further whole line, in
/// milliseconds.
pub const EXECUTOR_TIMEOUT_MS: u32 = 30_000;

/// Where an executor is asked.
const PATH: &str = "/execute";

/// The executor, if there is one, and the messages it is being asked about.
pub(super) struct Executor {
    pub service: Option<Service>,
    deciding: RefCell<HashMap<String, Pending>>,
}

/// One message that is being decided.
struct Pending {
    /// Of everything its caller said: what says something else is no duplicate.
    digest: String,
    duplicates: Vec<oneshot::Sender<Option<A2aError>>>,
}

impl Executor {
    /// The deployment's.
    pub fn of(service: Option<Service>) -> Self {
        Self {
            service,
            deciding: RefCell::default(),
        }
    }

    /// The outcome of a message that is being decided, where this is its duplicate: the error its caller gets, or none.
    ///
    /// # Errors
    /// `DUPLICATE_MESSAGE_ID` where what is being decided says something else under the same id.
    fn decision(
        &self,
        send: &Send,
    ) -> Result<Option<oneshot::Receiver<Option<A2aError>>>, A2aError> {
        let mut deciding = self.deciding.borrow_mut();
        let Some(pending) = deciding.get_mut(&send.message_id) else {
            return Ok(None);
        };
        if pending.digest != send.digest {
            return Err(A2aError::duplicate_message_id(&send.message_id));
        }
        let (told, outcome) = oneshot::channel();
        pending.duplicates.push(told);
        Ok(Some(outcome))
    }

    fn begin<'a>(&'a self, send: &'a Send) -> Deciding<'a> {
        self.deciding.borrow_mut().insert(
            send.message_id.clone(),
            Pending {
                digest: send.digest.clone(),
                duplicates: Vec::new(),
            },
        );
        Deciding {
            executor: self,
            message_id: &send.message_id,
            error: None,
        }
    }
}

/// A message that is being decided. When this goes, also by a panic, its duplicates are told.
struct Deciding<'a> {
    executor: &'a Executor,
    message_id: &'a str,
    error: Option<A2aError>,
}

impl Drop for Deciding<'_> {
    fn drop(&mut self) {
        let pending = self.executor.deciding.borrow_mut().remove(self.message_id);
        for told in pending.into_iter().flat_map(|pending| pending.duplicates) {
            // A duplicate whose caller has gone away no longer listens.
            drop(told.send(self.error.clone()));
        }
    }
}

/// Whose message it is.
struct Sender {
    principal: String,
    resident: String,
}

impl Inner {
    /// Answers a message as the executor decides.
    pub(super) async fn send_by_executor(
        this: Rc<Self>,
        service: Service,
        call: PrincipalCall,
    ) -> Result<JsValue, JsValue> {
        let PrincipalCall {
            principal,
            resident,
            command: PrincipalCommand::Send(send),
        } = call
        else {
            return Err(fault("command_not_read", "not a message"));
        };
        let sender = Sender {
            principal,
            resident,
        };
        loop {
            match this.executor.decision(&send) {
                Ok(None) => break,
                Ok(Some(outcome)) => {
                    if let Ok(Some(error)) = outcome.await {
                        return answer(Err(error.into()));
                    }
                }
                Err(error) => return answer(Err(error.into())),
            }
        }
        let request = match this.in_transaction(|database, environment| {
            principal::begin_execution(database, environment, sender.scope(), &send)
        }) {
            Ok(Begun::Answered(reply)) => return answer_to(&send, reply),
            Ok(Begun::Ask(request)) => request,
            Err(error) => return answer(Err(error)),
        };
        let mut deciding = this.executor.begin(&send);
        let outcome = Self::decide(&this, &service, sender, &send, &request).await;
        if let Err(CoreError::Refused(error)) = &outcome {
            deciding.error = Some(error.clone());
        }
        drop(deciding);
        match outcome {
            Ok(reply) => answer_to(&send, reply),
            Err(error) => answer(Err(error)),
        }
    }

    async fn decide(
        this: &Rc<Self>,
        service: &Service,
        sender: Sender,
        send: &Send,
        request: &str,
    ) -> Result<SendReply, CoreError> {
        let max_line_bytes = u32::try_from(MAX_LINE_BYTES).unwrap_or(u32::MAX);
        let lines = Lines::ask(service, PATH, request, max_line_bytes, EXECUTOR_TIMEOUT_MS)
            .await
            .map_err(|error| unanswered(&error))?;
        let first = lines
            .next(EXECUTOR_TIMEOUT_MS)
            .await
            .map_err(|error| unanswered(&error))?;
        let line = read(&first.unwrap_or_default())?;
        let (executed, effects) = this.in_transaction(|database, environment| {
            principal::execute(database, environment, sender.scope(), send, &line)
        })?;
        this.carry_out_effects(this, effects)?;
        match executed {
            Executed::Over(reply) => Ok(reply),
            Executed::Begun {
                reply,
                task_id,
                execution_id,
            } => {
                let inner = Rc::clone(this);
                let rest = start(async move {
                    Self::read_on(&inner, &lines, &sender, &task_id, &execution_id).await;
                    Ok(JsValue::UNDEFINED)
                });
                // The pending request to the executor keeps the object in memory; its end is logged where it arises.
                drop(rest);
                Ok(reply)
            }
        }
    }

    /// Carries out what follows a task's first line.
    async fn read_on(
        this: &Rc<Self>,
        lines: &Lines,
        sender: &Sender,
        task_id: &str,
        execution_id: &str,
    ) {
        let failed = loop {
            let line = match lines.next(EXECUTOR_TIMEOUT_MS).await {
                Ok(Some(line)) => read(&line),
                Ok(None) => break false,
                Err(error) => Err(unanswered(&error)),
            };
            let more = line.and_then(|line| {
                let (more, effects) = this.in_transaction(|database, environment| {
                    principal::continue_execution(
                        database,
                        environment,
                        sender.scope(),
                        task_id,
                        execution_id,
                        &line,
                    )
                })?;
                this.carry_out_effects(this, effects)?;
                Ok(more)
            });
            match more {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    log::error("executor_failed", &[("reason", &error.to_string())]);
                    break true;
                }
            }
        };
        let ended = this
            .in_transaction(|database, environment| {
                principal::end_execution(
                    database,
                    environment,
                    sender.scope(),
                    task_id,
                    execution_id,
                    failed,
                )
            })
            .and_then(|effects| this.carry_out_effects(this, effects));
        if let Err(error) = ended {
            log::error("storage_failed", &[("reason", &error.to_string())]);
        }
    }

    fn in_transaction<T>(
        &self,
        work: impl FnOnce(&Database, Environment<'_>) -> Result<T, CoreError>,
    ) -> Result<T, CoreError> {
        self.database
            .transaction(|database| with_environment(|environment| work(database, environment)))
    }

    fn carry_out_effects(&self, this: &Rc<Self>, effects: Effects) -> Result<(), CoreError> {
        Self::carry_out(this, effects)
            .map_err(|_| CoreError::Store(StoreError::Corrupt { what: "effects" }))
    }
}

impl Sender {
    fn scope(&self) -> (&str, &str) {
        (&self.principal, &self.resident)
    }
}

/// As [`principal::answer`] has it.
fn answer_to(send: &Send, reply: SendReply) -> Result<JsValue, JsValue> {
    match send.max_watchers {
        None => Ok(JsValue::from_str(&reply.into_body())),
        Some(_) => accepted(&reply),
    }
}

/// A line, or why the executor can't be understood: for the log, in full.
fn read(line: &[u8]) -> Result<Line, CoreError> {
    Line::parse(line).map_err(|error| {
        log::error("executor_invalid", &[("reason", &error.message)]);
        A2aError::new(Reason::InvalidAgentResponse, "the agent failed").into()
    })
}

fn unanswered(error: &ServiceError) -> CoreError {
    log::error("executor_unanswered", &[("reason", &error.to_string())]);
    match error {
        ServiceError::Deadline => A2aError::new(
            Reason::DeadlineExceeded,
            "the agent did not answer in time: retrying with the same ids is safe",
        ),
        ServiceError::Failed(_) => A2aError::new(
            Reason::Unavailable,
            "the agent could not be reached: retrying with the same ids is safe",
        ),
    }
    .into()
}
