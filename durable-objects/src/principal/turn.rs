//! Granting a turn and judging its end (DESIGN *Wake and turn*).
//!
//! The counts stand in the claim and nowhere else, so that a queue that forgets, repeats or is moved can't change them.

use a2a::TaskState;
use protocol::state;

use super::Principal;
use super::evidence::Kind;
use super::task::Task;
use crate::commands::principal::{Disposition, EndTurn, Grant, GrantReply, TurnOutcome};
use crate::effects::LogEvent;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// Consecutive deliveries of one activation that may leave its task unsettled.
pub const MAX_DELIVERIES: i64 = 5;

/// Consecutive turns on one activation that may fail before it is parked.
pub const MAX_FAILURES: i64 = 3;

/// The pause after the first failed turn, in milliseconds; four times as long after each further one.
const FIRST_RETRY_MS: i64 = 1_000;

/// How far an activation's wake has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeState {
    /// Not delivered yet, or to be delivered again.
    Queued,
    /// A turn on it was granted.
    Woken,
    /// Nothing more is owed for it.
    Done,
    /// Not offered again before the resident connects anew.
    Parked,
    /// Never offered again.
    Failed,
    /// Its records can't be read any more.
    Quarantined,
    /// Not offered again before a remote agent settles, whose activation takes its place.
    Waiting,
}

impl WakeState {
    pub const fn code(self) -> i64 {
        match self {
            Self::Queued => 0,
            Self::Woken => 1,
            Self::Done => 2,
            Self::Parked => 3,
            Self::Failed => 4,
            Self::Quarantined => 5,
            Self::Waiting => 6,
        }
    }
}

struct Claim {
    wake_state: i64,
    deliveries: i64,
    failures: i64,
}

impl<S: Store> Principal<'_, S> {
    /// Moves the task to WORKING under the turn and records WOKEN, unless nothing is owed for the activation any more.
    pub(super) fn grant(&mut self, command: &Grant) -> Result<GrantReply, CoreError> {
        let Some(claim) = self.read_claim(command.activation_id)? else {
            return Ok(GrantReply::Stale);
        };
        let mut task = match Task::find(self.store, &command.task_id) {
            Ok(Some(task)) => task,
            Ok(None) => return self.quarantine(command, "its task is gone"),
            Err(StoreError::Corrupt { .. } | StoreError::Shape { .. }) => {
                return self.quarantine(command, "its task can't be read");
            }
            Err(error) => return Err(error.into()),
        };
        if task.turn_id.as_deref() == Some(&command.turn_id) {
            return Ok(granted(
                &task,
                claim.deliveries.saturating_add(claim.failures),
            ));
        }
        if self
            .ended(command.activation_id, &command.turn_id)?
            .is_some()
        {
            return Ok(GrantReply::Stale);
        }
        let superseded = task.activation_id != command.activation_id;
        if !self.is_served_here()? {
            return Ok(GrantReply::Stale);
        }
        if !superseded && let Some(turn_id) = self.abandoned_turn(&task, &claim) {
            let end = EndTurn {
                activation_id: command.activation_id,
                task_id: command.task_id.clone(),
                turn_id,
                outcome: TurnOutcome::Expired,
            };
            self.end_turn(&end)?;
            return match self.read_claim(command.activation_id)? {
                Some(claim) if claim.wake_state == WakeState::Queued.code() => self.grant(command),
                _ => Ok(GrantReply::Stale),
            };
        }
        let owed = claim.wake_state == WakeState::Queued.code()
            || claim.wake_state == WakeState::Woken.code();
        if superseded || state::is_settled(&task.state) || !owed {
            return Ok(GrantReply::Stale);
        }
        let deliveries = claim.deliveries.saturating_add(1);
        self.store.execute(
            "UPDATE claims SET wake_state = ?2, deliveries = ?3 WHERE activation_id = ?1",
            &[
                command.activation_id.into(),
                WakeState::Woken.code().into(),
                deliveries.into(),
            ],
        )?;
        task.turn_id = Some(command.turn_id.clone());
        task.turn_resident = Some(self.scope.resident.to_owned());
        if task.state == TaskState::Working {
            self.store_token(&task)?;
        } else {
            self.transition(&mut task, TaskState::Working, None)?;
        }
        self.record(
            Kind::Woken,
            Some(&task.task_id),
            command.activation_id,
            Some(&command.turn_id),
        )?;
        Ok(granted(&task, deliveries.saturating_add(claim.failures)))
    }

    /// The turn of this queue's on the task's latest activation whose end it gave up telling of: how it ended is not known,
    /// only that it is over.
    fn abandoned_turn(&self, task: &Task, claim: &Claim) -> Option<String> {
        let is_ours = task.turn_resident.as_deref() == Some(self.scope.resident);
        let is_woken = claim.wake_state == WakeState::Woken.code();
        task.turn_id.clone().filter(|_| is_ours && is_woken)
    }

    /// Sets an activation aside whose records can't be read any more, so that it stands in no other's way.
    fn quarantine(&mut self, command: &Grant, why: &str) -> Result<GrantReply, CoreError> {
        let newly = self.store.first(
            "UPDATE claims SET wake_state = ?2 WHERE activation_id = ?1 AND wake_state <> ?2 RETURNING 1",
            &[
                command.activation_id.into(),
                WakeState::Quarantined.code().into(),
            ],
        )?;
        if newly.is_some() {
            self.record(
                Kind::Quarantined,
                Some(&command.task_id),
                command.activation_id,
                Some(why),
            )?;
            self.effects
                .log
                .push(LogEvent::new("claim_quarantined").with("task_id", &command.task_id));
        }
        Ok(GrantReply::Stale)
    }

    /// Whether the asking queue is the one that serves this principal now.
    pub(super) fn is_served_here(&self) -> Result<bool, StoreError> {
        let serving = self.serving()?;
        Ok(serving.is_none_or(|serving| serving == self.scope.resident))
    }

    /// The queue that serves this principal now, once it has had a task.
    pub(super) fn serving(&self) -> Result<Option<String>, StoreError> {
        let row = self.store.first("SELECT resident FROM task_counts", &[])?;
        row.map_or(Ok(None), |mut row| row.optional_text())
    }

    /// Takes the turn's authority back and decides what becomes of its activation.
    pub(super) fn end_turn(&mut self, command: &EndTurn) -> Result<Disposition, CoreError> {
        let Some(claim) = self.read_claim(command.activation_id)? else {
            return Ok(Disposition::Settled);
        };
        if let Some(disposition) = self.ended(command.activation_id, &command.turn_id)? {
            return Ok(disposition);
        }
        let Some(mut task) = Task::find(self.store, &command.task_id)? else {
            return Ok(Disposition::Settled);
        };
        if task.turn_id.as_deref() != Some(&command.turn_id) {
            return Ok(standing(command, &task, &claim));
        }
        task.turn_id = None;
        task.turn_resident = None;
        self.store_token(&task)?;
        let disposition = self.judge(command, &task, &claim)?;
        self.remember_end(command, &disposition)?;
        Ok(disposition)
    }

    /// What became of the activation after a turn that is over.
    fn ended(&self, activation_id: i64, turn_id: &str) -> Result<Option<Disposition>, StoreError> {
        self.store
            .first(
                "SELECT disposition FROM ended_turns WHERE activation_id = ?1 AND turn_id = ?2",
                &[activation_id.into(), turn_id.into()],
            )?
            .map(|mut row| {
                serde_json::from_str(&row.text()?).map_err(|_| StoreError::Corrupt {
                    what: "disposition",
                })
            })
            .transpose()
    }

    fn remember_end(&self, command: &EndTurn, disposition: &Disposition) -> Result<(), StoreError> {
        let stored = serde_json::to_string(disposition).map_err(|_| StoreError::Corrupt {
            what: "disposition",
        })?;
        self.store.execute(
            "INSERT INTO ended_turns (activation_id, turn_id, disposition) VALUES (?1, ?2, ?3)",
            &[
                command.activation_id.into(),
                (&command.turn_id).into(),
                (&stored).into(),
            ],
        )
    }

    fn judge(
        &mut self,
        command: &EndTurn,
        task: &Task,
        claim: &Claim,
    ) -> Result<Disposition, CoreError> {
        // A continuation that was accepted during the turn has its own wake.
        let superseded = task.activation_id != command.activation_id;
        if state::is_settled(&task.state) || superseded {
            self.advance_claim(
                command.activation_id,
                WakeState::Done,
                claim.deliveries,
                claim.failures,
            )?;
            return Ok(if state::is_terminal(&task.state) {
                Disposition::Settled
            } else {
                Disposition::Interrupted
            });
        }
        let cut_short = match &command.outcome {
            TurnOutcome::Expired => Some(Kind::TurnExpired),
            TurnOutcome::Superseded | TurnOutcome::Undelivered => Some(Kind::TurnSuperseded),
            TurnOutcome::Ended | TurnOutcome::Failed(_) => None,
        };
        if let Some(kind) = cut_short {
            self.record(
                kind,
                Some(&task.task_id),
                command.activation_id,
                Some(&command.turn_id),
            )?;
        }
        if let TurnOutcome::Failed(reason) = &command.outcome {
            self.record(
                Kind::TurnFailed,
                Some(&task.task_id),
                command.activation_id,
                Some(reason),
            )?;
            return self.judge_failure(command, task, claim, reason);
        }
        if command.outcome == TurnOutcome::Undelivered {
            // No resident is known to have had it, so it does not count: each startup would use one up otherwise, and
            // only a startup makes another.
            self.advance_claim(
                command.activation_id,
                WakeState::Queued,
                claim.deliveries.saturating_sub(1).max(0),
                claim.failures,
            )?;
            return Ok(Disposition::Reoffered);
        }
        if command.outcome == TurnOutcome::Ended && self.awaits_agents(&task.task_id)? {
            self.advance_claim(
                command.activation_id,
                WakeState::Waiting,
                claim.deliveries,
                0,
            )?;
            return Ok(Disposition::AwaitingAgents);
        }
        if claim.deliveries < MAX_DELIVERIES {
            self.advance_claim(
                command.activation_id,
                WakeState::Queued,
                claim.deliveries,
                0,
            )?;
            return Ok(Disposition::Reoffered);
        }
        self.advance_claim(
            command.activation_id,
            WakeState::Failed,
            claim.deliveries,
            claim.failures,
        )?;
        // Both (seed, *Wake recovery follows durable Task state*): its resident is not well, and the wake is given up.
        for kind in [Kind::Unhealthy, Kind::WakeFailed] {
            self.record(
                kind,
                Some(&task.task_id),
                command.activation_id,
                Some("five deliveries left it unsettled"),
            )?;
        }
        self.effects.log.push(
            LogEvent::new("wake_failed")
                .with("task_id", &task.task_id)
                .with("deliveries", claim.deliveries),
        );
        Ok(Disposition::Exhausted)
    }

    fn judge_failure(
        &mut self,
        command: &EndTurn,
        task: &Task,
        claim: &Claim,
        reason: &str,
    ) -> Result<Disposition, CoreError> {
        // A failed turn counts as an attempt, not as a delivery.
        let deliveries = claim.deliveries.saturating_sub(1).max(0);
        let failures = claim.failures.saturating_add(1);
        if failures < MAX_FAILURES {
            self.advance_claim(
                command.activation_id,
                WakeState::Queued,
                deliveries,
                failures,
            )?;
            let exponent = u32::try_from(claim.failures.clamp(0, MAX_FAILURES)).unwrap_or(0);
            let pause_ms = FIRST_RETRY_MS.saturating_mul(4_i64.saturating_pow(exponent));
            return Ok(Disposition::Retrying {
                not_before_ms: self.environment.now_ms.saturating_add(pause_ms),
            });
        }
        self.advance_claim(
            command.activation_id,
            WakeState::Parked,
            deliveries,
            failures,
        )?;
        self.record(
            Kind::Unhealthy,
            Some(&task.task_id),
            command.activation_id,
            Some(reason),
        )?;
        self.effects.log.push(
            LogEvent::new("turn_unhealthy")
                .with("task_id", &task.task_id)
                .with("failures", failures),
        );
        Ok(Disposition::Parked)
    }

    fn read_claim(&self, activation_id: i64) -> Result<Option<Claim>, StoreError> {
        self.store
            .first(
                "SELECT wake_state, deliveries, failures FROM claims WHERE activation_id = ?1",
                &[activation_id.into()],
            )?
            .map(|mut row| {
                Ok(Claim {
                    wake_state: row.integer()?,
                    deliveries: row.integer()?,
                    failures: row.integer()?,
                })
            })
            .transpose()
    }

    fn advance_claim(
        &self,
        activation_id: i64,
        wake_state: WakeState,
        deliveries: i64,
        failures: i64,
    ) -> Result<(), StoreError> {
        self.store.execute(
            "UPDATE claims SET wake_state = ?2, deliveries = ?3, failures = ?4 WHERE activation_id = ?1",
            &[activation_id.into(), wake_state.code().into(), deliveries.into(), failures.into()],
        )
    }

    fn store_token(&self, task: &Task) -> Result<(), StoreError> {
        self.store.execute(
            "UPDATE tasks SET turn_id = ?2, turn_resident = ?3 WHERE task_id = ?1",
            &[
                (&task.task_id).into(),
                task.turn_id.as_ref().into(),
                task.turn_resident.as_ref().into(),
            ],
        )
    }
}

/// How an activation stands for a turn that has no authority over its task: a cancel took it, or another queue's turn. Its
/// end decides nothing.
fn standing(command: &EndTurn, task: &Task, claim: &Claim) -> Disposition {
    if state::is_terminal(&task.state) {
        Disposition::Settled
    } else if state::is_interrupted(&task.state) || task.activation_id != command.activation_id {
        Disposition::Interrupted
    } else if claim.wake_state == WakeState::Failed.code() {
        Disposition::Exhausted
    } else if claim.wake_state == WakeState::Parked.code() {
        Disposition::Parked
    } else if claim.wake_state == WakeState::Waiting.code() {
        Disposition::AwaitingAgents
    } else {
        Disposition::Reoffered
    }
}

fn granted(task: &Task, delivery: i64) -> GrantReply {
    GrantReply::Granted {
        context_id: task.context_id.clone(),
        delivery: u32::try_from(delivery).unwrap_or(u32::MAX),
    }
}
