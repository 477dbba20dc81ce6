//! The digest that tells a retry from a conflict.
//!
//! A repeated `messageId` of one principal is a retry when the digest is the same, and `DUPLICATE_MESSAGE_ID` when it
//! is not. The digest covers what the client meant: role, parts, the contextId and taskId it sent, referenceTaskIds,
//! extensions and metadata, as sent. It does not cover the messageId, which is the key, nor any id that the server
//! minted, nor how the client asked to be answered.

use std::io;

use a2a::Role;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::message::Message;

/// Digests are stored for 30 days and longer: a change to what is hashed, or how, must be a new number.
const FORMAT: u8 = 1;

/// What is hashed: a list, so that no content can pass for another field.
#[derive(Serialize)]
struct Digested<'a>(
    u8,
    &'a Role,
    &'a [Value],
    Option<&'a str>,
    Option<&'a str>,
    &'a [String],
    &'a [String],
    Option<&'a Map<String, Value>>,
);

/// SHA-256, in lower-case hex, of the canonical JSON of what the client meant.
pub fn message_digest(message: &Message) -> String {
    let digested = Digested(
        FORMAT,
        &message.role,
        &message.parts,
        message.context_id.as_deref(),
        message.task_id.as_deref(),
        &message.reference_task_ids,
        &message.extensions,
        message.metadata.as_ref(),
    );
    let mut sink = HashSink(Sha256::new());
    // The sink takes everything, and a message holds nothing that JSON cannot.
    let _ = digested.serialize(&mut Serializer::with_formatter(&mut sink, OneNumber));
    hex(&sink.0.finalize())
}

/// Writes equal numbers alike: `1`, `1.0` and `1e0` are one number to a reader, and so to a retry.
struct OneNumber;

impl Formatter for OneNumber {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // Beyond this an integer is read as a double, too, and both come out the same.
        if value.fract() == 0.0 && value.abs() < 1e19 {
            write!(writer, "{:.0}", value + 0.0)
        } else {
            CompactFormatter.write_f64(writer, value)
        }
    }
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(nibble), 16));
        }
    }
    text
}

/// Hashes the text while it is written, so that it never exists as a whole.
struct HashSink(Sha256);

impl io::Write for HashSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send::SendRequest;
    use serde_json::json;

    fn digest_of(text: &str) -> String {
        message_digest(&SendRequest::parse(text.as_bytes()).unwrap().message)
    }

    fn digest_with(field: &str, value: Value) -> String {
        let mut message =
            json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
        message[field] = value;
        digest_of(&json!({"message": message}).to_string())
    }

    #[test]
    fn equal_numbers_are_one_number_however_they_are_written() {
        let digest = |number: &str| {
            digest_of(&format!(
                r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{number}}}]}}}}"#
            ))
        };
        for (one, other) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("0", "-0.0"),
            ("10000000000000000", "1e16"),
            ("12345678901234567890123", "1.2345678901234567890123e22"),
        ] {
            assert_eq!(digest(one), digest(other), "{one} and {other}");
        }
        assert_ne!(digest("1"), digest("1.5"));
        assert_ne!(digest("9007199254740993"), digest("9007199254740992"));
    }

    #[test]
    fn the_digest_of_a_message_never_changes_between_versions() {
        // The SHA-256 of: [1,"ROLE_USER",[{"text":"hello"}],null,null,[],[],null]
        assert_eq!(
            digest_with("messageId", json!("m-1")),
            "5648b38b0c7d7711a4b3f4918a6894a4e0d14bbae04a9daf45ccf0a8f98845c2"
        );
    }

    #[test]
    fn the_order_of_keys_the_white_space_and_the_way_of_answering_do_not_matter() {
        let one = digest_of(
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"a":1,"b":2}}]}}"#,
        );
        let other = digest_of(
            r#"{ "configuration": {"returnImmediately": true}, "metadata": {"try": 2},
                 "message": {"parts": [{"data": {"b": 2, "a": 1}}], "role": "ROLE_USER", "message_id": "other"} }"#,
        );
        assert_eq!(one, other);
    }

    #[test]
    fn everything_that_the_client_meant_matters() {
        let digests = [
            digest_with("messageId", json!("m-1")),
            digest_with("parts", json!([{"text": "hello "}])),
            digest_with("parts", json!([{"text": "hello"}, {"text": ""}])),
            digest_with("parts", json!([{"data": "hello"}])),
            digest_with("contextId", json!("x")),
            digest_with("taskId", json!("x")),
            digest_with("referenceTaskIds", json!(["urn:x"])),
            digest_with("extensions", json!(["urn:x"])),
            digest_with("metadata", json!({})),
            digest_with("metadata", json!({"x": null})),
        ];
        let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(distinct.len(), digests.len());
    }

    #[test]
    fn hex_is_lower_case_and_padded() {
        assert_eq!(hex(&[0, 9, 10, 255]), "00090aff");
    }
}
