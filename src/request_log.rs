//! The line that each request leaves in the log.

use protocol::error::Reason;
use serde::Serialize;

use crate::runtime::dataset::Dataset;
use crate::runtime::object_call::Rows;

/// One request, as far as it got. Never a name of a principal, a token or a path: those hold what callers chose.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    event: &'static str,
    /// `X-Request-Id`, the caller's or ours; the answer carries it too.
    pub request_id: String,
    /// The trace that the caller's `traceparent` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The route's name in the OpenAPI document; absent where there is no route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'static str>,
    /// Whose request it is, by the beginning of a SHA-256; absent where nobody is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The answer's status. A stream's line is written when it begins.
    pub status: u16,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// How long the answer took, in milliseconds of the platform's clock, which stands still while code runs.
    pub ms: i64,
    /// Rows that the objects read before they answered; absent where no row was.
    #[serde(skip_serializing_if = "is_zero")]
    pub rows_read: u32,
    /// Rows that they wrote, those of indexes included.
    #[serde(skip_serializing_if = "is_zero")]
    pub rows_written: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl RequestRecord {
    /// The record of a request that just came.
    pub fn new(request_id: String, trace_id: Option<&str>) -> Self {
        Self {
            event: "request",
            request_id,
            trace_id: trace_id.map(str::to_owned),
            operation: None,
            principal: None,
            status: 0,
            reason: None,
            ms: 0,
            rows_read: 0,
            rows_written: 0,
        }
    }

    /// What the objects' answers have cost in storage.
    pub fn count(&mut self, rows: Rows) {
        self.rows_read = rows.read;
        self.rows_written = rows.written;
    }

    /// What became of it, in a word: the reason of its refusal, or `OK`.
    pub fn outcome(&self) -> &'static str {
        self.reason.map_or("OK", Reason::as_str)
    }

    /// Its data point: operation and outcome, then milliseconds, rows read, rows written and status. Nobody's name is in it.
    pub fn measure(&self, dataset: &Dataset) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds of one request are far below 2^53"
        )]
        let ms = self.ms as f64;
        dataset.write(
            self.operation.unwrap_or("none"),
            self.outcome(),
            &[
                ms,
                self.rows_read.into(),
                self.rows_written.into(),
                self.status.into(),
            ],
        );
    }

    /// The line.
    pub fn line(&self) -> String {
        // Texts and numbers under fixed names always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leaves_out_what_is_not_known() {
        let mut record = RequestRecord::new("r-1".to_owned(), None);
        record.status = 404;
        record.reason = Some(Reason::NotFound);
        assert_eq!(
            record.line(),
            r#"{"event":"request","requestId":"r-1","status":404,"reason":"NOT_FOUND","ms":0}"#
        );
    }
}
