//! The server's errors, read from the A2A form (specification section 11.6): a `google.rpc.Status` with an
//! `ErrorInfo` and, where fields are at fault, a `BadRequest`.

use std::fmt;

use serde::Deserialize;

use crate::log::quoted;

/// At most this many fields at fault are shown.
const SHOWN_FIELDS: usize = 20;

/// An answer that says no.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub http_status: u16,
    /// `ErrorInfo.reason`, such as `TURN_NOT_LIVE`, if the body is of the A2A form.
    pub reason: Option<String>,
    /// What the server says about it.
    pub message: String,
    /// The fields at fault, each with what would be right.
    pub fields: Vec<(String, String)>,
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
    #[serde(default, rename = "fieldViolations")]
    field_violations: Vec<FieldViolation>,
}

#[derive(Deserialize)]
struct FieldViolation {
    #[serde(default)]
    field: String,
    #[serde(default)]
    description: String,
}

impl Refusal {
    /// Reads the answer's body; a body of another form (a proxy's page) leaves only the status to tell.
    pub fn read(http_status: u16, body: &[u8]) -> Self {
        let Ok(Body { error }) = serde_json::from_slice::<Body>(body) else {
            return Refusal {
                http_status,
                reason: None,
                message: "the answer's body is not an A2A error; is this the task plane's URL?"
                    .to_owned(),
                fields: Vec::new(),
            };
        };
        let reason = error
            .details
            .iter()
            .find_map(|detail| detail.reason.clone());
        let fields = error
            .details
            .into_iter()
            .flat_map(|detail| detail.field_violations)
            .take(SHOWN_FIELDS)
            .map(|violation| (violation.field, violation.description))
            .collect();
        Refusal {
            http_status,
            reason,
            message: error.message,
            fields,
        }
    }

    /// Whether the same request may succeed later: the server's own trouble (5xx), or too much at once.
    pub fn is_transient(&self) -> bool {
        self.http_status >= 500 || matches!(self.http_status, 408 | 429)
    }

    /// Whether this is the server's reason.
    pub fn has_reason(&self, reason: &str) -> bool {
        self.reason.as_deref() == Some(reason)
    }

    /// Whether the token is not one for this.
    pub fn is_of_credentials(&self) -> bool {
        matches!(self.http_status, 401 | 403)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(formatter, "{}", quoted(reason))?,
            None => write!(formatter, "HTTP {}", self.http_status)?,
        }
        write!(formatter, ": {}", quoted(&self.message))?;
        for (field, description) in &self.fields {
            write!(
                formatter,
                "\nresident:   {}: {}",
                quoted(field),
                quoted(description)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Refusal;

    #[test]
    fn a_refusal_names_the_reason_the_message_and_each_field() {
        let refusal = Refusal::read(
            400,
            br#"{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The request is not valid",
                "details": [
                  {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INVALID_REQUEST", "domain": "a2a-protocol.org"},
                  {"@type": "type.googleapis.com/google.rpc.BadRequest",
                   "fieldViolations": [{"field": "output", "description": "is not declared by the workflow"}]}]}}"#,
        );
        assert_eq!(
            refusal.to_string(),
            "INVALID_REQUEST: The request is not valid\nresident:   output: is not declared by the workflow"
        );
    }

    #[test]
    fn a_body_of_another_form_leaves_the_status_to_tell() {
        let refusal = Refusal::read(404, b"<html>no such page</html>");
        assert!(refusal.to_string().starts_with("HTTP 404: "));
        assert_eq!(refusal.reason, None);
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
