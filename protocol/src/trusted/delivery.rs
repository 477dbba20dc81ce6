//! One mutation at a provider: begun, sent, settled (seed *Outbound delivery is serialized per delivery ID*).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Caller, PROVIDER_RESPONSE_ID, SOURCE, TASK_ID, fields_of, identifier, response_id, source,
};
use crate::canonical;
use crate::error::A2aError;
use crate::fields::{Fields, Name, Violations, plain};

/// Longest reason of an outcome, in bytes.
pub const MAX_REASON_BYTES: usize = 1000;

const OPERATION_ID: Name = plain("operationId");
const PAYLOAD_DIGEST: Name = plain("payloadDigest");
const RECOVERY: Name = plain("recovery");
const PAYLOAD_POLICY: Name = plain("payloadPolicy");
const HOLDER: Name = plain("holder");
const CAN_RECONCILE: Name = plain("canReconcile");
const ATTEMPT: Name = plain("attempt");
const OUTCOME: Name = plain("outcome");
const REASON: Name = plain("reason");

/// What a provider offers for the case that nobody knows whether a mutation happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recovery {
    /// The same mutation twice is one: it is sent again.
    Idempotent,
    /// The provider can be asked for exactly this mutation.
    Lookup,
    /// Neither: it is left to a person.
    Ambiguous,
}

/// A delivery to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The task it is for.
    pub task_id: String,
    /// The source whose provider is changed; the task's own.
    pub source: String,
    /// Which mutation of the task's: `reply`, say.
    pub operation_id: String,
    /// `sha256:` and the digest of what is sent.
    pub payload_digest: String,
    /// How an unknown outcome is resolved.
    pub recovery: Recovery,
    /// The operation is bound to one payload: the same operation with another one is refused, and no delivery of its own.
    pub fixed: bool,
    /// Who asks, told to others who begin the same delivery meanwhile.
    pub holder: Option<String>,
    /// For [`Recovery::Lookup`]: the caller can look the mutation up. Without it an unknown outcome fails closed.
    pub can_reconcile: bool,
}

/// How a mutation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The provider made it, or was found to have made it.
    Delivered,
    /// The provider refused it for certain: it may be tried again.
    Refused,
    /// Nobody knows.
    Indeterminate,
    /// The provider was asked and has not made it.
    Absent,
}

/// A delivery to settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settle {
    /// Which.
    pub delivery_id: String,
    /// The attempt that was told to send or to look up.
    pub attempt: String,
    /// How it went.
    pub outcome: Outcome,
    /// The provider's id of what was made.
    pub provider_response_id: Option<String>,
    /// Why not, for operators; at most 1000 bytes.
    pub reason: Option<String>,
}

/// A delivery whose outcome somebody has found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconcile {
    /// Which.
    pub delivery_id: String,
    /// [`Outcome::Delivered`] or [`Outcome::Absent`].
    pub outcome: Outcome,
    /// The provider's id of what was made.
    pub provider_response_id: Option<String>,
}

impl Begin {
    /// Checks a delivery to begin.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) with every field at fault;
    /// [`PermissionDenied`](crate::error::Reason::PermissionDenied) naming `principal`.
    pub fn from_value(body: Value, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        let required = [TASK_ID, SOURCE, OPERATION_ID, PAYLOAD_DIGEST, RECOVERY];
        fields.require(&required, &mut violations);
        let begin = Begin {
            task_id: identifier(&mut fields, TASK_ID, &mut violations),
            source: source(&mut fields, &mut violations),
            operation_id: identifier(&mut fields, OPERATION_ID, &mut violations),
            payload_digest: fields
                .text_that(
                    PAYLOAD_DIGEST,
                    canonical::is_digest,
                    canonical::DIGEST_RULE,
                    &mut violations,
                )
                .unwrap_or_default(),
            recovery: recovery(&mut fields, &mut violations),
            fixed: fields
                .choice(PAYLOAD_POLICY, &["FIXED"], &mut violations)
                .is_some(),
            holder: fields.identifier(HOLDER, &mut violations),
            can_reconcile: fields.flag(CAN_RECONCILE, &mut violations),
        };
        fields.refuse_others(&mut violations);
        violations.or(begin)
    }
}

impl Settle {
    /// Checks how the delivery of this id went.
    ///
    /// # Errors
    /// As [`Begin::from_value`].
    pub fn from_value(
        body: Value,
        delivery_id: String,
        caller: &Caller<'_>,
    ) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        fields.require(&[ATTEMPT, OUTCOME], &mut violations);
        let outcomes = ["DELIVERED", "REFUSED", "INDETERMINATE", "ABSENT"];
        let outcome = outcome(&mut fields, &outcomes, &mut violations);
        let settle = Settle {
            delivery_id,
            attempt: identifier(&mut fields, ATTEMPT, &mut violations),
            outcome,
            provider_response_id: delivered_as(&mut fields, outcome, &mut violations),
            reason: fields.short_text(REASON, MAX_REASON_BYTES, &mut violations),
        };
        fields.refuse_others(&mut violations);
        violations.or(settle)
    }
}

impl Reconcile {
    /// Checks what was found out about the delivery of this id.
    ///
    /// # Errors
    /// As [`Begin::from_value`].
    pub fn from_value(
        body: Value,
        delivery_id: String,
        caller: &Caller<'_>,
    ) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        fields.require(&[OUTCOME], &mut violations);
        let outcome = outcome(&mut fields, &["DELIVERED", "ABSENT"], &mut violations);
        let reconcile = Reconcile {
            delivery_id,
            outcome,
            provider_response_id: delivered_as(&mut fields, outcome, &mut violations),
        };
        fields.refuse_others(&mut violations);
        violations.or(reconcile)
    }
}

fn recovery(fields: &mut Fields<'_>, violations: &mut Violations) -> Recovery {
    let choices = ["IDEMPOTENT", "LOOKUP", "AMBIGUOUS"];
    match fields.choice(RECOVERY, &choices, violations) {
        Some("IDEMPOTENT") => Recovery::Idempotent,
        Some("LOOKUP") => Recovery::Lookup,
        _ => Recovery::Ambiguous,
    }
}

fn outcome(
    fields: &mut Fields<'_>,
    choices: &[&'static str],
    violations: &mut Violations,
) -> Outcome {
    match fields.choice(OUTCOME, choices, violations) {
        Some("DELIVERED") => Outcome::Delivered,
        Some("REFUSED") => Outcome::Refused,
        Some("ABSENT") => Outcome::Absent,
        _ => Outcome::Indeterminate,
    }
}

/// The provider's id of what was made, where something was.
fn delivered_as(
    fields: &mut Fields<'_>,
    outcome: Outcome,
    violations: &mut Violations,
) -> Option<String> {
    let id = response_id(fields, PROVIDER_RESPONSE_ID, violations)?;
    if outcome != Outcome::Delivered {
        violations.add(
            fields.at(PROVIDER_RESPONSE_ID),
            "must be absent unless the outcome is DELIVERED",
        );
    }
    Some(id)
}
