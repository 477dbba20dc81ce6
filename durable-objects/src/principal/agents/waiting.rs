//! What a task's calls mean for the task itself.

use super::calls::Phase;
use crate::principal::Principal;
use crate::principal::task::Task;
use crate::principal::turn::WakeState;
use crate::storage::{Store, StoreError};

/// For how long a canceled task's remote tasks are asked to cancel at least, in milliseconds.
const CANCEL_LIFE_MS: i64 = 600_000;

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

    /// Whether the task was left waiting, but nothing that it could wait for is still to come: it has to be woken now.
    pub(super) fn waits_for_nothing(&self, task_id: &str) -> Result<bool, StoreError> {
        let Some(task) = Task::find(self.store, task_id)? else {
            return Ok(false);
        };
        let waits = self.wake_state_of(&task)? == Some(WakeState::Waiting.code());
        Ok(waits && !self.awaits_agents(task_id)?)
    }

    /// The task is canceled: what it asked of others is to be canceled, too, also what waits for an answer there. A message
    /// that was never sent is not.
    pub(in crate::principal) fn cancel_calls(&mut self, task_id: &str) -> Result<(), StoreError> {
        let asked = self.store.first(
            "SELECT 1 FROM remote_calls WHERE task_id = ?1 LIMIT 1",
            &[task_id.into()],
        )?;
        if asked.is_none() {
            return Ok(());
        }
        let now_ms = self.environment.now_ms;
        self.store.execute(
            "UPDATE remote_calls SET phase = ?2, due_ms = NULL, request = NULL \
             WHERE task_id = ?1 AND phase = ?3 AND attempts = 0 AND remote_task_id IS NULL",
            &[
                task_id.into(),
                Phase::Released.code().into(),
                Phase::Sending.code().into(),
            ],
        )?;
        // Of a remote task that has settled for now, in a state that is not terminal, the newest call speaks. The deadline
        // was for following it.
        self.store.execute(
            "UPDATE remote_calls SET phase = ?2, due_ms = ?3, attempts = 0, deadline_ms = max(deadline_ms, ?4), \
             request = CASE WHEN attempts = 0 THEN NULL ELSE request END \
             WHERE task_id = ?1 AND (phase IN (0, 1) OR (phase = 2 AND state IN (1, 2, 6, 8) AND NOT EXISTS \
             (SELECT 1 FROM remote_calls AS newer WHERE newer.alias = remote_calls.alias \
             AND newer.remote_task_id = remote_calls.remote_task_id AND newer.call_id > remote_calls.call_id)))",
            &[
                task_id.into(),
                Phase::Canceling.code().into(),
                now_ms.into(),
                now_ms.saturating_add(CANCEL_LIFE_MS).into(),
            ],
        )?;
        self.effects.wake_at(now_ms);
        Ok(())
    }
}
