//! How far a source has read at its provider.

use serde::{Deserialize, Serialize};

/// A checkpoint to keep. It is kept only if everything it covers has been accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Whose.
    pub source: String,
    /// JSON of at most 64 KiB, opaque.
    pub checkpoint: String,
    /// The dedupe keys of the events that it passes.
    pub covers: Vec<String>,
    /// The version that it replaces, where the source wants to know of another writer.
    pub version: Option<i64>,
}
