//! A task's artifacts: what its watchers see arrive, chunk by chunk, and its readers find whole.

use protocol::error::{A2aError, Reason};
use serde_json::{Map, Value as Json};

use super::Principal;
use super::task::{Task, push_string};
use crate::effects::{Frame, FrameKind};
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// The largest artifact, in bytes of its JSON.
const MAX_ARTIFACT_BYTES: usize = 1024 * 1024;

/// The most artifacts of one task, and their size together, in bytes of their JSON.
const MAX_ARTIFACTS: i64 = 256;
const MAX_ARTIFACTS_BYTES: i64 = 8 * 1024 * 1024;

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
        let task_id = &task.task_id;
        let prior = self
            .store
            .first(
                "SELECT ordinal, artifact, sealed FROM artifacts WHERE task_id = ?1 AND artifact_id = ?2",
                &[task_id.into(), artifact_id.into()],
            )?
            .map(|mut row| {
                Ok::<_, StoreError>((row.integer()?, row.text()?, row.integer()? != 0))
            })
            .transpose()?;
        let (append, last) = match chunk {
            Chunk::Whole => (false, true),
            Chunk::Part { append, last } => (append, last),
        };
        let folded = match &prior {
            Some((_, _, true)) if append => {
                return Err(A2aError::unsupported_operation(
                    "the artifact is complete: nothing can be appended to it",
                )
                .with("artifactId", artifact_id)
                .into());
            }
            Some((_, stored, false)) if append => Some(fold(stored, artifact)?),
            _ => None,
        };
        // What begins an artifact can't continue one, whatever its sender believes.
        let append = append && prior.is_some();
        let stored = folded.as_deref().unwrap_or(artifact);
        if stored.len() > MAX_ARTIFACT_BYTES {
            return Err(A2aError::too_large(artifact_id, MAX_ARTIFACT_BYTES).into());
        }
        self.check_room(task_id, artifact_id, stored.len())?;
        let sealed = i64::from(last);
        match prior {
            Some((ordinal, ..)) => self.store.execute(
                "UPDATE artifacts SET artifact = ?3, sealed = ?4 WHERE task_id = ?1 AND ordinal = ?2",
                &[task_id.into(), ordinal.into(), stored.into(), sealed.into()],
            )?,
            None => self.store.execute(
                "INSERT INTO artifacts (task_id, ordinal, artifact_id, artifact, sealed) VALUES (?1, \
                 (SELECT coalesce(max(ordinal), -1) + 1 FROM artifacts WHERE task_id = ?1), ?2, ?3, ?4)",
                &[task_id.into(), artifact_id.into(), stored.into(), sealed.into()],
            )?,
        }
        self.show(task, artifact, append, last);
        Ok(())
    }

    /// Refuses an artifact for which the task has no room.
    fn check_room(&self, task_id: &str, artifact_id: &str, bytes: usize) -> Result<(), CoreError> {
        let others = self.store.first(
            "SELECT count(*), coalesce(sum(length(artifact)), 0) FROM artifacts \
             WHERE task_id = ?1 AND artifact_id <> ?2",
            &[task_id.into(), artifact_id.into()],
        )?;
        let Some(mut row) = others else { return Ok(()) };
        let (count, taken_bytes) = (row.integer()?, row.integer()?);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if count < MAX_ARTIFACTS && taken_bytes.saturating_add(bytes) <= MAX_ARTIFACTS_BYTES {
            return Ok(());
        }
        Err(A2aError::new(
            Reason::PayloadTooLarge,
            "the task has no room for it: at most 256 artifacts of 8 MiB together",
        )
        .with("artifactId", artifact_id)
        .into())
    }

    /// Lets nothing more be appended to an artifact. False where there is none of this id.
    pub(super) fn seal_artifact(&self, task: &Task, artifact_id: &str) -> Result<bool, StoreError> {
        let sealed = self.store.first(
            "UPDATE artifacts SET sealed = 1 WHERE task_id = ?1 AND artifact_id = ?2 RETURNING ordinal",
            &[(&task.task_id).into(), artifact_id.into()],
        )?;
        Ok(sealed.is_some())
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

/// An artifact with the parts of a further chunk behind its own.
fn fold(stored: &str, chunk: &str) -> Result<String, StoreError> {
    let mut stored = object(stored)?;
    let mut chunk = object(chunk)?;
    if let (Some(Json::Array(parts)), Some(Json::Array(more))) =
        (stored.get_mut("parts"), chunk.remove("parts"))
    {
        parts.extend(more);
    }
    Ok(Json::Object(stored).to_string())
}

fn object(json: &str) -> Result<Map<String, Json>, StoreError> {
    serde_json::from_str(json).map_err(|_| StoreError::Corrupt { what: "artifact" })
}
