//! Waiting for time to pass. A pending timer keeps an object in memory: in objects, use the alarm.

use std::future::Future;
use std::pin::pin;

use futures::future::{Either, select};
use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::promise::settled;

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = sleep)]
    fn sleep_promise(delay_ms: u32) -> Promise;
}

/// Ends after `delay_ms`.
pub async fn sleep(delay_ms: u32) {
    // A rejection can only mean that the request is gone: there is nothing left to wait for.
    drop(settled(&sleep_promise(delay_ms)).await);
}

/// What `work` came to, or `None` where it took longer than `deadline_ms`. `work` is then dropped.
///
/// The timer runs on until it is due: for calls of an object, [`super::object_call::invoke`] has a deadline that doesn't.
pub async fn within<F: Future>(deadline_ms: u32, work: F) -> Option<F::Output> {
    match select(pin!(work), pin!(sleep(deadline_ms))).await {
        Either::Left((outcome, _)) => Some(outcome),
        Either::Right(_) => None,
    }
}
