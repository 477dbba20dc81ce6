//! From bytes to one unambiguous JSON value.
//!
//! `serde_json` alone keeps the last of two equal keys, nests to 128 levels, and lets a body of 1 MiB grow to a
//! hundred times that in memory. Two readers that disagree about a body is how a check is passed by. So this reader
//! refuses, naming the place:
//!
//! - bytes that are not UTF-8, lone surrogates, anything after the value (RFC 8259);
//! - an object with two equal keys (I-JSON, RFC 7493 §2.3);
//! - more than [`MAX_DEPTH`] nested arrays and objects;
//! - a number that no finite double can hold;
//! - more than [`MAX_WEIGHT`] of structure.
//!
//! An integer beyond 64 bits becomes the nearest double, as it does for every ProtoJSON peer. Doubles come back exactly
//! as they were (`serde_json`'s `float_roundtrip`).

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::error::{A2aError, FieldViolation, Reason};
use crate::field_path;

/// Most arrays and objects inside one another.
pub const MAX_DEPTH: usize = 64;

/// Most structure in one text: a value weighs 1, a member of an object 3 more, an object 16 more. One unit stands for
/// about 40 bytes of memory, so this bounds what a small text of many tiny objects can be made to occupy.
pub const MAX_WEIGHT: usize = 400_000;

/// How much of a path is repeated in an error, in characters.
const MAX_PATH_CHARS: usize = 200;

/// The value that the bytes spell.
///
/// # Errors
/// [`Reason::InvalidRequest`] naming the path inside the body (or `body` itself) and, in the metadata, `byteOffset`:
/// how many bytes had been read when it was noticed.
pub fn parse(bytes: &[u8]) -> Result<Value, A2aError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| refusal("body", "must be UTF-8", error.valid_up_to()))?;
    let mut progress = Progress {
        weight_left: MAX_WEIGHT,
        path: Vec::new(),
        problem: None,
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let reader = Reader {
        progress: &mut progress,
        depth_left: MAX_DEPTH,
    };
    let result = reader
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    result.map_err(|error| {
        let offset = byte_offset(text, error.line(), error.column());
        let description = progress.problem.take().unwrap_or_else(|| describe(&error));
        refusal(&progress.render_path(), description, offset)
    })
}

/// The canonical text of a value: no white space, keys sorted.
pub fn canonical(value: &Value) -> String {
    value.to_string()
}

/// Length in bytes of the canonical text, without making it.
pub(crate) fn canonical_len(value: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value that cannot be serialized has no text to store, and so is too long for every limit.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

fn refusal(field: &str, description: impl Into<Cow<'static, str>>, offset: usize) -> A2aError {
    let description = description.into();
    let mut error = A2aError::new(
        Reason::InvalidRequest,
        format!("{field} {description} (byte {offset} of the body)"),
    )
    .with("byteOffset", offset.to_string());
    error.violations.push(FieldViolation {
        field: field.to_owned(),
        description,
    });
    error
}

/// What `serde_json` found, without its line and column.
fn describe(error: &serde_json::Error) -> Cow<'static, str> {
    if error.is_eof() {
        return Cow::Borrowed("must be complete JSON: it ends early");
    }
    let text = error.to_string();
    let found = text
        .split_once(" at line ")
        .map_or(text.as_str(), |(found, _)| found);
    Cow::Owned(format!("must be JSON: {found}"))
}

fn byte_offset(text: &str, line: usize, column: usize) -> usize {
    let line_start = match line.checked_sub(2) {
        Some(newlines_before) => {
            let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            newlines
                .map(|(at, _)| at.saturating_add(1))
                .nth(newlines_before)
                .unwrap_or(0)
        }
        None => 0,
    };
    line_start
        .saturating_add(column.saturating_sub(1))
        .min(text.len())
}

/// What one parse has used up and, once it fails, where and why.
struct Progress {
    weight_left: usize,
    /// Innermost first: filled in while the failure unwinds.
    path: Vec<Segment>,
    problem: Option<Cow<'static, str>>,
}

enum Segment {
    Key(String),
    Index(usize),
}

impl Progress {
    fn fail<E: serde::de::Error>(&mut self, problem: impl Into<Cow<'static, str>>) -> E {
        let problem = problem.into();
        let error = E::custom(&problem);
        self.problem = Some(problem);
        error
    }

    fn spend<E: serde::de::Error>(&mut self, weight: usize) -> Result<(), E> {
        match self.weight_left.checked_sub(weight) {
            Some(left) => {
                self.weight_left = left;
                Ok(())
            }
            None => {
                Err(self.fail("must have fewer values: the body has too many to hold in memory"))
            }
        }
    }

    fn render_path(&self) -> String {
        let path = self
            .path
            .iter()
            .rev()
            .fold(String::new(), |path, segment| match segment {
                Segment::Key(key) => field_path::member(&path, key),
                Segment::Index(index) => field_path::item(&path, *index),
            });
        let mut path = path.strip_prefix('.').map(str::to_owned).unwrap_or(path);
        if path.is_empty() {
            return "body".to_owned();
        }
        if let Some((cut, _)) = path.char_indices().nth(MAX_PATH_CHARS) {
            path.truncate(cut);
            path.push('…');
        }
        path
    }
}

struct Reader<'p> {
    progress: &'p mut Progress,
    depth_left: usize,
}

impl Reader<'_> {
    /// The reader for the values inside the container just begun.
    fn inner<E: serde::de::Error>(&mut self) -> Result<Reader<'_>, E> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Reader {
                progress: self.progress,
                depth_left,
            }),
            None => Err(self
                .progress
                .fail(format!("must be nested at most {MAX_DEPTH} levels deep"))),
        }
    }

    fn again(&mut self) -> Reader<'_> {
        Reader {
            progress: self.progress,
            depth_left: self.depth_left,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.progress.spend(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(|| {
            self.progress
                .fail("must be a number that a double can hold")
        })
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let mut inner = self.inner()?;
        let mut items = Vec::new();
        loop {
            match access.next_element_seed(inner.again()) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => return Ok(Value::Array(items)),
                Err(error) => {
                    inner.progress.path.push(Segment::Index(items.len()));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let mut inner = self.inner()?;
        inner.progress.spend(16)?;
        let mut members = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            inner.progress.spend(3)?;
            match members.entry(key) {
                Entry::Vacant(slot) => match access.next_value_seed(inner.again()) {
                    Ok(value) => {
                        slot.insert(value);
                    }
                    Err(error) => {
                        inner
                            .progress
                            .path
                            .push(Segment::Key(slot.key().to_owned()));
                        return Err(error);
                    }
                },
                Entry::Occupied(slot) => {
                    inner
                        .progress
                        .path
                        .push(Segment::Key(slot.key().to_owned()));
                    return Err(inner.progress.fail("must appear only once in its object"));
                }
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// The field and the byte offset of the refusal.
    fn refused(bytes: &[u8]) -> (String, usize) {
        let error = parse(bytes).unwrap_err();
        assert_eq!(error.http_status(), 400);
        (
            error.violations[0].field.clone(),
            error.metadata["byteOffset"].parse().unwrap(),
        )
    }

    #[test]
    fn json_is_read_as_it_is_written() {
        let text = br#" {"a": [1, -2, 2.5, true, null], "b": {"c": "\u00e9\ud83d\ude00"}} "#;
        assert_eq!(
            parse(text).unwrap(),
            json!({"a": [1, -2, 2.5, true, null], "b": {"c": "é😀"}})
        );
        assert_eq!(parse(b"18446744073709551615").unwrap(), json!(u64::MAX));
        assert_eq!(parse(b"null").unwrap(), json!(null));
    }

    #[test]
    fn equal_keys_are_refused_by_path() {
        assert_eq!(refused(br#"{"a":1,"a":1}"#), ("a".into(), 9));
        let text = br#"{"message": {"parts": [{"text": "a"}, {"text": "b", "text": "c"}]}}"#;
        assert_eq!(refused(text).0, "message.parts[1].text");
        assert_eq!(refused(br#"{"a":{},"\u0061":1}"#).0, "a");
        assert_eq!(refused(br#"{"x/v1":{"b":1,"b":1}}"#).0, r#"["x/v1"].b"#);
    }

    #[test]
    fn invalid_utf_8_is_refused_at_its_byte() {
        assert_eq!(refused(b"{\"a\": \"\xff\"}"), ("body".into(), 7));
        assert_eq!(refused(b"\"\xed\xa0\x80\""), ("body".into(), 1));
    }

    #[test]
    fn lone_surrogates_are_refused() {
        for text in [
            r#"{"a": "\ud800"}"#,
            r#"{"a": "\udc00"}"#,
            r#"{"a": "\ud800\u0041"}"#,
        ] {
            assert_eq!(refused(text.as_bytes()).0, "a", "{text}");
        }
        assert_eq!(refused(br#"{"\ud800": 1}"#).0, "body");
    }

    #[test]
    fn whatever_follows_the_value_is_refused() {
        assert_eq!(refused(b"{} x"), ("body".into(), 3));
        assert_eq!(refused(b"1 2").0, "body");
        assert_eq!(refused(b"{}\0").0, "body");
    }

    #[test]
    fn a_text_that_ends_early_is_refused_where_it_ends() {
        let error = parse(br#"{"message": {"parts": [{"text": "hal"#).unwrap_err();
        assert_eq!(error.violations[0].field, "message.parts[0].text");
        assert!(error.message.contains("ends early"), "{}", error.message);
        assert_eq!(refused(b""), ("body".into(), 0));
    }

    #[test]
    fn numbers_that_no_double_holds_are_refused() {
        assert_eq!(refused(br#"{"a": [1e999]}"#).0, "a[0]");
        assert_eq!(refused(b"NaN").0, "body");
        assert_eq!(refused(b"01").0, "body");
    }

    #[test]
    fn nesting_is_bounded_at_64_levels() {
        let nested = |levels: usize| [b"[".repeat(levels), b"]".repeat(levels)].concat();
        assert!(parse(&nested(64)).is_ok());
        let (field, offset) = refused(&nested(65));
        assert!(field.starts_with("[0][0]"), "{field}");
        assert_eq!(offset, 65);
        refused(&nested(10_000));
        refused(&b"[".repeat(1_000_000));
        refused(&br#"{"a":"#.repeat(200_000));
    }

    #[test]
    fn structure_is_bounded_by_what_it_occupies() {
        let list = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
        assert!(parse(list("1.5", 131_072).as_bytes()).is_ok());
        assert!(parse(list(r#"{"x":1}"#, 19_000).as_bytes()).is_ok());
        let error = parse(list(r#"{"":0}"#, 40_000).as_bytes()).unwrap_err();
        assert!(error.violations[0].description.contains("fewer values"));
        assert!(parse(list("0", 500_000).as_bytes()).is_err());
    }

    #[test]
    fn offsets_count_bytes_across_lines() {
        assert_eq!(
            refused("{\n \"ä\": 1,\n x}".as_bytes()),
            ("body".into(), 13)
        );
    }

    #[test]
    fn the_path_in_an_error_is_bounded() {
        let key = "k".repeat(100_000);
        let error = parse(format!(r#"{{"{key}": {{"{key}": !}}}}"#).as_bytes()).unwrap_err();
        assert!(error.violations[0].field.chars().count() <= MAX_PATH_CHARS + 1);
        assert!(error.to_json().len() < 2000);
    }

    #[test]
    fn the_canonical_text_does_not_depend_on_the_order_of_keys() {
        let one = parse(br#"{"b": 1, "a": {"d": 2, "c": 3}}"#).unwrap();
        let other = parse(br#"{"a":{"c":3,"d":2},"b":1}"#).unwrap();
        assert_eq!(canonical(&one), r#"{"a":{"c":3,"d":2},"b":1}"#);
        assert_eq!(canonical(&one), canonical(&other));
        assert_eq!(canonical_len(&one), canonical(&one).len());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_round_trips(value in any_json()) {
            prop_assert_eq!(parse(canonical(&value).as_bytes()).unwrap(), value.clone());
            prop_assert_eq!(parse(serde_json::to_string_pretty(&value).unwrap().as_bytes()).unwrap(), value);
        }

        #[test]
        fn every_proper_prefix_of_an_object_is_refused(value in any_json(), cut in 0.0..1.0_f64) {
            let text = json!({"a": value}).to_string();
            let cut = (text.len() as f64 * cut) as usize;
            let error = parse(&text.as_bytes()[..cut]).unwrap_err();
            prop_assert!(!error.violations[0].field.is_empty());
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn no_near_json_panics(text in r#"[\[\]{}",:0-9eE.\\uD8 \n-]{0,60}"#) {
            match parse(text.as_bytes()) {
                Ok(value) => prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap()),
                Err(error) => prop_assert_eq!(error.violations.len(), 1),
            }
        }
    }
}
