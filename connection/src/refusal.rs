//! The plane's errors, read from the A2A form (specification section 11.6): a `google.rpc.Status` with an `ErrorInfo`
//! and, where fields are at fault, a `BadRequest`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::quoted::quoted;

/// At most this many fields at fault are shown.
const SHOWN_FIELDS: usize = 20;

/// An answer that says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub http_status: u16,
    /// `ErrorInfo.reason`, such as `DUPLICATE_MESSAGE_ID`, if the body is of the A2A form.
    pub reason: Option<String>,
    /// What the plane says about it, for people.
    pub message: String,
    /// The fields at fault, each with what would be right.
    pub fields: Vec<FieldAtFault>,
    /// `ErrorInfo.metadata`: what it is about, by name.
    pub metadata: BTreeMap<String, String>,
}

/// A field of the request that breaks the contract.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FieldAtFault {
    /// Its path, such as `parts[0].raw`.
    #[serde(default)]
    pub field: String,
    /// What would be right.
    #[serde(default)]
    pub description: String,
}

#[derive(Deserialize)]
struct Body {
    error: Status,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Vec<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    reason: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default, rename = "fieldViolations")]
    field_violations: Vec<FieldAtFault>,
}

impl Refusal {
    /// Reads the answer's body; a body of another form (a proxy's page) leaves only the status to tell.
    #[must_use]
    pub fn read(http_status: u16, body: &[u8]) -> Self {
        let Ok(Body { error }) = serde_json::from_slice::<Body>(body) else {
            return Self {
                http_status,
                reason: None,
                message: "the answer's body is not an A2A error; is this the task plane's URL?"
                    .to_owned(),
                fields: Vec::new(),
                metadata: BTreeMap::new(),
            };
        };
        let info = error.details.iter().find(|detail| detail.reason.is_some());
        Self {
            http_status,
            reason: info.and_then(|info| info.reason.clone()),
            metadata: info.map(|info| info.metadata.clone()).unwrap_or_default(),
            message: error.message,
            fields: error
                .details
                .into_iter()
                .flat_map(|detail| detail.field_violations)
                .collect(),
        }
    }

    /// Whether this is the plane's reason.
    #[must_use]
    pub fn has_reason(&self, reason: &str) -> bool {
        self.reason.as_deref() == Some(reason)
    }

    /// Whether the same request may succeed later: the plane's own trouble (5xx), or too much at once.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.http_status >= 500 || matches!(self.http_status, 408 | 429)
    }

    /// Whether nothing can have been done: the plane turned the request away before it acted on it.
    #[must_use]
    pub fn is_turned_away(&self) -> bool {
        matches!(self.http_status, 429 | 503)
    }

    /// Whether the token is not one for this.
    #[must_use]
    pub fn is_of_credentials(&self) -> bool {
        matches!(self.http_status, 401 | 403)
    }
}

/// In one line: the reason, the message, and the first fields at fault. What the server says is made safe for a terminal.
impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => formatter.write_str(&quoted(reason))?,
            None => write!(formatter, "HTTP {}", self.http_status)?,
        }
        write!(formatter, ": {}", quoted(&self.message))?;
        if self.fields.is_empty() {
            return Ok(());
        }
        let shown: Vec<String> = self
            .fields
            .iter()
            .take(SHOWN_FIELDS)
            .map(|at_fault| {
                let FieldAtFault { field, description } = at_fault;
                format!("{} {}", quoted(field), quoted(description))
            })
            .collect();
        write!(formatter, " ({})", shown.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::Refusal;

    #[test]
    fn a_refusal_names_the_reason_the_message_and_each_field() {
        let refusal = Refusal::read(
            400,
            br#"{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "the request is not valid",
                "details": [
                  {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INVALID_REQUEST", "domain": "a2a-protocol.org",
                   "metadata": {"byteOffset": "7"}},
                  {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [
                    {"field": "source", "description": "must be an identifier"},
                    {"field": "nativeLocator", "description": "must have 1 to 32 fields"}]}]}}"#,
        );
        assert!(refusal.has_reason("INVALID_REQUEST"));
        assert_eq!(refusal.metadata["byteOffset"], "7");
        assert_eq!(
            refusal.to_string(),
            "INVALID_REQUEST: the request is not valid (source must be an identifier; nativeLocator must have 1 to 32 fields)"
        );
    }

    #[test]
    fn a_body_of_another_form_leaves_the_status_to_tell() {
        let refusal = Refusal::read(502, b"<html>bad gateway</html>");
        assert!(refusal.to_string().starts_with("HTTP 502: "));
        assert_eq!(refusal.reason, None);
        assert!(refusal.is_transient());
    }

    #[test]
    fn control_characters_of_the_server_do_not_reach_the_terminal() {
        let refusal = Refusal::read(
            400,
            b"{\"error\": {\"message\": \"a\\u001b[2Jb\\nc\", \"details\": []}}",
        );
        assert_eq!(refusal.to_string(), "HTTP 400: a [2Jb c");
    }
}
