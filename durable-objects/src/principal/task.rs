//! A task's row, the one way its status changes, and how it is written as an A2A Task.

use a2a::TaskState;
use protocol::extensions::OUTFITTER_TASK_KEY;
use protocol::{outfitter_task, state, time};
use serde_json::json;

use super::artifacts::push_row;
use crate::commands::JsonText;
use crate::commands::principal::{Locator, TaskReply, View};
use crate::effects::{Effects, Frame, FrameKind};
use crate::error::CoreError;
use crate::storage::{Row, Store, StoreError};

/// The columns that [`Task::from_row`] reads, as text for `concat!`.
macro_rules! columns {
    () => {
        "task_id, context_id, state, status_ms, status_message, activation_id, next_ordinal, \
         awaits_answer, turn_id, turn_resident"
    };
}

/// The columns of a task's row, in the order in which they are read.
pub(super) const COLUMNS: &str = columns!();

/// The messages kept of one task's history.
pub(super) const MAX_HISTORY: i64 = 200;

/// What is kept of one task's history, in bytes of its JSON. With [`MAX_ARTIFACTS_BYTES`](super::artifacts) it keeps a
/// task below the 32 MiB that one answer between two objects may have.
const MAX_HISTORY_BYTES: i64 = 16 * 1024 * 1024;

/// A message that can push a history of [`MAX_HISTORY`] over [`MAX_HISTORY_BYTES`], in bytes.
const LARGE_MESSAGE_BYTES: usize = 64 * 1024;

/// A task as stored, without its history and artifacts.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub task_id: String,
    pub context_id: String,
    pub state: TaskState,
    pub status_ms: i64,
    /// The status message, as JSON.
    pub status_message: Option<String>,
    /// The newest accepted activation.
    pub activation_id: i64,
    pub next_ordinal: i64,
    /// A question to the caller stands unanswered.
    pub awaits_answer: bool,
    /// The fencing token of the turn that may act on this task.
    pub turn_id: Option<String>,
    /// The queue that granted the turn.
    pub turn_resident: Option<String>,
}

impl Task {
    /// From a row of all columns, in the order of [`COLUMNS`].
    pub fn from_row(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            task_id: row.text()?,
            context_id: row.text()?,
            state: state::from_code(row.integer()?)
                .ok_or(StoreError::Corrupt { what: "task state" })?,
            status_ms: row.integer()?,
            status_message: row.optional_text()?,
            activation_id: row.integer()?,
            next_ordinal: row.integer()?,
            awaits_answer: row.integer()? != 0,
            turn_id: row.optional_text()?,
            turn_resident: row.optional_text()?,
        })
    }

    /// The task of this id, if the principal has one.
    pub fn find<S: Store>(store: &S, task_id: &str) -> Result<Option<Self>, StoreError> {
        store
            .first(
                concat!("SELECT ", columns!(), " FROM tasks WHERE task_id = ?1"),
                &[task_id.into()],
            )?
            .map(Self::from_row)
            .transpose()
    }

    /// Moves the task to another state and tells its watchers. The timestamp never goes back, whatever the clock does.
    ///
    /// The caller has checked that the transition is allowed; a terminal task is never given here. Returns the task's
    /// source where the task is settled now.
    pub fn transition<S: Store>(
        &mut self,
        store: &S,
        effects: &mut Effects,
        now_ms: i64,
        next: TaskState,
        status_message: Option<String>,
    ) -> Result<Option<String>, StoreError> {
        count_transition(store, &self.state, &next)?;
        self.state = next;
        self.status_ms = self.status_ms.max(now_ms);
        self.status_message = status_message;
        self.awaits_answer = state::is_interrupted(&self.state);
        let mut row = store
            .first(
            "UPDATE tasks SET state = ?2, status_ms = ?3, status_message = ?4, awaits_answer = ?5, activation_id = ?6, \
             next_ordinal = ?7, turn_id = ?8, turn_resident = ?9 WHERE task_id = ?1 RETURNING source",
            &[
                (&self.task_id).into(),
                state::code(&self.state).into(),
                self.status_ms.into(),
                self.status_message.as_ref().into(),
                i64::from(self.awaits_answer).into(),
                self.activation_id.into(),
                self.next_ordinal.into(),
                self.turn_id.as_ref().into(),
                self.turn_resident.as_ref().into(),
            ],
        )?
        .ok_or(StoreError::Corrupt { what: "task" })?;
        let mut json = String::with_capacity(256);
        json.push_str("{\"statusUpdate\":{\"taskId\":");
        push_string(&mut json, &self.task_id);
        json.push_str(",\"contextId\":");
        push_string(&mut json, &self.context_id);
        json.push_str(",\"status\":");
        self.push_status(&mut json);
        json.push_str("}}");
        effects.frames.push(Frame {
            task_id: self.task_id.clone(),
            kind: self.frame_kind(),
            json,
        });
        state::is_settled(&self.state)
            .then(|| row.text())
            .transpose()
    }

    /// Appends a message to the history. The caller stores `next_ordinal` with the status change that follows.
    pub fn append_message<S: Store>(&mut self, store: &S, message: &str) -> Result<(), StoreError> {
        let ordinal = self.next_ordinal;
        store.execute(
            "INSERT INTO messages (task_id, ordinal, message) VALUES (?1, ?2, ?3)",
            &[(&self.task_id).into(), ordinal.into(), message.into()],
        )?;
        if ordinal >= MAX_HISTORY {
            store.execute(
                "DELETE FROM messages WHERE task_id = ?1 AND ordinal <= ?2",
                &[
                    (&self.task_id).into(),
                    ordinal.saturating_sub(MAX_HISTORY).into(),
                ],
            )?;
        }
        self.next_ordinal = ordinal.saturating_add(1);
        if message.len() > LARGE_MESSAGE_BYTES {
            self.trim_history(store)?;
        }
        Ok(())
    }

    /// Drops the oldest messages over [`MAX_HISTORY_BYTES`].
    fn trim_history<S: Store>(&self, store: &S) -> Result<(), StoreError> {
        let sizes = store.query(
            "SELECT ordinal, octet_length(message) FROM messages WHERE task_id = ?1 ORDER BY ordinal DESC",
            &[(&self.task_id).into()],
        )?;
        let mut kept_bytes = 0_i64;
        for mut row in sizes {
            let (ordinal, bytes) = (row.integer()?, row.integer()?);
            kept_bytes = kept_bytes.saturating_add(bytes);
            if kept_bytes > MAX_HISTORY_BYTES {
                return store.execute(
                    "DELETE FROM messages WHERE task_id = ?1 AND ordinal <= ?2",
                    &[(&self.task_id).into(), ordinal.into()],
                );
            }
        }
        Ok(())
    }

    /// What a frame about this task means to its watchers.
    pub fn frame_kind(&self) -> FrameKind {
        if state::is_terminal(&self.state) {
            FrameKind::Terminal
        } else if state::is_interrupted(&self.state) {
            FrameKind::Interrupted
        } else {
            FrameKind::Progress
        }
    }

    fn push_status(&self, json: &mut String) {
        json.push_str("{\"state\":\"");
        json.push_str(state::as_wire(&self.state));
        json.push('"');
        if let Some(message) = &self.status_message {
            json.push_str(",\"message\":");
            json.push_str(message);
        }
        json.push_str(",\"timestamp\":\"");
        json.push_str(&time::format(self.status_ms));
        json.push_str("\"}");
    }

    /// The A2A Task, as much of it as the view asks for. Absent fields are left out (DESIGN *Wire details*).
    pub fn render<S: Store>(&self, store: &S, view: &View) -> Result<String, StoreError> {
        let artifacts = if view.without_artifacts {
            Vec::new()
        } else {
            artifacts(store, &self.task_id)?
        };
        let history = if view.history_length == Some(0) {
            Vec::new()
        } else {
            history(store, &self.task_id, view.history_length)?
        };
        self.render_with(store, view, &artifacts.join(","), &history.join(","))
    }

    /// The same, from artifacts and messages that were already read: the members of JSON arrays.
    pub fn render_with<S: Store>(
        &self,
        store: &S,
        view: &View,
        artifacts: &str,
        history: &str,
    ) -> Result<String, StoreError> {
        let content = artifacts.len().saturating_add(history.len());
        let mut json = String::with_capacity(512_usize.saturating_add(content));
        json.push_str("{\"id\":");
        push_string(&mut json, &self.task_id);
        json.push_str(",\"contextId\":");
        push_string(&mut json, &self.context_id);
        json.push_str(",\"status\":");
        self.push_status(&mut json);
        push_array(&mut json, ",\"artifacts\":", artifacts);
        push_array(&mut json, ",\"history\":", history);
        if let Some(locator) = &view.locator {
            self.push_locator(store, &mut json, locator)?;
        }
        json.push('}');
        Ok(json)
    }

    /// The `outfitter-task/v1` metadata of a task: where it lives, and the message that made it (seed *Server-scoped
    /// identity*).
    fn push_locator<S: Store>(
        &self,
        store: &S,
        json: &mut String,
        locator: &Locator,
    ) -> Result<(), StoreError> {
        let mut origin = store
            .first(
                "SELECT dedupe_key FROM claims WHERE task_id = ?1 ORDER BY activation_id LIMIT 1",
                &[(&self.task_id).into()],
            )?
            .ok_or(StoreError::Corrupt { what: "claim" })?;
        let payload = outfitter_task::task_payload(
            &locator.agent_interface,
            &self.task_id,
            &origin.text()?,
            &locator.scope,
        );
        let metadata = json!({ OUTFITTER_TASK_KEY: payload });
        json.push_str(",\"metadata\":");
        json.push_str(&metadata.to_string());
        Ok(())
    }

    /// The reply that shows this task to its caller.
    pub fn reply<S: Store>(&self, store: &S, view: &View) -> Result<TaskReply, CoreError> {
        Ok(self.reply_of(self.render(store, view)?))
    }

    /// The same for a task that was just made of this message: all there is to it is at hand, and nothing is read.
    pub fn reply_when_new<S: Store>(
        &self,
        store: &S,
        view: &View,
        message: &str,
    ) -> Result<TaskReply, CoreError> {
        let history = match view.history_length {
            Some(0) => "",
            _ => message,
        };
        Ok(self.reply_of(self.render_with(store, view, "", history)?))
    }

    /// The reply that shows the task as it was rendered.
    pub fn reply_of(&self, rendered: String) -> TaskReply {
        TaskReply {
            task_id: self.task_id.clone(),
            settled: state::is_settled(&self.state),
            task: JsonText::from_text(rendered),
        }
    }
}

/// What is known once a new task is counted.
pub(super) struct Counted {
    /// The principal's tasks that are not terminal.
    pub open: i64,
    /// Another resident served the principal until now.
    pub moved: bool,
}

/// Counts a task that was just created, SUBMITTED, for the resident that serves the principal.
///
/// `expires_ms` is when it may be past its time at the earliest, for a principal that had nothing to look through.
pub(super) fn count_new_task<S: Store>(
    store: &S,
    resident: &str,
    expires_ms: i64,
) -> Result<Counted, StoreError> {
    let mut row = store
        .first(
            "UPDATE task_counts SET state_1 = state_1 + 1, \
             moved = resident IS NOT NULL AND resident IS NOT ?1, resident = ?1, \
             retention_ms = coalesce(retention_ms, ?2) \
             RETURNING state_1 + state_2 + state_6 + state_8, moved",
            &[resident.into(), expires_ms.into()],
        )?
        .ok_or(StoreError::Corrupt {
            what: "task counts",
        })?;
    Ok(Counted {
        open: row.integer()?,
        moved: row.integer()? != 0,
    })
}

fn count_transition<S: Store>(
    store: &S,
    from: &TaskState,
    to: &TaskState,
) -> Result<(), StoreError> {
    if from == to {
        return Ok(());
    }
    let (from, to) = (state::code(from), state::code(to));
    store.execute(
        &format!(
            "UPDATE task_counts SET state_{from} = state_{from} - 1, state_{to} = state_{to} + 1"
        ),
        &[],
    )
}

/// The stored artifacts of a task, oldest first, as JSON.
pub(super) fn artifacts<S: Store>(store: &S, task_id: &str) -> Result<Vec<String>, StoreError> {
    let mut artifacts = Vec::new();
    for mut row in store.query(
        "SELECT artifact FROM artifacts WHERE task_id = ?1 ORDER BY ordinal",
        &[task_id.into()],
    )? {
        push_row(&mut artifacts, row.text()?)?;
    }
    Ok(artifacts)
}

/// The newest `length` messages kept of a task, or all of them, oldest first, as JSON.
pub(super) fn history<S: Store>(
    store: &S,
    task_id: &str,
    length: Option<u32>,
) -> Result<Vec<String>, StoreError> {
    let limit = length.map_or(MAX_HISTORY, i64::from).min(MAX_HISTORY);
    let mut messages = store
        .query(
            "SELECT message FROM messages WHERE task_id = ?1 ORDER BY ordinal DESC LIMIT ?2",
            &[task_id.into(), limit.into()],
        )?
        .into_iter()
        .map(|mut row| row.text())
        .collect::<Result<Vec<_>, _>>()?;
    messages.reverse();
    Ok(messages)
}

/// Appends a JSON string.
pub(super) fn push_string(json: &mut String, text: &str) {
    // Serializing a str into memory can't fail; if it ever did, null would be honest.
    json.push_str(&serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned()));
}

fn push_array(json: &mut String, key: &str, members: &str) {
    if members.is_empty() {
        return;
    }
    json.push_str(key);
    json.push('[');
    json.push_str(members);
    json.push(']');
}
