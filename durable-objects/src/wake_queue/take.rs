//! Reserving the oldest wake and handing out its turn.

use protocol::credentials::{TurnToken, mint_turn_token};

use super::turn::{Phase, hash_text};
use super::{WAKE_BELL, WakeQueue, turn_bell};
use crate::commands::principal::{Grant, GrantReply, TurnOutcome};
use crate::commands::wake_queue::Turn;
use crate::effects::LogEvent;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// How long a reservation may wait for its principal, in milliseconds, before it is looked at again.
const RESERVATION_MS: i64 = 15_000;

/// The pause before a wake whose principal could not be asked is offered again, in milliseconds.
const UNREACHABLE_MS: i64 = 2_000;

/// What a take needs next.
#[derive(Debug)]
pub enum Step {
    /// Ask the principal to grant this, then call [`WakeQueue::granted`] and take again.
    Ask {
        /// Whom to ask.
        principal: String,
        /// What.
        grant: Grant,
    },
    /// The turn is the session's.
    Turn(Turn),
    /// No wake is ready, or a turn is on its way in or out: wait for the bell.
    Nothing,
    /// The session has just started, and is to be told whom it serves (`Assign`) before it takes anything.
    Started,
}

impl<S: Store> WakeQueue<'_, S> {
    pub(super) fn begin_take(
        &mut self,
        session: &str,
        lease_ms: Option<i64>,
    ) -> Result<Step, CoreError> {
        if self.enter(session)? {
            return Ok(Step::Started);
        }
        let lease_ms = lease_ms.unwrap_or(self.lease_ms);
        if let Some(turn) = self.turn()? {
            return match turn.phase {
                // Its lease is over, even if this take comes before the alarm that says so.
                Phase::Live if turn.due_ms <= self.environment.now_ms => {
                    self.end_live_turn(&turn, &TurnOutcome::Expired)?;
                    Ok(Step::Nothing)
                }
                // The answer to an earlier take was lost: the same turn, under a fresh token.
                Phase::Live if turn.session == session => {
                    let token = self.mint(&turn.turn_id);
                    self.store.execute(
                        "UPDATE turn SET secret_sha256 = ?1, due_ms = ?2",
                        &[
                            (&hash_of(&token)?).into(),
                            self.lease_end_ms(turn.lease_ms).into(),
                        ],
                    )?;
                    Ok(Step::Turn(Turn {
                        turn_id: turn.turn_id,
                        task_id: turn.task_id,
                        context_id: turn.context_id,
                        delivery: u32::try_from(turn.delivery).unwrap_or(u32::MAX),
                        lease_ms: turn.lease_ms,
                        token,
                    }))
                }
                Phase::Reserved if turn.due_ms <= self.environment.now_ms => {
                    Ok(self.ask_again(&turn)?)
                }
                _ => Ok(Step::Nothing),
            };
        }
        self.reserve(session, lease_ms)
    }

    fn reserve(&mut self, session: &str, lease_ms: i64) -> Result<Step, CoreError> {
        self.promote_delayed()?;
        let oldest = self.store.first(
            "SELECT wake_id, principal, activation_id, task_id, turn_id FROM wakes WHERE not_before_ms IS NULL \
             ORDER BY wake_id LIMIT 1",
            &[],
        )?;
        let Some(mut row) = oldest else {
            return Ok(Step::Nothing);
        };
        let (wake_id, principal, activation_id, task_id) =
            (row.integer()?, row.text()?, row.integer()?, row.text()?);
        let reserved_before = row.optional_text()?;
        self.store
            .execute("DELETE FROM wakes WHERE wake_id = ?1", &[wake_id.into()])?;
        let now_ms = self.environment.now_ms;
        let turn_id = reserved_before.unwrap_or_else(|| self.environment.ids.id());
        self.store.execute(
            "INSERT INTO turn (only, turn_id, session, principal, activation_id, task_id, context_id, delivery, \
             secret_sha256, phase, reserved_ms, due_ms, attempts, lease_ms) \
             VALUES (1, ?1, ?2, ?3, ?4, ?5, '', 0, '', ?6, ?7, ?8, 0, ?9)",
            &[
                (&turn_id).into(),
                session.into(),
                (&principal).into(),
                activation_id.into(),
                (&task_id).into(),
                Phase::Reserved.code().into(),
                now_ms.into(),
                now_ms.saturating_add(RESERVATION_MS).into(),
                lease_ms.into(),
            ],
        )?;
        Ok(Step::Ask {
            principal,
            grant: Grant {
                activation_id,
                task_id,
                turn_id,
            },
        })
    }

    fn ask_again(&mut self, turn: &super::turn::StoredTurn) -> Result<Step, StoreError> {
        self.store.execute(
            "UPDATE turn SET due_ms = ?1",
            &[self
                .environment
                .now_ms
                .saturating_add(RESERVATION_MS)
                .into()],
        )?;
        Ok(Step::Ask {
            principal: turn.principal.clone(),
            grant: Grant {
                activation_id: turn.activation_id,
                task_id: turn.task_id.clone(),
                turn_id: turn.turn_id.clone(),
            },
        })
    }

    pub(super) fn expire_reservation(&mut self) -> Result<(), CoreError> {
        self.store.execute(
            "UPDATE turn SET due_ms = min(due_ms, ?1) WHERE phase = ?2",
            &[
                self.environment.now_ms.into(),
                Phase::Reserved.code().into(),
            ],
        )?;
        Ok(())
    }

    pub(super) fn finish_grant(
        &mut self,
        turn_id: &str,
        session: &str,
        reply: &GrantReply,
    ) -> Result<Step, CoreError> {
        let reserved = self
            .turn()?
            .filter(|turn| turn.turn_id == turn_id && turn.phase == Phase::Reserved)
            // Reserved anew for a newer session: that one hears of it.
            .filter(|turn| turn.session == session);
        let Some(turn) = reserved else {
            // Canceled or superseded while the principal was asked.
            return Ok(Step::Nothing);
        };
        match reply {
            GrantReply::Granted {
                context_id,
                delivery,
            } => {
                let token = self.mint(turn_id);
                self.store.execute(
                    "UPDATE turn SET phase = ?1, context_id = ?2, delivery = ?3, due_ms = ?4, \
                     secret_sha256 = ?5",
                    &[
                        Phase::Live.code().into(),
                        context_id.into(),
                        (*delivery).into(),
                        self.lease_end_ms(turn.lease_ms).into(),
                        (&hash_of(&token)?).into(),
                    ],
                )?;
                let pending = self.pending()?;
                self.log_depth(pending);
                self.effects.log.push(
                    LogEvent::new("turn_granted")
                        .with("resident", self.resident)
                        .with("turn_id", turn_id)
                        .with("task_id", &turn.task_id)
                        .with("delivery", delivery),
                );
                Ok(Step::Turn(Turn {
                    turn_id: turn.turn_id,
                    task_id: turn.task_id,
                    context_id: context_id.clone(),
                    delivery: *delivery,
                    lease_ms: turn.lease_ms,
                    token,
                }))
            }
            GrantReply::Stale => {
                self.store.execute("DELETE FROM turn", &[])?;
                let pending = self.pending()?;
                self.log_depth(pending);
                self.reserve(session, turn.lease_ms)
            }
        }
    }

    /// Whether a bell should ring for a socket that has only now begun to wait.
    pub(super) fn bell_is_due(&self, bell: &str) -> Result<bool, StoreError> {
        let turn = self.turn()?;
        if bell == WAKE_BELL {
            let ready = self.store.first(
                "SELECT 1 FROM wakes WHERE not_before_ms IS NULL LIMIT 1",
                &[],
            )?;
            return Ok(turn.is_none() && ready.is_some());
        }
        Ok(!turn.is_some_and(|turn| turn_bell(&turn.turn_id) == bell && turn.phase == Phase::Live))
    }

    pub(super) fn release(&mut self, turn_id: &str) -> Result<(), CoreError> {
        let Some(turn) = self
            .turn()?
            .filter(|turn| turn.turn_id == turn_id && turn.phase == Phase::Reserved)
        else {
            return Ok(());
        };
        self.store.execute("DELETE FROM turn", &[])?;
        let not_before_ms = self.environment.now_ms.saturating_add(UNREACHABLE_MS);
        self.requeue(
            &turn.principal,
            turn.activation_id,
            &turn.task_id,
            Some(not_before_ms),
            Some(turn_id),
        )?;
        // Nobody was handed the turn, but others may wait for what stood behind it.
        self.effects.rings.push(WAKE_BELL.to_owned());
        Ok(())
    }

    pub(super) fn lease_end_ms(&self, lease_ms: i64) -> i64 {
        self.environment.now_ms.saturating_add(lease_ms)
    }

    fn mint(&mut self, turn_id: &str) -> String {
        mint_turn_token(self.resident, turn_id, &self.environment.ids.secret())
    }
}

fn hash_of(token: &str) -> Result<String, StoreError> {
    let token = TurnToken::parse(token).ok_or(StoreError::Corrupt { what: "turn token" })?;
    Ok(hash_text(&token.secret_sha256()))
}
