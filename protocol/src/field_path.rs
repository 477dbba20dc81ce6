//! How errors name a field: `message.parts[0].data`, and `["…"]` for a key that is no plain name.

use crate::error::FieldViolation;

const MAX_KEY_CHARS: usize = 64;

/// The path of a member. A key from a caller is shown with at most 64 characters, and escaped.
pub(crate) fn member(parent: &str, key: &str) -> String {
    let plain = key.len() <= MAX_KEY_CHARS
        && key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain {
        format!("{parent}.{key}")
    } else {
        let shown: String = key.chars().take(MAX_KEY_CHARS).collect();
        format!("{parent}[{shown:?}]")
    }
}

/// The path of an item, from 0.
pub(crate) fn item(parent: &str, index: usize) -> String {
    format!("{parent}[{index}]")
}

/// A violation of the field at `path`.
pub(crate) fn violation(
    path: impl Into<String>,
    description: impl Into<std::borrow::Cow<'static, str>>,
) -> FieldViolation {
    FieldViolation {
        field: path.into(),
        description: description.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_follows_a_dot_and_any_other_key_is_quoted() {
        assert_eq!(member("a", "b_1"), "a.b_1");
        assert_eq!(
            member("message.metadata", "outfitter-task/v1"),
            "message.metadata[\"outfitter-task/v1\"]"
        );
        assert_eq!(member("a", "x\"\n"), "a[\"x\\\"\\n\"]");
        assert_eq!(member("a", ""), "a[\"\"]");
        assert_eq!(item("a", 3), "a[3]");
    }

    #[test]
    fn a_long_key_is_cut() {
        assert_eq!(
            member("a", &"é".repeat(100)),
            format!("a[\"{}\"]", "é".repeat(64))
        );
    }
}
