//! The pieces of HTTP that the Worker needs and does not have: splitting a URL without a URL crate (its
//! tables cost more than the rest of the router), percent-decoding, and media types.

use std::borrow::Cow;

use crate::error::{A2aError, Reason};

/// The media type of A2A's requests and answers, section 11.1.
pub const A2A_JSON: &str = "application/a2a+json";
/// The other media type that requests may have; also that of the resident surface.
pub const JSON: &str = "application/json";
/// `Cache-Control` of the card: clients may keep it for five minutes, then ask with its `ETag`
/// (section 8.6).
pub const CARD_CACHE_CONTROL: &str = "public, max-age=300";
/// `Cache-Control` of a stream: nothing between here and the client may hold frames back.
pub const STREAM_CACHE_CONTROL: &str = "no-cache, no-transform";
/// `Cache-Control` of everything that belongs to a principal.
pub const PRIVATE_CACHE_CONTROL: &str = "no-store";

/// The origin of an absolute URL, such as `https://agent.example:8443`; `None` for anything else.
#[must_use]
pub fn origin(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    if scheme.is_empty() || authority.is_empty() {
        return None;
    }
    let length = scheme
        .len()
        .checked_add("://".len())?
        .checked_add(authority.len())?;
    url.get(..length)
}

/// Whether this is a URI: a scheme and something after it, in the characters of RFC 3986. What the scheme
/// asks of the rest is not looked at.
#[must_use]
pub fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
            && !rest.is_empty()
            && rest
                .bytes()
                .all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b))
    })
}

/// Whether the deployment may send something of its own there: an absolute https URL, or http to loopback, without a
/// user in it.
#[must_use]
pub fn is_outbound_url(url: &str) -> bool {
    let (rest, loopback_only) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return false,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    is_uri(url)
        && !authority.contains('@')
        && !host.is_empty()
        && (!loopback_only || matches!(host, "127.0.0.1" | "localhost" | "::1"))
}

/// Percent-decodes a path segment. `None` when an escape is broken or the result is no UTF-8.
#[must_use]
pub fn decode_segment(segment: &str) -> Option<Cow<'_, str>> {
    if !segment.contains('%') {
        return Some(Cow::Borrowed(segment));
    }
    let mut decoded = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            u8::try_from((high << 4) | low).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

/// Checks the `Content-Type` of a request: [`A2A_JSON`] or [`JSON`], in any case, with any parameters.
/// It may be absent when there is no body.
///
/// # Errors
/// `CONTENT_TYPE_NOT_SUPPORTED`, 400, for anything else (section 3.3.2).
pub fn check_content_type(header: Option<&str>, body_is_empty: bool) -> Result<(), A2aError> {
    let essence = header
        .map(|value| value.split_once(';').map_or(value, |(before, _)| before))
        .map(str::trim)
        .filter(|value| !value.is_empty());
    let supported = match essence {
        None => body_is_empty,
        Some(essence) => {
            essence.eq_ignore_ascii_case(A2A_JSON) || essence.eq_ignore_ascii_case(JSON)
        }
    };
    if supported {
        return Ok(());
    }
    Err(A2aError::new(
        Reason::ContentTypeNotSupported,
        format!("Content-Type must be {A2A_JSON} or {JSON}"),
    )
    .with("supported", format!("{A2A_JSON}, {JSON}"))
    .violating("Content-Type", format!("must be {A2A_JSON} or {JSON}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_the_deployment_sends_goes_encrypted_or_stays_on_the_machine() {
        for url in [
            "https://push.example/a?b",
            "http://127.0.0.1:8080/x",
            "http://localhost/",
            "http://[::1]:1/",
        ] {
            assert!(is_outbound_url(url), "{url}");
        }
        for url in [
            "",
            "https://",
            "http://push.example/",
            "http://127.0.0.1.example/",
            "https://user@push.example/",
            "ftp://push.example/",
            "https://push example/",
        ] {
            assert!(!is_outbound_url(url), "{url}");
        }
    }

    #[test]
    fn an_origin_is_scheme_and_authority() {
        assert_eq!(
            origin("http://127.0.0.1:8787/tasks?x"),
            Some("http://127.0.0.1:8787")
        );
        assert_eq!(
            origin("https://agent.example"),
            Some("https://agent.example")
        );
        assert_eq!(
            origin("https://agent.example#x"),
            Some("https://agent.example")
        );
        for url in ["", "/tasks", "https://", "https:///x", "://x"] {
            assert_eq!(origin(url), None, "{url}");
        }
    }

    #[test]
    fn a_uri_has_a_scheme_and_no_blanks() {
        for uri in ["https://h/a?b#c", "urn:x", "mailto:a@b", "http://[::1]:80/"] {
            assert!(is_uri(uri), "{uri}");
        }
        for text in [
            "",
            "x",
            "/a",
            ":x",
            "1a:x",
            "https:",
            "https://a b",
            "a:<b>",
            "a:\u{e9}",
            "a b:c",
        ] {
            assert!(!is_uri(text), "{text}");
        }
    }

    #[test]
    fn a_segment_is_percent_decoded_and_a_plus_stays_a_plus() {
        assert_eq!(decode_segment("plain").as_deref(), Some("plain"));
        assert_eq!(decode_segment("a%2Fb+c%c3%A9").as_deref(), Some("a/b+cé"));
        for broken in ["%", "%2", "%2g", "a%", "%+1", "%ff", "%c3"] {
            assert_eq!(decode_segment(broken), None, "{broken}");
        }
    }

    #[test]
    fn both_json_media_types_are_accepted_with_parameters_and_in_any_case() {
        for header in [
            "application/json",
            "application/a2a+json",
            "Application/JSON; charset=utf-8",
            " application/a2a+json ;v=1",
        ] {
            assert!(check_content_type(Some(header), false).is_ok(), "{header}");
            assert!(check_content_type(Some(header), true).is_ok(), "{header}");
        }
    }

    #[test]
    fn a_missing_content_type_is_accepted_only_without_a_body() {
        for header in [None, Some(""), Some(" ")] {
            assert!(check_content_type(header, true).is_ok());
            assert!(check_content_type(header, false).is_err());
        }
    }

    #[test]
    fn any_other_content_type_is_refused_with_the_supported_ones() {
        for header in [
            "text/plain",
            "application/jsonx",
            "application/json, text/plain",
            "application/x-www-form-urlencoded",
            "json",
            "*/*",
        ] {
            let error = check_content_type(Some(header), true).unwrap_err();
            assert_eq!(error.reason, Reason::ContentTypeNotSupported, "{header}");
            assert_eq!(error.http_status(), 400);
            assert_eq!(error.violations[0].field, "Content-Type");
        }
    }

    proptest! {
        #[test]
        fn any_segment_decodes_or_not(segment in "\\PC{0,60}") {
            if let Some(decoded) = decode_segment(&segment) {
                prop_assert!(decoded.len() <= segment.len());
            }
        }

        #[test]
        fn a_fully_encoded_segment_decodes_to_what_it_was(text in "\\PC{0,20}") {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let decoded = decode_segment(&encoded);
            prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
        }
    }
}
