//! What a source learns about its tasks.

use serde::Deserialize;
use serde_json::Value;

use crate::activation::NativeLocator;

/// A task, with where it came from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NativeTask {
    /// The A2A Task.
    pub task: Value,
    /// Whether its state is final.
    pub terminal: bool,
    /// The source that made it.
    pub source: String,
    /// The event that made it.
    pub origin: Option<Origin>,
}

impl NativeTask {
    /// The task's state, by its ProtoJSON name.
    #[must_use]
    pub fn state(&self) -> &str {
        self.task
            .pointer("/status/state")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// The event that made a task, as its source described it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The provider's id of the event.
    pub provider_event_id: String,
    /// The conversation.
    pub conversation_key: Option<String>,
    /// The provider's object.
    pub native_locator: NativeLocator,
    /// When the source received it, RFC 3339.
    pub received_at: String,
    /// `sha256:` and the digest of its parts.
    pub content_digest: String,
    /// Where a person can look at it.
    pub display_url: Option<String>,
    /// Where its evidence is kept.
    pub evidence_locator: Option<String>,
}

/// The task that is being worked on for a locator.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Located {
    /// The task.
    pub task_id: String,
    /// Its context.
    pub context_id: String,
}

/// A task of a source's that was settled, or that asks something.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settlement {
    /// Its place in the feed.
    pub settlement_id: u64,
    /// The task.
    pub task_id: String,
    /// Its context.
    pub context_id: String,
    /// The source.
    pub source: String,
    /// The state that it came to, by its ProtoJSON name.
    pub state: String,
    /// When, RFC 3339.
    pub settled_at: String,
}

/// A page of settlements, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SettlementPage {
    /// Them.
    pub settlements: Vec<Settlement>,
    /// After which the next page begins.
    pub next: u64,
}
