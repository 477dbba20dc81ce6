//! The local names of remote agents.

/// The longest alias, in bytes.
pub const MAX_BYTES: usize = 63;

/// What an alias must be, for an error to say.
pub const RULE: &str =
    "must be 1 to 63 of a-z, 0-9, _ and -, beginning and ending with a letter or digit";

/// Whether this is an alias in its canonical spelling. Aliases compare case-insensitively: what comes from outside is
/// [`canonical`] first.
#[must_use]
pub fn is_alias(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= MAX_BYTES
        && bytes.first().is_some_and(|first| inner(*first))
        && bytes.last().is_some_and(|last| inner(*last))
        && bytes
            .iter()
            .all(|byte| inner(*byte) || matches!(byte, b'_' | b'-'))
}

/// The canonical spelling: lower case. `None` where the text is no alias in any case.
#[must_use]
pub fn canonical(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    is_alias(&lower).then_some(lower)
}

/// The alias that a card's name suggests: its letters and digits, with a hyphen for whatever stands between them.
/// `agent` where nothing is left.
#[must_use]
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars() {
        if slug.len() >= MAX_BYTES {
            break;
        }
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "agent".to_owned()
    } else {
        slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_alias_is_short_and_lower_case() {
        for alias in ["a", "research", "research-2", "team_b", "0x"] {
            assert!(is_alias(alias), "{alias}");
        }
        for text in ["", "-a", "a-", "_a", "A", "a b", "a/b", "a.b", "é"] {
            assert!(!is_alias(text), "{text:?}");
        }
        assert!(is_alias(&"a".repeat(MAX_BYTES)));
        assert!(!is_alias(&"a".repeat(MAX_BYTES + 1)));
    }

    #[test]
    fn aliases_compare_in_any_case() {
        assert_eq!(canonical("ReSearch").as_deref(), Some("research"));
        assert_eq!(canonical("Re search"), None);
    }

    #[test]
    fn a_cards_name_becomes_a_slug() {
        for (name, expected) in [
            ("Research Agent", "research-agent"),
            ("  The  (best) Agent! ", "the-best-agent"),
            ("Überagent", "beragent"),
            ("日本", "agent"),
            ("", "agent"),
        ] {
            assert_eq!(slug(name), expected, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn any_slug_is_an_alias(name in "\\PC{0,200}") {
            prop_assert!(is_alias(&slug(&name)));
        }
    }
}
