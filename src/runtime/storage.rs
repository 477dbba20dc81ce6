//! An object's state: who it is, its alarm, and work that outlives a call. Its database is [`super::sql`].

use durable_objects::storage::StoreError;
use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::promise::settled;
use super::sql::{Database, js_message};

#[wasm_bindgen]
extern "C" {
    /// What workerd gives an object's constructor (`ctx`).
    #[derive(Clone)]
    pub type ObjectState;

    /// The object's storage.
    #[derive(Clone)]
    pub type Storage;

    #[wasm_bindgen(method, getter, js_name = storage)]
    fn js_storage(this: &ObjectState) -> Storage;

    #[wasm_bindgen(method, catch, js_name = waitUntil)]
    fn js_wait_until(this: &ObjectState, work: &Promise) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch, js_name = getAlarm)]
    fn js_get_alarm(this: &Storage) -> Result<Promise, JsValue>;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = objectName)]
    fn object_name(state: &ObjectState) -> Option<String>;
    #[wasm_bindgen(catch, js_name = setAlarm)]
    fn set_alarm(storage: &Storage, at_ms: f64) -> Result<(), JsValue>;
    #[wasm_bindgen(catch, js_name = deleteAlarm)]
    fn delete_alarm(storage: &Storage) -> Result<(), JsValue>;
}

impl ObjectState {
    /// The name the object is addressed by; `None` where it was addressed by a bare id.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        object_name(self)
    }

    /// The object's storage: take it once, each call is a crossing.
    #[must_use]
    pub fn storage(&self) -> Storage {
        self.js_storage()
    }

    /// Keeps the object in memory until the work ends.
    ///
    /// # Errors
    /// Where the platform refuses.
    pub fn wait_until(&self, work: &Promise) -> Result<(), StoreError> {
        self.js_wait_until(work).map_err(|error| refused(&error))
    }
}

impl Storage {
    /// The object's database: take it once, each call is a crossing.
    ///
    /// # Errors
    /// Where the object class has no SQLite storage: a mistake in the deployment's configuration.
    pub fn database(&self) -> Result<Database, StoreError> {
        Database::new(self)
    }

    /// Sets the object's only alarm, in place of any other. A time that is past means at once.
    ///
    /// Within a transaction it is part of it. An answer leaves the object only when it is durable.
    ///
    /// # Errors
    /// Where the platform refuses.
    pub fn set_alarm(&self, at_ms: i64) -> Result<(), StoreError> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "times in milliseconds are far below 2^53"
        )]
        set_alarm(self, at_ms as f64).map_err(|error| refused(&error))
    }

    /// Clears the alarm, under the same promise as [`Storage::set_alarm`].
    ///
    /// # Errors
    /// Where the platform refuses.
    pub fn delete_alarm(&self) -> Result<(), StoreError> {
        delete_alarm(self).map_err(|error| refused(&error))
    }

    /// When the alarm is due, in milliseconds since the epoch. `None` while its handler runs, unless it was set anew.
    ///
    /// # Errors
    /// Where the platform refuses.
    pub async fn alarm(&self) -> Result<Option<i64>, StoreError> {
        let promise = self.js_get_alarm().map_err(|error| refused(&error))?;
        let at = settled(&promise).await.map_err(|error| refused(&error))?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the platform gives whole milliseconds"
        )]
        Ok(at.as_f64().map(|at_ms| at_ms as i64))
    }
}

fn refused(error: &JsValue) -> StoreError {
    StoreError::Database(js_message(error))
}
