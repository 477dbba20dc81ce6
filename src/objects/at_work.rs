//! Work that one future at a time does.

use std::cell::Cell;
use std::rc::Rc;

/// Whether somebody is at it, and who: shifts are numbered.
#[derive(Default)]
pub(super) struct AtWork {
    /// The shift that is at work; 0 where none is.
    current: Rc<Cell<u64>>,
    last: Cell<u64>,
}

/// Whoever holds it is at the work. When it goes, also by a panic or with a future that is given up, the work is free.
pub(super) struct Shift {
    current: Rc<Cell<u64>>,
    number: u64,
}

impl AtWork {
    /// Begins the work; `None` where somebody is at it.
    pub fn begin(&self) -> Option<Shift> {
        if self.current.get() != 0 {
            return None;
        }
        let number = self.last.get().wrapping_add(1);
        self.last.set(number);
        self.current.set(number);
        Some(Shift {
            current: Rc::clone(&self.current),
            number,
        })
    }

    /// Whether somebody is at it.
    pub fn is_begun(&self) -> bool {
        self.current.get() != 0
    }

    /// Frees the work of a shift that will not come back. Should it come back, its work is over.
    pub fn take_over(&self) {
        self.current.set(0);
    }
}

impl Shift {
    /// Whether nobody has taken the work over.
    pub fn goes_on(&self) -> bool {
        self.current.get() == self.number
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        if self.goes_on() {
            self.current.set(0);
        }
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
    fn a_shift_whose_work_was_taken_over_neither_goes_on_nor_frees_it() {
        let work = AtWork::default();
        let lost = work.begin().unwrap();
        work.take_over();
        let shift = work.begin().unwrap();
        assert!(!lost.goes_on());
        drop(lost);
        assert!(shift.goes_on());
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
