//! Whether a client that asks again holds what it would get (RFC 9110 section 13).

use crate::{entity_tag, http_date};

/// Whether the answer to a `GET` or `HEAD` with these headers is 304.
///
/// `If-Modified-Since` counts only without `If-None-Match`, which is the finer of the two; a date that is none is
/// ignored (section 13.1.3).
#[must_use]
pub fn is_current(
    if_none_match: Option<&str>,
    if_modified_since: Option<&str>,
    etag: &str,
    last_modified_ms: i64,
) -> bool {
    match (if_none_match, if_modified_since) {
        (Some(held), _) => entity_tag::none_match(held, etag),
        (None, Some(since)) => http_date::parse(since)
            .is_some_and(|since_ms| http_date::is_not_later(last_modified_ms, since_ms)),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "\"a\"";
    const MODIFIED_MS: i64 = 784_111_777_500;
    const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    fn current(if_none_match: Option<&str>, if_modified_since: Option<&str>) -> bool {
        is_current(if_none_match, if_modified_since, TAG, MODIFIED_MS)
    }

    #[test]
    fn a_request_without_conditions_gets_the_content() {
        assert!(!current(None, None));
    }

    #[test]
    fn the_entity_tag_decides_whatever_the_date_says() {
        assert!(current(Some(TAG), Some(BEFORE)));
        assert!(current(Some("W/\"a\""), None));
        assert!(!current(Some("\"b\""), Some(SAME)));
        assert!(!current(Some(""), Some(SAME)));
    }

    #[test]
    fn without_an_entity_tag_the_date_decides_and_no_date_is_ignored() {
        assert!(current(None, Some(SAME)));
        assert!(!current(None, Some(BEFORE)));
        assert!(!current(None, Some("yesterday")));
    }
}
