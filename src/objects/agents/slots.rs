//! A bounded number of things that may be open at once.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use futures::channel::oneshot;

/// How many are free, and who waits for one, first come first served.
pub(super) struct Slots(Rc<State>);

struct State {
    free: Cell<u32>,
    waiting: RefCell<VecDeque<oneshot::Sender<()>>>,
}

/// One of them. It is free again when this goes, also by a panic or with a future that is given up.
pub(super) struct Slot(Rc<State>);

impl Slots {
    pub fn new(free: u32) -> Self {
        Self(Rc::new(State {
            free: Cell::new(free),
            waiting: RefCell::default(),
        }))
    }

    /// Takes one, as soon as one is free.
    pub async fn take(&self) -> Slot {
        loop {
            if let Some(left) = self.0.free.get().checked_sub(1) {
                self.0.free.set(left);
                return Slot(Rc::clone(&self.0));
            }
            let (free, freed) = oneshot::channel();
            self.0.waiting.borrow_mut().push_back(free);
            // Whoever freed it may have been overtaken: then it is waited for again.
            freed.await.ok();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.free.set(self.0.free.get().saturating_add(1));
        loop {
            let next = self.0.waiting.borrow_mut().pop_front();
            // One that no longer waits is passed over.
            let Some(Err(())) = next.map(|waiting| waiting.send(())) else {
                break;
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn what_finds_none_free_waits_for_one() {
        let slots = Slots::new(1);
        let first = slots.take().now_or_never();
        assert!(first.is_some());
        let mut second = Box::pin(slots.take());
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        assert!(second.now_or_never().is_some());
    }

    #[test]
    fn one_that_no_longer_waits_is_passed_over() {
        let slots = Slots::new(1);
        let first = slots.take().now_or_never();
        let mut gone = Box::pin(slots.take());
        assert!(gone.as_mut().now_or_never().is_none());
        let mut next = Box::pin(slots.take());
        assert!(next.as_mut().now_or_never().is_none());
        drop(gone);
        drop(first);
        assert!(next.now_or_never().is_some());
    }
}
