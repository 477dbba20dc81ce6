//! The WebAssembly instance: one serves many requests and objects, until a trap ends it.
//!
//! A panic unwinds and fails only the call that it happened in. A trap (an abort, no memory, too deep a recursion)
//! leaves memory in an unknown state: the instance then refuses every call, and `shell.mjs` makes a new one.

use std::cell::RefCell;

use js_sys::Function;
use wasm_bindgen::prelude::*;

thread_local! {
    static LOST: RefCell<Option<Function>> = const { RefCell::new(None) };
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = instanceLost)]
    fn instance_lost(tell: &Function);
}

/// Runs once in every new instance: panics tell the console where they happened.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// Has `lost` called, without arguments, when this instance has trapped. It must not call back into the instance.
#[wasm_bindgen(js_name = onInstanceLost)]
pub fn on_instance_lost(lost: Function) {
    LOST.set(Some(lost));
    wasm_bindgen::handler::set_on_abort(report_lost);
}

/// The last thing the instance does, and one call only: whatever comes back into a lost instance traps.
fn report_lost() {
    LOST.with_borrow(|lost| {
        if let Some(lost) = lost {
            instance_lost(lost);
        }
    });
}
