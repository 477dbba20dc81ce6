//! Accepting a native event once: as a new task, or as the answer that a waiting task asked for.

use protocol::credentials::sha256;
use protocol::digest::hex;
use protocol::error::{A2aError, Reason};
use protocol::extensions::Activated;
use protocol::trusted::activation::Activation;
use serde::Serialize;

use super::answer;
use crate::commands::JsonText;
use crate::error::CoreError;
use crate::principal::Principal;
use crate::principal::accept::{NewClaim, addressed};
use crate::principal::evidence::Kind;
use crate::principal::task::{Task, push_string};
use crate::principal::turn::WakeState;
use crate::storage::{Store, StoreError};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Acceptance<'a> {
    activation_id: String,
    task_id: &'a str,
    context_id: &'a str,
    disposition: &'static str,
}

/// Where an event goes.
enum Target {
    /// A task that waits for it.
    Continue(Task),
    /// A new task, in this context; why it is not a continuation, where the event claimed to be one.
    Create(String, Option<&'static str>),
}

impl<S: Store> Principal<'_, S> {
    /// Accepts an event. Everything that the answer promises is part of the commit.
    ///
    /// # Errors
    /// `DUPLICATE_MESSAGE_ID` for another event under the same dedupe key; what [`Self::awaiting`] refuses an explicit
    /// task for; `CONTEXT_NOT_FOUND`; `RESOURCE_EXHAUSTED`.
    pub(super) fn accept_activation(
        &mut self,
        activation: &Activation,
        max_open_tasks: u32,
    ) -> Result<JsonText, CoreError> {
        let digest = digest(activation)?;
        if let Some(prior) = self.prior_claim(&activation.source, &activation.dedupe_key)? {
            if prior.digest != digest {
                let digest = self.content_digest_of(prior.activation_id)?;
                return Err(conflict(&activation.dedupe_key, digest).into());
            }
            // The task is not read: also of one that can't be, a redelivery is acknowledged.
            let task_id = prior.task_id.ok_or(StoreError::Corrupt { what: "claim" })?;
            let context_id = self.context_of(&task_id)?.unwrap_or_default();
            return accepted(prior.activation_id, &task_id, &context_id, "duplicate");
        }
        let message = message(activation);
        let (task, disposition, note) = match self.target(activation, &message)? {
            Target::Continue(mut task) => {
                task.activation_id = self.claim_native(activation, &digest, &task.task_id)?;
                self.answer_task(&mut task, &message)?;
                (task, "continued", None)
            }
            Target::Create(context_id, note) => {
                let task_id = self.environment.ids.id();
                let activation_id = self.claim_native(activation, &digest, &task_id)?;
                let mut task = self.open_task(
                    &activation.source,
                    task_id,
                    context_id,
                    activation_id,
                    max_open_tasks,
                )?;
                let message = addressed(&message, &task);
                task.append_message(self.store, &message)?;
                (task, "created", note)
            }
        };
        self.store_origin(activation, &task)?;
        let detail = note.unwrap_or(&activation.source);
        self.record(
            Kind::Accepted,
            Some(&task.task_id),
            task.activation_id,
            Some(detail),
        )?;
        self.owe_wake(&task)?;
        accepted(
            task.activation_id,
            &task.task_id,
            &task.context_id,
            disposition,
        )
    }

    /// The digest of what an activation of a native source said.
    fn content_digest_of(&self, activation_id: i64) -> Result<String, StoreError> {
        self.store
            .first(
                "SELECT content_digest FROM origins WHERE activation_id = ?1",
                &[activation_id.into()],
            )?
            .map_or(Ok(String::new()), |mut row| row.text())
    }

    fn target(&mut self, activation: &Activation, message: &str) -> Result<Target, CoreError> {
        if let Some(task_id) = &activation.task_id {
            let context = ("contextId", activation.context_id.as_deref());
            return Ok(Target::Continue(self.awaiting(task_id, context, message)?));
        }
        let mut note = None;
        if let Some(response_id) = &activation.reply_to {
            if let Some(task) = self.anchored(&activation.source, response_id, message)? {
                return Ok(Target::Continue(task));
            }
            note = Some("the reply anchor is not verified: a new task");
        }
        let context_id = match (&activation.context_id, &activation.conversation_key) {
            (Some(context_id), _) => self.join_context(context_id)?,
            (None, Some(key)) => self.conversation(&activation.source, key)?,
            (None, None) => self.owned_or_fresh_context(None, 1)?,
        };
        Ok(Target::Create(context_id, note))
    }

    /// The context of a conversation, by one atomic upsert (seed *Task and conversation semantics*). It counts one more
    /// task.
    fn conversation(&mut self, source: &str, key: &str) -> Result<String, StoreError> {
        let fresh = self.environment.ids.id();
        self.store
            .first(
                "INSERT INTO contexts (context_id, source, conversation_key, last_event_ms, tasks) \
                 VALUES (?1, ?2, ?3, ?4, 1) \
                 ON CONFLICT (source, conversation_key) WHERE conversation_key IS NOT NULL DO UPDATE \
                 SET last_event_ms = max(last_event_ms, excluded.last_event_ms), tasks = tasks + 1 \
                 RETURNING context_id",
                &[
                    (&fresh).into(),
                    source.into(),
                    key.into(),
                    self.environment.now_ms.into(),
                ],
            )?
            .ok_or(StoreError::Corrupt { what: "context" })?
            .text()
    }

    /// The context of a task, read alone.
    fn context_of(&self, task_id: &str) -> Result<Option<String>, StoreError> {
        self.store
            .first(
                "SELECT context_id FROM tasks WHERE task_id = ?1",
                &[task_id.into()],
            )?
            .map(|mut row| row.text())
            .transpose()
    }

    /// A context that the caller named must be the principal's.
    fn join_context(&mut self, context_id: &str) -> Result<String, CoreError> {
        if !self.owns_context(context_id)? {
            return Err(A2aError::new(
                Reason::ContextNotFound,
                "you have no such context: leave contextId out for a new one",
            )
            .with("contextId", context_id)
            .violating("contextId", "must be a context of yours")
            .into());
        }
        Ok(self.owned_or_fresh_context(Some(context_id), 1)?)
    }

    fn claim_native(
        &mut self,
        activation: &Activation,
        digest: &str,
        task_id: &str,
    ) -> Result<i64, StoreError> {
        self.write_claim(&NewClaim {
            source: &activation.source,
            dedupe_key: &activation.dedupe_key,
            digest,
            task_id: Some(task_id),
            outcome_message: None,
            extensions: Activated::default(),
            accepted_output_modes: &[],
            wake_state: WakeState::Queued,
        })
    }
}

fn accepted(
    activation_id: i64,
    task_id: &str,
    context_id: &str,
    disposition: &'static str,
) -> Result<JsonText, CoreError> {
    answer(&Acceptance {
        activation_id: activation_id.to_string(),
        task_id,
        context_id,
        disposition,
    })
}

/// The event as a message of the task's history.
fn message(activation: &Activation) -> String {
    let mut json = String::with_capacity(activation.parts.len().saturating_add(192));
    json.push_str("{\"messageId\":");
    push_string(&mut json, &activation.provider_event_id);
    json.push_str(",\"parts\":");
    json.push_str(&activation.parts);
    json.push_str(",\"role\":\"ROLE_USER\"}");
    json
}

/// What makes a redelivery the same event: all of it but the time at which it was received.
fn digest(activation: &Activation) -> Result<String, StoreError> {
    let content = (
        &activation.provider_event_id,
        &activation.conversation_key,
        &activation.native_locator,
        &activation.content_digest,
        &activation.display_url,
        &activation.evidence_locator,
        &activation.reply_to,
        &activation.task_id,
        &activation.context_id,
    );
    let json =
        serde_json::to_string(&content).map_err(|_| StoreError::Corrupt { what: "activation" })?;
    Ok(hex(&sha256(&json)))
}

/// By the digest of what was accepted, a source tells other content from the same content described otherwise.
fn conflict(dedupe_key: &str, content_digest: String) -> A2aError {
    A2aError::new(
        Reason::DuplicateMessageId,
        "this dedupeKey was accepted before with another event",
    )
    .with("dedupeKey", dedupe_key)
    .with("contentDigest", content_digest)
    .violating("dedupeKey", "must be new for a new event")
}
