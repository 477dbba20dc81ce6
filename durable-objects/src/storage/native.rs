//! The store on rusqlite: where rules, properties and simulations are tested at full speed.

use std::cell::Cell;

use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, StatementStatus, ToSql, params_from_iter};

use super::{Column, Row, Store, StoreError, Transactional, Value, check_size};

/// Prepared statements kept for the next time: more than both cores together have.
const STATEMENTS_KEPT: usize = 256;

/// What workerd allows of a statement. SQLite's own limits are wider, and what is tested here must run there.
const LIMITS: [(Limit, i32); 7] = [
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 5),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 100),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32),
    (Limit::SQLITE_LIMIT_COLUMN, 100),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
];

/// A database in memory.
#[derive(Debug)]
pub struct NativeStore {
    connection: Connection,
    work: Cell<Work>,
}

/// What statements have cost, by SQLite's own counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Statements run.
    pub statements: u32,
    /// Steps of SQLite's virtual machine.
    pub steps: u32,
    /// Of these, steps of scans over whole tables.
    pub scan_steps: u32,
    /// Sorts.
    pub sorts: u32,
}

impl Work {
    fn plus(self, statement: &Statement<'_>) -> Self {
        let counted = |status| u32::try_from(statement.reset_status(status)).unwrap_or_default();
        Self {
            statements: self.statements.saturating_add(1),
            steps: self.steps.saturating_add(counted(StatementStatus::VmStep)),
            scan_steps: self
                .scan_steps
                .saturating_add(counted(StatementStatus::FullscanStep)),
            sorts: self.sorts.saturating_add(counted(StatementStatus::Sort)),
        }
    }
}

impl NativeStore {
    /// An empty database in memory.
    ///
    /// # Errors
    /// [`StoreError::Database`] where SQLite can't open one.
    pub fn in_memory() -> Result<Self, StoreError> {
        let connection = Connection::open_in_memory().map_err(database)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most).map_err(database)?;
        }
        Ok(Self {
            connection,
            work: Cell::default(),
        })
    }

    /// What the statements since the last call of this have cost.
    pub fn take_work(&self) -> Work {
        self.work.take()
    }

    /// The plan SQLite takes for a statement, one step a line: how tests prove that nothing scans.
    ///
    /// # Errors
    /// [`StoreError::Database`] where the statement is refused.
    pub fn plan(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let mut statement = self
            .connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .map_err(database)?;
        // Unbound parameters are NULL, and the plan does not depend on them.
        let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
        steps.collect::<Result<_, _>>().map_err(database)
    }
}

struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Integer(value) => ToSqlOutput::Borrowed(ValueRef::Integer(value)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

impl Store for NativeStore {
    fn query(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        check_size(parameters)?;
        let mut statement = self.connection.prepare_cached(sql).map_err(database)?;
        let width = statement.column_count();
        let mut rows = statement
            .query(params_from_iter(
                parameters.iter().map(|value| Bound(*value)),
            ))
            .map_err(database)?;
        let mut answer = Vec::new();
        while let Some(row) = rows.next().map_err(database)? {
            let mut columns = Vec::with_capacity(width);
            for index in 0..width {
                columns.push(match row.get_ref(index).map_err(database)? {
                    ValueRef::Null => Column::Null,
                    ValueRef::Integer(value) => Column::Integer(value),
                    ValueRef::Text(text) => Column::Text(
                        str::from_utf8(text)
                            .map_err(|_| StoreError::Corrupt { what: "text" })?
                            .to_owned(),
                    ),
                    ValueRef::Real(_) | ValueRef::Blob(_) => {
                        return Err(StoreError::Corrupt { what: "column" });
                    }
                });
            }
            answer.push(Row::new(columns));
        }
        drop(rows);
        self.work.set(self.work.get().plus(&statement));
        Ok(answer)
    }
}

impl Transactional for NativeStore {
    fn transaction<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = self.connection.unchecked_transaction().map_err(database)?;
        let answer = work(self)?;
        transaction.commit().map_err(database)?;
        Ok(answer)
    }
}

fn database(error: rusqlite::Error) -> StoreError {
    StoreError::Database(error.to_string())
}
