//! Digests of content: SHA-256 over its RFC 8785 canonical JSON, so that they are the same whoever writes it down.

use protocol::canonical::digest;
use serde_json::Value;

use crate::part::Part;

/// `sha256:` and the lower-case hex of the digest of a JSON value.
#[must_use]
pub fn digest_of(value: &Value) -> String {
    digest(value)
}

/// The digest of an activation's parts, as the plane verifies it.
#[must_use]
pub fn content_digest(parts: &[Part]) -> String {
    digest(&Value::Array(
        parts.iter().cloned().map(Value::from).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::content_digest;
    use crate::part::Part;

    #[test]
    fn the_digest_of_parts_is_that_of_their_canonical_json() {
        // The SHA-256 of: [{"text":"hi"},{"data":{"a":1,"b":2},"mediaType":"application/json"}]
        let parts = [
            Part::text("hi"),
            Part::data(json!({"b": 2.0, "a": 1})).media_type("application/json"),
        ];
        assert_eq!(
            content_digest(&parts),
            "sha256:7c74d4008438fa5af8acbc2cf26600585205a3dc6b1ddb787fe6656c82050fc4"
        );
    }
}
