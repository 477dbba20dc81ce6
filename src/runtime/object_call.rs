//! One command to one object, answered before a deadline.

use js_sys::{Array, Uint8Array};
use thiserror::Error;
use wasm_bindgen::prelude::*;

use super::env::Namespace;
use super::promise::settled_by;
use super::response::JsText;

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = invoke)]
    fn invoke_object(
        objects: &Namespace,
        name: &str,
        command: &[u8],
        deadline_ms: u32,
        settled: &JsValue,
        slot: u32,
    );
    // It never throws. Two imports that need no conversion at all would be one key of the bindings twice.
    #[wasm_bindgen(catch, js_name = rowsOfAnswer)]
    fn rows_of_answer() -> Result<f64, JsValue>;
}

/// The deadline of a call that is waited for as long as it takes.
pub const NO_DEADLINE: u32 = 0;

/// What an answer has cost in storage, as the platform bills it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rows {
    /// Rows read.
    pub read: u32,
    /// Rows written, those of indexes included.
    pub written: u32,
}

impl Rows {
    /// Those of the answer that was just brought: to be read before anything else is waited for.
    fn of_answer() -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "two whole numbers below 2^24 and 2^29 in one"
        )]
        let both = rows_of_answer().unwrap_or_default() as u64;
        let part = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            read: part(both >> 24),
            written: part(both & 0xff_ffff),
        }
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_add(other.read),
            written: self.written.saturating_add(other.written),
        }
    }
}

/// Why an object gave no answer. Whether the command took effect is unknown: only an idempotent one may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallError {
    /// No answer within the deadline. The object may still carry the command out.
    #[error("the object did not answer in time")]
    Deadline,
    /// The object failed or could not be reached.
    #[error("the object failed: {message}")]
    Object {
        /// The platform says that the same call may succeed at once.
        retryable: bool,
        /// The object has more callers than it can serve: do not retry.
        overloaded: bool,
        /// What the platform or the object said. For the log; never for a caller.
        message: String,
    },
}

/// What an object answers.
pub enum Answer {
    /// Bytes, to be read.
    Bytes(Vec<u8>),
    /// Text, to be passed on.
    Text(JsText),
}

impl CallError {
    /// An answer that this build's objects do not give.
    #[must_use]
    pub fn unusable(message: &str) -> Self {
        Self::Object {
            retryable: false,
            overloaded: false,
            message: message.to_owned(),
        }
    }

    /// From the array that `failure` in `glue.js` makes.
    pub(super) fn from_js(error: &JsValue) -> Self {
        let Some(parts) = error.dyn_ref::<Array>() else {
            return Self::Object {
                retryable: false,
                overloaded: false,
                message: "no reason given".to_owned(),
            };
        };
        if parts.get(0).is_truthy() {
            return Self::Deadline;
        }
        Self::Object {
            retryable: parts.get(1).is_truthy(),
            overloaded: parts.get(2).is_truthy(),
            message: parts.get(3).as_string().unwrap_or_default(),
        }
    }
}

/// Sends `command` to the object of that name and waits for its answer, at most `deadline_ms`, or [`NO_DEADLINE`].
///
/// # Errors
/// [`CallError`].
pub async fn invoke(
    objects: &Namespace,
    name: &str,
    command: &[u8],
    deadline_ms: u32,
) -> Result<(Answer, Rows), CallError> {
    let answer = settled_by(|settled, slot| {
        invoke_object(objects, name, command, deadline_ms, settled, slot);
    });
    let answer = answer.await.map_err(|error| CallError::from_js(&error))?;
    let rows = Rows::of_answer();
    if let Some(bytes) = answer.dyn_ref::<Uint8Array>() {
        return Ok((Answer::Bytes(bytes.to_vec()), rows));
    }
    JsText::from_value(answer)
        .map(|text| (Answer::Text(text), rows))
        .ok_or_else(|| CallError::unusable("the answer is neither bytes nor text"))
}
