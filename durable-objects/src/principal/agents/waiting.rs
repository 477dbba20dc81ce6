//! What a task's calls mean for the task itself.

use super::calls::Phase;
use crate::principal::Principal;
use crate::storage::{Store, StoreError};

impl<S: Store> Principal<'_, S> {
    /// Whether something of a remote agent is still to come for the task, which then need not be offered again before.
    pub(in crate::principal) fn awaits_agents(&self, task_id: &str) -> Result<bool, StoreError> {
        Ok(self
            .store
            .first(
                "SELECT 1 FROM remote_calls WHERE task_id = ?1 AND phase IN (0, 1, 3) LIMIT 1",
                &[task_id.into()],
            )?
            .is_some())
    }

    /// The task is canceled: what it asked of others is to be canceled, too. A message that was never sent is not.
    pub(in crate::principal) fn cancel_calls(&mut self, task_id: &str) -> Result<(), StoreError> {
        if !self.awaits_agents(task_id)? {
            return Ok(());
        }
        let now_ms = self.environment.now_ms;
        self.store.execute(
            "UPDATE remote_calls SET phase = ?2, due_ms = NULL, request = NULL \
             WHERE task_id = ?1 AND phase = ?3 AND attempts = 0",
            &[
                task_id.into(),
                Phase::Released.code().into(),
                Phase::Sending.code().into(),
            ],
        )?;
        self.store.execute(
            "UPDATE remote_calls SET phase = ?2, due_ms = ?3, attempts = 0 WHERE task_id = ?1 AND phase IN (0, 1)",
            &[
                task_id.into(),
                Phase::Canceling.code().into(),
                now_ms.into(),
            ],
        )?;
        self.effects.wake_at(now_ms);
        Ok(())
    }
}
