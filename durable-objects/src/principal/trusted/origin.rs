//! Where a native task came from, and which one an exact locator is about.

use std::collections::BTreeMap;

use protocol::credentials::sha256;
use protocol::digest::hex;
use protocol::error::{A2aError, Reason};
use protocol::trusted::activation::Activation;
use protocol::trusted::source::Locate;
use protocol::{state, time};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{answer, stored_json};
use crate::commands::JsonText;
use crate::commands::principal::View;
use crate::error::CoreError;
use crate::principal::task::Task;
use crate::principal::{Principal, accept};
use crate::storage::{Store, StoreError};

/// The event that made a task, as its source described it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::principal) struct Origin {
    source: String,
    provider_event_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_key: Option<String>,
    native_locator: Box<RawValue>,
    received_at: String,
    content_digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_locator: Option<String>,
}

impl Origin {
    /// Each field as `name: value`, for the resident to read.
    pub fn into_lines(self) -> Vec<String> {
        let mut lines = vec![
            format!("source: {}", self.source),
            format!("event: {}", self.provider_event_id),
            format!("received: {}", self.received_at),
            format!("locator: {}", self.native_locator),
        ];
        for (name, value) in [
            ("conversation", self.conversation_key),
            ("URL", self.display_url),
            ("evidence", self.evidence_locator),
        ] {
            lines.extend(value.map(|value| format!("{name}: {value}")));
        }
        lines
    }
}

#[derive(Serialize)]
struct NativeTask {
    task: Box<RawValue>,
    terminal: bool,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Located {
    task_id: String,
    context_id: String,
}

impl<S: Store> Principal<'_, S> {
    pub(super) fn store_origin(
        &self,
        activation: &Activation,
        task: &Task,
    ) -> Result<(), StoreError> {
        let locator = locator_json(&activation.native_locator)?;
        self.store.execute(
            "INSERT INTO origins (activation_id, task_id, source, provider_event_id, conversation_key, native_locator, \
             locator_digest, received_ms, content_digest, display_url, evidence_locator) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            &[
                task.activation_id.into(),
                (&task.task_id).into(),
                (&activation.source).into(),
                (&activation.provider_event_id).into(),
                activation.conversation_key.as_ref().into(),
                (&locator).into(),
                (&hex(&sha256(&locator))).into(),
                activation.received_ms.into(),
                (&activation.content_digest).into(),
                activation.display_url.as_ref().into(),
                activation.evidence_locator.as_ref().into(),
            ],
        )
    }

    /// The task that is being worked on for exactly this locator: that of the newest activation with it, and only while
    /// its turn is live.
    pub(super) fn locate(&self, locate: &Locate) -> Result<JsonText, CoreError> {
        let digest = hex(&sha256(&locator_json(&locate.native_locator)?));
        let task_id = self
            .store
            .first(
                "SELECT task_id FROM origins WHERE source = ?1 AND locator_digest = ?2 \
                 ORDER BY activation_id DESC LIMIT 1",
                &[(&locate.source).into(), (&digest).into()],
            )?
            .map(|mut row| row.text())
            .transpose()?;
        let task = match task_id {
            Some(task_id) => Task::find(self.store, &task_id)?,
            None => None,
        };
        let live = task
            .filter(|task| task.state == a2a::TaskState::Working && task.turn_resident.is_some());
        let Some(task) = live else {
            return Err(A2aError::new(
                Reason::LocatorNotActive,
                "no task is being worked on for this locator",
            )
            .violating("nativeLocator", "must be that of a task whose turn is live")
            .into());
        };
        answer(&Located {
            task_id: task.task_id,
            context_id: task.context_id,
        })
    }

    /// A task as its source sees it.
    pub(super) fn read_native_task(
        &self,
        task_id: &str,
        any_source: bool,
    ) -> Result<JsonText, CoreError> {
        let source = self
            .source_of(task_id)?
            .filter(|source| any_source || source != accept::A2A)
            .ok_or_else(|| A2aError::task_not_found(task_id))?;
        let task = Task::find(self.store, task_id)?.ok_or(StoreError::Corrupt { what: "task" })?;
        answer(&NativeTask {
            terminal: state::is_terminal(&task.state),
            origin: self.origin(task_id)?,
            source,
            task: stored_json(task.render(self.store, &View::default())?)?,
        })
    }

    /// The source of a task, if the principal has it.
    pub(in crate::principal) fn source_of(
        &self,
        task_id: &str,
    ) -> Result<Option<String>, StoreError> {
        self.store
            .first(
                "SELECT source FROM tasks WHERE task_id = ?1",
                &[task_id.into()],
            )?
            .map(|mut row| row.text())
            .transpose()
    }

    /// The newest event that a native task is about.
    pub(in crate::principal) fn origin(&self, task_id: &str) -> Result<Option<Origin>, StoreError> {
        self.store
            .first(
                "SELECT source, provider_event_id, conversation_key, native_locator, received_ms, content_digest, \
                 display_url, evidence_locator FROM origins WHERE task_id = ?1 ORDER BY activation_id DESC LIMIT 1",
                &[task_id.into()],
            )?
            .map(|mut row| {
                Ok(Origin {
                    source: row.text()?,
                    provider_event_id: row.text()?,
                    conversation_key: row.optional_text()?,
                    native_locator: stored_json(row.text()?)?,
                    received_at: time::format(row.integer()?),
                    content_digest: row.text()?,
                    display_url: row.optional_text()?,
                    evidence_locator: row.optional_text()?,
                })
            })
            .transpose()
    }
}

/// A locator in its one written form: the fields are sorted.
fn locator_json(locator: &BTreeMap<String, String>) -> Result<String, StoreError> {
    serde_json::to_string(locator).map_err(|_| StoreError::Corrupt { what: "locator" })
}
