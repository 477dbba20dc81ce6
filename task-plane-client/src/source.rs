//! What a source says about itself, and how far it has read at its provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a source's tasks may be continued. A source that never said so has no way: its tasks can't ask back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Continuation {
    /// A verified direct reply to a response of ours.
    ReplyAnchor,
    /// An explicit task id from a credential with role `trusted`.
    TaskId,
}

/// A source, as the plane keeps it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Its name.
    pub source: String,
    /// How its tasks may be continued.
    pub continuation: Vec<Continuation>,
    /// How far it has read.
    pub checkpoint: Option<Value>,
    /// How often the checkpoint was advanced.
    pub version: i64,
    /// When it was advanced last, RFC 3339.
    pub updated_at: Option<String>,
}

/// A checkpoint to keep. It is kept only if every event that it covers has been accepted, else `CHECKPOINT_AHEAD`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checkpoint {
    /// JSON of at most 64 KiB.
    pub checkpoint: Value,
    /// The dedupe keys of the events that it passes, at most 1000.
    pub covers: Vec<String>,
    /// The version that it replaces; another one is `CHECKPOINT_MOVED`. Without, whatever stands is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}
