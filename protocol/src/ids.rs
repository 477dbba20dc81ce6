//! Identifiers: message, task, context and turn ids, and the names of residents and sessions.
//!
//! One alphabet for all of them, `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`, so that an id is safe unescaped in a path, a
//! header, a log line and a line of a shell script.

use crate::error::A2aError;

/// Longest identifier, in bytes (which are characters here).
pub const MAX_BYTES: usize = 128;

/// What an identifier must be, worded for a field violation.
pub const RULE: &str =
    "must be 1 to 128 letters, digits, '.', '_', ':' or '-', beginning with a letter or digit";

/// Whether the text is an identifier.
pub fn is_identifier(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:-".contains(byte);
    match text.as_bytes().split_first() {
        Some((first, rest)) => {
            first.is_ascii_alphanumeric() && text.len() <= MAX_BYTES && rest.iter().all(inner)
        }
        None => false,
    }
}

/// The text itself if it is an identifier; otherwise the error for the field that held it.
pub fn check<'a>(field: &str, text: &'a str) -> Result<&'a str, A2aError> {
    if is_identifier(text) {
        Ok(text)
    } else {
        Err(A2aError::field(field, RULE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_identifier_begins_with_a_letter_or_digit_and_has_at_most_128_characters() {
        for text in [
            "a",
            "0",
            "A.b_c:d-e",
            "0192f0c4-7a4e-7c3e-9d51-2f1b6a3c4d5e",
            &"x".repeat(128),
        ] {
            assert!(is_identifier(text), "{text}");
        }
        for text in [
            "",
            "-a",
            ".a",
            "_a",
            ":a",
            "a b",
            "a/b",
            "a~b",
            "ä",
            "a\n",
            "a\0",
            "..",
            &"x".repeat(129),
        ] {
            assert!(!is_identifier(text), "{text:?}");
        }
    }

    #[test]
    fn a_refused_identifier_names_its_field() {
        assert_eq!(check("taskId", "t-1"), Ok("t-1"));
        let error = check("taskId", "../etc").unwrap_err();
        assert_eq!(error.http_status(), 400);
        assert_eq!(error.violations[0].field, "taskId");
    }

    proptest! {
        #[test]
        fn the_rule_is_the_documented_expression(text in "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}") {
            prop_assert!(is_identifier(&text));
        }

        #[test]
        fn whatever_is_an_identifier_is_plain_ascii(text in "\\PC{0,8}") {
            if is_identifier(&text) {
                prop_assert!(text.bytes().all(|b| b.is_ascii_graphic() && b != b'/' && b != b'%'));
            }
        }
    }
}
