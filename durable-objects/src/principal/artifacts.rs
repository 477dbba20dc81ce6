//! A task's artifacts: what its watchers see arrive, chunk by chunk, and its readers find whole.
//!
//! An artifact is a row of `artifacts`, its JSON with `parts` last. What is appended to one that has become long goes into
//! further rows behind it, so that a chunk costs the same however much came before it, and no row comes near what a
//! column may hold. Such a row has no artifact id, stands within [`STRIDE`] of the first, and holds `,` and its parts:
//! [`push_row`] puts it where it belongs.

use protocol::error::{A2aError, Reason};
use serde_json::{Map, Value as Json};

use super::Principal;
use super::task::{Task, push_string};
use crate::effects::{Frame, FrameKind};
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// The largest artifact that is given at once, and the largest chunk of one, in bytes of its JSON. One that comes in
/// chunks may grow as long as its task has room.
const MAX_ARTIFACT_BYTES: usize = 1024 * 1024;

/// The most artifacts of one task, and their size together, in bytes of their JSON.
const MAX_ARTIFACTS: i64 = 256;
const MAX_ARTIFACTS_BYTES: i64 = 8 * 1024 * 1024;

/// The bytes at which a further chunk begins a row of its own.
const ROW_BYTES: i64 = 256 * 1024;

/// The distance between the ordinals of two artifacts, and so the most rows of one. Two rows that follow each other have
/// more than [`ROW_BYTES`] together, so that 65 hold all that a task may have.
const STRIDE: i64 = 128;

/// What ends an artifact's JSON.
const END: &str = "]}";

/// How an artifact arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunk {
    /// All of it, in place of one of the same id.
    Whole,
    /// Its beginning, or what comes next.
    Part {
        /// It continues the artifact of the same id.
        append: bool,
        /// Nothing more will be appended.
        last: bool,
    },
}

impl<S: Store> Principal<'_, S> {
    /// Records an artifact, or the next chunk of one, and shows it to watchers as it came. What is stored is what a
    /// watcher gets by folding the chunks.
    pub(super) fn put_artifact(
        &mut self,
        task: &Task,
        artifact_id: &str,
        artifact: &str,
        chunk: Chunk,
    ) -> Result<(), CoreError> {
        if artifact.len() > MAX_ARTIFACT_BYTES {
            return Err(A2aError::too_large(artifact_id, MAX_ARTIFACT_BYTES).into());
        }
        let prior = self.find_artifact(&task.task_id, artifact_id)?;
        let (append, last) = match chunk {
            Chunk::Whole => (false, true),
            Chunk::Part { append, last } => (append, last),
        };
        let appended = match prior {
            Some(prior) if append && prior.sealed => {
                return Err(A2aError::unsupported_operation(
                    "the artifact is complete: nothing can be appended to it",
                )
                .with("artifactId", artifact_id)
                .into());
            }
            Some(prior) if append => {
                self.append(&task.task_id, artifact_id, &prior, artifact, last)?;
                true
            }
            // What begins an artifact can't continue one, whatever its sender believes.
            prior => {
                self.begin(&task.task_id, artifact_id, prior, artifact, last)?;
                false
            }
        };
        self.show(task, artifact, appended, last);
        Ok(())
    }

    fn find_artifact(
        &self,
        task_id: &str,
        artifact_id: &str,
    ) -> Result<Option<Stored>, StoreError> {
        self.store
            .first(
                "SELECT ordinal, octet_length(artifact), sealed FROM artifacts WHERE task_id = ?1 AND artifact_id = ?2",
                &[task_id.into(), artifact_id.into()],
            )?
            .map(|mut row| {
                Ok(Stored {
                    ordinal: row.integer()?,
                    bytes: row.integer()?,
                    sealed: row.integer()? != 0,
                })
            })
            .transpose()
    }

    /// An artifact from its beginning, in place of what there was of it.
    fn begin(
        &self,
        task_id: &str,
        artifact_id: &str,
        prior: Option<Stored>,
        artifact: &str,
        last: bool,
    ) -> Result<(), CoreError> {
        let sealed = i64::from(last);
        let Some(prior) = prior else {
            self.check_room(task_id, artifact_id, artifact.len(), true)?;
            self.store.execute(
                &format!(
                    "INSERT INTO artifacts (task_id, ordinal, artifact_id, artifact, sealed) VALUES (?1, \
                     (SELECT (coalesce(max(ordinal) / {STRIDE}, -1) + 1) * {STRIDE} FROM artifacts \
                     WHERE task_id = ?1), ?2, ?3, ?4)"
                ),
                &[task_id.into(), artifact_id.into(), artifact.into(), sealed.into()],
            )?;
            return Ok(());
        };
        self.store.execute(
            &format!("DELETE FROM artifacts WHERE {FURTHER_ROWS}"),
            &[task_id.into(), prior.ordinal.into(), STRIDE.into()],
        )?;
        self.store.execute(
            "UPDATE artifacts SET artifact = '', sealed = ?3 WHERE task_id = ?1 AND ordinal = ?2",
            &[task_id.into(), prior.ordinal.into(), sealed.into()],
        )?;
        self.check_room(task_id, artifact_id, artifact.len(), false)?;
        self.store.execute(
            "UPDATE artifacts SET artifact = ?3 WHERE task_id = ?1 AND ordinal = ?2",
            &[task_id.into(), prior.ordinal.into(), artifact.into()],
        )?;
        Ok(())
    }

    /// A further chunk of an artifact.
    fn append(
        &self,
        task_id: &str,
        artifact_id: &str,
        prior: &Stored,
        chunk: &str,
        last: bool,
    ) -> Result<(), CoreError> {
        let mut more = parts_of(chunk)?;
        self.check_room(task_id, artifact_id, more.len(), false)?;
        let newest = self.store.first(
            &format!(
                "SELECT ordinal, octet_length(artifact) FROM artifacts WHERE {FURTHER_ROWS} \
                 ORDER BY ordinal DESC LIMIT 1"
            ),
            &[task_id.into(), prior.ordinal.into(), STRIDE.into()],
        )?;
        let (ordinal, row_bytes) = match newest {
            Some(mut row) => (row.integer()?, row.integer()?),
            None => (prior.ordinal, prior.bytes),
        };
        let bytes = i64::try_from(more.len()).unwrap_or(i64::MAX);
        if row_bytes.saturating_add(bytes) > ROW_BYTES {
            let added = self.store.first(
                "INSERT INTO artifacts (task_id, ordinal, artifact_id, artifact, sealed) VALUES (?1, ?2, '', ?3, 0) \
                 ON CONFLICT DO NOTHING RETURNING ordinal",
                &[task_id.into(), ordinal.saturating_add(1).into(), (&more).into()],
            )?;
            // Artifacts of the first version stood side by side: those have no room behind them.
            if added.is_none() {
                return Err(no_room(artifact_id).into());
            }
        } else {
            let kept = if ordinal == prior.ordinal {
                more.push_str(END);
                "substr(artifact, 1, length(artifact) - 2)"
            } else {
                "artifact"
            };
            self.store.execute(
                &format!(
                    "UPDATE artifacts SET artifact = {kept} || ?3 WHERE task_id = ?1 AND ordinal = ?2"
                ),
                &[task_id.into(), ordinal.into(), (&more).into()],
            )?;
        }
        if last {
            self.store.execute(
                "UPDATE artifacts SET sealed = 1 WHERE task_id = ?1 AND ordinal = ?2",
                &[task_id.into(), prior.ordinal.into()],
            )?;
        }
        Ok(())
    }

    /// Refuses what the task has no room for, on top of what is stored.
    fn check_room(
        &self,
        task_id: &str,
        artifact_id: &str,
        bytes: usize,
        is_new: bool,
    ) -> Result<(), CoreError> {
        let stored = self.store.first(
            "SELECT count(nullif(artifact_id, '')), coalesce(sum(octet_length(artifact)), 0) FROM artifacts \
             WHERE task_id = ?1",
            &[task_id.into()],
        )?;
        let Some(mut row) = stored else { return Ok(()) };
        let (count, taken_bytes) = (row.integer()?, row.integer()?);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if count.saturating_add(i64::from(is_new)) <= MAX_ARTIFACTS
            && taken_bytes.saturating_add(bytes) <= MAX_ARTIFACTS_BYTES
        {
            return Ok(());
        }
        Err(no_room(artifact_id).into())
    }

    /// Lets nothing more be appended to an artifact, and tells its watchers by a last chunk: `ending`, the artifact with a
    /// part that says nothing, since a chunk has one. False where there is no artifact of this id.
    pub(super) fn seal_artifact(
        &mut self,
        task: &Task,
        artifact_id: &str,
        ending: &str,
    ) -> Result<bool, CoreError> {
        let Some(stored) = self.find_artifact(&task.task_id, artifact_id)? else {
            return Ok(false);
        };
        if stored.sealed {
            return Ok(true);
        }
        let last = Chunk::Part {
            append: true,
            last: true,
        };
        match self.put_artifact(task, artifact_id, ending, last) {
            // No room for the last chunk is no reason to refuse what is there: the task's end says that it is all.
            Err(CoreError::Refused(_)) => self.store.execute(
                "UPDATE artifacts SET sealed = 1 WHERE task_id = ?1 AND artifact_id = ?2",
                &[(&task.task_id).into(), artifact_id.into()],
            )?,
            outcome => outcome?,
        }
        Ok(true)
    }

    fn show(&mut self, task: &Task, artifact: &str, append: bool, last: bool) {
        let mut json = String::with_capacity(artifact.len().saturating_add(192));
        json.push_str("{\"artifactUpdate\":{\"taskId\":");
        push_string(&mut json, &task.task_id);
        json.push_str(",\"contextId\":");
        push_string(&mut json, &task.context_id);
        json.push_str(",\"artifact\":");
        json.push_str(artifact);
        if append {
            json.push_str(",\"append\":true");
        }
        if last {
            json.push_str(",\"lastChunk\":true");
        }
        json.push_str("}}");
        self.effects.frames.push(Frame {
            task_id: task.task_id.clone(),
            kind: FrameKind::Progress,
            json,
        });
    }
}

/// What is known of an artifact's first row.
struct Stored {
    ordinal: i64,
    bytes: i64,
    sealed: bool,
}

/// The condition that selects an artifact's further rows: of the task ?1, behind the ordinal ?2, within the stride ?3.
const FURTHER_ROWS: &str =
    "task_id = ?1 AND artifact_id = '' AND ordinal > ?2 AND ordinal < ?2 + ?3";

fn no_room(artifact_id: &str) -> A2aError {
    A2aError::new(
        Reason::PayloadTooLarge,
        "the task has no room for it: at most 256 artifacts of 8 MiB together",
    )
    .with("artifactId", artifact_id)
}

/// Takes up the next row of a task: a whole one, or what continues the one before it.
pub(super) fn push_row(rows: &mut Vec<String>, row: String) -> Result<(), StoreError> {
    if !row.starts_with(',') {
        rows.push(row);
        return Ok(());
    }
    let artifact = rows
        .last_mut()
        .filter(|artifact| artifact.ends_with(END))
        .ok_or(StoreError::Corrupt { what: "artifact" })?;
    artifact.truncate(artifact.len().saturating_sub(END.len()));
    artifact.push_str(&row);
    artifact.push_str(END);
    Ok(())
}

/// Whether rows that were joined by commas may be more than whole artifacts. What an artifact says can look like it, too.
pub(super) fn may_have_further_rows(joined: &str) -> bool {
    joined.contains("]},,")
}

/// The parts of a chunk, each with a comma before it.
fn parts_of(chunk: &str) -> Result<String, StoreError> {
    let mut chunk: Map<String, Json> =
        serde_json::from_str(chunk).map_err(|_| StoreError::Corrupt { what: "artifact" })?;
    let Some(Json::Array(parts)) = chunk.remove("parts") else {
        return Err(StoreError::Corrupt { what: "artifact" });
    };
    let mut text = String::new();
    for part in parts {
        text.push(',');
        text.push_str(&part.to_string());
    }
    Ok(text)
}
