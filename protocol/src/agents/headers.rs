//! Headers that a definition adds to every request to its agent.

use serde_json::{Map, Value};

use super::reference;

/// The most headers of one definition.
pub const MAX_HEADERS: usize = 16;

/// The longest value, in bytes, before its references are resolved; also after.
pub const MAX_VALUE_BYTES: usize = 4096;

/// Headers that say what this client says itself, or that speak to what stands in between.
const OURS: &[&str] = &[
    "accept",
    "accept-encoding",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "date",
    "expect",
    "forwarded",
    "host",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "origin",
    "pragma",
    "range",
    "referer",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];

const OUR_FAMILIES: &[&str] = &[
    "a2a-",
    "access-control-",
    "cf-",
    "proxy-",
    "sec-",
    "x-forwarded-",
    "x-real-ip",
];

/// Reads a JSON object of header names and values, which may hold `${NAME}`.
///
/// # Errors
/// What is wrong, to stand behind the field's name. It repeats a name at most, never a value.
pub fn read(fields: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    if fields.len() > MAX_HEADERS {
        return Err(format!("must name at most {MAX_HEADERS} headers"));
    }
    let mut headers: Vec<(String, String)> = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let name = name.to_ascii_lowercase();
        if !is_token(&name) {
            return Err("must have header names for keys".to_owned());
        }
        let is_ours = OURS.contains(&name.as_str())
            || OUR_FAMILIES.iter().any(|family| name.starts_with(family));
        if is_ours {
            return Err(format!("must not set {name}"));
        }
        if headers.iter().any(|(other, _)| *other == name) {
            return Err(format!("must not set {name} twice"));
        }
        match value.as_str() {
            Some(value) if !reference::is_well_formed(value) => {
                return Err(format!("must write each reference in {name} as ${{NAME}}"));
            }
            Some(value) if is_value(value) => headers.push((name, value.to_owned())),
            _ => {
                return Err(format!(
                    "must give {name} printable ASCII text of at most {MAX_VALUE_BYTES} bytes"
                ));
            }
        }
    }
    Ok(headers)
}

/// Whether this may stand as a header's value.
#[must_use]
pub fn is_value(value: &str) -> bool {
    value.len() <= MAX_VALUE_BYTES && value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(value: Value) -> Result<Vec<(String, String)>, String> {
        read(value.as_object().unwrap())
    }

    #[test]
    fn headers_keep_their_references() {
        assert_eq!(
            of(json!({"X-Tenant": "${TENANT}"})),
            Ok(vec![("x-tenant".to_owned(), "${TENANT}".to_owned())])
        );
    }

    #[test]
    fn what_this_client_or_a_proxy_says_is_not_a_definitions_to_say() {
        for name in [
            "Host",
            "Authorization",
            "Cookie",
            "Content-Length",
            "Transfer-Encoding",
            "Connection",
            "A2A-Version",
            "Proxy-Authorization",
            "X-Forwarded-For",
            "CF-Connecting-IP",
        ] {
            let refused = of(json!({ name: "x" })).unwrap_err();
            assert_eq!(
                refused,
                format!("must not set {}", name.to_ascii_lowercase())
            );
        }
    }

    #[test]
    fn a_value_can_not_carry_another_header() {
        for value in ["a\r\nx: y", "a\nb", "\u{0}", "é"] {
            assert!(of(json!({"x-a": value})).is_err(), "{value:?}");
        }
        assert!(of(json!({"x-a": 1})).is_err());
        assert!(of(json!({"x a": "1"})).is_err());
        assert!(of(json!({"": "1"})).is_err());
        assert!(of(json!({"X-A": "1", "x-a": "2"})).is_err());
        assert!(of(json!({"x-a": "a".repeat(MAX_VALUE_BYTES + 1)})).is_err());
    }

    #[test]
    fn a_refusal_repeats_no_value() {
        let refused = of(json!({"x-a": "secret\n"})).unwrap_err();
        assert!(!refused.contains("secret"));
        let refused = of(json!({"x-a": "${secret"})).unwrap_err();
        assert_eq!(refused, "must write each reference in x-a as ${NAME}");
    }
}
