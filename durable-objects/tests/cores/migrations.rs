//! Schemas, and how the statements that run on every request find their rows.

use durable_objects::storage::migrations::{PRINCIPAL, WAKE_QUEUE, migrate};
use durable_objects::storage::native::NativeStore;
use durable_objects::storage::{Store, StoreError};

use crate::support::World;
use crate::support::objects::{PrincipalObject, QueueObject};
use crate::support::peek::{dump, integer};

#[test]
fn migrating_again_changes_nothing() {
    for migrations in [PRINCIPAL, WAKE_QUEUE] {
        let store = NativeStore::in_memory().unwrap();
        migrate(&store, migrations).unwrap();
        let before = dump(&store);
        migrate(&store, migrations).unwrap();
        assert_eq!(dump(&store), before);
        let version = integer(&store, "SELECT version FROM schema_version", &[]);
        assert_eq!(version, i64::try_from(migrations.len()).unwrap());
    }
}

#[test]
fn a_migration_that_fails_half_way_leaves_the_schema_as_it_was() {
    let store = NativeStore::in_memory().unwrap();
    migrate(&store, PRINCIPAL).unwrap();
    let before = dump(&store);
    let mut migrations = PRINCIPAL.to_vec();
    migrations.push("CREATE TABLE half (a INTEGER);\nCREATE TABLE claims (b INTEGER);\n");
    migrate(&store, &migrations).unwrap_err();
    assert_eq!(dump(&store), before);
}

#[test]
fn a_later_migration_keeps_what_is_there() {
    let mut world = World::of(&["ann"]);
    let task = world.send("ann", "m1");
    let mut migrations = PRINCIPAL.to_vec();
    migrations.push("ALTER TABLE tasks ADD COLUMN note TEXT;\n");
    migrate(&world.principals["ann"].store, &migrations).unwrap();
    assert_eq!(world.get("ann", task["id"].as_str().unwrap()), task);
}

#[test]
fn a_database_of_a_newer_version_is_not_touched() {
    let store = NativeStore::in_memory().unwrap();
    migrate(&store, PRINCIPAL).unwrap();
    store
        .execute("UPDATE schema_version SET version = 99", &[])
        .unwrap();
    assert_eq!(
        migrate(&store, PRINCIPAL),
        Err(StoreError::Corrupt {
            what: "schema version"
        })
    );
}

/// Each of these runs once or more for a send, a read, a take, a tool or a heartbeat.
const PRINCIPAL_STATEMENTS: &[&str] = &[
    "SELECT digest, task_id, outcome_message FROM claims WHERE source = ?1 AND dedupe_key = ?2",
    "SELECT 1 FROM contexts WHERE context_id = ?1",
    "UPDATE contexts SET last_event_ms = max(last_event_ms, ?2) WHERE context_id = ?1",
    "SELECT state FROM tasks WHERE task_id = ?1",
    "UPDATE tasks SET state = ?2 WHERE task_id = ?1",
    "SELECT message FROM messages WHERE task_id = ?1 ORDER BY ordinal DESC LIMIT ?2",
    "DELETE FROM messages WHERE task_id = ?1 AND ordinal <= ?2",
    "SELECT artifact FROM artifacts WHERE task_id = ?1 ORDER BY ordinal",
    "SELECT ordinal FROM artifacts WHERE task_id = ?1 AND artifact_id = ?2",
    "SELECT dedupe_key, source FROM claims WHERE task_id = ?1 ORDER BY activation_id LIMIT 1",
    "SELECT wake_state, deliveries, failures FROM claims WHERE activation_id = ?1",
    "UPDATE claims SET wake_state = ?2, deliveries = ?3, failures = ?4 WHERE activation_id = ?1",
    "DELETE FROM outbox WHERE outbox_id = ?1",
    "SELECT 1 FROM timers WHERE name = ?1",
];

const WAKE_QUEUE_STATEMENTS: &[&str] = &[
    "SELECT 1 FROM wakes WHERE principal = ?1 AND activation_id = ?2",
    "DELETE FROM wakes WHERE principal = ?1 AND activation_id = ?2 RETURNING wake_id",
    "DELETE FROM wakes WHERE not_before_ms <= ?1 RETURNING principal, activation_id, task_id",
    "DELETE FROM wakes WHERE wake_id = ?1",
    "SELECT reason FROM ended_turns WHERE turn_id = ?1",
    "DELETE FROM ended_turns WHERE ended_ms < ?1",
    "SELECT 1 FROM sessions WHERE session = ?1",
    "SELECT principal, attempts FROM principals WHERE replay_due_ms <= ?1 ORDER BY replay_due_ms LIMIT 1",
    "UPDATE principals SET replay_due_ms = ?2 WHERE principal = ?1",
];

#[test]
fn no_statement_of_a_request_scans_or_sorts() {
    let objects = [
        (PrincipalObject::new("resident").store, PRINCIPAL_STATEMENTS),
        (QueueObject::new().store, WAKE_QUEUE_STATEMENTS),
    ];
    for (store, statements) in objects {
        for sql in statements {
            for step in store.plan(sql).unwrap() {
                assert!(
                    !step.contains("SCAN") && !step.contains("TEMP B-TREE"),
                    "{sql}: {step}"
                );
            }
        }
    }
}

#[test]
fn the_oldest_ready_wake_and_the_newest_session_are_read_off_their_indexes_ends() {
    let store = QueueObject::new().store;
    for (sql, index) in [
        (
            "SELECT wake_id FROM wakes WHERE not_before_ms IS NULL ORDER BY wake_id LIMIT 1",
            "wakes_ready",
        ),
        (
            "SELECT session, ordinal FROM sessions ORDER BY ordinal DESC LIMIT 1",
            "sessions_by_ordinal",
        ),
    ] {
        let plan = store.plan(sql).unwrap();
        assert!(plan.iter().any(|step| step.contains(index)), "{plan:?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP")), "{plan:?}");
    }
}
