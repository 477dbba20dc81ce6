//! The Worker: it routes, authenticates, negotiates, validates and frames, and holds no state. What is valid goes to an
//! object by one typed call.

mod a2a;
mod agents;
mod calls;
mod config;
mod mcp;
mod objects;
mod rate;
mod remotes;
mod reply;
mod request_log;
mod resident;
mod router;
pub mod runtime;
mod trusted;
mod workflow;

use protocol::error::{A2aError, CONTENT_TYPE};
use wasm_bindgen::prelude::*;

pub use objects::{PrincipalObject, WakeQueueObject};
use runtime::env::Env;
use runtime::promise::start;
use runtime::request::Request;
use runtime::response::{JsResponse, respond_now};
use runtime::stream::ExecutionContext;

/// Answers one request: with a response, or a promise of it where something must be waited for.
///
/// # Errors
/// Where no response can be built: a mistake of ours.
#[wasm_bindgen]
pub fn fetch(request: Request, env: Env, context: ExecutionContext) -> Result<JsValue, JsValue> {
    start(async move {
        let response = router::respond_to(&request, &env, &context).await?;
        Ok(response.into())
    })
}

/// The answer to a request that a trap cut short, from the instance that came after it.
///
/// # Errors
/// Where the platform refuses to build it: a mistake of ours.
#[wasm_bindgen(js_name = internalError)]
pub fn internal_error() -> Result<JsResponse, JsValue> {
    let headers = [("content-type", CONTENT_TYPE)];
    respond_now(500, &headers, &A2aError::internal().to_json())
}

/// Panics. Nothing routes here: tests call it from inside an object, to show that a panic is contained.
#[wasm_bindgen(js_name = panicForTests)]
pub fn panic_for_tests() {
    #[expect(clippy::panic, reason = "that is what it is for")]
    {
        panic!("a panic that a test asked for");
    }
}
