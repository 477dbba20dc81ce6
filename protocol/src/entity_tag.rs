//! Entity tags, so that a client which holds the current card is answered without one (section 8.6, RFC
//! 9110 sections 8.8.3 and 13.1.2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The strong entity tag of a content, quotes included: its SHA-256.
#[must_use]
pub fn of(content: &[u8]) -> String {
    format!("\"{}\"", URL_SAFE_NO_PAD.encode(Sha256::digest(content)))
}

/// Whether an `If-None-Match` header names this tag, so that the answer is 304.
///
/// `*` matches, and so does any member of the list under the weak comparison, which ignores `W/`. What is
/// no entity tag ends the list: a client that sends garbage gets the content.
#[must_use]
pub fn none_match(header: &str, tag: &str) -> bool {
    let mut rest = header.trim();
    if rest == "*" {
        return true;
    }
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let candidate = rest.strip_prefix("W/").unwrap_or(rest);
        let Some((opaque, after)) = candidate
            .strip_prefix('"')
            .and_then(|inner| inner.split_once('"'))
        else {
            return false;
        };
        if tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')) == Some(opaque) {
            return true;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tag_is_quoted_depends_on_the_content_alone_and_changes_with_it() {
        let tag = of(b"card");
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() == 45);
        assert_eq!(tag, of(b"card"));
        assert_ne!(tag, of(b"card2"));
    }

    #[test]
    fn a_star_and_a_list_that_names_the_tag_match() {
        for header in [
            "*",
            " * ",
            "\"a\"",
            "W/\"a\"",
            "\"x\", \"a\"",
            "\"x\",W/\"a\" ,\"y\"",
            ", ,\"a\"",
            "\"x,y\", \"a\"",
        ] {
            assert!(none_match(header, "\"a\""), "{header}");
        }
    }

    #[test]
    fn another_tag_and_garbage_do_not_match() {
        for header in [
            "",
            "a",
            "\"b\"",
            "\"a",
            "w/\"a\"",
            "\"x\", *",
            "\"A\"",
            "\"\"",
            "garbage, \"a\"",
            "\"x,\"a\"",
        ] {
            assert!(!none_match(header, "\"a\""), "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_compared(header in "[\"W/*, a\\PC]{0,40}") {
            let _ = none_match(&header, "\"a\"");
        }
    }
}
