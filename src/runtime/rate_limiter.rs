//! Cloudflare's rate limiting binding.

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::promise::settled;

/// How long the platform may take to count, in milliseconds. It counts in the same place that the Worker runs in.
const DEADLINE_MS: u32 = 1000;

#[wasm_bindgen]
extern "C" {
    /// The binding. The limit and its period are the deployment's.
    pub type RateLimiter;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = countAgainstLimit)]
    fn count_against_limit(limiter: &RateLimiter, key: &str, deadline_ms: u32) -> Promise;
}

/// The platform did not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotCounted(String);

impl RateLimiter {
    /// Counts one request of this key, and tells whether it is within the limit.
    ///
    /// # Errors
    /// [`NotCounted`] where the platform failed, took longer than a second, or gave no answer that is one.
    pub async fn is_within(&self, key: &str) -> Result<bool, NotCounted> {
        match settled(&count_against_limit(self, key, DEADLINE_MS)).await {
            Ok(within) => within
                .as_bool()
                .ok_or_else(|| NotCounted("the answer has no `success`".to_owned())),
            Err(error) => Err(NotCounted(format!("{error:?}"))),
        }
    }
}
