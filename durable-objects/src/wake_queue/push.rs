//! Wakes that are pushed: where the deployment names a URL, the resident is told of each wake there, and takes it by a
//! call of its own. A push that fails three times is a wake that failed.

use super::WakeQueue;
use crate::commands::principal::WakeFailed;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// Tries at one push.
pub const MAX_PUSHES: i64 = 3;

/// The pause after a push that failed, in milliseconds, four times as long after the second; and how long one that is
/// under way may take.
const RETRY_MS: i64 = 15_000;

/// What is due of the pushes.
#[derive(Debug)]
pub enum DuePush {
    /// Tell the resident, then [`WakeQueue::pushed`].
    Tell(Push),
    /// Tell the principal that its wake failed, then [`WakeQueue::wake_failed`].
    Fail {
        /// Whom to tell.
        principal: String,
        /// What.
        report: WakeFailed,
    },
}

/// A wake to be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// Whose task it is.
    pub principal: String,
    /// The activation.
    pub activation_id: i64,
    /// The task.
    pub task_id: String,
}

impl<S: Store> WakeQueue<'_, S> {
    /// Owes the resident a push for a wake that is ready now, if wakes are pushed here.
    pub(super) fn expect_push(
        &mut self,
        principal: &str,
        activation_id: i64,
        task_id: &str,
    ) -> Result<(), StoreError> {
        if !self.pushes {
            return Ok(());
        }
        let now_ms = self.environment.now_ms;
        self.store.execute(
            "INSERT INTO pushes (principal, activation_id, task_id, due_ms, attempts) VALUES (?1, ?2, ?3, ?4, 0) \
             ON CONFLICT (principal, activation_id) DO UPDATE SET due_ms = ?4, attempts = 0",
            &[principal.into(), activation_id.into(), task_id.into(), now_ms.into()],
        )?;
        self.effects.wake_at(now_ms);
        Ok(())
    }

    pub(super) fn next_push(&mut self) -> Result<Option<DuePush>, CoreError> {
        let now_ms = self.environment.now_ms;
        // What was taken or withdrawn meanwhile needs no push.
        self.store.execute(
            "DELETE FROM pushes WHERE due_ms <= ?1 AND NOT EXISTS (SELECT 1 FROM wakes \
             WHERE wakes.principal = pushes.principal AND wakes.activation_id = pushes.activation_id)",
            &[now_ms.into()],
        )?;
        let due = self.store.first(
            "SELECT principal, activation_id, task_id, attempts FROM pushes WHERE due_ms <= ?1 \
             ORDER BY due_ms LIMIT 1",
            &[now_ms.into()],
        )?;
        let Some(mut row) = due else { return Ok(None) };
        let push = Push {
            principal: row.text()?,
            activation_id: row.integer()?,
            task_id: row.text()?,
        };
        let attempts = row.integer()?;
        let exponent = u32::try_from(attempts.clamp(0, 2)).unwrap_or(0);
        let retry_ms =
            now_ms.saturating_add(RETRY_MS.saturating_mul(4_i64.saturating_pow(exponent)));
        self.store.execute(
            "UPDATE pushes SET due_ms = ?3, attempts = attempts + 1 WHERE principal = ?1 AND activation_id = ?2",
            &[(&push.principal).into(), push.activation_id.into(), retry_ms.into()],
        )?;
        if attempts < MAX_PUSHES {
            return Ok(Some(DuePush::Tell(push)));
        }
        Ok(Some(DuePush::Fail {
            principal: push.principal,
            report: WakeFailed {
                activation_id: push.activation_id,
                task_id: push.task_id,
            },
        }))
    }

    pub(super) fn finish_push(&mut self, push: &Push, delivered: bool) -> Result<(), CoreError> {
        if delivered {
            self.forget_push(&push.principal, push.activation_id)?;
        } else {
            // The third failure is known now: what follows from it need not wait.
            self.store.execute(
                "UPDATE pushes SET due_ms = ?3 WHERE principal = ?1 AND activation_id = ?2 AND attempts >= ?4",
                &[
                    (&push.principal).into(),
                    push.activation_id.into(),
                    self.environment.now_ms.into(),
                    MAX_PUSHES.into(),
                ],
            )?;
        }
        Ok(())
    }

    pub(super) fn finish_wake_failed(
        &mut self,
        principal: &str,
        activation_id: i64,
    ) -> Result<(), CoreError> {
        self.forget_push(principal, activation_id)?;
        // One that was reserved before may be WOKEN to its principal, which has not parked it then: it stays, to be asked
        // for under the same turn.
        let removed = self.store.first(
            "DELETE FROM wakes WHERE principal = ?1 AND activation_id = ?2 AND turn_id IS NULL RETURNING wake_id",
            &[principal.into(), activation_id.into()],
        )?;
        if removed.is_some() {
            let pending = self.pending()?;
            self.log_depth(pending);
        }
        Ok(())
    }

    fn forget_push(&self, principal: &str, activation_id: i64) -> Result<(), StoreError> {
        self.store.execute(
            "DELETE FROM pushes WHERE principal = ?1 AND activation_id = ?2",
            &[principal.into(), activation_id.into()],
        )
    }
}
