//! Evidence that belongs to a source and to no task, and how operators read all evidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Caller, SOURCE, fields_of, identifier, source, texts_by_id};
use crate::error::A2aError;
use crate::fields::{Name, Violations, named, plain};
use crate::query::Query;
use crate::{ids, time};

/// Most fields of a detail.
pub const MAX_DETAIL_FIELDS: usize = 16;
/// Longest value of a detail's field, in characters.
pub const MAX_DETAIL_CHARS: usize = 1024;

const EVIDENCE_ID: Name = plain("evidenceId");
const KIND: Name = plain("kind");
const KIND_RULE: &str = "must be 1 to 64 capital letters, digits or '_', beginning with a letter";
const DETAIL: Name = plain("detail");
const AGGREGATION: Name = plain("aggregation");

const PRINCIPAL: Name = plain("principal");
const TASK_ID: Name = named("taskId", "task_id");
const FROM: Name = plain("from");
const BEFORE: Name = plain("before");
const PAGE_TOKEN: Name = named("pageToken", "page_token");
const TIME_RULE: &str = "must be an RFC 3339 timestamp, such as 2025-10-28T10:30:00.000Z";

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

impl SourceEvidence {
    /// Checks evidence to record.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) with every field at fault;
    /// [`PermissionDenied`](crate::error::Reason::PermissionDenied) naming `principal`.
    pub fn from_value(body: Value, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        fields.require(&[SOURCE, EVIDENCE_ID, KIND], &mut violations);
        let evidence = SourceEvidence {
            source: source(&mut fields, &mut violations),
            evidence_id: identifier(&mut fields, EVIDENCE_ID, &mut violations),
            kind: fields
                .text_that(KIND, is_kind, KIND_RULE, &mut violations)
                .unwrap_or_default(),
            detail: texts_by_id(
                &mut fields,
                DETAIL,
                MAX_DETAIL_FIELDS,
                MAX_DETAIL_CHARS,
                &mut violations,
            ),
            counted: fields
                .choice(AGGREGATION, &["COUNTER"], &mut violations)
                .is_some(),
        };
        fields.refuse_others(&mut violations);
        violations.or(evidence)
    }
}

impl EvidenceQuery {
    /// Reads the raw query: whose evidence, and which of it.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) naming each parameter at fault.
    pub fn parse(raw_query: &str) -> Result<(String, Self), A2aError> {
        let mut query = Query::of(raw_query);
        let identifier = |text: &str| ids::is_identifier(text).then(|| text.to_owned());
        let principal = query.required(PRINCIPAL, ids::RULE, identifier);
        let evidence = EvidenceQuery {
            task_id: query.read_unless_empty(TASK_ID, ids::RULE, identifier),
            kind: query.read_unless_empty(KIND, KIND_RULE, |text| {
                is_kind(text).then(|| text.to_owned())
            }),
            from_ms: query.read_unless_empty(FROM, TIME_RULE, time::parse),
            before_ms: query.read_unless_empty(BEFORE, TIME_RULE, time::parse),
            page_size: query.page_size(),
            before_id: query.read_unless_empty(
                PAGE_TOKEN,
                "must be the nextPageToken of the page before",
                |text| text.parse().ok().filter(|id| *id > 0),
            ),
        };
        query.finish((principal, evidence))
    }
}

/// `[A-Z][A-Z0-9_]{0,63}`
fn is_kind(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}
