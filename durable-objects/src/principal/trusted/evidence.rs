//! Evidence that belongs to a source and to no task, and the pages in which operators read all evidence.

use protocol::time;
use protocol::trusted::evidence::{EvidenceQuery, SourceEvidence};
use serde::Serialize;

use super::answer;
use crate::commands::JsonText;
use crate::error::CoreError;
use crate::principal::Principal;
use crate::principal::retention::RETENTION_MS;
use crate::storage::{Row, Store, StoreError, Value};

/// The rows that one page looks at, however few of them it shows.
const MAX_LOOKED_AT: i64 = 2_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Recorded<'a> {
    evidence_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrences: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Evidence {
    evidence_id: i64,
    at: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    activation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_evidence_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrences: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    evidence: Vec<Evidence>,
    next_page_token: String,
}

impl<S: Store> Principal<'_, S> {
    /// Records evidence once by its id, or counts it in place, so that a noisy provider fills no table.
    pub(super) fn record_source_evidence(
        &mut self,
        evidence: &SourceEvidence,
    ) -> Result<JsonText, CoreError> {
        let detail = (!evidence.detail.is_empty())
            .then(|| serde_json::to_string(&evidence.detail))
            .transpose()
            .map_err(|_| StoreError::Corrupt { what: "evidence" })?;
        let now_ms = self.environment.now_ms;
        let row = self.store.first(
            "INSERT INTO evidence (at_ms, kind, source, source_evidence_id, detail, occurrences) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT (source, source_evidence_id) WHERE source_evidence_id IS NOT NULL DO UPDATE SET \
             occurrences = occurrences + 1, at_ms = max(at_ms, excluded.at_ms), detail = excluded.detail \
             WHERE occurrences IS NOT NULL \
             RETURNING occurrences",
            &[
                now_ms.into(),
                (&evidence.kind).into(),
                (&evidence.source).into(),
                (&evidence.evidence_id).into(),
                detail.as_ref().into(),
                evidence.counted.then_some(1_i64).into(),
            ],
        )?;
        self.expect_retention(now_ms.saturating_add(RETENTION_MS))?;
        answer(&Recorded {
            evidence_id: &evidence.evidence_id,
            occurrences: row
                .map(|mut row| row.optional_integer())
                .transpose()?
                .flatten(),
        })
    }

    pub(super) fn list_evidence(&self, query: &EvidenceQuery) -> Result<JsonText, CoreError> {
        // One row more than the page shows tells whether there is another page.
        let size = usize::try_from(query.page_size).unwrap_or(1);
        let mut rows = self.looked_at(query)?;
        let looked_at_all = i64::try_from(rows.len()).unwrap_or(MAX_LOOKED_AT) < MAX_LOOKED_AT;
        let last_looked_at = rows.last().map(|evidence| evidence.evidence_id);
        rows.retain(|evidence| is_wanted(evidence, query));
        let next = if rows.len() > size {
            rows.truncate(size);
            rows.last().map(|evidence| evidence.evidence_id)
        } else if looked_at_all {
            None
        } else {
            last_looked_at
        };
        answer(&Page {
            evidence: rows
                .into_iter()
                .map(|looked_at| looked_at.evidence)
                .collect(),
            next_page_token: next.map(|id| id.to_string()).unwrap_or_default(),
        })
    }

    fn looked_at(&self, query: &EvidenceQuery) -> Result<Vec<LookedAt>, StoreError> {
        let is_filtered =
            query.kind.is_some() || query.from_ms.is_some() || query.before_ms.is_some();
        let limit = if is_filtered {
            MAX_LOOKED_AT
        } else {
            i64::from(query.page_size).saturating_add(1)
        };
        let before_id = query.before_id.unwrap_or(i64::MAX >> 10);
        let mut parameters = vec![before_id.into(), limit.into()];
        let by_task = match &query.task_id {
            Some(task_id) => {
                parameters.push(Value::from(task_id));
                "task_id = ?3 AND "
            }
            None => "",
        };
        self.store
            .query(
                &format!(
                    "SELECT evidence_id, at_ms, kind, task_id, activation_id, source, source_evidence_id, occurrences, \
                     detail FROM evidence WHERE {by_task}evidence_id < ?1 ORDER BY evidence_id DESC LIMIT ?2"
                ),
                &parameters,
            )?
            .into_iter()
            .map(LookedAt::from_row)
            .collect()
    }
}

/// A row before it is known whether it is shown.
struct LookedAt {
    evidence_id: i64,
    at_ms: i64,
    evidence: Evidence,
}

impl LookedAt {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let (evidence_id, at_ms) = (row.integer()?, row.integer()?);
        Ok(Self {
            evidence_id,
            at_ms,
            evidence: Evidence {
                evidence_id,
                at: time::format(at_ms),
                kind: row.text()?,
                task_id: row.optional_text()?,
                activation_id: row.optional_integer()?.map(|id| id.to_string()),
                source: row.optional_text()?,
                source_evidence_id: row.optional_text()?,
                occurrences: row.optional_integer()?,
                detail: row.optional_text()?,
            },
        })
    }
}

fn is_wanted(looked_at: &LookedAt, query: &EvidenceQuery) -> bool {
    query
        .kind
        .as_ref()
        .is_none_or(|kind| looked_at.evidence.kind == *kind)
        && query.from_ms.is_none_or(|from| looked_at.at_ms >= from)
        && query
            .before_ms
            .is_none_or(|before| looked_at.at_ms < before)
}
