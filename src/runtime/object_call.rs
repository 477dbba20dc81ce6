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

/// Sends `command` to the object of that name and waits for its answer, at most `deadline_ms`.
///
/// # Errors
/// [`CallError`].
pub async fn invoke(
    objects: &Namespace,
    name: &str,
    command: &[u8],
    deadline_ms: u32,
) -> Result<Answer, CallError> {
    let answer = settled_by(|settled, slot| {
        invoke_object(objects, name, command, deadline_ms, settled, slot);
    });
    let answer = answer.await.map_err(|error| CallError::from_js(&error))?;
    if let Some(bytes) = answer.dyn_ref::<Uint8Array>() {
        return Ok(Answer::Bytes(bytes.to_vec()));
    }
    JsText::from_value(answer)
        .map(Answer::Text)
        .ok_or_else(|| CallError::unusable("the answer is neither bytes nor text"))
}
