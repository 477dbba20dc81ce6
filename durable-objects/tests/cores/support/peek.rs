//! What stands in the databases, for assertions.

use durable_objects::storage::native::NativeStore;
use durable_objects::storage::{Store, Value};

use super::World;
use super::objects::QueueObject;

/// One integer.
pub fn integer(store: &NativeStore, sql: &str, parameters: &[Value<'_>]) -> i64 {
    store
        .first(sql, parameters)
        .unwrap()
        .expect("a row")
        .integer()
        .unwrap()
}

/// The first column, text, of every row.
pub fn texts(store: &NativeStore, sql: &str, parameters: &[Value<'_>]) -> Vec<String> {
    store
        .query(sql, parameters)
        .unwrap()
        .into_iter()
        .map(|mut row| row.text().unwrap())
        .collect()
}

/// Everything that a database holds, as text.
pub fn dump(store: &NativeStore) -> String {
    let tables = texts(
        store,
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
        &[],
    );
    tables
        .into_iter()
        .map(|table| {
            let rows = store.query(&format!("SELECT * FROM {table}"), &[]).unwrap();
            format!("{table}: {rows:?}\n")
        })
        .collect()
}

impl QueueObject {
    /// The turn and its task, whatever its phase.
    pub fn turn(&self) -> Option<(String, String)> {
        let row = self
            .store
            .first("SELECT turn_id, task_id FROM turn", &[])
            .unwrap();
        row.map(|mut row| (row.text().unwrap(), row.text().unwrap()))
    }

    /// The wakes that wait.
    pub fn pending(&self) -> i64 {
        integer(&self.store, "SELECT count(*) FROM wakes", &[])
    }
}

impl World {
    /// The kinds of evidence about a task, in order.
    pub fn evidence(&self, principal: &str, task_id: &str) -> Vec<String> {
        texts(
            &self.principals[principal].store,
            "SELECT kind FROM evidence WHERE task_id = ?1 ORDER BY evidence_id",
            &[task_id.into()],
        )
    }

    /// How many rows a principal's table has.
    pub fn count(&self, principal: &str, table: &str) -> i64 {
        integer(
            &self.principals[principal].store,
            &format!("SELECT count(*) FROM {table}"),
            &[],
        )
    }
}
