//! Telling a resident of a wake at its URL: signed, and without anything of the work.

use protocol::push::{SIGNATURE_HEADER, TIMESTAMP_HEADER, body, signature};

use crate::config::Push;
use crate::runtime::clock;
use crate::runtime::log;
use crate::runtime::post::post;

/// How long the receiver may take, in milliseconds.
const TIMEOUT_MS: u32 = 10_000;

/// The most that is read of its answer, in bytes.
const MAX_ANSWER_BYTES: u32 = 64 * 1024;

/// Pushes a wake. False where the receiver did not take it.
pub(super) async fn push(to: &Push, resident: &str) -> bool {
    let body = body(resident);
    let timestamp_ms = clock::now_ms();
    let timestamp = timestamp_ms.to_string();
    let signature = signature(&to.secret, timestamp_ms, &body);
    let headers = [
        ("content-type", "application/json"),
        (TIMESTAMP_HEADER, timestamp.as_str()),
        (SIGNATURE_HEADER, signature.as_str()),
    ];
    let reason = match post(&to.url, &headers, &body, MAX_ANSWER_BYTES, TIMEOUT_MS).await {
        Ok(posted) if (200..300).contains(&posted.status) => return true,
        Ok(posted) => format!("status {}", posted.status),
        Err(error) => error.to_string(),
    };
    log::error(
        "wake_push_failed",
        &[("resident", resident), ("reason", &reason)],
    );
    false
}
