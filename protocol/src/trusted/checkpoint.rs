//! How far a source has read at its provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Caller;
use super::form::{Form, IDENTIFIER};
use crate::error::A2aError;
use crate::json;

/// Largest checkpoint, in bytes of its canonical JSON.
pub const MAX_CHECKPOINT_BYTES: usize = 64 * 1024;
/// Most events that one checkpoint may name.
pub const MAX_COVERS: usize = 1000;
/// The largest version: the largest integer that is exact in every JSON reader.
const MAX_VERSION: f64 = 9_007_199_254_740_991.0;

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
        let mut form = Form::open(body, caller)?;
        let checkpoint = form.any_value("checkpoint").unwrap_or_default();
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

fn as_version(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    let is_version = number.fract() == 0.0 && (0.0..=MAX_VERSION).contains(&number);
    #[expect(clippy::cast_possible_truncation, reason = "a whole number of 53 bits")]
    is_version.then_some(number as i64)
}
