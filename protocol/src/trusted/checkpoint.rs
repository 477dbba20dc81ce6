//! How far a source has read at its provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Caller, fields_of};
use crate::error::A2aError;
use crate::fields::{Name, Violations, plain};
use crate::{ids, json};

/// Largest checkpoint, in bytes of its canonical JSON.
pub const MAX_CHECKPOINT_BYTES: usize = 64 * 1024;
/// Most events that one checkpoint may name.
pub const MAX_COVERS: usize = 1000;
/// The largest version: the largest integer that is exact in every JSON reader.
const MAX_VERSION: f64 = 9_007_199_254_740_991.0;

const CHECKPOINT: Name = plain("checkpoint");
const COVERS: Name = plain("covers");
const VERSION: Name = plain("version");

/// A checkpoint to keep. It is kept only if everything it covers has been accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Whose.
    pub source: String,
    /// JSON of at most 64 KiB, opaque.
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
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        fields.require(&[COVERS], &mut violations);
        // Any value may be one, null and the empty string too.
        let checkpoint = fields.take_any(CHECKPOINT, &mut violations);
        if checkpoint.is_none() {
            violations.add(fields.at(CHECKPOINT), "is required");
        }
        let covers = fields.texts(
            COVERS,
            MAX_COVERS,
            ids::is_identifier,
            ids::RULE,
            &mut violations,
        );
        let version = fields.take(VERSION, &mut violations).map(|value| {
            let version = as_version(&value);
            if version.is_none() {
                violations.add(fields.at(VERSION), "must be an integer from 0");
            }
            version.unwrap_or_default()
        });
        fields.refuse_others(&mut violations);
        let checkpoint = violations.or(checkpoint.unwrap_or_default())?;
        let checkpoint = json::canonical(&checkpoint);
        if checkpoint.len() > MAX_CHECKPOINT_BYTES {
            return Err(A2aError::too_large(CHECKPOINT.json, MAX_CHECKPOINT_BYTES));
        }
        Ok(Checkpoint {
            source,
            checkpoint,
            covers,
            version,
        })
    }
}

fn as_version(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    let is_version = number.fract() == 0.0 && (0.0..=MAX_VERSION).contains(&number);
    #[expect(clippy::cast_possible_truncation, reason = "a whole number of 53 bits")]
    is_version.then_some(number as i64)
}
