//! What is past its time goes, in batches, when the alarm says so (seed *Operational records are compacted*).
//!
//! A terminal task goes with its claims, origin, anchors, deliveries, settlements and old evidence, 30 days after its last
//! change; a delivery that is still sending, or younger, keeps its task. A conversation goes 30 days after its last event, once no
//! task is in it. Whatever belongs to a task that is not terminal stays, however old it is.

use super::Principal;
use super::earliest::earliest_ms;
use crate::error::CoreError;
use crate::storage::{Store, StoreError, Value};

/// How long records are kept at least, in milliseconds: 30 days.
pub const RETENTION_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// The shortest pause between two looks, in milliseconds.
const MIN_PAUSE_MS: i64 = 60 * 60 * 1_000;

/// The pause where something past its time can't go yet, in milliseconds.
const HELD_PAUSE_MS: i64 = 24 * 60 * 60 * 1_000;

/// Tasks that one transaction removes.
const MAX_TASKS: i64 = 50;

/// Rows of any other kind that one transaction removes or looks at.
const MAX_ROWS: i64 = 500;

/// The states of terminal tasks, by number.
const TERMINAL: [i64; 4] = [3, 4, 5, 7];

/// A claim that holds the newest activation's number after its task is gone, so that no other gets it.
const TOMBSTONE: &str = "";

impl<S: Store> Principal<'_, S> {
    /// Sees to it that the records are looked through at `due_ms`, unless a time is set.
    pub(super) fn expect_retention(&mut self, due_ms: i64) -> Result<(), StoreError> {
        self.store.execute(
            "UPDATE task_counts SET retention_ms = ?1 WHERE retention_ms IS NULL",
            &[due_ms.into()],
        )?;
        self.effects.wake_at(due_ms);
        Ok(())
    }

    /// Removes one batch of what is past its time, if a look is due, and sets the time of the next.
    pub(super) fn compact(&mut self) -> Result<(), CoreError> {
        let now_ms = self.environment.now_ms;
        let due = self.store.first(
            "SELECT evidence_cursor FROM task_counts WHERE retention_ms <= ?1",
            &[now_ms.into()],
        )?;
        let Some(mut row) = due else {
            return Ok(());
        };
        let cutoff_ms = now_ms.saturating_sub(RETENTION_MS);
        let mut is_whole = self.remove_tasks(cutoff_ms)?;
        is_whole &= self.remove_direct_answers(cutoff_ms)?;
        is_whole &= self.remove_contexts(cutoff_ms)?;
        let began_at = row.integer()?;
        let (cursor, mut oldest_ms) = self.remove_evidence(began_at, cutoff_ms)?;
        if began_at != 0 {
            // What earlier batches of this look have seen is not remembered: it may be past its time tomorrow.
            oldest_ms = Some(cutoff_ms.saturating_add(HELD_PAUSE_MS));
        }
        is_whole &= cursor == 0;
        let next_ms = if is_whole {
            self.next_look_ms(oldest_ms)?
        } else {
            Some(now_ms)
        };
        self.store.execute(
            "UPDATE task_counts SET retention_ms = ?1, evidence_cursor = ?2",
            &[next_ms.into(), cursor.into()],
        )?;
        if let Some(next_ms) = next_ms {
            self.effects.wake_at(next_ms);
        }
        Ok(())
    }

    /// Removes terminal tasks with everything that is theirs; true if no more are left.
    fn remove_tasks(&mut self, cutoff_ms: i64) -> Result<bool, StoreError> {
        let mut left = MAX_TASKS;
        for state in TERMINAL {
            let rows = self.store.query(
                "SELECT task_id, context_id FROM tasks WHERE state = ?1 AND status_ms < ?2 AND NOT EXISTS \
                 (SELECT 1 FROM deliveries WHERE deliveries.task_id = tasks.task_id AND (deliveries.state = 1 OR updated_ms >= ?2)) \
                 ORDER BY status_ms, task_id LIMIT ?3",
                &[state.into(), cutoff_ms.into(), left.into()],
            )?;
            for mut row in rows {
                let (task_id, context_id) = (row.text()?, row.text()?);
                self.remove_task(&task_id, &context_id, state, cutoff_ms)?;
                left = left.saturating_sub(1);
            }
            if left == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn remove_task(
        &self,
        task_id: &str,
        context_id: &str,
        state: i64,
        cutoff_ms: i64,
    ) -> Result<(), StoreError> {
        let task: Value<'_> = task_id.into();
        self.store.execute(
            "DELETE FROM evidence WHERE task_id = ?1 AND at_ms < ?2",
            &[task, cutoff_ms.into()],
        )?;
        self.store.execute(
            "DELETE FROM ended_turns WHERE activation_id IN (SELECT activation_id FROM claims WHERE task_id = ?1)",
            &[task],
        )?;
        self.remove_claims("task_id = ?1", &[task])?;
        for statement in [
            "DELETE FROM messages WHERE task_id = ?1",
            "DELETE FROM artifacts WHERE task_id = ?1",
            "DELETE FROM origins WHERE task_id = ?1",
            "DELETE FROM reply_anchors WHERE task_id = ?1",
            "DELETE FROM deliveries WHERE task_id = ?1",
            "DELETE FROM settlements WHERE task_id = ?1",
            "DELETE FROM remote_calls WHERE task_id = ?1",
            "DELETE FROM tasks WHERE task_id = ?1",
        ] {
            self.store.execute(statement, &[task])?;
        }
        self.store.execute(
            "UPDATE contexts SET tasks = tasks - 1 WHERE context_id = ?1",
            &[context_id.into()],
        )?;
        self.store.execute(
            &format!("UPDATE task_counts SET state_{state} = state_{state} - 1"),
            &[],
        )
    }

    /// Removes claims. The newest of all leaves its number behind, which must not be given out again: queues and turns
    /// know activations by it.
    fn remove_claims(&self, which: &str, parameters: &[Value<'_>]) -> Result<(), StoreError> {
        let older = "activation_id < (SELECT max(activation_id) FROM claims)";
        self.store.execute(
            &format!("DELETE FROM claims WHERE {which} AND {older}"),
            parameters,
        )?;
        self.store.execute(
            &format!("DELETE FROM claims WHERE source = '{TOMBSTONE}' AND {older}"),
            &[],
        )?;
        self.store.execute(
            &format!(
                "UPDATE claims SET source = '{TOMBSTONE}', dedupe_key = '', digest = '', task_id = NULL, \
                 outcome_message = NULL, accepted_output_modes = NULL, wake_state = 2 WHERE {which}"
            ),
            parameters,
        )
    }

    /// Removes the claims of direct answers; true if no more are left.
    fn remove_direct_answers(&self, cutoff_ms: i64) -> Result<bool, StoreError> {
        let rows = self.store.query(
            "SELECT activation_id FROM claims WHERE task_id IS NULL AND accepted_ms < ?1 AND source <> '' LIMIT ?2",
            &[cutoff_ms.into(), MAX_ROWS.into()],
        )?;
        let is_all = is_less_than(rows.len(), MAX_ROWS);
        for mut row in rows {
            self.remove_claims("activation_id = ?1", &[row.integer()?.into()])?;
        }
        Ok(is_all)
    }

    /// Removes conversations without tasks; true if no more are left.
    fn remove_contexts(&self, cutoff_ms: i64) -> Result<bool, StoreError> {
        let removed = self.store.query(
            "DELETE FROM contexts WHERE context_id IN (SELECT context_id FROM contexts \
             WHERE tasks = 0 AND last_event_ms < ?1 LIMIT ?2) RETURNING 1",
            &[cutoff_ms.into(), MAX_ROWS.into()],
        )?;
        Ok(is_less_than(removed.len(), MAX_ROWS))
    }

    /// Removes evidence that no task of ours needs, from a cursor on. Gives where to go on, 0 where this look is over;
    /// and then the time of the oldest evidence that stays because it is young.
    fn remove_evidence(
        &self,
        cursor: i64,
        cutoff_ms: i64,
    ) -> Result<(i64, Option<i64>), StoreError> {
        let rows = self.store.query(
            "SELECT evidence_id, at_ms, occurrences IS NULL, \
             task_id IS NULL OR NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.task_id = evidence.task_id) \
             FROM evidence WHERE evidence_id > ?1 ORDER BY evidence_id LIMIT ?2",
            &[cursor.into(), MAX_ROWS.into()],
        )?;
        let is_all = is_less_than(rows.len(), MAX_ROWS);
        let (mut last, mut oldest_ms) = (0, None);
        for mut row in rows {
            let (evidence_id, at_ms) = (row.integer()?, row.integer()?);
            let (is_appended, is_free) = (row.integer()? != 0, row.integer()? != 0);
            last = evidence_id;
            if at_ms >= cutoff_ms {
                oldest_ms = Some(oldest_ms.map_or(at_ms, |oldest: i64| oldest.min(at_ms)));
                // What follows was recorded later. A counter stands where it began, and may be younger than that.
                if is_appended {
                    return Ok((0, oldest_ms));
                }
            } else if is_free {
                self.store.execute(
                    "DELETE FROM evidence WHERE evidence_id = ?1",
                    &[evidence_id.into()],
                )?;
            }
        }
        Ok((if is_all { 0 } else { last }, oldest_ms))
    }

    /// When something will be past its time at the earliest; nothing where nothing is left. A task that is not terminal
    /// can be past its time 30 days from now, if it settles right away.
    fn next_look_ms(&self, oldest_evidence_ms: Option<i64>) -> Result<Option<i64>, StoreError> {
        let oldest_ms = earliest_ms(
            self.store,
            &[
                "(SELECT min(status_ms) FROM tasks WHERE state = 3)",
                "(SELECT min(status_ms) FROM tasks WHERE state = 4)",
                "(SELECT min(status_ms) FROM tasks WHERE state = 5)",
                "(SELECT min(status_ms) FROM tasks WHERE state = 7)",
                "(SELECT min(accepted_ms) FROM claims WHERE task_id IS NULL AND source <> '')",
                "(SELECT min(last_event_ms) FROM contexts WHERE tasks = 0)",
                "?1",
                "(SELECT ?2 FROM task_counts WHERE state_1 + state_2 + state_6 + state_8 > 0)",
            ],
            &[oldest_evidence_ms.into(), self.environment.now_ms.into()],
        )?;
        let now_ms = self.environment.now_ms;
        Ok(oldest_ms
            // One more, since what is exactly 30 days old is still kept.
            .map(|at_ms| at_ms.saturating_add(RETENTION_MS).saturating_add(1))
            .map(|due_ms| {
                let pause_ms = if due_ms <= now_ms {
                    HELD_PAUSE_MS
                } else {
                    MIN_PAUSE_MS
                };
                due_ms.max(now_ms.saturating_add(pause_ms))
            }))
    }
}

fn is_less_than(rows: usize, limit: i64) -> bool {
    i64::try_from(rows).is_ok_and(|rows| rows < limit)
}
