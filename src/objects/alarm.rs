//! An object's one alarm: always at the earliest time that anything asked for.

use std::cell::Cell;

use durable_objects::storage::StoreError;

use crate::runtime::storage::Storage;

/// The alarm, and when it is known to go off.
pub(super) struct Alarm {
    storage: Storage,
    armed_ms: Cell<Option<i64>>,
}

impl Alarm {
    /// An alarm that has not been set by this instance of the object.
    pub fn new(storage: &Storage) -> Self {
        Self {
            storage: storage.clone(),
            armed_ms: Cell::new(None),
        }
    }

    /// Sees to it that the alarm goes off no later than `at_ms`. Part of the commit it is called right after. One that
    /// is set for an earlier time stays, so that under load most commands do not write it.
    pub fn no_later_than(&self, at_ms: i64) -> Result<(), StoreError> {
        if self.armed_ms.get().is_some_and(|armed| armed <= at_ms) {
            return Ok(());
        }
        self.storage.set_alarm(at_ms)?;
        self.armed_ms.set(Some(at_ms));
        Ok(())
    }

    /// The alarm has gone off.
    pub fn gone_off(&self) {
        self.armed_ms.set(None);
    }
}
