//! An object's SQLite database: the store that the cores run on, inside workerd.
//!
//! A statement is one crossing with its parameters, and its rows come back as one text. Errors are values: nothing
//! here throws through Rust frames.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use durable_objects::storage::{Column, Row, Store, StoreError, Transactional, Value, check_size};
use serde::de::{Deserialize, Deserializer, Visitor};
use wasm_bindgen::prelude::*;

use super::storage::Storage;

#[wasm_bindgen]
extern "C" {
    #[derive(Clone)]
    type SqlStorage;

    #[wasm_bindgen(method, catch, getter, js_name = sql)]
    fn js_sql(this: &Storage) -> Result<SqlStorage, JsValue>;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn js_transaction_sync(
        this: &Storage,
        work: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = sqlExecute)]
    fn sql_execute(sql: &SqlStorage, query: &str, shape: &[f64], texts: &str) -> Option<String>;
    #[wasm_bindgen(js_name = sqlQuery)]
    fn sql_query(sql: &SqlStorage, query: &str, shape: &[f64], texts: &str) -> Option<String>;
}

/// The largest integer that a number of the platform holds exactly, 2^53 − 1.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// An object's SQLite database.
#[derive(Clone)]
pub struct Database {
    storage: Storage,
    sql: SqlStorage,
    /// Counts whatever may have changed it.
    changes: Rc<std::cell::Cell<u64>>,
}

impl Database {
    pub(super) fn new(storage: &Storage) -> Result<Self, StoreError> {
        let sql = storage.js_sql().map_err(|error| database(&error))?;
        if sql.is_undefined() {
            return Err(StoreError::Database(
                "the object class has no SQLite storage".to_owned(),
            ));
        }
        Ok(Self {
            storage: storage.clone(),
            sql,
            changes: Rc::default(),
        })
    }

    /// How often it may have changed: where this is what it was, so is the database. Not kept across lives of the object.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.get()
    }

    fn may_change(&self) {
        self.changes.set(self.changes.get().wrapping_add(1));
    }
}

impl Store for Database {
    fn query(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        if !sql.starts_with("SELECT ") {
            self.may_change();
        }
        let (shape, texts) = encode(parameters)?;
        let Some(answer) = sql_query(&self.sql, sql, &shape, &texts) else {
            return Ok(Vec::new());
        };
        match answer.strip_prefix('!') {
            Some(error) => Err(StoreError::Database(error.to_owned())),
            None => decode(&answer),
        }
    }

    fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<(), StoreError> {
        self.may_change();
        let (shape, texts) = encode(parameters)?;
        match sql_execute(&self.sql, sql, &shape, &texts) {
            Some(error) => Err(StoreError::Database(error)),
            None => Ok(()),
        }
    }
}

impl Transactional for Database {
    /// `transactionSync`: it rolls back when its callback throws, so both an `Err` and a panic are thrown through it
    /// as a mark, and go on as themselves behind it.
    fn transaction<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut work = Some(work);
        let mut outcome = None;
        let committed = self.run(&mut || {
            let Some(work) = work.take() else { return true };
            outcome.insert(work(self)).is_ok()
        });
        match (outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(error)) => Err(error.into()),
            (None, Ok(())) => {
                Err(StoreError::Database("the transaction did not run".to_owned()).into())
            }
        }
    }
}

impl Database {
    /// Runs `work` in a transaction that is kept where it answers true. Apart from
    /// [`Transactional::transaction`], which is compiled once per kind of work.
    fn run(&self, work: &mut dyn FnMut() -> bool) -> Result<(), StoreError> {
        let mut panic = None;
        // One that is rolled back takes back what was read within it.
        self.may_change();
        let committed = {
            let mut slots = AssertUnwindSafe((work, &mut panic));
            self.storage.js_transaction_sync(&mut move || {
                let slots = &mut slots;
                match catch_unwind(AssertUnwindSafe(|| slots.0.0())) {
                    Ok(true) => return Ok(JsValue::UNDEFINED),
                    Ok(false) => {}
                    Err(panic) => *slots.0.1 = Some(panic),
                }
                Err(JsValue::NULL)
            })
        };
        match panic {
            Some(panic) => resume_unwind(panic),
            None => committed.map(drop).map_err(|error| database(&error)),
        }
    }
}

/// Parameters as `exec` in `glue.js` reads them.
fn encode(parameters: &[Value<'_>]) -> Result<(Vec<f64>, String), StoreError> {
    check_size(parameters)?;
    let mut shape = Vec::with_capacity(parameters.len().saturating_mul(2));
    let mut texts = String::new();
    for parameter in parameters {
        match *parameter {
            Value::Null => shape.extend([0.0, 0.0]),
            Value::Integer(value) => shape.extend([1.0, exact(value)?]),
            Value::Text(text) => {
                shape.extend([2.0, utf16_length(text)]);
                texts.push_str(text);
            }
        }
    }
    Ok((shape, texts))
}

#[expect(clippy::cast_precision_loss, reason = "checked to be exact")]
fn exact(value: i64) -> Result<f64, StoreError> {
    if value.unsigned_abs() > MAX_INTEGER {
        return Err(StoreError::Database(format!(
            "{value} does not fit into 53 bits"
        )));
    }
    Ok(value as f64)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lengths of values are below 2,000,000"
)]
fn utf16_length(text: &str) -> f64 {
    let length = if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    };
    length as f64
}

fn decode(rows: &str) -> Result<Vec<Row>, StoreError> {
    let rows: Vec<Vec<Cell>> =
        serde_json::from_str(rows).map_err(|_| StoreError::Corrupt { what: "column" })?;
    Ok(rows
        .into_iter()
        .map(|row| Row::new(row.into_iter().map(|cell| cell.0).collect()))
        .collect())
}

/// A column as JSON: null, a whole number or a string.
struct Cell(Column);

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl Visitor<'_> for CellVisitor {
    type Value = Cell;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("null, a whole number or a string")
    }

    fn visit_unit<E>(self) -> Result<Cell, E> {
        Ok(Cell(Column::Null))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
        Ok(Cell(Column::Integer(value)))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Cell, E> {
        i64::try_from(value)
            .map(|value| Cell(Column::Integer(value)))
            .map_err(|_| E::custom("out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cell, E> {
        Ok(Cell(Column::Text(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Cell, E> {
        Ok(Cell(Column::Text(value)))
    }
}

fn database(error: &JsValue) -> StoreError {
    StoreError::Database(js_message(error))
}

/// What a JavaScript error says.
pub(super) fn js_message(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => error.as_string().unwrap_or_else(|| "unknown".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use durable_objects::storage::{StoreError, Value};

    use super::{MAX_INTEGER, decode, encode};

    #[test]
    fn lengths_of_texts_are_counted_as_javascript_counts_them() {
        let (shape, texts) =
            encode(&["ab".into(), Value::Null, 7_i64.into(), "𝄞é".into()]).unwrap();
        assert_eq!(shape, [2.0, 2.0, 0.0, 0.0, 1.0, 7.0, 2.0, 3.0]);
        assert_eq!(texts, "ab𝄞é");
    }

    #[test]
    fn an_integer_that_would_be_rounded_is_refused() {
        let largest = i64::try_from(MAX_INTEGER).unwrap();
        assert!(encode(&[largest.into(), (-largest).into()]).is_ok());
        assert!(matches!(
            encode(&[(largest + 1).into()]),
            Err(StoreError::Database(_))
        ));
        assert!(matches!(
            encode(&[i64::MIN.into()]),
            Err(StoreError::Database(_))
        ));
    }

    #[test]
    fn a_value_that_the_platform_would_not_store_is_refused() {
        let text = "x".repeat(2_000_000);
        assert_eq!(
            encode(&[text.as_str().into()]),
            Err(StoreError::TooLarge { bytes: 2_000_000 })
        );
    }

    #[test]
    fn rows_are_read_column_by_column() {
        let mut rows = decode(r#"[[1,"a\n",null],[-2,"","x"]]"#).unwrap();
        let mut second = rows.pop().unwrap();
        let mut first = rows.pop().unwrap();
        assert_eq!(
            (
                first.integer().unwrap(),
                first.text().unwrap(),
                first.optional_text().unwrap()
            ),
            (1, "a\n".to_owned(), None)
        );
        assert_eq!(
            (
                second.integer().unwrap(),
                second.text().unwrap(),
                second.optional_text().unwrap()
            ),
            (-2, String::new(), Some("x".to_owned()))
        );
    }

    #[test]
    fn a_column_that_is_neither_text_nor_an_integer_is_corrupt() {
        assert!(matches!(
            decode("[[1.5]]"),
            Err(StoreError::Corrupt { what: "column" })
        ));
    }
}
