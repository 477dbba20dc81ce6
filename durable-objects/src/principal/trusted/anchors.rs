//! Reply anchors: a provider's response, and the task that it was sent for (seed *A verified reply anchor*).

use protocol::error::{A2aError, Reason};
use protocol::trusted::source::Anchor;
use serde::Serialize;

use super::answer;
use crate::commands::JsonText;
use crate::error::CoreError;
use crate::principal::Principal;
use crate::principal::task::Task;
use crate::storage::{Store, StoreError};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Recorded<'a> {
    source: &'a str,
    provider_response_id: &'a str,
    task_id: &'a str,
}

impl<S: Store> Principal<'_, S> {
    /// The task that a direct reply to this response continues. `None` where any of the conditions fails: the event is
    /// then a new task, never a rejection.
    ///
    /// The response was ours and is kept as an anchor (2, 3); the event replies to exactly it (4); anchors are this
    /// principal's own (5); the task waits (1) with an unanswered question (6).
    pub(super) fn anchored(
        &self,
        source: &str,
        response_id: &str,
        message: &str,
    ) -> Result<Option<Task>, CoreError> {
        if !self.has_reply_anchors(source)? {
            return Ok(None);
        }
        let Some(task_id) = self.anchor(source, response_id)? else {
            return Ok(None);
        };
        match self.awaiting(&task_id, ("", None), message) {
            Ok(task) => Ok(Some(task)),
            Err(CoreError::Refused(_)) => Ok(None),
            // Of a task that can't be read any more nobody knows that it waits.
            Err(CoreError::Store(StoreError::Corrupt { .. } | StoreError::Shape { .. })) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn record_anchor(&self, anchor: &Anchor) -> Result<JsonText, CoreError> {
        self.check_source(&anchor.task_id, &anchor.source)?;
        if !self.has_reply_anchors(&anchor.source)? {
            return Err(A2aError::new(
                Reason::NoContinuation,
                "this source has not declared REPLY_ANCHOR: a reply continues none of its tasks",
            )
            .violating("source", "must have declared REPLY_ANCHOR")
            .into());
        }
        if !self.keep_anchor(
            &anchor.source,
            &anchor.provider_response_id,
            &anchor.task_id,
        )? {
            return Err(A2aError::new(
                Reason::AnchorTaken,
                "this response was recorded for another task: an anchor never moves",
            )
            .violating("providerResponseId", "must not be another task's response")
            .into());
        }
        answer(&Recorded {
            source: &anchor.source,
            provider_response_id: &anchor.provider_response_id,
            task_id: &anchor.task_id,
        })
    }

    /// Keeps an anchor. False where it is another task's.
    pub(super) fn keep_anchor(
        &self,
        source: &str,
        response_id: &str,
        task_id: &str,
    ) -> Result<bool, StoreError> {
        self.store.execute(
            "INSERT INTO reply_anchors (source, provider_response_id, task_id, recorded_ms) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO NOTHING",
            &[
                source.into(),
                response_id.into(),
                task_id.into(),
                self.environment.now_ms.into(),
            ],
        )?;
        Ok(self.anchor(source, response_id)?.as_deref() == Some(task_id))
    }

    fn anchor(&self, source: &str, response_id: &str) -> Result<Option<String>, StoreError> {
        self.store
            .first(
                "SELECT task_id FROM reply_anchors WHERE source = ?1 AND provider_response_id = ?2",
                &[source.into(), response_id.into()],
            )?
            .map(|mut row| row.text())
            .transpose()
    }

    /// The task must be the principal's, and of that source.
    pub(super) fn check_source(&self, task_id: &str, source: &str) -> Result<(), CoreError> {
        match self.source_of(task_id)? {
            None => Err(A2aError::task_not_found(task_id).into()),
            Some(of_task) if of_task == source => Ok(()),
            Some(_) => Err(A2aError::field("source", "must be the source of the task").into()),
        }
    }
}
