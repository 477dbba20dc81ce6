//! Taking wakes in, within the bound, each activation once.

use super::turn::Phase;
use super::{WAKE_BELL, WakeQueue, turn_bell};
use crate::commands::wake_queue::{Admission, Notice};
use crate::effects::LogEvent;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// Wakes that may wait behind the turn (seed *Wake admission is bounded*).
pub const MAX_PENDING: i64 = 128;

impl<S: Store> WakeQueue<'_, S> {
    pub(super) fn admit_all(&mut self, notices: &[Notice]) -> Result<Vec<Admission>, CoreError> {
        let mut depth = None;
        let mut admissions = Vec::with_capacity(notices.len());
        for notice in notices {
            admissions.push(match notice {
                Notice::Wake {
                    principal,
                    activation_id,
                    task_id,
                } => self.admit(principal, *activation_id, task_id, &mut depth)?,
                Notice::Withdraw {
                    principal,
                    activation_id,
                    task_id,
                } => {
                    if self.withdraw(principal, *activation_id, task_id)? {
                        depth = Some(self.pending()?);
                    }
                    Admission::Admitted
                }
                Notice::Moved { principal } => {
                    self.expect_replay(principal)?;
                    Admission::Admitted
                }
            });
        }
        if let Some(depth) = depth {
            self.log_depth(depth);
        }
        Ok(admissions)
    }

    fn admit(
        &mut self,
        principal: &str,
        activation_id: i64,
        task_id: &str,
        depth: &mut Option<i64>,
    ) -> Result<Admission, StoreError> {
        // One statement for all that must be known: statements are what an admission costs.
        let mut known = self
            .store
            .first(
                "SELECT (SELECT count(*) FROM wakes), \
                 EXISTS (SELECT 1 FROM wakes WHERE principal = ?1 AND activation_id = ?2) \
                 OR EXISTS (SELECT 1 FROM turn WHERE principal = ?1 AND activation_id = ?2), \
                 EXISTS (SELECT 1 FROM principals WHERE principal = ?1)",
                &[principal.into(), activation_id.into()],
            )?
            .ok_or(StoreError::Corrupt { what: "wakes" })?;
        let pending = known.integer()?;
        let (is_admitted, has_principal) = (known.integer()? != 0, known.integer()? != 0);
        *depth = Some(pending);
        if is_admitted {
            return Ok(Admission::Admitted);
        }
        if !has_principal {
            self.store.execute(
                "INSERT INTO principals (principal, assigned, attempts) VALUES (?1, 0, 0)",
                &[principal.into()],
            )?;
        }
        if pending >= MAX_PENDING {
            self.effects.log.push(
                LogEvent::new("wake_queue_full")
                    .with("resident", self.resident)
                    .with("task_id", task_id),
            );
            return Ok(Admission::Overflow);
        }
        self.store.execute(
            "INSERT INTO wakes (principal, activation_id, task_id) VALUES (?1, ?2, ?3)",
            &[principal.into(), activation_id.into(), task_id.into()],
        )?;
        *depth = Some(pending.saturating_add(1));
        self.expect_push(principal, activation_id, task_id)?;
        self.effects.rings.push(WAKE_BELL.to_owned());
        Ok(Admission::Admitted)
    }

    /// Takes a canceled activation out, pending or under a turn. Tells whether the depth is another than was logged last:
    /// what is reserved is off the queue already, and that is logged with its grant.
    fn withdraw(
        &mut self,
        principal: &str,
        activation_id: i64,
        task_id: &str,
    ) -> Result<bool, StoreError> {
        let was_pending = self
            .store
            .first(
                "DELETE FROM wakes WHERE principal = ?1 AND activation_id = ?2 RETURNING wake_id",
                &[principal.into(), activation_id.into()],
            )?
            .is_some();
        // The principal fenced the turn off when it canceled the task, so the turn is over as soon as this is known.
        let turn = self.store.first(
            "DELETE FROM turn WHERE principal = ?1 AND task_id = ?2 RETURNING turn_id, phase",
            &[principal.into(), task_id.into()],
        )?;
        let mut was_reserved = false;
        if let Some(mut row) = turn {
            let turn_id = row.text()?;
            was_reserved = row.integer()? == Phase::Reserved.code();
            self.remember_end(&turn_id, "canceled")?;
            self.log_turn("turn_canceled", &turn_id, task_id);
            self.effects.rings.push(turn_bell(&turn_id));
            self.effects.rings.push(WAKE_BELL.to_owned());
        }
        Ok(was_pending || was_reserved)
    }

    /// Puts a wake back at the end of the queue. It had its place before, so the bound does not apply. `turn_id` is the
    /// turn under which its principal is to be asked again.
    pub(super) fn requeue(
        &mut self,
        principal: &str,
        activation_id: i64,
        task_id: &str,
        not_before_ms: Option<i64>,
        turn_id: Option<&str>,
    ) -> Result<(), StoreError> {
        self.put_back(principal, activation_id, task_id, not_before_ms, turn_id)?;
        let pending = self.pending()?;
        self.log_depth(pending);
        Ok(())
    }

    fn put_back(
        &mut self,
        principal: &str,
        activation_id: i64,
        task_id: &str,
        not_before_ms: Option<i64>,
        turn_id: Option<&str>,
    ) -> Result<(), StoreError> {
        self.store.execute(
            "INSERT INTO wakes (principal, activation_id, task_id, not_before_ms, turn_id) \
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
            &[
                principal.into(),
                activation_id.into(),
                task_id.into(),
                not_before_ms.into(),
                turn_id.into(),
            ],
        )?;
        if not_before_ms.is_none() {
            self.expect_push(principal, activation_id, task_id)?;
        }
        Ok(())
    }

    /// Makes wakes ready whose pause is over. They join at the end, like everything that is offered again.
    pub(super) fn promote_delayed(&mut self) -> Result<(), StoreError> {
        let due = self.store.query(
            "DELETE FROM wakes WHERE not_before_ms <= ?1 RETURNING principal, activation_id, task_id, turn_id",
            &[self.environment.now_ms.into()],
        )?;
        for mut row in due {
            let (principal, activation_id, task_id) = (row.text()?, row.integer()?, row.text()?);
            let turn_id = row.optional_text()?;
            // It counted as pending all along.
            self.put_back(
                &principal,
                activation_id,
                &task_id,
                None,
                turn_id.as_deref(),
            )?;
            self.effects.rings.push(WAKE_BELL.to_owned());
        }
        Ok(())
    }

    /// How many wakes wait, those that pause among them.
    pub(super) fn pending(&self) -> Result<i64, StoreError> {
        let mut row = self
            .store
            .first("SELECT count(*) FROM wakes", &[])?
            .ok_or(StoreError::Corrupt { what: "wakes" })?;
        row.integer()
    }

    pub(super) fn log_depth(&mut self, pending: i64) {
        self.effects.log.push(
            LogEvent::new("wake_queue_depth")
                .with("resident", self.resident)
                .with("pending", pending)
                .routine(),
        );
    }
}
