//! The earliest of several times, in one statement.

use crate::storage::{Store, StoreError, Value};

/// Later than any time.
const NEVER_MS: i64 = i64::MAX >> 10;

/// The earliest of the times, each an SQL expression that may be NULL; `None` where all are.
///
/// The platform allows five terms of a compound SELECT. So these are the arguments of one function, up to 32.
pub(super) fn earliest_ms<S: Store>(
    store: &S,
    times: &[&str],
    parameters: &[Value<'_>],
) -> Result<Option<i64>, StoreError> {
    let mut sql = "SELECT nullif(min(".to_owned();
    for (index, time) in times.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        sql.push_str(&format!("{separator}coalesce({time}, {NEVER_MS})"));
    }
    sql.push_str(&format!("), {NEVER_MS})"));
    store
        .first(&sql, parameters)?
        .ok_or(StoreError::Corrupt { what: "times" })?
        .optional_integer()
}
