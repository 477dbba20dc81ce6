//! Evidence that belongs to a source and to no task, and how operators read all evidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Something that a source decided without making a task of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceEvidence {
    /// Whose.
    pub source: String,
    /// Its id there: recorded once, or the counter's name.
    pub evidence_id: String,
    /// What it is, UPPER_SNAKE.
    pub kind: String,
    /// Up to 16 fields, values up to 1024 characters.
    pub detail: BTreeMap<String, String>,
    /// Counted in place instead of appended.
    pub counted: bool,
}

/// Which evidence an operator wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceQuery {
    /// Only of this task.
    pub task_id: Option<String>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only from this time on, in Unix milliseconds.
    pub from_ms: Option<i64>,
    /// Only before this time, in Unix milliseconds.
    pub before_ms: Option<i64>,
    /// At most so many, 1 to 100.
    pub page_size: u32,
    /// Only what was recorded before this, as an earlier page said.
    pub before_id: Option<i64>,
}
