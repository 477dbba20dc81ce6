//! Accepting an activation: the one transaction on which the product's promise stands.

use a2a::TaskState;
use protocol::error::{A2aError, Reason};
use protocol::extensions::Activated;
use protocol::state;

use super::evidence::Kind;
use super::retention::RETENTION_MS;
use super::task::{Task, count_new_task};
use super::turn::WakeState;
use super::{Principal, elicitation, task};
use crate::commands::JsonText;
use crate::commands::principal::{Send, SendReply};
use crate::commands::wake_queue::Notice;
use crate::effects::OwedNotice;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// The source of activations that come by the A2A binding.
pub(super) const A2A: &str = "a2a";

/// What a claim says of an activation that was accepted before.
pub(super) struct PriorClaim {
    pub digest: String,
    pub task_id: Option<String>,
    outcome_message: Option<String>,
    pub activation_id: i64,
}

/// A claim to write.
pub(super) struct NewClaim<'a> {
    pub source: &'a str,
    pub dedupe_key: &'a str,
    pub digest: &'a str,
    pub task_id: Option<&'a str>,
    pub outcome_message: Option<&'a str>,
    pub extensions: Activated,
    pub accepted_output_modes: &'a [String],
    pub wake_state: WakeState,
}

impl<S: Store> Principal<'_, S> {
    /// Accepts a message once. A duplicate gets the prior outcome, as it is now (DESIGN *Idempotency*).
    ///
    /// # Errors
    /// `DUPLICATE_MESSAGE_ID`, `TASK_NOT_FOUND`, `UNSUPPORTED_OPERATION`, or a `contextId` that is not the task's.
    pub(super) fn send(&mut self, command: &Send) -> Result<SendReply, CoreError> {
        if let Some(prior) = self.prior(command)? {
            return Ok(prior);
        }
        let task = self.accept(command, WakeState::Queued)?;
        self.owe_wake(&task)?;
        let reply = match command.task_id {
            Some(_) => task.reply(self.store, &command.view)?,
            None => {
                let message = addressed(command.message.get(), &task);
                task.reply_when_new(self.store, &command.view, &message)?
            }
        };
        Ok(SendReply::Task(reply))
    }

    /// The activation's claim, task, history, context and evidence; whether it wakes the resident is the caller's to say.
    pub(super) fn accept(
        &mut self,
        command: &Send,
        wake_state: WakeState,
    ) -> Result<Task, CoreError> {
        let task = match &command.task_id {
            Some(task_id) => self.continue_task(command, task_id, wake_state)?,
            None => self.create_task(command, wake_state)?,
        };
        self.record(
            Kind::Accepted,
            Some(&task.task_id),
            task.activation_id,
            None,
        )?;
        Ok(task)
    }

    /// The prior outcome of a duplicate, if the message is one.
    pub(super) fn prior(&self, command: &Send) -> Result<Option<SendReply>, CoreError> {
        self.prior_claim(A2A, &command.message_id)?
            .map(|prior| self.prior_outcome(command, prior))
            .transpose()
    }

    /// Claims an activation that was answered with a direct Message: no task ever exists for it.
    pub(super) fn accept_message(
        &mut self,
        command: &Send,
        message: &str,
    ) -> Result<(), CoreError> {
        let activation_id = self.claim(command, None, Some(message), WakeState::Done)?;
        self.record(Kind::Accepted, None, activation_id, Some("message"))?;
        // A principal that is only ever answered directly has no task that would see to it.
        self.expect_retention(self.environment.now_ms.saturating_add(RETENTION_MS))?;
        Ok(())
    }

    pub(super) fn prior_claim(
        &self,
        source: &str,
        dedupe_key: &str,
    ) -> Result<Option<PriorClaim>, StoreError> {
        self.store
            .first(
                "SELECT digest, task_id, outcome_message, activation_id FROM claims WHERE source = ?1 AND dedupe_key = ?2",
                &[source.into(), dedupe_key.into()],
            )?
            .map(|mut row| {
                Ok(PriorClaim {
                    digest: row.text()?,
                    task_id: row.optional_text()?,
                    outcome_message: row.optional_text()?,
                    activation_id: row.integer()?,
                })
            })
            .transpose()
    }

    fn prior_outcome(&self, command: &Send, prior: PriorClaim) -> Result<SendReply, CoreError> {
        if prior.digest != command.digest {
            return Err(A2aError::duplicate_message_id(&command.message_id).into());
        }
        if let Some(message) = prior.outcome_message {
            return Ok(SendReply::Message(JsonText::from_text(message)));
        }
        let task_id = prior.task_id.ok_or(StoreError::Corrupt { what: "claim" })?;
        let task =
            Task::find(self.store, &task_id)?.ok_or(StoreError::Corrupt { what: "claim" })?;
        Ok(SendReply::Task(task.reply(self.store, &command.view)?))
    }

    /// A caller's `contextId` attaches only to a context that the principal owns; anything else gets a fresh one, so
    /// that a foreign id and an unknown id look alike (seed *Server-scoped identity*).
    pub(super) fn owned_or_fresh_context(
        &mut self,
        context_id: Option<&str>,
        tasks: i64,
    ) -> Result<String, StoreError> {
        let now_ms = self.environment.now_ms;
        if let Some(context_id) = context_id {
            let owned = self
                .store
                .first(
                    "SELECT 1 FROM contexts WHERE context_id = ?1",
                    &[context_id.into()],
                )?
                .is_some();
            if owned {
                self.store.execute(
                    "UPDATE contexts SET last_event_ms = max(last_event_ms, ?2), tasks = tasks + ?3 \
                     WHERE context_id = ?1",
                    &[context_id.into(), now_ms.into(), tasks.into()],
                )?;
                return Ok(context_id.to_owned());
            }
        }
        let fresh = self.environment.ids.id();
        self.store.execute(
            "INSERT INTO contexts (context_id, source, conversation_key, last_event_ms, tasks) \
             VALUES (?1, ?2, NULL, ?3, ?4)",
            &[(&fresh).into(), A2A.into(), now_ms.into(), tasks.into()],
        )?;
        Ok(fresh)
    }

    /// Whether the context is one of this principal's.
    pub(super) fn owns_context(&self, context_id: &str) -> Result<bool, StoreError> {
        Ok(self
            .store
            .first(
                "SELECT 1 FROM contexts WHERE context_id = ?1",
                &[context_id.into()],
            )?
            .is_some())
    }

    fn create_task(&mut self, command: &Send, wake_state: WakeState) -> Result<Task, CoreError> {
        let context_id = self.owned_or_fresh_context(command.context_id.as_deref(), 1)?;
        let task_id = self.environment.ids.id();
        let activation_id = self.claim(command, Some(&task_id), None, wake_state)?;
        let mut task = self.open_task(
            A2A,
            task_id,
            context_id,
            activation_id,
            command.max_open_tasks,
        )?;
        let message = addressed(command.message.get(), &task);
        task.append_message(self.store, &message)?;
        Ok(task)
    }

    /// A new task, SUBMITTED, in a context that already counts it. Its first message is the caller's to append.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` where the principal has as many unfinished tasks as it may.
    pub(super) fn open_task(
        &mut self,
        source: &str,
        task_id: String,
        context_id: String,
        activation_id: i64,
        max_open_tasks: u32,
    ) -> Result<Task, CoreError> {
        let now_ms = self.environment.now_ms;
        self.store.execute(
            "INSERT INTO tasks (task_id, context_id, source, state, status_ms, created_ms, activation_id, \
             next_ordinal, awaits_answer) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, 1, 0)",
            &[
                (&task_id).into(),
                (&context_id).into(),
                source.into(),
                state::code(&TaskState::Submitted).into(),
                now_ms.into(),
                activation_id.into(),
            ],
        )?;
        let expires_ms = now_ms.saturating_add(RETENTION_MS);
        let counted = count_new_task(self.store, self.scope.resident, expires_ms)?;
        if counted.open > i64::from(max_open_tasks) {
            return Err(too_many_open_tasks(max_open_tasks).into());
        }
        if counted.moved {
            // The principal's credential names another resident than before: its open tasks go there, this one last.
            self.owe_move()?;
        }
        Ok(Task {
            task_id,
            context_id,
            state: TaskState::Submitted,
            status_ms: now_ms,
            status_message: None,
            activation_id,
            next_ordinal: 0,
            awaits_answer: false,
            turn_id: None,
            turn_resident: None,
        })
    }

    /// The task that a message may continue: one of this principal's that waits for it (DESIGN *contextId*).
    pub(super) fn continuable(&self, command: &Send, task_id: &str) -> Result<Task, CoreError> {
        self.awaiting(
            task_id,
            ("message.contextId", command.context_id.as_deref()),
            command.message.get(),
        )
    }

    /// The task of this id, if it waits for the message. `context` is the field that names the task's context, and what
    /// it names.
    pub(super) fn awaiting(
        &self,
        task_id: &str,
        (field, context_id): (&str, Option<&str>),
        message: &str,
    ) -> Result<Task, CoreError> {
        let task =
            Task::find(self.store, task_id)?.ok_or_else(|| A2aError::task_not_found(task_id))?;
        if context_id.is_some_and(|context_id| *context_id != task.context_id) {
            return Err(A2aError::field(
                field,
                "must be the context of the task that taskId names",
            )
            .into());
        }
        if !(state::is_interrupted(&task.state) && task.awaits_answer) {
            return Err(A2aError::unsupported_operation(if state::is_terminal(&task.state) {
                "the task is settled for good and takes no further messages"
            } else {
                "the task is being worked on: it takes a message only while it waits for its caller"
            })
            .with("taskId", task_id)
            .into());
        }
        elicitation::check(&task, message)?;
        Ok(task)
    }

    fn continue_task(
        &mut self,
        command: &Send,
        task_id: &str,
        wake_state: WakeState,
    ) -> Result<Task, CoreError> {
        let mut task = self.continuable(command, task_id)?;
        task.activation_id = self.claim(command, Some(task_id), None, wake_state)?;
        self.answer_task(&mut task, command.message.get())?;
        Ok(task)
    }

    /// The waiting task gets its answer and is SUBMITTED again, under the activation that it already names.
    pub(super) fn answer_task(&mut self, task: &mut Task, message: &str) -> Result<(), CoreError> {
        let message = addressed(message, task);
        task.append_message(self.store, &message)?;
        self.store.execute(
            "UPDATE contexts SET last_event_ms = max(last_event_ms, ?2) WHERE context_id = ?1",
            &[(&task.context_id).into(), self.environment.now_ms.into()],
        )?;
        self.transition(task, TaskState::Submitted, None)?;
        self.move_here()?;
        Ok(())
    }

    fn claim(
        &mut self,
        command: &Send,
        task_id: Option<&str>,
        outcome_message: Option<&str>,
        wake_state: WakeState,
    ) -> Result<i64, StoreError> {
        self.write_claim(&NewClaim {
            source: A2A,
            dedupe_key: &command.message_id,
            digest: &command.digest,
            task_id,
            outcome_message,
            extensions: command.extensions,
            accepted_output_modes: &command.accepted_output_modes,
            wake_state,
        })
    }

    /// Writes the claim, which is the authority on duplicates, and returns the activation's id.
    pub(super) fn write_claim(&mut self, claim: &NewClaim<'_>) -> Result<i64, StoreError> {
        let modes = (!claim.accepted_output_modes.is_empty())
            .then(|| serde_json::to_string(claim.accepted_output_modes))
            .transpose()
            .map_err(|_| StoreError::Corrupt {
                what: "output modes",
            })?;
        let mut row = self
            .store
            .first(
                "INSERT INTO claims (source, dedupe_key, digest, task_id, accepted_ms, extensions, \
                 accepted_output_modes, wake_state, deliveries, failures, outcome_message) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 0, ?9) RETURNING activation_id",
                &[
                    claim.source.into(),
                    claim.dedupe_key.into(),
                    claim.digest.into(),
                    claim.task_id.into(),
                    self.environment.now_ms.into(),
                    i64::from(u8::from(claim.extensions)).into(),
                    modes.as_ref().into(),
                    claim.wake_state.code().into(),
                    claim.outcome_message.into(),
                ],
            )?
            .ok_or(StoreError::Corrupt { what: "claim" })?;
        row.integer()
    }

    /// The wake of an accepted activation.
    pub(super) fn owe_wake(&mut self, task: &Task) -> Result<(), StoreError> {
        // Where the principal moves with it, its queue asks for all that is open, this one among them.
        let has_moved = |owed: &OwedNotice| matches!(owed.notice, Notice::Moved { .. });
        if self.effects.notices.iter().any(has_moved) {
            return Ok(());
        }
        self.owe_wake_to(self.scope.resident, task)
    }

    /// The queue that the deployment names serves the principal from now on. If another did, all that is open goes there.
    fn move_here(&mut self) -> Result<(), StoreError> {
        let moved = self
            .store
            .first(
                "UPDATE task_counts SET moved = resident IS NOT NULL, resident = ?1 WHERE resident IS NOT ?1 \
                 RETURNING moved",
                &[self.scope.resident.into()],
            )?
            .map(|mut row| row.integer())
            .transpose()?;
        if moved == Some(1) {
            self.owe_move()?;
        }
        Ok(())
    }

    fn owe_move(&mut self) -> Result<(), StoreError> {
        let principal = self.scope.principal.to_owned();
        self.owe(self.scope.resident, Notice::Moved { principal })
    }

    pub(super) fn owe_wake_to(&mut self, resident: &str, task: &Task) -> Result<(), StoreError> {
        self.owe(
            resident,
            Notice::Wake {
                principal: self.scope.principal.to_owned(),
                activation_id: task.activation_id,
                task_id: task.task_id.clone(),
            },
        )
    }
}

/// The cap on tasks that are not terminal, by the name of the var that sets it.
fn too_many_open_tasks(max_open_tasks: u32) -> A2aError {
    A2aError::new(
        Reason::ResourceExhausted,
        "you have as many unfinished tasks as this agent takes at once: wait for some, or cancel them",
    )
    .with("cap", "A2A_MAX_OPEN_TASKS")
    .with("max", max_open_tasks.to_string())
}

/// The message as it is kept: with the context and task that it became part of.
pub(super) fn addressed(message: &str, task: &Task) -> String {
    let mut json = String::with_capacity(message.len().saturating_add(128));
    json.push_str("{\"contextId\":");
    task::push_string(&mut json, &task.context_id);
    json.push_str(",\"taskId\":");
    task::push_string(&mut json, &task.task_id);
    match message.strip_prefix('{') {
        Some("}") | None => json.push('}'),
        Some(rest) => {
            json.push(',');
            json.push_str(rest);
        }
    }
    json
}
