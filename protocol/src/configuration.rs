//! Reading a document out of a var or a secret: strictly, as a request's body is, but with errors for whoever
//! deploys.

use std::fmt;

use serde_json::Value;

use crate::json;

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonProblem {
    /// What would be right; may repeat keys of the document, never values.
    pub description: String,
    /// Where reading stopped, from 0.
    pub byte_offset: u64,
}

impl fmt::Display for JsonProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.description, self.byte_offset)
    }
}

/// The document, if it is one JSON value without repeated keys.
pub(crate) fn parse(document: &str) -> Result<Value, JsonProblem> {
    json::parse(document.as_bytes()).map_err(|error| JsonProblem {
        byte_offset: error
            .metadata
            .get("byteOffset")
            .and_then(|offset| offset.parse().ok())
            .unwrap_or_default(),
        description: error.violations.first().map_or_else(
            || "must be JSON".to_owned(),
            |violation| violation.description.to_string(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_or_the_place_is_named() {
        assert_eq!(parse("{\"a\": 1}").unwrap()["a"], 1);
        let problem = parse("{\"a\": 1, \"a\": 2}").unwrap_err();
        assert!(problem.byte_offset > 0, "{problem}");
        assert!(problem.to_string().contains("must"), "{problem}");
        assert!(parse("").is_err());
    }
}
