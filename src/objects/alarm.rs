//! An object's one alarm: always at the earliest time that anything asked for.

use std::cell::Cell;

use durable_objects::error::CoreError;
use durable_objects::storage::StoreError;

use crate::runtime::clock;
use crate::runtime::log;
use crate::runtime::storage::Storage;

/// The pause before what was due is tried again after a fault, in milliseconds.
const FAULT_PAUSE_MS: i64 = 5_000;

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

    /// What was due could not be done: it is due again after a pause. The platform's own retries are few, so none of them
    /// is relied upon.
    pub fn try_again(&self, error: &CoreError) {
        log::error("alarm_failed", &[("reason", &error.to_string())]);
        let again_ms = clock::now_ms().saturating_add(FAULT_PAUSE_MS);
        if let Err(error) = self.no_later_than(again_ms) {
            log::error("alarm_not_set", &[("reason", &error.to_string())]);
        }
    }

    /// The alarm has gone off.
    pub fn gone_off(&self) {
        self.armed_ms.set(None);
    }
}
