//! Work that one future at a time does.

use std::cell::Cell;
use std::rc::Rc;

/// Whether somebody is at it.
#[derive(Default)]
pub(super) struct AtWork(Rc<Cell<bool>>);

/// Whoever holds it is at the work. When it goes, also by a panic or with a future that is given up, the work is free.
pub(super) struct Shift(Rc<Cell<bool>>);

impl AtWork {
    /// Begins the work; `None` where somebody is at it.
    pub fn begin(&self) -> Option<Shift> {
        (!self.0.replace(true)).then(|| Shift(Rc::clone(&self.0)))
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use futures::FutureExt;

    use super::*;

    #[test]
    fn one_at_a_time_is_at_work() {
        let work = AtWork::default();
        let shift = work.begin();
        assert!(shift.is_some());
        assert!(work.begin().is_none());
        drop(shift);
        assert!(work.begin().is_some());
    }

    #[test]
    fn a_panic_leaves_the_work_to_others() {
        let work = AtWork::default();
        let shift = work.begin();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _shift = shift;
            panic!("at work");
        }));
        assert!(panicked.is_err());
        assert!(work.begin().is_some());
    }

    #[test]
    fn a_future_that_is_given_up_leaves_the_work_to_others() {
        let work = AtWork::default();
        let shift = work.begin();
        let mut future = Box::pin(async move {
            let _shift = shift;
            pending::<()>().await;
        });
        assert!(future.as_mut().now_or_never().is_none());
        assert!(work.begin().is_none());
        drop(future);
        assert!(work.begin().is_some());
    }
}
