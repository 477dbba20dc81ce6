//! A request's body, read under a cap on its size and on the time it may take.

use js_sys::Uint8Array;
use thiserror::Error;
use wasm_bindgen::prelude::*;

use super::promise::settled_by;
use super::request::Request;

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = readBody)]
    fn read_body(
        request: &Request,
        limit_bytes: u32,
        deadline_ms: u32,
        settled: &JsValue,
        slot: u32,
    );
}

/// Why a body could not be had. All three are the caller's doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BodyError {
    /// It is larger than the cap, by its declared length or by count. The rest is not read.
    #[error("the body is too large")]
    TooLarge,
    /// The connection ended before the body did.
    #[error("the body ended early")]
    Aborted,
    /// It did not arrive in time.
    #[error("the body did not arrive in time")]
    Stalled,
}

impl Request {
    /// All of the body, empty where there is none. To be called once.
    ///
    /// Never reads more than `limit_bytes` and one chunk, nor waits longer than `deadline_ms`.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn body(&self, limit_bytes: u32, deadline_ms: u32) -> Result<Vec<u8>, BodyError> {
        let outcome = settled_by(|settled, slot| {
            read_body(self, limit_bytes, deadline_ms, settled, slot);
        });
        let Ok(answer) = outcome.await else {
            return Err(BodyError::Aborted);
        };
        match answer.as_f64() {
            None => Ok(answer.unchecked_into::<Uint8Array>().to_vec()),
            Some(1.0) => Err(BodyError::TooLarge),
            Some(3.0) => Err(BodyError::Stalled),
            Some(_) => Err(BodyError::Aborted),
        }
    }
}
