//! What a source declared about itself, and how far it has read at its provider.

use protocol::error::{A2aError, Reason};
use protocol::time;
use protocol::trusted::checkpoint::Checkpoint;
use protocol::trusted::source::Declaration;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{answer, stored_json};
use crate::commands::JsonText;
use crate::error::CoreError;
use crate::principal::{Principal, accept};
use crate::storage::{Store, StoreError};

/// A verified direct reply continues a task.
const REPLY_ANCHOR: i64 = 1;
/// An authorized task id continues a task.
const TASK_ID: i64 = 2;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Source<'a> {
    source: &'a str,
    continuation: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Box<RawValue>>,
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
}

impl<S: Store> Principal<'_, S> {
    pub(super) fn declare(&self, declaration: &Declaration) -> Result<JsonText, CoreError> {
        let mut continuation = 0;
        if declaration.reply_anchor {
            continuation |= REPLY_ANCHOR;
        }
        if declaration.task_id {
            continuation |= TASK_ID;
        }
        self.store.execute(
            "INSERT INTO sources (source, continuation, checkpoint_version) VALUES (?1, ?2, 0) \
             ON CONFLICT (source) DO UPDATE SET continuation = excluded.continuation",
            &[(&declaration.source).into(), continuation.into()],
        )?;
        self.read_source(&declaration.source)
    }

    pub(super) fn read_source(&self, source: &str) -> Result<JsonText, CoreError> {
        let row = self.store.first(
            "SELECT continuation, checkpoint, checkpoint_version, checkpoint_ms FROM sources WHERE source = ?1",
            &[source.into()],
        )?;
        let Some(mut row) = row else {
            return answer(&Source {
                source,
                continuation: Vec::new(),
                checkpoint: None,
                version: 0,
                updated_at: None,
            });
        };
        let continuation = row.integer()?;
        let methods = [(REPLY_ANCHOR, "REPLY_ANCHOR"), (TASK_ID, "TASK_ID")];
        answer(&Source {
            source,
            continuation: methods
                .into_iter()
                .filter_map(|(bit, name)| (continuation & bit != 0).then_some(name))
                .collect(),
            checkpoint: row.optional_text()?.map(stored_json).transpose()?,
            version: row.integer()?,
            updated_at: row.optional_integer()?.map(time::format),
        })
    }

    /// Keeps a checkpoint, if everything that it passes has been accepted (seed: *a source may advance its checkpoint
    /// only after acceptance*).
    pub(super) fn advance(&self, checkpoint: &Checkpoint) -> Result<JsonText, CoreError> {
        for (index, dedupe_key) in checkpoint.covers.iter().enumerate() {
            if self.prior_claim(&checkpoint.source, dedupe_key)?.is_none() {
                return Err(A2aError::new(
                    Reason::CheckpointAhead,
                    "the checkpoint passes an event that was not accepted: hand it over first",
                )
                .violating(format!("covers[{index}]"), "must be an accepted dedupeKey")
                .into());
            }
        }
        let kept = self.store.first(
            "INSERT INTO sources (source, continuation, checkpoint, checkpoint_version, checkpoint_ms) \
             SELECT ?1, 0, ?2, 1, ?3 WHERE coalesce(?4, 0) = \
             coalesce((SELECT checkpoint_version FROM sources WHERE source = ?1), 0) OR ?4 IS NULL \
             ON CONFLICT (source) DO UPDATE SET checkpoint = excluded.checkpoint, \
             checkpoint_version = checkpoint_version + 1, checkpoint_ms = excluded.checkpoint_ms \
             RETURNING checkpoint_version",
            &[
                (&checkpoint.source).into(),
                (&checkpoint.checkpoint).into(),
                self.environment.now_ms.into(),
                checkpoint.version.into(),
            ],
        )?;
        if kept.is_none() {
            return Err(A2aError::new(
                Reason::CheckpointMoved,
                "the checkpoint was advanced by somebody else meanwhile: read it again",
            )
            .violating("version", "must be the version that stands now")
            .into());
        }
        self.read_source(&checkpoint.source)
    }

    /// Whether a verified reply continues this source's tasks.
    pub(super) fn has_reply_anchors(&self, source: &str) -> Result<bool, StoreError> {
        Ok(self.continuation(source)? & REPLY_ANCHOR != 0)
    }

    /// Whether there is any way in which this task's caller can answer a question. The caller of an A2A task always can.
    pub(in crate::principal) fn can_be_continued(&self, task_id: &str) -> Result<bool, StoreError> {
        match self.source_of(task_id)? {
            Some(source) if source != accept::A2A => Ok(self.continuation(&source)? != 0),
            _ => Ok(true),
        }
    }

    fn continuation(&self, source: &str) -> Result<i64, StoreError> {
        let row = self.store.first(
            "SELECT continuation FROM sources WHERE source = ?1",
            &[source.into()],
        )?;
        row.map_or(Ok(0), |mut row| row.integer())
    }
}
