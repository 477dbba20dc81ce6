//! Between Rust futures and JavaScript promises.
//!
//! A future is polled where it stands: at once when it starts, and again in the very callback that brings what it
//! waits for. Nothing is handed to the microtask queue in between, and a future that never waits costs no promise.
//!
//! When a client goes away, workerd may drop its request together with the promises it waits for: they never settle.
//! A future that waits for one would stay for good, so one that has made no step for [`SILENCE_MS`] is dropped when
//! something new starts. It may take as long as it likes, provided that each of its waits is shorter: every wait has a
//! deadline below that limit, and what must wait longer waits again (`config` bounds the deadlines that are vars).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::clock::now_ms;

/// How long a future may wait for one thing, in milliseconds. It is given up no earlier, and no later than the first
/// start after twice that time.
pub const SILENCE_MS: i64 = 300_000;

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    fn settle(promise: &Promise, settled: &JsValue, slot: u32);

    type Deferred;
    #[wasm_bindgen(constructor)]
    fn new() -> Deferred;
    #[wasm_bindgen(method, getter)]
    fn promise(this: &Deferred) -> Promise;
    #[wasm_bindgen(method)]
    fn resolve(this: &Deferred, value: &JsValue);
    #[wasm_bindgen(method)]
    fn reject(this: &Deferred, error: &JsValue);
}

type Outcome = Result<JsValue, JsValue>;
type Work = Pin<Box<dyn Future<Output = Outcome>>>;

/// A future that has begun to wait.
struct Task {
    work: Work,
    waker: Waker,
    /// The round of its last step.
    round: u64,
    answer: Deferred,
}

/// A promise that a future waits for, from the start of the wait to its end.
#[derive(Default)]
struct Wait {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Executor {
    next_task: Cell<u64>,
    tasks: RefCell<BTreeMap<u64, Task>>,
    ready: RefCell<VecDeque<u64>>,
    running: Cell<bool>,
    /// Rounds take [`SILENCE_MS`] at least: who made no step in a whole one is given up. They spare each step the clock.
    round: Cell<u64>,
    round_ends_ms: Cell<i64>,
    next_slot: Cell<u32>,
    waits: RefCell<BTreeMap<u32, Rc<RefCell<Wait>>>>,
}

thread_local! {
    static EXECUTOR: Executor = Executor::default();
    /// What `glue.js` calls with a slot, whether the promise was fulfilled, and with what. One for all promises.
    static SETTLED: JsValue = Closure::<dyn Fn(u32, bool, JsValue)>::new(on_settled).into_js_value();
}

struct TaskWaker(u64);

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        EXECUTOR.with(|executor| {
            executor.ready.borrow_mut().push_back(self.0);
            executor.run();
        });
    }
}

/// While it lives, wakes are only noted: whoever holds it runs them afterwards.
struct Running<'a>(&'a Cell<bool>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Executor {
    fn enter(&self) -> Option<Running<'_>> {
        (!self.running.replace(true)).then(|| Running(&self.running))
    }

    /// Polls everything that was woken. Within a poll it does nothing: the outer run goes on to it.
    fn run(&self) {
        let Some(_running) = self.enter() else { return };
        loop {
            let Some(id) = self.ready.borrow_mut().pop_front() else {
                return;
            };
            let Some(mut task) = self.tasks.borrow_mut().remove(&id) else {
                continue;
            };
            match poll(&mut task.work, &task.waker) {
                Poll::Pending => {
                    task.round = self.round.get();
                    self.tasks.borrow_mut().insert(id, task);
                }
                Poll::Ready(Ok(value)) => task.answer.resolve(&value),
                Poll::Ready(Err(error)) => task.answer.reject(&error),
            }
        }
    }

    fn start(&self, mut work: Work) -> Result<JsValue, JsValue> {
        let id = self.next_task.get();
        self.next_task.set(id.wrapping_add(1));
        let waker = Waker::from(Arc::new(TaskWaker(id)));
        let polled = {
            let _running = self.enter();
            poll(&mut work, &waker)
        };
        if let Poll::Ready(outcome) = polled {
            // It may have woken others.
            self.run();
            return outcome;
        }
        self.give_up_the_silent(now_ms());
        let answer = Deferred::new();
        let promise = answer.promise();
        self.tasks.borrow_mut().insert(
            id,
            Task {
                work,
                waker,
                round: self.round.get(),
                answer,
            },
        );
        // It may have been woken before it was there to be found.
        self.run();
        Ok(promise.into())
    }

    fn give_up_the_silent(&self, now_ms: i64) {
        if now_ms < self.round_ends_ms.get() {
            return;
        }
        self.round_ends_ms.set(now_ms.saturating_add(SILENCE_MS));
        let over = self.round.get();
        self.round.set(over.saturating_add(1));
        let silent: Vec<u64> = self
            .tasks
            .borrow()
            .iter()
            .filter(|(_, task)| task.round < over)
            .map(|(id, _)| *id)
            .collect();
        for id in silent {
            // What it drops may wake others, which look for themselves among the tasks.
            let task = self.tasks.borrow_mut().remove(&id);
            if let Some(task) = task {
                task.answer.reject(&JsValue::from_str("given up"));
            }
        }
    }
}

/// Polls once; a panic is an error that carries its message.
fn poll(work: &mut Work, waker: &Waker) -> Poll<Outcome> {
    let mut context = Context::from_waker(waker);
    match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut context))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(js_sys::Error::new(panic_message(&*panic)).into())),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (None, Some(message)) => message,
        (None, None) => "a panic without a message",
    }
}

fn on_settled(slot: u32, fulfilled: bool, value: JsValue) {
    let wait = EXECUTOR.with(|executor| executor.waits.borrow_mut().remove(&slot));
    // Nobody waits any more where the future was dropped.
    let Some(wait) = wait else { return };
    let waker = {
        let mut wait = wait.borrow_mut();
        wait.outcome = Some(if fulfilled { Ok(value) } else { Err(value) });
        wait.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The end of a promise, as a future. See [`settled`].
pub struct Settled {
    slot: u32,
    wait: Rc<RefCell<Wait>>,
}

impl Future for Settled {
    type Output = Result<JsValue, JsValue>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut wait = self.wait.borrow_mut();
        match wait.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                wait.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Settled {
    fn drop(&mut self) {
        EXECUTOR.with(|executor| executor.waits.borrow_mut().remove(&self.slot));
    }
}

/// Waits for a promise: `Ok` where it was fulfilled, `Err` where it was rejected.
#[must_use]
pub fn settled(promise: &Promise) -> Settled {
    settled_by(|callback, slot| settle(promise, callback, slot))
}

/// Waits for what a function of `glue.js` brings by calling the callback it is given, with the slot it is given.
pub(super) fn settled_by(begin: impl FnOnce(&JsValue, u32)) -> Settled {
    let wait = Rc::new(RefCell::new(Wait::default()));
    let slot = EXECUTOR.with(|executor| {
        let slot = executor.next_slot.get();
        executor.next_slot.set(slot.wrapping_add(1));
        executor.waits.borrow_mut().insert(slot, Rc::clone(&wait));
        slot
    });
    SETTLED.with(|callback| begin(callback, slot));
    Settled { slot, wait }
}

/// Runs a future. What it came to, where it had nothing to wait for; otherwise a promise of it.
///
/// # Errors
/// What the future came to, or an `Error` with the message of its panic. A panic later on rejects the promise.
pub fn start(
    work: impl Future<Output = Result<JsValue, JsValue>> + 'static,
) -> Result<JsValue, JsValue> {
    EXECUTOR.with(|executor| executor.start(Box::pin(work)))
}

/// Runs a future as [`start`] does, always as a promise.
pub fn promise(work: impl Future<Output = Result<JsValue, JsValue>> + 'static) -> Promise {
    match start(work) {
        Ok(value) => Promise::resolve(&value),
        Err(error) => Promise::reject(&error),
    }
}

/// Runs a future that may panic: `None` where it did. The panic hook has told the log.
pub async fn caught<F: Future>(work: F) -> Option<F::Output> {
    let mut work = pin!(work);
    poll_fn(|context| match poll_caught(work.as_mut(), context) {
        Some(poll) => poll.map(Some),
        None => Poll::Ready(None),
    })
    .await
}

/// A function of its own: LLVM writes a module that is not valid where what catches is inlined into what cleans up.
#[inline(never)]
fn poll_caught<F: Future>(work: Pin<&mut F>, context: &mut Context<'_>) -> Option<Poll<F::Output>> {
    catch_unwind(AssertUnwindSafe(|| work.poll(context))).ok()
}
