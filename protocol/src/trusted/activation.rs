//! One provider event, as a source hands it over (seed *Task and conversation semantics*).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An event to accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activation {
    /// Where it comes from. Neither `a2a` nor `agents`, which are this endpoint's own.
    pub source: String,
    /// The provider's id of the event.
    pub provider_event_id: String,
    /// What makes a redelivery the same event: unique within (principal, source).
    pub dedupe_key: String,
    /// The conversation; events of one share a context.
    pub conversation_key: Option<String>,
    /// The provider's object, by its fields: opaque values.
    pub native_locator: BTreeMap<String, String>,
    /// When the source received it, in Unix milliseconds.
    pub received_ms: i64,
    /// The validated parts, a JSON array.
    pub parts: String,
    /// `sha256:` and the digest of the parts.
    pub content_digest: String,
    /// Where a person can look at it.
    pub display_url: Option<String>,
    /// Where its evidence is kept.
    pub evidence_locator: Option<String>,
    /// The provider's id of the response that the event directly replies to.
    pub reply_to: Option<String>,
    /// The task to continue. Only a credential with role `trusted` may name one.
    pub task_id: Option<String>,
    /// The context in which to create the task.
    pub context_id: Option<String>,
}
