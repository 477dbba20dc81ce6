//! What a core may ask of its object's SQLite database, and nothing more.
//!
//! The cores are written against [`Store`], so that the same SQL runs natively (rusqlite, `native`) and inside workerd
//! (the Worker's `runtime::sql`). A statement is one call and one answer: no cursor outlives it, so nothing can be
//! held across an await.

pub mod migrations;
#[cfg(feature = "native")]
pub mod native;

use thiserror::Error;

/// The largest text a column may hold, in bytes: the platform refuses values of 2,000,000 bytes and more.
pub const MAX_VALUE_BYTES: usize = 2_000_000;

/// A value bound to a statement's parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// An integer of at most 53 bits: the platform binds numbers as doubles.
    Integer(i64),
    /// UTF-8 text of at most [`MAX_VALUE_BYTES`].
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Self::Integer(i64::from(value))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a, T> From<Option<T>> for Value<'a>
where
    Value<'a>: From<T>,
{
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Value::from)
    }
}

/// A value read from a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// SQL NULL.
    Null,
    /// An integer column.
    Integer(i64),
    /// A text column.
    Text(String),
}

/// One row of an answer, read column by column from the left.
#[derive(Debug, Clone)]
pub struct Row(std::vec::IntoIter<Column>);

impl Row {
    /// A row of these columns, in the statement's order.
    #[must_use]
    pub fn new(columns: Vec<Column>) -> Self {
        Self(columns.into_iter())
    }

    /// The next column, an integer.
    ///
    /// # Errors
    /// [`StoreError::Shape`] where the statement gave anything else: the schema and the code disagree.
    pub fn integer(&mut self) -> Result<i64, StoreError> {
        match self.0.next() {
            Some(Column::Integer(value)) => Ok(value),
            other => Err(StoreError::shape("an integer", other.as_ref())),
        }
    }

    /// The next column, an integer or NULL.
    ///
    /// # Errors
    /// As [`Row::integer`].
    pub fn optional_integer(&mut self) -> Result<Option<i64>, StoreError> {
        match self.0.next() {
            Some(Column::Integer(value)) => Ok(Some(value)),
            Some(Column::Null) => Ok(None),
            other => Err(StoreError::shape("an integer or null", other.as_ref())),
        }
    }

    /// The next column, text.
    ///
    /// # Errors
    /// As [`Row::integer`].
    pub fn text(&mut self) -> Result<String, StoreError> {
        match self.0.next() {
            Some(Column::Text(value)) => Ok(value),
            other => Err(StoreError::shape("text", other.as_ref())),
        }
    }

    /// The next column, text or NULL.
    ///
    /// # Errors
    /// As [`Row::integer`].
    pub fn optional_text(&mut self) -> Result<Option<String>, StoreError> {
        match self.0.next() {
            Some(Column::Text(value)) => Ok(Some(value)),
            Some(Column::Null) => Ok(None),
            other => Err(StoreError::shape("text or null", other.as_ref())),
        }
    }
}

/// A fault of ours in storage. It is logged where it arises and tells a caller nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    /// The database refused a statement.
    #[error("the database refused a statement: {0}")]
    Database(String),
    /// A row does not have the columns that the code expects.
    #[error("a row holds {found} where {wanted} was expected")]
    Shape {
        /// What the code expects.
        wanted: &'static str,
        /// What stood there.
        found: String,
    },
    /// A value is larger than the platform stores.
    #[error("a value of {bytes} bytes is larger than a column may hold")]
    TooLarge {
        /// The value's size.
        bytes: usize,
    },
    /// What was stored is not what this version can read.
    #[error("the stored {what} can't be read")]
    Corrupt {
        /// The kind of record.
        what: &'static str,
    },
}

impl StoreError {
    fn shape(wanted: &'static str, found: Option<&Column>) -> Self {
        let found = match found {
            None => "no column",
            Some(Column::Null) => "null",
            Some(Column::Integer(_)) => "an integer",
            Some(Column::Text(_)) => "text",
        };
        Self::Shape {
            wanted,
            found: found.to_owned(),
        }
    }
}

/// One object's SQLite database.
///
/// Implementations bind parameters in order (`?1`, `?2`, …; at most 100), and enforce [`MAX_VALUE_BYTES`].
pub trait Store {
    /// Runs one statement and returns all its rows.
    ///
    /// # Errors
    /// [`StoreError`] where the database refuses it. The transaction around it is then to be rolled back.
    fn query(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Vec<Row>, StoreError>;

    /// Runs one statement that returns no row.
    ///
    /// # Errors
    /// As [`Store::query`].
    fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<(), StoreError> {
        self.query(sql, parameters).map(drop)
    }

    /// Runs one statement and returns its first row, if it gave one.
    ///
    /// # Errors
    /// As [`Store::query`].
    fn first(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, parameters)?.into_iter().next())
    }
}

/// A store that can run a closure in one transaction: all of it is kept, or nothing.
pub trait Transactional: Store {
    /// Runs `work`; commits where it returns `Ok`, rolls back where it returns `Err` or panics.
    ///
    /// # Errors
    /// What `work` returned, or a [`StoreError`] where the commit failed.
    fn transaction<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E>;
}

/// Refuses a value that the platform would not store.
///
/// # Errors
/// [`StoreError::TooLarge`].
pub fn check_size(parameters: &[Value<'_>]) -> Result<(), StoreError> {
    for parameter in parameters {
        if let Value::Text(text) = parameter
            && text.len() >= MAX_VALUE_BYTES
        {
            return Err(StoreError::TooLarge { bytes: text.len() });
        }
    }
    Ok(())
}
