//! Numbered schema changes, embedded and applied in order when an object starts.
//!
//! The version stands in a table of ours, since the platform refuses `PRAGMA user_version`. A migration is never
//! edited once released: a change is a new file.

use super::{StoreError, Transactional};

/// The PrincipalObject's schema, oldest first.
pub const PRINCIPAL: &[&str] = &[
    include_str!("../../../migrations/principal/0001_initial.sql"),
    include_str!("../../../migrations/principal/0002_trusted_plane.sql"),
    include_str!("../../../migrations/principal/0003_agents.sql"),
];

/// The WakeQueueObject's schema, oldest first.
pub const WAKE_QUEUE: &[&str] = &[include_str!(
    "../../../migrations/wake_queue/0001_initial.sql"
)];

/// Brings a database to the newest schema. Running it again changes nothing.
///
/// # Errors
/// [`StoreError::Corrupt`] where the database was written by a newer version than this one; otherwise what the
/// database says. Nothing is applied by halves.
pub fn migrate<S: Transactional>(store: &S, migrations: &[&str]) -> Result<(), StoreError> {
    store.transaction(|store| {
        store.execute(
            "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)",
            &[],
        )?;
        let version = match store.first("SELECT version FROM schema_version", &[])? {
            Some(mut row) => row.integer()?,
            None => {
                store.execute("INSERT INTO schema_version (version) VALUES (0)", &[])?;
                0
            }
        };
        let applied = usize::try_from(version).map_err(|_| StoreError::Corrupt {
            what: "schema version",
        })?;
        let pending = migrations.get(applied..).ok_or(StoreError::Corrupt {
            what: "schema version",
        })?;
        if pending.is_empty() {
            return Ok(());
        }
        for migration in pending {
            for statement in statements(migration) {
                store.execute(statement, &[])?;
            }
        }
        let newest = i64::try_from(migrations.len()).map_err(|_| StoreError::Corrupt {
            what: "schema version",
        })?;
        store.execute("UPDATE schema_version SET version = ?1", &[newest.into()])
    })
}

/// A migration's statements: each ends with a semicolon at the end of a line.
fn statements(migration: &str) -> impl Iterator<Item = &str> {
    migration
        .split(";\n")
        .map(str::trim)
        .filter(|statement| !statement.is_empty())
}
