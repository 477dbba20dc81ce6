//! One mutation at a provider on the wire: begun, settled, reconciled.

use serde::{Deserialize, Serialize};

use crate::digest::digest_of;

/// What a provider offers for the case that nobody knows whether a mutation happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Recovery {
    /// The same mutation twice is one: it is sent again.
    Idempotent,
    /// The provider can be asked for exactly this mutation.
    Lookup,
    /// Neither: it is left to a person.
    Ambiguous,
}

/// Whether an operation is bound to its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PayloadPolicy {
    /// The same operation with another payload is refused, `DELIVERY_CONFLICT`.
    Fixed,
}

/// A delivery to begin: a task's operation with its payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Begin {
    /// The task it is for.
    pub task_id: String,
    /// Which mutation of the task's, an identifier.
    pub operation_id: String,
    /// `sha256:` and the digest of what is sent.
    pub payload_digest: String,
    /// How an unknown outcome is resolved.
    pub recovery: Recovery,
    /// Whether the operation is bound to this payload; without, another payload is another delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_policy: Option<PayloadPolicy>,
    /// Who asks, told to others who begin the same delivery meanwhile; an identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
}

impl Begin {
    /// A delivery of `payload`, whose canonical JSON is digested.
    #[must_use]
    pub fn new(
        task_id: &str,
        operation_id: &str,
        payload: &serde_json::Value,
        recovery: Recovery,
    ) -> Self {
        Self {
            task_id: task_id.to_owned(),
            operation_id: operation_id.to_owned(),
            payload_digest: digest_of(payload),
            recovery,
            payload_policy: None,
            holder: None,
        }
    }

    /// With the operation bound to this payload.
    #[must_use]
    pub fn fixed(mut self) -> Self {
        self.payload_policy = Some(PayloadPolicy::Fixed);
        self
    }

    /// With who asks.
    #[must_use]
    pub fn holder(mut self, holder: &str) -> Self {
        self.holder = Some(holder.to_owned());
        self
    }
}

/// What the plane says to a delivery that is begun.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    tag = "disposition",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
pub enum Begun {
    /// Send it now, and settle this attempt.
    Send {
        /// The delivery.
        delivery_id: String,
        /// The attempt to settle.
        attempt: String,
    },
    /// An earlier attempt may have made it: look it up, and settle this attempt.
    Reconcile {
        /// The delivery.
        delivery_id: String,
        /// The attempt to settle.
        attempt: String,
    },
    /// Another attempt is under way.
    Held {
        /// The delivery.
        delivery_id: String,
        /// Who holds it, if that was said.
        held_by: Option<String>,
        /// When to ask again, in milliseconds.
        retry_after_ms: u64,
    },
    /// It has been made.
    Delivered {
        /// The delivery.
        delivery_id: String,
        /// The provider's id of what was made, if that was said.
        provider_response_id: Option<String>,
    },
    /// Nobody knows whether it was made: a person must find out.
    Ambiguous {
        /// The delivery.
        delivery_id: String,
    },
}

/// How an attempt went, to settle it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "outcome",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
pub enum Settle {
    /// The provider made it, or was found to have made it.
    Delivered {
        /// Its id of what was made: 1 to 512 characters of visible ASCII.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_response_id: Option<String>,
    },
    /// The provider refused it for certain: it may be begun again.
    Refused {
        /// Why, for operators; at most 1000 bytes.
        reason: String,
    },
    /// Nobody knows.
    Indeterminate {
        /// Why, for operators; at most 1000 bytes.
        reason: String,
    },
    /// The provider was asked and has not made it: the same attempt goes on and sends.
    Absent,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum DeliveryState {
    /// Somebody was told to send, or it waits to be looked up.
    Sending,
    /// The provider made it.
    Delivered,
    /// It was not made, and may be begun again.
    Failed,
    /// A person must find out.
    Ambiguous,
}

/// A settled attempt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    /// The delivery.
    pub delivery_id: String,
    /// How it stands.
    pub state: DeliveryState,
}

/// What a person found out about a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "outcome",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
pub enum Found {
    /// It was made.
    Delivered {
        /// The provider's id of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_response_id: Option<String>,
    },
    /// It was not made.
    Absent,
}
