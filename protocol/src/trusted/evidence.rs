//! Evidence that belongs to a source and to no task, and how operators read all evidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Caller;
use super::form::{Form, IDENTIFIER, Rule, SOURCE, TIME};
use crate::error::A2aError;
use crate::query::{Query, as_place};
use crate::time;

/// Most fields of a detail.
pub const MAX_DETAIL_FIELDS: usize = 16;
/// Longest value of a detail's field, in characters.
pub const MAX_DETAIL_CHARS: usize = 1024;

static KIND: Rule = Rule {
    accepts: |text| {
        text.len() <= 64
            && text.starts_with(|first: char| first.is_ascii_uppercase())
            && text
                .bytes()
                .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
    },
    says: "must be 1 to 64 capital letters, digits or '_', beginning with a letter",
};

static PAGE_TOKEN: Rule = Rule {
    accepts: |text| as_place(text).is_some_and(|id| id > 0),
    says: "must be the nextPageToken of the page before",
};

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
        let mut form = Form::open(body, caller)?;
        let source = form.required("source", &SOURCE);
        let evidence_id = form.required("evidenceId", &IDENTIFIER);
        let kind = form.required("kind", &KIND);
        let detail = match form.value("detail") {
            Some(value) => form.texts_by_id("detail", value, MAX_DETAIL_FIELDS, MAX_DETAIL_CHARS),
            None => BTreeMap::new(),
        };
        let counted = form.optional_choice("aggregation", &["COUNTER"]).is_some();
        form.close()?;
        Ok(SourceEvidence {
            source,
            evidence_id,
            kind,
            detail,
            counted,
        })
    }
}

impl EvidenceQuery {
    /// Reads the raw query: whose evidence, and which of it.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) naming each parameter at fault.
    pub fn parse(raw_query: &str) -> Result<(String, Self), A2aError> {
        let mut query = Query::of(raw_query);
        let principal = query.required("principal", &IDENTIFIER);
        let task_id = query.optional("taskId", &IDENTIFIER);
        let kind = query.optional("kind", &KIND);
        let from = query.optional("from", &TIME);
        let before = query.optional("before", &TIME);
        let page_size = query.page_size();
        let page_token = query.optional("pageToken", &PAGE_TOKEN);
        query.close()?;
        let evidence = EvidenceQuery {
            task_id,
            kind,
            from_ms: from.as_deref().and_then(time::parse),
            before_ms: before.as_deref().and_then(time::parse),
            page_size,
            before_id: page_token.as_deref().and_then(as_place),
        };
        Ok((principal, evidence))
    }
}
