//! Between Rust futures and JavaScript promises.
//!
//! When a client goes away, workerd drops the request's pending work: its promises never settle. A future that waits
//! for one would stay in memory for good, so here the promise owns the way back: when it is collected, the future is
//! woken with [`Abandoned`](is_abandoned) and ends.

use std::cell::RefCell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use js_sys::Promise;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    fn settle(promise: &Promise, settled: JsValue);
}

#[derive(Default)]
struct State {
    outcome: Option<Result<JsValue, JsValue>>,
    waker: Option<Waker>,
}

/// The end of a promise, as a future. See [`settled`].
pub struct Settled(Rc<RefCell<State>>);

impl Future for Settled {
    type Output = Result<JsValue, JsValue>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.borrow_mut();
        match state.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Held by the callback that the promise owns. Dropped without an outcome, it tells the future that none will come.
struct Completion(Rc<RefCell<State>>);

impl Completion {
    fn complete(&self, outcome: Result<JsValue, JsValue>) {
        let waker = {
            let mut state = self.0.borrow_mut();
            state.outcome = Some(outcome);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        // A waker is still there only where nothing was delivered.
        let waiting = self.0.borrow().waker.is_some();
        if waiting {
            self.complete(Err(JsValue::UNDEFINED));
        }
    }
}

/// Waits for a promise: `Ok` where it was fulfilled, `Err` where it was rejected or abandoned.
#[must_use]
pub fn settled(promise: &Promise) -> Settled {
    let state = Rc::new(RefCell::new(State::default()));
    let completion = AssertUnwindSafe(Completion(Rc::clone(&state)));
    let callback = Closure::once_into_js(move |fulfilled: bool, value: JsValue| {
        let completion = completion;
        completion.complete(if fulfilled { Ok(value) } else { Err(value) });
    });
    settle(promise, callback);
    Settled(state)
}

/// Whether a [`settled`] error means that the promise was dropped by the platform rather than rejected.
#[must_use]
pub fn is_abandoned(error: &JsValue) -> bool {
    error.is_undefined()
}

/// Runs a future to its end as a promise.
///
/// A panic rejects the promise, and nothing else: the instance goes on.
pub fn promise<F>(future: F) -> Promise
where
    F: Future<Output = Result<JsValue, JsValue>> + 'static,
{
    wasm_bindgen_futures::future_to_promise(AssertUnwindSafe(future))
}
