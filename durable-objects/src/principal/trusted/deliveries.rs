//! Outbound mutations at providers, each made once (seed *Outbound delivery is serialized per delivery ID*).
//!
//! A delivery is *sending* from the moment on at which somebody was told to send, and only a settled outcome takes it out
//! of that state. Who dies in between leaves it there, and whoever comes next finds out what happened before anything is
//! sent again; where nobody can find out, it is *ambiguous*, and left to a person.

use protocol::credentials::sha256;
use protocol::digest::hex;
use protocol::error::{A2aError, Reason};
use protocol::trusted::delivery::{Begin, Outcome, Reconcile, Recovery, Settle};
use serde::Serialize;

use super::answer;
use crate::commands::JsonText;
use crate::effects::LogEvent;
use crate::error::CoreError;
use crate::principal::Principal;
use crate::principal::evidence::Kind;
use crate::storage::{Store, StoreError};

/// How long an attempt may take before it counts as crashed, in milliseconds.
pub const HOLD_MS: i64 = 60_000;

/// Deliveries that one transaction gives up.
const MAX_ABANDONED: i64 = 50;

/// How far a delivery has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Somebody was told to send, and has not said how it went.
    Sending,
    /// The provider made it.
    Delivered,
    /// The provider has not made it: it may be begun again.
    Failed,
    /// Nobody knows, and nobody can find out without a person.
    Ambiguous,
}

impl State {
    pub const fn code(self) -> i64 {
        match self {
            Self::Sending => 1,
            Self::Delivered => 2,
            Self::Failed => 3,
            Self::Ambiguous => 4,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Sending => "SENDING",
            Self::Delivered => "DELIVERED",
            Self::Failed => "FAILED",
            Self::Ambiguous => "AMBIGUOUS",
        }
    }

    fn from_code(code: i64) -> Result<Self, StoreError> {
        [
            Self::Sending,
            Self::Delivered,
            Self::Failed,
            Self::Ambiguous,
        ]
        .into_iter()
        .find(|state| state.code() == code)
        .ok_or(StoreError::Corrupt { what: "delivery" })
    }
}

const fn recovery_code(recovery: Recovery) -> i64 {
    match recovery {
        Recovery::Idempotent => 1,
        Recovery::Lookup => 2,
        Recovery::Ambiguous => 3,
    }
}

/// What an attempt said; [`Outcome::Absent`] ends none.
const fn outcome_code(outcome: Outcome) -> Option<i64> {
    match outcome {
        Outcome::Delivered => Some(1),
        Outcome::Refused => Some(2),
        Outcome::Indeterminate => Some(3),
        Outcome::Absent => None,
    }
}

/// A delivery's row.
pub(super) struct Delivery {
    pub delivery_id: String,
    pub task_id: String,
    pub source: String,
    pub payload_digest: String,
    pub recovery: Recovery,
    pub state: State,
    pub attempt: String,
    pub attempts: i64,
    pub outcome: Option<i64>,
    pub holder: Option<String>,
    pub held_until_ms: i64,
    pub provider_response_id: Option<String>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Settled<'a> {
    delivery_id: &'a str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    disposition: Option<&'static str>,
}

impl<S: Store> Principal<'_, S> {
    /// What came of an attempt. The same said again is answered the same.
    ///
    /// # Errors
    /// `DELIVERY_NOT_FOUND`; `DELIVERY_NOT_HELD` for an attempt that was replaced; `DELIVERY_SETTLED` for another outcome.
    pub(super) fn settle_delivery(&mut self, settle: &Settle) -> Result<JsonText, CoreError> {
        let mut delivery = self.known_delivery(&settle.delivery_id)?;
        if delivery.attempt != settle.attempt {
            return Err(not_held("another attempt has taken over").into());
        }
        let response_id = settle.provider_response_id.as_deref();
        // Given up before its attempt had said anything: what it knows for certain is better than that.
        let is_late_truth = delivery.state == State::Ambiguous
            && delivery.outcome.is_none()
            && matches!(settle.outcome, Outcome::Delivered | Outcome::Refused);
        let is_open = delivery.state == State::Sending && delivery.outcome.is_none();
        if !is_open && !is_late_truth {
            let again = delivery.outcome == outcome_code(settle.outcome)
                && delivery.outcome.is_some()
                && delivery.provider_response_id.as_deref() == response_id;
            return if again {
                settled(&delivery, None)
            } else {
                Err(settled_before(&delivery).into())
            };
        }
        delivery.outcome = outcome_code(settle.outcome);
        let reason = settle.reason.as_deref();
        match (settle.outcome, delivery.recovery) {
            (Outcome::Delivered, _) => self.delivered(&mut delivery, response_id, None)?,
            (Outcome::Refused, _) => self.failed(&mut delivery, reason.unwrap_or("refused"))?,
            (Outcome::Indeterminate, Recovery::Idempotent) => {
                self.failed(&mut delivery, reason.unwrap_or("unknown; sent again"))?;
            }
            // It stays in sending, and whoever begins it next looks it up.
            (Outcome::Indeterminate, Recovery::Lookup) => {
                delivery.held_until_ms = self.environment.now_ms;
                self.store_delivery(&delivery, reason)?;
            }
            (Outcome::Indeterminate, Recovery::Ambiguous) => {
                self.ambiguous(&mut delivery, reason.unwrap_or("the outcome is unknown"))?;
            }
            (Outcome::Absent, Recovery::Lookup) => {
                delivery.held_until_ms = self.hold_until_ms();
                self.store_delivery(&delivery, reason)?;
                return settled(&delivery, Some("SEND"));
            }
            (Outcome::Absent, _) => {
                return Err(A2aError::field(
                    "outcome",
                    "may be ABSENT only where recovery is LOOKUP",
                )
                .into());
            }
        }
        settled(&delivery, None)
    }

    /// Somebody has found out what became of a delivery.
    ///
    /// # Errors
    /// `DELIVERY_NOT_FOUND`; `DELIVERY_NOT_HELD` while an attempt is under way; `DELIVERY_SETTLED` where it is known to
    /// have gone otherwise.
    pub(super) fn reconcile_delivery(
        &mut self,
        reconcile: &Reconcile,
    ) -> Result<JsonText, CoreError> {
        let mut delivery = self.known_delivery(&reconcile.delivery_id)?;
        let response_id = reconcile.provider_response_id.as_deref();
        let was_made = reconcile.outcome == Outcome::Delivered;
        match delivery.state {
            State::Sending if delivery.held_until_ms > self.environment.now_ms => {
                return Err(not_held("an attempt is under way: wait for it").into());
            }
            State::Delivered => {
                let again = was_made
                    && (response_id.is_none()
                        || delivery.provider_response_id.as_deref() == response_id);
                if !again {
                    return Err(settled_before(&delivery).into());
                }
            }
            State::Failed if !was_made => {}
            _ => {
                // Whoever held it until now is told so.
                delivery.attempt = self.environment.ids.id();
                if was_made {
                    delivery.outcome = outcome_code(Outcome::Delivered);
                    self.delivered(&mut delivery, response_id, Some("by hand"))?;
                } else {
                    delivery.outcome = outcome_code(Outcome::Refused);
                    self.failed(&mut delivery, "by hand: not made")?;
                }
            }
        }
        settled(&delivery, None)
    }

    fn delivered(
        &mut self,
        delivery: &mut Delivery,
        response_id: Option<&str>,
        note: Option<&str>,
    ) -> Result<(), CoreError> {
        delivery.state = State::Delivered;
        delivery.provider_response_id = response_id.map(str::to_owned);
        self.store_delivery(delivery, note)?;
        self.delivery_evidence(Kind::Delivered, delivery, note)?;
        if let Some(response_id) = response_id
            && self.has_reply_anchors(&delivery.source)?
            && !self.keep_anchor(&delivery.source, response_id, &delivery.task_id)?
        {
            self.effects.log.push(
                LogEvent::new("anchor_taken")
                    .with("source", &delivery.source)
                    .with("task_id", &delivery.task_id),
            );
        }
        Ok(())
    }

    fn failed(&mut self, delivery: &mut Delivery, reason: &str) -> Result<(), CoreError> {
        delivery.state = State::Failed;
        self.store_delivery(delivery, Some(reason))?;
        Ok(self.delivery_evidence(Kind::DeliveryFailed, delivery, Some(reason))?)
    }

    /// Nothing is sent again by itself: a person must look (seed *fails closed as ambiguous*).
    pub(super) fn ambiguous(
        &mut self,
        delivery: &mut Delivery,
        reason: &str,
    ) -> Result<(), CoreError> {
        delivery.state = State::Ambiguous;
        self.store_delivery(delivery, Some(reason))?;
        self.delivery_evidence(Kind::Unhealthy, delivery, Some(reason))?;
        self.effects.log.push(
            LogEvent::new("delivery_ambiguous")
                .with("source", &delivery.source)
                .with("task_id", &delivery.task_id)
                .with("delivery_id", &delivery.delivery_id),
        );
        Ok(())
    }

    /// Gives up the deliveries whose attempt fell silent and whose outcome nobody can find out, a batch at a time.
    pub(in crate::principal) fn fail_abandoned_deliveries(&mut self) -> Result<(), CoreError> {
        let rows = self.store.query(
            "SELECT delivery_id FROM deliveries WHERE state = 1 AND recovery = 3 AND held_until_ms <= ?1 \
             ORDER BY held_until_ms LIMIT ?2",
            &[self.environment.now_ms.into(), MAX_ABANDONED.into()],
        )?;
        for mut row in rows {
            let mut delivery = self.known_delivery(&row.text()?)?;
            self.ambiguous(&mut delivery, "a crash left it in sending")?;
        }
        Ok(())
    }

    fn delivery_evidence(
        &self,
        kind: Kind,
        delivery: &Delivery,
        note: Option<&str>,
    ) -> Result<(), StoreError> {
        let detail = match note {
            Some(note) => format!("{}: {note}", delivery.delivery_id),
            None => delivery.delivery_id.clone(),
        };
        self.record_about(kind, Some(&delivery.task_id), None, Some(&detail))
    }

    fn known_delivery(&self, delivery_id: &str) -> Result<Delivery, CoreError> {
        self.find_delivery(delivery_id)?.ok_or_else(|| {
            A2aError::new(Reason::DeliveryNotFound, "you have no such delivery")
                .with("deliveryId", delivery_id)
                .into()
        })
    }

    pub(super) fn find_delivery(&self, delivery_id: &str) -> Result<Option<Delivery>, StoreError> {
        self.store
            .first(
                "SELECT delivery_id, task_id, source, payload_digest, recovery, state, attempt, attempts, outcome, holder, \
                 held_until_ms, provider_response_id FROM deliveries WHERE delivery_id = ?1",
                &[delivery_id.into()],
            )?
            .map(|mut row| {
                Ok(Delivery {
                    delivery_id: row.text()?,
                    task_id: row.text()?,
                    source: row.text()?,
                    payload_digest: row.text()?,
                    recovery: match row.integer()? {
                        1 => Recovery::Idempotent,
                        2 => Recovery::Lookup,
                        _ => Recovery::Ambiguous,
                    },
                    state: State::from_code(row.integer()?)?,
                    attempt: row.text()?,
                    attempts: row.integer()?,
                    outcome: row.optional_integer()?,
                    holder: row.optional_text()?,
                    held_until_ms: row.integer()?,
                    provider_response_id: row.optional_text()?,
                })
            })
            .transpose()
    }

    pub(super) fn insert_delivery(
        &self,
        delivery: &Delivery,
        begin: &Begin,
    ) -> Result<(), StoreError> {
        self.store.execute(
            "INSERT INTO deliveries (delivery_id, task_id, source, operation_id, payload_digest, recovery, state, \
             attempt, attempts, holder, held_until_ms, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?10, ?11)",
            &[
                (&delivery.delivery_id).into(),
                (&begin.task_id).into(),
                (&begin.source).into(),
                (&begin.operation_id).into(),
                (&begin.payload_digest).into(),
                recovery_code(begin.recovery).into(),
                delivery.state.code().into(),
                (&delivery.attempt).into(),
                delivery.holder.as_ref().into(),
                delivery.held_until_ms.into(),
                self.environment.now_ms.into(),
            ],
        )
    }

    /// Writes what changes of a delivery.
    pub(super) fn store_delivery(
        &self,
        delivery: &Delivery,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        self.store.execute(
            "UPDATE deliveries SET attempts = ?10, state = ?3, attempt = ?2, outcome = ?4, holder = ?5, held_until_ms = ?6, \
             updated_ms = max(updated_ms, ?7), provider_response_id = ?8, reason = ?9 \
             WHERE delivery_id = ?1",
            &[
                (&delivery.delivery_id).into(),
                (&delivery.attempt).into(),
                delivery.state.code().into(),
                delivery.outcome.into(),
                delivery.holder.as_ref().into(),
                delivery.held_until_ms.into(),
                self.environment.now_ms.into(),
                delivery.provider_response_id.as_ref().into(),
                reason.into(),
                delivery.attempts.into(),
            ],
        )
    }

    pub(super) fn hold_until_ms(&self) -> i64 {
        self.environment.now_ms.saturating_add(HOLD_MS)
    }
}

/// A delivery's id: what it is about decides it, so that two that want the same are one.
pub(super) fn delivery_id(begin: &Begin) -> Result<String, StoreError> {
    let payload = (!begin.fixed).then_some(&begin.payload_digest);
    let named = (&begin.task_id, &begin.source, &begin.operation_id, payload);
    let json =
        serde_json::to_string(&named).map_err(|_| StoreError::Corrupt { what: "delivery" })?;
    Ok(format!("delivery.{}", hex(&sha256(&json))))
}

fn settled(delivery: &Delivery, disposition: Option<&'static str>) -> Result<JsonText, CoreError> {
    answer(&Settled {
        delivery_id: &delivery.delivery_id,
        state: delivery.state.name(),
        disposition,
    })
}

fn not_held(why: &'static str) -> A2aError {
    A2aError::new(Reason::DeliveryNotHeld, why)
        .violating("attempt", "must be the one that is under way")
}

fn settled_before(delivery: &Delivery) -> A2aError {
    A2aError::new(
        Reason::DeliverySettled,
        "the delivery was settled before, and otherwise",
    )
    .with("state", delivery.state.name())
    .violating("outcome", "must be the one that it was settled with")
}
