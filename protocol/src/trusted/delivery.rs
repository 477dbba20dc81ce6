//! One mutation at a provider: begun, sent, settled (seed *Outbound delivery is serialized per delivery ID*).

use serde::{Deserialize, Serialize};

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
