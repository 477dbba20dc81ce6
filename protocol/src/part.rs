//! Parts: the contents of messages and artifacts (§4.1.6).
//!
//! A validated part stays a [`serde_json::Value`] that holds exactly the fields of `a2a.proto`'s `Part`. The `Part` of
//! the A2A data model crate is not used: it takes the first of two contents, decodes `raw` only to encode it again, and
//! cannot tell `data: null` from no data at all, so a part would not come back as it was sent.

use serde_json::{Map, Value};

use crate::error::A2aError;
use crate::fields::{Fields, Name, Path, Violations, named, plain};

/// Most parts in a message or an artifact.
pub const MAX_PARTS: usize = 100;
/// Longest `url`, in bytes.
pub const MAX_URL_BYTES: usize = 8192;
/// Longest `filename`, in bytes.
pub const MAX_FILENAME_BYTES: usize = 1024;
/// Longest `mediaType`, in bytes.
pub const MAX_MEDIA_TYPE_BYTES: usize = 255;

/// What a media type must be, for an error.
pub(crate) const MEDIA_TYPE_RULE: &str =
    "must be a media type: 1 to 255 printable ASCII characters";

/// Whether a text may stand as a media type: printable ASCII of at most [`MAX_MEDIA_TYPE_BYTES`]. What it says is for
/// whoever reads it; here it must only be harmless where it is shown, in a header or a line of text (RFC 9110 §8.3.1).
pub(crate) fn is_media_type(text: &str) -> bool {
    (1..=MAX_MEDIA_TYPE_BYTES).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

const TEXT: Name = plain("text");
const RAW: Name = plain("raw");
const URL: Name = plain("url");
const DATA: Name = plain("data");
const METADATA: Name = plain("metadata");
const FILENAME: Name = plain("filename");
const MEDIA_TYPE: Name = named("mediaType", "media_type");

/// The parts of a list that stands at `field`, validated and reduced to the fields of the specification.
///
/// # Errors
/// [`crate::error::Reason::InvalidRequest`] naming every part and field at fault, such as `parts[1].raw`.
pub fn validate_parts(parts: Value, field: &str) -> Result<Vec<Value>, A2aError> {
    let mut violations = Violations::default();
    let parts = match parts {
        Value::Array(items) => read_parts(items, &Path::Root(field), &mut violations),
        _ => {
            violations.add(Path::Root(field), "must be a list of parts");
            Vec::new()
        }
    };
    violations.or(parts)
}

/// Validates each part of a list that must hold 1 to [`MAX_PARTS`] of them.
pub(crate) fn read_parts(
    items: Vec<Value>,
    path: &Path<'_>,
    violations: &mut Violations,
) -> Vec<Value> {
    if items.is_empty() || items.len() > MAX_PARTS {
        violations.add(*path, format!("must have 1 to {MAX_PARTS} parts"));
        return Vec::new();
    }
    let mut parts = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        if violations.is_full() {
            break;
        }
        parts.extend(read_part(item, &Path::Index(path, index), violations));
    }
    parts
}

fn read_part(item: Value, path: &Path<'_>, violations: &mut Violations) -> Option<Value> {
    let mut fields = Fields::of(item, path, violations)?;
    let mut part = Map::new();
    let mut contents = 0_usize;
    for name in [TEXT, RAW, URL] {
        if let Some(value) = fields.take(name, violations) {
            contents = contents.saturating_add(1);
            let content =
                read_content(name, value, fields.at(name), violations).unwrap_or_default();
            part.insert(name.json.to_owned(), Value::String(content));
        }
    }
    // The only field whose null is a value: `google.protobuf.Value` has one.
    if let Some(value) = fields.take_any(DATA, violations) {
        contents = contents.saturating_add(1);
        part.insert(DATA.json.to_owned(), value);
    }
    if contents != 1 {
        violations.add(*path, "must have exactly one of text, raw, url, data");
    }
    if let Some(text) = fields.short_text(FILENAME, MAX_FILENAME_BYTES, violations) {
        part.insert(FILENAME.json.to_owned(), Value::String(text));
    }
    let media_type = fields
        .text(MEDIA_TYPE, violations)
        .filter(|text| !text.is_empty());
    if let Some(text) = media_type {
        if !is_media_type(&text) {
            violations.add(fields.at(MEDIA_TYPE), MEDIA_TYPE_RULE);
        }
        part.insert(MEDIA_TYPE.json.to_owned(), Value::String(text));
    }
    if let Some(metadata) = fields.object(METADATA, violations) {
        part.insert(METADATA.json.to_owned(), Value::Object(metadata));
    }
    Some(Value::Object(part))
}

/// The content as a string, in the form in which a ProtoJSON writer writes it.
fn read_content(
    name: Name,
    value: Value,
    path: Path<'_>,
    violations: &mut Violations,
) -> Option<String> {
    let Value::String(text) = value else {
        violations.add(path, "must be a string");
        return None;
    };
    if name.json == RAW.json {
        let standard = standard_base64(text);
        if standard.is_none() {
            violations.add(path, "must be base64");
        }
        return standard;
    }
    if name.json == URL.json && (text.is_empty() || text.len() > MAX_URL_BYTES) {
        violations.add(path, format!("must be 1 to {MAX_URL_BYTES} bytes"));
        return None;
    }
    Some(text)
}

/// The text in the standard alphabet, padded; `None` when it is not base64.
///
/// ProtoJSON readers accept the standard and the URL-safe alphabet, padded or not; its writers write standard padded.
/// A text that mixes both alphabets, or whose last character holds bits of no byte, is not base64 here.
fn standard_base64(mut text: String) -> Option<String> {
    let symbols = text.trim_end_matches('=');
    let (symbol_count, padding) = (symbols.len(), text.len().checked_sub(symbols.len())?);
    let mut is_standard = false;
    let mut is_url_safe = false;
    for byte in symbols.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => {}
            b'+' | b'/' => is_standard = true,
            b'-' | b'_' => is_url_safe = true,
            _ => return None,
        }
    }
    // A last group of two characters holds 12 bits for one byte, one of three holds 18 bits for two.
    let (missing, last_may_be) = match symbol_count % 4 {
        0 => (0, None),
        2 => (2, Some("AQgw")),
        3 => (1, Some("AEIMQUYcgkosw048")),
        _ => return None,
    };
    let ends_well = last_may_be.is_none_or(|accepted| {
        symbols
            .chars()
            .last()
            .is_some_and(|last| accepted.contains(last))
    });
    if !ends_well || (is_standard && is_url_safe) || (padding != 0 && padding != missing) {
        return None;
    }
    if is_url_safe {
        text = text.replace('-', "+").replace('_', "/");
    }
    if padding != missing {
        text.push_str(if missing == 2 { "==" } else { "=" });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_media_type_is_printable_ascii_on_one_line() {
        let typed = |media_type: &str| json!([{"text": "x", "mediaType": media_type}]);
        assert!(validate_parts(typed("text/plain; charset=utf-8"), "parts").is_ok());
        for media_type in [
            "text/plain\n",
            "text/plain\r\nx: y",
            "text/\u{e4}",
            "text/\u{2028}plain",
            "text/plain\u{0}",
            "text\tplain",
            "text/plain\u{7f}",
        ] {
            assert_eq!(
                refused(typed(media_type)),
                ["parts[0].mediaType"],
                "{media_type:?}"
            );
        }
    }

    fn refused(parts: Value) -> Vec<String> {
        let error = validate_parts(parts, "parts").unwrap_err();
        error
            .violations
            .iter()
            .map(|violation| violation.field.clone())
            .collect()
    }

    #[test]
    fn each_kind_of_content_is_kept_as_sent() {
        let parts = json!([
            {"text": "hello", "metadata": {"k": 1}},
            {"text": ""},
            {"raw": "aGk=", "mediaType": "text/plain", "filename": "hi.txt"},
            {"url": "https://example.com/a.pdf"},
            {"data": {"b": [1, 2.5, null], "a": "x"}},
            {"data": null},
            {"data": "text"},
        ]);
        assert_eq!(
            validate_parts(parts.clone(), "parts").unwrap(),
            *parts.as_array().unwrap()
        );
    }

    #[test]
    fn a_part_has_exactly_one_content() {
        let parts = json!([
            {"text": "ok"},
            {},
            {"text": "a", "data": 1},
            {"text": null, "raw": null},
            {"url": "u", "raw": "", "text": ""},
            {"text": null, "data": null},
        ]);
        assert_eq!(
            refused(parts),
            ["parts[1]", "parts[2]", "parts[3]", "parts[4]"]
        );
    }

    #[test]
    fn a_content_of_another_type_is_refused_by_field() {
        let parts =
            json!([{"text": 1}, {"raw": true}, {"url": {}}, "text", {"text": "a", "metadata": []}]);
        assert_eq!(
            refused(parts),
            [
                "parts[0].text",
                "parts[1].raw",
                "parts[2].url",
                "parts[3]",
                "parts[4].metadata"
            ]
        );
    }

    #[test]
    fn unknown_fields_are_dropped_and_empty_strings_are_absent() {
        let parts =
            json!([{"kind": "text", "text": "a", "filename": "", "mediaType": null, "future": 1}]);
        assert_eq!(
            validate_parts(parts, "parts").unwrap(),
            [json!({"text": "a"})]
        );
    }

    #[test]
    fn the_name_in_the_proto_is_accepted_but_not_both_names() {
        let parts = json!([{"text": "a", "media_type": "text/plain"}]);
        assert_eq!(
            validate_parts(parts, "parts").unwrap(),
            [json!({"text": "a", "mediaType": "text/plain"})]
        );
        assert_eq!(
            refused(json!([{"text": "a", "media_type": "x/y", "mediaType": "x/y"}])),
            ["parts[0].mediaType"]
        );
    }

    #[test]
    fn sizes_and_counts_are_bounded() {
        let part = json!({"text": "a"});
        assert!(validate_parts(Value::from(vec![part.clone(); MAX_PARTS]), "parts").is_ok());
        assert_eq!(refused(Value::from(vec![part; MAX_PARTS + 1])), ["parts"]);
        assert_eq!(refused(json!([])), ["parts"]);
        assert_eq!(refused(json!({"text": "a"})), ["parts"]);
        let long = "x".repeat(MAX_URL_BYTES + 1);
        let parts = json!([{"url": ""}, {"url": long}, {"text": "", "filename": long}, {"text": "", "mediaType": long}]);
        assert_eq!(
            refused(parts),
            [
                "parts[0].url",
                "parts[1].url",
                "parts[2].filename",
                "parts[3].mediaType"
            ]
        );
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for raw in [
            "a", "a===", "ab=", "abc==", "ab==cd==", "ab c", "a\nbc", "YR==", "a+b_", "ä=", "====",
            "=",
        ] {
            assert_eq!(refused(json!([{"raw": raw}])), ["parts[0].raw"], "{raw}");
        }
    }

    proptest! {
        #[test]
        fn base64_of_any_dialect_becomes_standard(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let standard = STANDARD.encode(&bytes);
            for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
                prop_assert_eq!(standard_base64(engine.encode(&bytes)), Some(standard.clone()));
            }
        }

        #[test]
        fn what_is_accepted_as_base64_can_be_decoded(text in "[A-Za-z0-9+/_=-]{0,12}") {
            if let Some(standard) = standard_base64(text) {
                prop_assert!(STANDARD.decode(standard).is_ok());
            }
        }
    }
}
