//! How far a source has read at its provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Caller;
use super::form::{Form, IDENTIFIER};
use crate::error::A2aError;
use crate::{field_path, json};

/// Largest checkpoint, in bytes of its canonical JSON.
pub const MAX_CHECKPOINT_BYTES: usize = 64 * 1024;
/// Most events that one checkpoint may name.
pub const MAX_COVERS: usize = 1000;
/// The largest version, and the largest integer below which a double stands for no other.
const MAX_VERSION: f64 = 9_007_199_254_740_991.0;

/// A checkpoint to keep. It is kept only if everything it covers has been accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Whose.
    pub source: String,
    /// JSON of at most 64 KiB, opaque. Integers of 64 bits are in it as they were sent.
    pub checkpoint: String,
    /// The dedupe keys of the events that it passes.
    pub covers: Vec<String>,
    /// The version that it replaces, where the source wants to know of another writer.
    pub version: Option<i64>,
}

impl Checkpoint {
    /// Checks the request that advances the checkpoint of `source`, which is a source's name.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) with every field at fault;
    /// [`PayloadTooLarge`](crate::error::Reason::PayloadTooLarge) naming `checkpoint`;
    /// [`PermissionDenied`](crate::error::Reason::PermissionDenied) naming `principal`.
    pub fn from_value(body: Value, source: String, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut form = Form::open(body, caller)?;
        let checkpoint = form.any_value("checkpoint").unwrap_or_default();
        if let Some(path) = inexact(&checkpoint, "checkpoint") {
            form.violate_at(
                &path,
                "must be a string: as a number it can't be kept exactly",
            );
        }
        let covers = form.texts("covers", MAX_COVERS, &IDENTIFIER);
        let version = form.value("version");
        let known = version.as_ref().and_then(as_version);
        if version.is_some() && known.is_none() {
            form.violate("version", "must be an integer from 0");
        }
        form.close()?;
        let checkpoint = json::canonical(&checkpoint);
        if checkpoint.len() > MAX_CHECKPOINT_BYTES {
            return Err(A2aError::too_large("checkpoint", MAX_CHECKPOINT_BYTES));
        }
        Ok(Checkpoint {
            source,
            checkpoint,
            covers,
            version: known,
        })
    }
}

/// The path of the first number that was rounded when it was read: what has no place in 64 bits is read as a double, of
/// which those from 2^53 on stand for several integers.
fn inexact(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Number(number) => {
            let is_rounded = number.is_f64() && number.as_f64()?.abs() > MAX_VERSION;
            is_rounded.then(|| path.to_owned())
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, value)| inexact(value, &field_path::item(path, index))),
        Value::Object(members) => members
            .iter()
            .find_map(|(key, value)| inexact(value, &field_path::member(path, key))),
        _ => None,
    }
}

fn as_version(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    let is_version = number.fract() == 0.0 && (0.0..=MAX_VERSION).contains(&number);
    #[expect(clippy::cast_possible_truncation, reason = "a whole number of 53 bits")]
    is_version.then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_keeps_its_integers_and_refuses_what_would_be_rounded() {
        let advance = |text: &str| {
            let body =
                crate::json::parse(format!(r#"{{"checkpoint":{text},"covers":[]}}"#).as_bytes());
            let caller = Caller {
                principal: "alice",
                may_name_tasks: false,
            };
            Checkpoint::from_value(body.unwrap(), "chat".to_owned(), &caller)
        };
        for exact in [
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
            r#"{"cursor":[1.5,9007199254740993]}"#,
        ] {
            assert_eq!(advance(exact).unwrap().checkpoint, exact);
        }
        for (rounded, path) in [
            ("18446744073709551616", "checkpoint"),
            ("9007199254740993.0", "checkpoint"),
            (
                r#"{"a":{"b":[0,-9223372036854775809]}}"#,
                "checkpoint.a.b[1]",
            ),
        ] {
            let error = advance(rounded).unwrap_err();
            assert_eq!(error.violations[0].field, path, "{rounded}");
        }
    }
}
