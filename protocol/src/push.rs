//! A pushed wake: a notice that says which resident is awaited and holds nothing of the work, signed so that its
//! receiver can tell it from anybody else's.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;

use crate::digest::hex;

/// The header with the time of the push, in Unix milliseconds.
pub const TIMESTAMP_HEADER: &str = "X-A2A-Timestamp";

/// The header with the signature: `sha256=` and the hexadecimal HMAC-SHA-256 of the timestamp, a dot and the body.
pub const SIGNATURE_HEADER: &str = "X-A2A-Signature";

/// The fewest bytes of a signing secret.
pub const MIN_SECRET_BYTES: usize = 16;

/// The body of a push.
#[must_use]
pub fn body(resident: &str) -> String {
    json!({ "wake": { "resident": resident } }).to_string()
}

/// The value of the signature's header.
#[must_use]
pub fn signature(secret: &str, timestamp_ms: i64, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        // HMAC takes keys of any length.
        return String::new();
    };
    mac.update(timestamp_ms.to_string().as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_names_its_resident_and_nothing_of_the_work() {
        assert_eq!(body("default"), r#"{"wake":{"resident":"default"}}"#);
    }

    #[test]
    fn a_signature_covers_the_time_and_the_body() {
        let signed = signature("0123456789abcdef", 1, "{}");
        // As `printf '1.{}' | openssl dgst -sha256 -hmac 0123456789abcdef` gives it.
        assert_eq!(
            signed,
            "sha256=2af693cb56b22c16912222aeefdc75a01de562bf70ee2015f41ecea48382997f"
        );
        assert_ne!(signature("0123456789abcdef", 2, "{}"), signed);
        assert_ne!(signature("0123456789abcdef", 1, "[]"), signed);
        assert_ne!(signature("fedcba9876543210", 1, "{}"), signed);
    }
}
