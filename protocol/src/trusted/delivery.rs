//! One mutation at a provider: begun, sent, settled (seed *Outbound delivery is serialized per delivery ID*).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Caller;
use super::form::{DIGEST, Form, IDENTIFIER, RESPONSE_ID, Rule, SOURCE};
use crate::error::A2aError;

/// Longest reason of an outcome, in bytes.
pub const MAX_REASON_BYTES: usize = 1000;

static REASON: Rule = Rule {
    accepts: |text| text.len() <= MAX_REASON_BYTES,
    says: "must be at most 1000 bytes",
};

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
    /// The caller's name for its attempt, new for each. A begin whose answer was lost, said again with the same name, is
    /// the same attempt, and not held by itself.
    pub attempt: Option<String>,
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
        let mut form = Form::open(body, caller)?;
        let task_id = form.required("taskId", &IDENTIFIER);
        let source = form.required("source", &SOURCE);
        let operation_id = form.required("operationId", &IDENTIFIER);
        let payload_digest = form.required("payloadDigest", &DIGEST);
        let recovery = form.choice("recovery", &["IDEMPOTENT", "LOOKUP", "AMBIGUOUS"]);
        let fixed = form.optional_choice("payloadPolicy", &["FIXED"]).is_some();
        let holder = form.optional("holder", &IDENTIFIER);
        let attempt = form.optional("attempt", &IDENTIFIER);
        let can_reconcile = form.value("canReconcile");
        if !matches!(can_reconcile, None | Some(Value::Bool(_))) {
            form.violate("canReconcile", "must be true or false");
        }
        form.close()?;
        Ok(Begin {
            task_id,
            source,
            operation_id,
            payload_digest,
            recovery: match recovery {
                0 => Recovery::Idempotent,
                1 => Recovery::Lookup,
                _ => Recovery::Ambiguous,
            },
            fixed,
            holder,
            can_reconcile: can_reconcile == Some(Value::Bool(true)),
            attempt,
        })
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
        let mut form = Form::open(body, caller)?;
        let attempt = form.required("attempt", &IDENTIFIER);
        let (outcome, provider_response_id) = outcome(&mut form, 4);
        let reason = form.optional("reason", &REASON);
        form.close()?;
        Ok(Settle {
            delivery_id,
            attempt,
            outcome,
            provider_response_id,
            reason,
        })
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
        let mut form = Form::open(body, caller)?;
        let (outcome, provider_response_id) = outcome(&mut form, 2);
        form.close()?;
        Ok(Reconcile {
            delivery_id,
            outcome,
            provider_response_id,
        })
    }
}

const OUTCOMES: [&str; 4] = ["DELIVERED", "ABSENT", "REFUSED", "INDETERMINATE"];

/// One of the first outcomes, and the provider's id of what was made, where something was.
fn outcome(form: &mut Form, count: usize) -> (Outcome, Option<String>) {
    let outcome = match form.choice("outcome", OUTCOMES.get(..count).unwrap_or_default()) {
        0 => Outcome::Delivered,
        1 => Outcome::Absent,
        2 => Outcome::Refused,
        _ => Outcome::Indeterminate,
    };
    let name = "providerResponseId";
    let response_id = form.optional(name, &RESPONSE_ID);
    if response_id.is_some() && outcome != Outcome::Delivered {
        form.violate(name, "must be absent unless the outcome is DELIVERED");
    }
    (outcome, response_id)
}
