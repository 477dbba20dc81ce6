//! The Worker: it routes, authenticates, negotiates, validates and frames, and holds no state. What is valid goes to an
//! object by one typed call.

mod a2a;
mod calls;
mod config;
mod objects;
mod reply;
mod resident;
mod router;
pub mod runtime;

use js_sys::Promise;
use wasm_bindgen::prelude::*;

pub use objects::{PrincipalObject, WakeQueueObject};
use runtime::env::Env;
use runtime::promise::promise;
use runtime::request::Request;
use runtime::stream::ExecutionContext;

/// Answers one request.
#[wasm_bindgen]
pub fn fetch(request: Request, env: Env, context: ExecutionContext) -> Promise {
    promise(async move {
        let response = router::respond_to(&request, &env, &context).await?;
        Ok(response.into())
    })
}

/// Panics. Nothing routes here: tests call it from inside an object, to show that a panic is contained.
#[wasm_bindgen(js_name = panicForTests)]
pub fn panic_for_tests() {
    #[expect(clippy::panic, reason = "that is what it is for")]
    {
        panic!("a panic that a test asked for");
    }
}
