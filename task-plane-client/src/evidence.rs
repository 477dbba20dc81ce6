//! Evidence: what a source records of its own, and what operators read of all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that a source decided without making a task of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceEvidence {
    /// Its id at the source, an identifier: recorded once, or the counter's name.
    pub evidence_id: String,
    /// What it is, UPPER_SNAKE of at most 64 characters.
    pub kind: String,
    /// Up to 16 fields, values of up to 1024 characters.
    pub detail: BTreeMap<String, String>,
}

/// Source evidence on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wire<'a> {
    pub source: &'a str,
    pub evidence_id: &'a str,
    pub kind: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub detail: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<&'static str>,
}

/// Evidence that the plane has recorded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedEvidence {
    /// Its id at the source.
    pub evidence_id: String,
    /// How often it was counted.
    pub occurrences: Option<u64>,
}

/// Which evidence an operator wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidenceQuery {
    /// Only of this task.
    pub task_id: Option<String>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only from this time on, RFC 3339.
    pub from: Option<String>,
    /// Only before this time, RFC 3339.
    pub before: Option<String>,
    /// At most so many, 1 to 100.
    pub page_size: Option<u32>,
    /// Where an earlier page ended.
    pub page_token: Option<String>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Its place.
    pub evidence_id: i64,
    /// When, RFC 3339.
    pub at: String,
    /// What, UPPER_SNAKE.
    pub kind: String,
    /// Of which task.
    pub task_id: Option<String>,
    /// Of which activation.
    pub activation_id: Option<String>,
    /// Of which source.
    pub source: Option<String>,
    /// Its id at the source.
    pub source_evidence_id: Option<String>,
    /// How often it was counted.
    pub occurrences: Option<u64>,
    /// More about it.
    pub detail: Option<Value>,
}

/// A page of evidence, newest first.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidencePage {
    /// The records.
    pub evidence: Vec<Evidence>,
    /// For the next page; empty at the end.
    pub next_page_token: String,
}
