//! One JSON request to a server of the deployment's choice.

use js_sys::{Array, Promise};
use thiserror::Error;
use wasm_bindgen::prelude::*;

use super::promise::settled;
use super::response::header_lines;
use super::service::Service;

#[wasm_bindgen(module = "/src/runtime/post.js")]
extern "C" {
    #[wasm_bindgen(js_name = post)]
    fn post_text(
        url: &str,
        header_lines: &str,
        body: &str,
        max_bytes: u32,
        deadline_ms: u32,
        service: Option<&Service>,
    ) -> Promise;
}

/// Why a server gave no answer. For the log; never for a caller.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PostError {
    /// Nothing whole came in time.
    #[error("no answer in time")]
    Deadline,
    /// It could not be reached, or its answer is too large.
    #[error("{0}")]
    Failed(String),
}

/// What a server answered, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The HTTP status. A redirect is not followed.
    pub status: u16,
    /// The body.
    pub text: String,
}

/// Posts JSON text. Reads at most `max_bytes` of the answer, and waits at most `deadline_ms` for all of it.
///
/// # Errors
/// [`PostError`].
pub async fn post(
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
    max_bytes: u32,
    deadline_ms: u32,
) -> Result<Posted, PostError> {
    ask(None, url, headers, body, max_bytes, deadline_ms).await
}

/// The same, asked of the Worker behind a service binding.
///
/// # Errors
/// [`PostError`].
pub async fn post_to(
    service: &Service,
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
    max_bytes: u32,
    deadline_ms: u32,
) -> Result<Posted, PostError> {
    ask(Some(service), url, headers, body, max_bytes, deadline_ms).await
}

async fn ask(
    service: Option<&Service>,
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
    max_bytes: u32,
    deadline_ms: u32,
) -> Result<Posted, PostError> {
    let lines = header_lines(headers);
    let answer = settled(&post_text(
        url,
        &lines,
        body,
        max_bytes,
        deadline_ms,
        service,
    ))
    .await
    .map_err(|_| PostError::Failed("abandoned".to_owned()))?;
    match answer.dyn_into::<Array>() {
        Ok(parts) => Ok(Posted {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "an HTTP status"
            )]
            status: parts.get(0).as_f64().unwrap_or_default() as u16,
            text: parts.get(1).as_string().unwrap_or_default(),
        }),
        Err(failure) => Err(match failure.as_string() {
            Some(text) if text == "deadline" => PostError::Deadline,
            text => PostError::Failed(text.unwrap_or_default()),
        }),
    }
}
