//! Calls owed to residents' queues. A row is written in the commit that owes it and deleted when the queue has
//! answered, so a notice is delivered at least once; the queue makes that once.

use super::Principal;
use super::evidence::Kind;
use super::turn::WakeState;
use crate::commands::principal::{Recorded, WakeFailed};
use crate::commands::wake_queue::{Admission, Notice};
use crate::effects::{LogEvent, OwedNotice};
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// How long a delivery may go unanswered before it is tried again, in milliseconds. Doubled each time, up to
/// [`MAX_RETRY_MS`].
pub const OUTBOX_RETRY_MS: i64 = 2_000;

/// The longest pause between two tries, in milliseconds.
const MAX_RETRY_MS: i64 = 60_000;

/// The most notices taken up at one alarm.
const MAX_BATCH: i64 = 64;

/// The most rows that wait to be forgotten.
const MAX_DONE: usize = 256;

/// Rows of notices that their queue has taken. They are forgotten many at a time, at the alarm that is set for them
/// anyway, because a commit costs more than what it commits. Only memory knows of them: one that is lost with its object
/// is delivered again, and the queue knows it.
#[derive(Debug, Default)]
pub struct Done(Vec<i64>);

impl Done {
    /// Takes out of what a queue has answered all that needs nothing but to be forgotten. The rest is for
    /// [`notices_answered`](super::notices_answered), at once.
    pub fn take_from(
        &mut self,
        answered: Vec<(OwedNotice, Admission)>,
    ) -> Vec<(OwedNotice, Admission)> {
        let (done, rest): (Vec<_>, Vec<_>) = answered
            .into_iter()
            .partition(|(_, admission)| *admission == Admission::Admitted);
        self.0.extend(done.iter().map(|(owed, _)| owed.outbox_id));
        rest
    }

    /// Whether they are too many to wait for the alarm.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.len() >= MAX_DONE
    }
}

impl<S: Store> Principal<'_, S> {
    /// Owes a queue a notice, to be delivered right after the commit. The row is due later, for the case that this
    /// object dies before the queue has answered.
    pub(super) fn owe(&mut self, resident: &str, notice: Notice) -> Result<(), StoreError> {
        let due_ms = self.environment.now_ms.saturating_add(OUTBOX_RETRY_MS);
        let stored =
            serde_json::to_string(&notice).map_err(|_| StoreError::Corrupt { what: "notice" })?;
        let mut row = self
            .store
            .first(
                "INSERT INTO outbox (resident, notice, due_ms, attempts) VALUES (?1, ?2, ?3, 0) \
                 RETURNING outbox_id",
                &[resident.into(), (&stored).into(), due_ms.into()],
            )?
            .ok_or(StoreError::Corrupt { what: "outbox" })?;
        self.effects.notices.push(OwedNotice {
            outbox_id: row.integer()?,
            resident: resident.to_owned(),
            notice,
        });
        self.effects.wake_at(due_ms);
        Ok(())
    }

    /// Deletes the rows that are done.
    pub(super) fn forget(&mut self, done: &Done) -> Result<(), StoreError> {
        if done.0.is_empty() {
            return Ok(());
        }
        self.store.execute(
            "DELETE FROM outbox WHERE outbox_id IN (SELECT value FROM json_each(?1))",
            &[json_list(done.0.iter()).as_str().into()],
        )
    }

    /// What became of notices that a queue has answered for.
    pub(super) fn settle_notices(
        &mut self,
        answered: &[(OwedNotice, Admission)],
    ) -> Result<(), CoreError> {
        let rows = self.store.query(
            "DELETE FROM outbox WHERE outbox_id IN (SELECT value FROM json_each(?1)) RETURNING outbox_id",
            &[json_list(answered.iter().map(|(owed, _)| &owed.outbox_id)).as_str().into()],
        )?;
        let settled = rows
            .into_iter()
            .map(|mut row| row.integer())
            .collect::<Result<Vec<_>, _>>()?;
        for (owed, admission) in answered {
            // Without the row, an earlier answer to the same notice has been heard.
            if settled.contains(&owed.outbox_id)
                && *admission == Admission::Overflow
                && let Notice::Wake {
                    activation_id,
                    task_id,
                    ..
                } = &owed.notice
            {
                self.park_failed_wake(
                    *activation_id,
                    task_id,
                    "queue full",
                    LogEvent::new("wake_overflow").with("resident", &owed.resident),
                )?;
            }
        }
        Ok(())
    }

    /// A queue could not tell its resident of a wake.
    pub(super) fn fail_wake(&mut self, command: &WakeFailed) -> Result<Recorded, CoreError> {
        let event = LogEvent::new("wake_not_pushed").with("resident", self.scope.resident);
        self.park_failed_wake(
            command.activation_id,
            &command.task_id,
            "push failed",
            event,
        )?;
        Ok(Recorded {})
    }

    /// A wake did not reach its resident: the activation waits for the next startup. One that is under a turn or settled
    /// by now reached it at another try, and has not failed.
    fn park_failed_wake(
        &mut self,
        activation_id: i64,
        task_id: &str,
        why: &str,
        event: LogEvent,
    ) -> Result<(), StoreError> {
        let parked = self.store.first(
            "UPDATE claims SET wake_state = ?3 WHERE activation_id = ?1 AND wake_state IN (?4, ?5) AND EXISTS \
             (SELECT 1 FROM tasks WHERE task_id = ?2 AND activation_id = ?1 AND state IN (1, 2) AND turn_id IS NULL) \
             RETURNING activation_id",
            &[
                activation_id.into(),
                task_id.into(),
                WakeState::Parked.code().into(),
                WakeState::Queued.code().into(),
                WakeState::Woken.code().into(),
            ],
        )?;
        if parked.is_some() {
            self.record(Kind::WakeFailed, Some(task_id), activation_id, Some(why))?;
            self.effects.log.push(event.with("task_id", task_id));
        }
        Ok(())
    }

    /// The notices that are due, oldest first, without those that are done or not owed any more. Each is postponed, for the case that the queue
    /// does not answer. One that can't be read any more is set aside, so that it holds up no other.
    pub(super) fn due_notices(&mut self, done: &Done) -> Result<Vec<OwedNotice>, CoreError> {
        self.forget(done)?;
        let now_ms = self.environment.now_ms;
        let rows = self.store.query(
            "SELECT outbox_id, resident, notice, attempts FROM outbox WHERE due_ms <= ?1 \
             ORDER BY due_ms LIMIT ?2",
            &[now_ms.into(), MAX_BATCH.into()],
        )?;
        let mut due = Vec::with_capacity(rows.len());
        for mut row in rows {
            let (outbox_id, resident, notice) = (row.integer()?, row.text()?, row.text()?);
            let attempts = row.integer()?;
            let Ok(notice) = serde_json::from_str(&notice) else {
                self.set_aside(outbox_id)?;
                continue;
            };
            if !self.is_owed(&notice)? {
                self.forget(&Done(vec![outbox_id]))?;
                continue;
            }
            let shift = u32::try_from(attempts.clamp(0, 5)).unwrap_or(5);
            let pause_ms = OUTBOX_RETRY_MS
                .saturating_mul(1_i64 << shift)
                .min(MAX_RETRY_MS);
            self.store.execute(
                "UPDATE outbox SET due_ms = ?2, attempts = attempts + 1 WHERE outbox_id = ?1",
                &[outbox_id.into(), now_ms.saturating_add(pause_ms).into()],
            )?;
            due.push(OwedNotice {
                outbox_id,
                resident,
                notice,
            });
        }
        due.sort_by_key(|owed| owed.outbox_id);
        Ok(due)
    }

    /// Whether a queue must still be told. A wake that was granted a turn, or is owed nothing more, has reached it.
    fn is_owed(&self, notice: &Notice) -> Result<bool, StoreError> {
        let Notice::Wake { activation_id, .. } = notice else {
            return Ok(true);
        };
        let queued = self.store.first(
            "SELECT 1 FROM claims WHERE activation_id = ?1 AND wake_state = ?2",
            &[(*activation_id).into(), WakeState::Queued.code().into()],
        )?;
        Ok(queued.is_some())
    }

    fn set_aside(&mut self, outbox_id: i64) -> Result<(), StoreError> {
        self.store.execute(
            "DELETE FROM outbox WHERE outbox_id = ?1",
            &[outbox_id.into()],
        )?;
        self.record_about(
            Kind::Quarantined,
            None,
            None,
            Some("a notice can't be read"),
        )?;
        self.effects.log.push(LogEvent::new("notice_quarantined"));
        Ok(())
    }
}

fn json_list<'a>(ids: impl Iterator<Item = &'a i64>) -> String {
    let ids: Vec<_> = ids.map(i64::to_string).collect();
    format!("[{}]", ids.join(","))
}
