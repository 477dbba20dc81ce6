//! The turn: who may speak for it, how long it lives, and how it ends.

use protocol::credentials::TurnToken;
use protocol::error::A2aError;

use super::{WAKE_BELL, WakeQueue, may_speak, turn_bell};
use crate::commands::principal::{Disposition, EndTurn, TurnOutcome};
use crate::commands::wake_queue::{HeartbeatReply, TurnAuthority};
use crate::effects::LogEvent;
use crate::error::CoreError;
use crate::storage::{Row, Store, StoreError};

/// The pause before the end of a turn is reported again, in milliseconds, doubled each time up to a minute.
const REPORT_RETRY_MS: i64 = 2_000;

/// How often the end of a turn is reported, some eight and a half minutes long, before its principal is asked later.
const MAX_REPORTS: i64 = 12;

/// How long the end of a turn is remembered, in milliseconds.
const REMEMBERED_MS: i64 = 15 * 60_000;

/// How far the turn has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its principal has not granted it yet.
    Reserved,
    /// The resident has authority over its task.
    Live,
    /// It is over; its principal has not been told yet.
    Ending,
}

impl Phase {
    pub const fn code(self) -> i64 {
        match self {
            Self::Reserved => 0,
            Self::Live => 1,
            Self::Ending => 2,
        }
    }

    const fn from_code(code: i64) -> Option<Self> {
        match code {
            0 => Some(Self::Reserved),
            1 => Some(Self::Live),
            2 => Some(Self::Ending),
            _ => None,
        }
    }
}

/// The turn as stored.
#[derive(Debug, Clone)]
pub(super) struct StoredTurn {
    pub turn_id: String,
    pub session: String,
    pub principal: String,
    pub activation_id: i64,
    pub task_id: String,
    pub context_id: String,
    pub delivery: i64,
    pub secret_sha256: String,
    pub phase: Phase,
    pub lease_ms: i64,
    pub outcome: Option<String>,
    pub due_ms: i64,
    pub attempts: i64,
    pub reserved_ms: i64,
}

impl StoredTurn {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            turn_id: row.text()?,
            session: row.text()?,
            principal: row.text()?,
            activation_id: row.integer()?,
            task_id: row.text()?,
            context_id: row.text()?,
            delivery: row.integer()?,
            secret_sha256: row.text()?,
            phase: Phase::from_code(row.integer()?)
                .ok_or(StoreError::Corrupt { what: "turn phase" })?,
            lease_ms: row.integer()?,
            outcome: row.optional_text()?,
            due_ms: row.integer()?,
            attempts: row.integer()?,
            reserved_ms: row.integer()?,
        })
    }

    fn ending(&self, outcome: TurnOutcome) -> Ending {
        Ending {
            principal: self.principal.clone(),
            report: EndReport {
                activation_id: self.activation_id,
                task_id: self.task_id.clone(),
                turn_id: self.turn_id.clone(),
                outcome,
            },
        }
    }
}

/// The end of a turn, to be reported to its principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Whom to tell.
    pub principal: String,
    /// What.
    pub report: EndReport,
}

/// What [`EndTurn`] carries, here comparable and clonable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndReport {
    /// The activation that was delivered.
    pub activation_id: i64,
    /// Its task.
    pub task_id: String,
    /// The turn.
    pub turn_id: String,
    /// How it ended.
    pub outcome: TurnOutcome,
}

impl From<EndReport> for EndTurn {
    fn from(report: EndReport) -> Self {
        let EndReport {
            activation_id,
            task_id,
            turn_id,
            outcome,
        } = report;
        Self {
            activation_id,
            task_id,
            turn_id,
            outcome,
        }
    }
}

/// A tool call that passed the queue's check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Whose task it is.
    pub principal: String,
}

impl<S: Store> WakeQueue<'_, S> {
    pub(super) fn turn(&self) -> Result<Option<StoredTurn>, StoreError> {
        self.store
            .first(
                "SELECT turn_id, session, principal, activation_id, task_id, context_id, delivery, secret_sha256, \
                 phase, lease_ms, outcome, due_ms, attempts, reserved_ms FROM turn",
                &[],
            )?
            .map(StoredTurn::from_row)
            .transpose()
    }

    /// The live turn of this id, if the bearer may speak for it.
    fn live(
        &self,
        turn_id: &str,
        authority: &TurnAuthority,
    ) -> Result<Option<StoredTurn>, StoreError> {
        // A lease that has run out is over, even if the alarm that says so is late.
        let now_ms = self.environment.now_ms;
        Ok(self.turn()?.filter(|turn| {
            turn.turn_id == turn_id
                && turn.phase == Phase::Live
                && turn.due_ms > now_ms
                && may_speak(authority, turn_id, &turn.secret_sha256)
        }))
    }

    /// Renews the lease. While the turn is live, `attempts` tells whether it was ever renewed.
    fn renew_lease(&self, turn: &StoredTurn) -> Result<(), StoreError> {
        self.store.execute(
            "UPDATE turn SET due_ms = ?1, attempts = 1",
            &[self.lease_end_ms(turn.lease_ms).into()],
        )
    }

    pub(super) fn renew(
        &mut self,
        turn_id: &str,
        authority: &TurnAuthority,
    ) -> Result<HeartbeatReply, CoreError> {
        if let Some(turn) = self.live(turn_id, authority)? {
            self.renew_lease(&turn)?;
            return Ok(HeartbeatReply::Live {
                lease_ms: turn.lease_ms,
            });
        }
        // Whether a bearer holds a turn's token can't be checked once the turn is gone; its end is no secret to
        // whoever knows its id, which is random.
        let reason = self
            .store
            .first(
                "SELECT reason FROM ended_turns WHERE turn_id = ?1",
                &[turn_id.into()],
            )?
            .map(|mut row| row.text())
            .transpose()?;
        match reason {
            Some(reason) => Ok(HeartbeatReply::Over { reason }),
            None if self.turn()?.is_some_and(|turn| {
                turn.turn_id == turn_id && may_speak(authority, turn_id, &turn.secret_sha256)
            }) =>
            {
                Ok(HeartbeatReply::Over {
                    reason: "expired".to_owned(),
                })
            }
            None => Err(A2aError::turn_not_live().into()),
        }
    }

    pub(super) fn check_tool(
        &mut self,
        turn_id: &str,
        task_id: &str,
        authority: &TurnAuthority,
    ) -> Result<Checked, CoreError> {
        let turn = self
            .live(turn_id, authority)?
            .filter(|turn| turn.task_id == task_id)
            .ok_or_else(A2aError::turn_not_live)?;
        self.renew_lease(&turn)?;
        Ok(Checked {
            principal: turn.principal,
        })
    }

    pub(super) fn begin_end(
        &mut self,
        turn_id: &str,
        task_id: Option<&str>,
        outcome: TurnOutcome,
    ) -> Result<Ending, CoreError> {
        let turn = self
            .live(turn_id, &TurnAuthority::Resident)?
            .filter(|turn| task_id.is_none_or(|task_id| turn.task_id == task_id))
            .ok_or_else(A2aError::turn_not_live)?;
        self.mark_ending(&turn, &outcome)?;
        Ok(turn.ending(outcome))
    }

    /// A new session begins: whatever turn there is is over.
    pub(super) fn supersede(&mut self) -> Result<(), CoreError> {
        match self.turn()? {
            Some(turn) if turn.phase == Phase::Live => {
                let outcome = if turn.attempts > 0 {
                    TurnOutcome::Superseded
                } else {
                    TurnOutcome::Undelivered
                };
                self.end_live_turn(&turn, &outcome)?;
                self.log_turn("turn_superseded", &turn.turn_id, &turn.task_id);
            }
            Some(turn) if turn.phase == Phase::Reserved => self.release(&turn.turn_id)?,
            _ => {}
        }
        Ok(())
    }

    /// Ends the live turn for a reason of the queue's own. The alarm reports it.
    pub(super) fn end_live_turn(
        &mut self,
        turn: &StoredTurn,
        outcome: &TurnOutcome,
    ) -> Result<(), StoreError> {
        self.mark_ending(turn, outcome)?;
        self.store.execute(
            "UPDATE turn SET due_ms = ?1",
            &[self.environment.now_ms.into()],
        )
    }

    fn mark_ending(&mut self, turn: &StoredTurn, outcome: &TurnOutcome) -> Result<(), StoreError> {
        let stored =
            serde_json::to_string(outcome).map_err(|_| StoreError::Corrupt { what: "outcome" })?;
        self.store.execute(
            "UPDATE turn SET phase = ?1, outcome = ?2, due_ms = ?3, attempts = 1",
            &[
                Phase::Ending.code().into(),
                (&stored).into(),
                self.environment
                    .now_ms
                    .saturating_add(REPORT_RETRY_MS)
                    .into(),
            ],
        )?;
        self.remember_end(&turn.turn_id, reason(outcome))?;
        self.effects.rings.push(turn_bell(&turn.turn_id));
        Ok(())
    }

    /// Says in the log what became of a turn that its resident did not end.
    pub(super) fn log_turn(&mut self, event: &'static str, turn_id: &str, task_id: &str) {
        self.effects.log.push(
            LogEvent::new(event)
                .with("resident", self.resident)
                .with("turn_id", turn_id)
                .with("task_id", task_id),
        );
    }

    /// The turn whose time has come: its lease is over, its end is still to be reported, or its grant never came.
    pub(super) fn overdue_turn(&mut self) -> Result<Option<Ending>, CoreError> {
        let now_ms = self.environment.now_ms;
        let Some(turn) = self.turn()?.filter(|turn| turn.due_ms <= now_ms) else {
            return Ok(None);
        };
        match turn.phase {
            Phase::Live => {
                self.mark_ending(&turn, &TurnOutcome::Expired)?;
                self.log_turn("lease_expired", &turn.turn_id, &turn.task_id);
                Ok(Some(turn.ending(TurnOutcome::Expired)))
            }
            // Whether the principal granted it is unknown, but nobody was handed it: it is asked for again.
            Phase::Reserved => {
                self.release(&turn.turn_id)?;
                Ok(None)
            }
            Phase::Ending if turn.attempts >= MAX_REPORTS => {
                self.abandon(&turn)?;
                Ok(None)
            }
            Phase::Ending => {
                let shift = u32::try_from(turn.attempts.clamp(0, 5)).unwrap_or(5);
                let retry_ms =
                    now_ms.saturating_add(REPORT_RETRY_MS.saturating_mul(1_i64 << shift));
                self.store.execute(
                    "UPDATE turn SET due_ms = ?1, attempts = attempts + 1",
                    &[retry_ms.into()],
                )?;
                let outcome = turn
                    .outcome
                    .as_deref()
                    .and_then(|outcome| serde_json::from_str(outcome).ok())
                    .ok_or(StoreError::Corrupt { what: "outcome" })?;
                Ok(Some(turn.ending(outcome)))
            }
        }
    }

    /// Lets the queue go on without the principal that can't be told of its turn's end, so that one principal's trouble is
    /// not everybody's. The queue has taken the turn's authority back, and what it had let through was answered long
    /// ago or never will be. The activation is asked for again, behind the others: granting it, its principal finds the
    /// turn that is over.
    fn abandon(&mut self, turn: &StoredTurn) -> Result<(), StoreError> {
        self.store.execute("DELETE FROM turn", &[])?;
        self.log_turn("turn_end_abandoned", &turn.turn_id, &turn.task_id);
        self.requeue(
            &turn.principal,
            turn.activation_id,
            &turn.task_id,
            Some(self.environment.now_ms.saturating_add(REPORT_RETRY_MS)),
            None,
        )?;
        self.effects.rings.push(WAKE_BELL.to_owned());
        Ok(())
    }

    pub(super) fn finish_end(
        &mut self,
        turn_id: &str,
        disposition: &Disposition,
    ) -> Result<(), CoreError> {
        let Some(turn) = self
            .turn()?
            .filter(|turn| turn.turn_id == turn_id && turn.phase == Phase::Ending)
        else {
            return Ok(());
        };
        self.store.execute("DELETE FROM turn", &[])?;
        match disposition {
            Disposition::Reoffered => self.requeue(
                &turn.principal,
                turn.activation_id,
                &turn.task_id,
                None,
                None,
            )?,
            Disposition::Retrying { not_before_ms } => {
                self.requeue(
                    &turn.principal,
                    turn.activation_id,
                    &turn.task_id,
                    Some(*not_before_ms),
                    None,
                )?;
            }
            Disposition::Settled
            | Disposition::Interrupted
            | Disposition::Parked
            | Disposition::Exhausted
            | Disposition::AwaitingAgents => {}
        }
        self.effects.rings.push(WAKE_BELL.to_owned());
        self.effects.log.push(
            LogEvent::new("turn_ended")
                .with("resident", self.resident)
                .with("turn_id", turn_id)
                .with("task_id", &turn.task_id)
                .with("disposition", name(disposition)),
        );
        Ok(())
    }

    pub(super) fn remember_end(&self, turn_id: &str, reason: &str) -> Result<(), StoreError> {
        let now_ms = self.environment.now_ms;
        self.store.execute(
            "DELETE FROM ended_turns WHERE ended_ms < ?1",
            &[now_ms.saturating_sub(REMEMBERED_MS).into()],
        )?;
        self.store.execute(
            "INSERT INTO ended_turns (turn_id, reason, ended_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            &[turn_id.into(), reason.into(), now_ms.into()],
        )
    }
}

const fn reason(outcome: &TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Ended | TurnOutcome::Failed(_) => "ended",
        TurnOutcome::Expired => "expired",
        TurnOutcome::Superseded | TurnOutcome::Undelivered => "superseded",
    }
}

/// The stable name of a disposition, as answered and logged.
#[must_use]
pub const fn name(disposition: &Disposition) -> &'static str {
    match disposition {
        Disposition::Settled => "settled",
        Disposition::Interrupted => "interrupted",
        Disposition::Reoffered => "reoffered",
        Disposition::Retrying { .. } => "retrying",
        Disposition::Parked => "parked",
        Disposition::Exhausted => "exhausted",
        Disposition::AwaitingAgents => "awaiting_agents",
    }
}

/// A hash as kept in a text column.
pub(super) fn hash_text(hash: &[u8; 32]) -> String {
    hash.iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
            text
        })
}

/// Whether a token is the turn's, in constant time.
pub(super) fn token_matches(token: &str, turn_id: &str, secret_sha256: &str) -> bool {
    let mut expected = [0_u8; 32];
    let mut digits = secret_sha256
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok());
    for byte in &mut expected {
        let (Some(high), Some(low)) = (digits.next(), digits.next()) else {
            return false;
        };
        *byte = (high << 4) | low;
    }
    TurnToken::parse(token)
        .is_some_and(|token| token.turn_id == turn_id && token.matches(&expected))
}
