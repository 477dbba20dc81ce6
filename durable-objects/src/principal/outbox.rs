//! Calls owed to residents' queues. A row is written in the commit that owes it and deleted when the queue has
//! answered, so a notice is delivered at least once; the queue makes that once.

use super::Principal;
use super::evidence::Kind;
use crate::commands::wake_queue::{Admission, Notice};
use crate::effects::LogEvent;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// How long a delivery may go unanswered before it is tried again, in milliseconds. Doubled each time, up to
/// [`MAX_RETRY_MS`].
pub const OUTBOX_RETRY_MS: i64 = 2_000;

/// The longest pause between two tries, in milliseconds.
const MAX_RETRY_MS: i64 = 60_000;

/// The most notices delivered in one call.
const MAX_BATCH: i64 = 64;

/// Notices for one queue, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The queue.
    pub resident: String,
    /// The notices, each with its outbox id.
    pub notices: Vec<(i64, Notice)>,
}

impl<S: Store> Principal<'_, S> {
    /// Owes a queue a notice. It is due at once; the alarm covers the case that this object dies before delivering it.
    pub(super) fn owe(&mut self, resident: &str, notice: &Notice) -> Result<(), StoreError> {
        let now_ms = self.environment.now_ms;
        let notice =
            serde_json::to_string(notice).map_err(|_| StoreError::Corrupt { what: "notice" })?;
        self.store.execute(
            "INSERT INTO outbox (resident, notice, due_ms, attempts) VALUES (?1, ?2, ?3, 0)",
            &[resident.into(), (&notice).into(), now_ms.into()],
        )?;
        self.effects.flush = true;
        self.effects.wake_at(now_ms.saturating_add(OUTBOX_RETRY_MS));
        Ok(())
    }

    pub(super) fn settle_notices(
        &mut self,
        batch: &Batch,
        admissions: &[Admission],
    ) -> Result<(), CoreError> {
        for ((outbox_id, notice), admission) in batch.notices.iter().zip(admissions) {
            self.store.execute(
                "DELETE FROM outbox WHERE outbox_id = ?1",
                &[(*outbox_id).into()],
            )?;
            if let (
                Notice::Wake {
                    activation_id,
                    task_id,
                    ..
                },
                Admission::Overflow,
            ) = (notice, admission)
            {
                self.store.execute(
                    "UPDATE claims SET wake_state = ?2 WHERE activation_id = ?1",
                    &[
                        (*activation_id).into(),
                        super::turn::WakeState::Parked.code().into(),
                    ],
                )?;
                self.record(
                    Kind::WakeFailed,
                    Some(task_id),
                    *activation_id,
                    Some("queue full"),
                )?;
                self.effects.log.push(
                    LogEvent::new("wake_overflow")
                        .with("resident", &batch.resident)
                        .with("task_id", task_id),
                );
            }
        }
        Ok(())
    }
}

pub(super) fn due<S: Store>(store: &S, now_ms: i64) -> Result<Vec<Batch>, StoreError> {
    let rows = store.query(
        "SELECT outbox_id, resident, notice, attempts FROM outbox WHERE due_ms <= ?1 ORDER BY outbox_id LIMIT ?2",
        &[now_ms.into(), MAX_BATCH.into()],
    )?;
    let mut batches: Vec<Batch> = Vec::new();
    for mut row in rows {
        let (outbox_id, resident, notice, attempts) =
            (row.integer()?, row.text()?, row.text()?, row.integer()?);
        let notice =
            serde_json::from_str(&notice).map_err(|_| StoreError::Corrupt { what: "notice" })?;
        let shift = u32::try_from(attempts.clamp(0, 5)).unwrap_or(5);
        let pause_ms = OUTBOX_RETRY_MS
            .saturating_mul(1_i64 << shift)
            .min(MAX_RETRY_MS);
        store.execute(
            "UPDATE outbox SET due_ms = ?2, attempts = attempts + 1 WHERE outbox_id = ?1",
            &[outbox_id.into(), now_ms.saturating_add(pause_ms).into()],
        )?;
        match batches.iter_mut().find(|batch| batch.resident == resident) {
            Some(batch) => batch.notices.push((outbox_id, notice)),
            None => batches.push(Batch {
                resident,
                notices: vec![(outbox_id, notice)],
            }),
        }
    }
    Ok(batches)
}
