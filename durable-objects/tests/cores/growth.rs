//! What an operation costs does not depend on how much its principal has: no statement scans or sorts what grows.

use durable_objects::commands::principal::{
    CancelTask, GetTask, ListTasks, PrincipalCommand, View,
};
use durable_objects::storage::Store;
use durable_objects::storage::native::Work;

use crate::support::World;
use crate::support::ask::{complete, message};

/// Tasks of a page, which a list reads off the end of an index.
const PAGE: u32 = 50;

/// The rows that a principal has for each of its settled tasks.
const FILLING: &[&str] = &[
    "INSERT INTO contexts (context_id, source, conversation_key, last_event_ms, tasks) \
     SELECT 'context-' || n, 'a2a', NULL, 1600000000000 + n, 1 FROM numbers",
    "INSERT INTO claims (source, dedupe_key, digest, task_id, accepted_ms, extensions, wake_state, deliveries, failures) \
     SELECT 'a2a', 'old-' || n, 'digest', 'task-' || n, 1600000000000 + n, 0, 2, 1, 0 FROM numbers",
    "INSERT INTO tasks (task_id, context_id, source, state, status_ms, created_ms, activation_id, next_ordinal, \
     awaits_answer) SELECT 'task-' || n, 'context-' || n, 'a2a', 3, 1600000000000 + n, 1600000000000 + n, n, 1, 0 \
     FROM numbers",
    "INSERT INTO messages (task_id, ordinal, message) \
     SELECT 'task-' || n, 0, '{\"messageId\":\"old\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"x\"}]}' FROM numbers",
    "INSERT INTO artifacts (task_id, ordinal, artifact_id, artifact, sealed) \
     SELECT 'task-' || n, 0, 'response', '{\"artifactId\":\"response\",\"parts\":[{\"text\":\"x\"}]}', 1 FROM numbers",
    "INSERT INTO evidence (at_ms, kind, task_id, activation_id) \
     SELECT 1600000000000 + n, 'ACCEPTED', 'task-' || n, n FROM numbers",
];

/// A principal that has so many settled tasks.
fn world_with(tasks: u32) -> World {
    let mut world = World::of(&["ann"]);
    // What is made at the first use is there.
    world.submit("ann", "first");
    cost(&mut world, list(None));
    let store = &world.principals["ann"].store;
    for statement in FILLING {
        let numbers = format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM numbers WHERE n < {}) ",
            tasks + 9
        );
        let (insert, select) = statement.split_at(statement.find("SELECT").unwrap());
        store
            .execute(&format!("{insert}{numbers}{select}"), &[])
            .unwrap();
    }
    store
        .execute(
            "UPDATE task_counts SET state_3 = state_3 + ?1",
            &[i64::from(tasks).into()],
        )
        .unwrap();
    world
}

/// What one command costs a principal.
fn cost(world: &mut World, command: PrincipalCommand) -> Work {
    world.principals["ann"].store.take_work();
    world.command("ann", None, command).unwrap();
    world.principals["ann"].store.take_work()
}

fn list(state: Option<i64>) -> PrincipalCommand {
    PrincipalCommand::ListTasks(ListTasks {
        context_id: None,
        state,
        status_from_ms: None,
        page_size: PAGE,
        page_token: None,
        filter_digest: [0; 32],
        view: View::default(),
    })
}

fn get(task_id: &str) -> PrincipalCommand {
    PrincipalCommand::GetTask(GetTask {
        task_id: task_id.to_owned(),
        view: View::default(),
    })
}

fn cancel(task_id: &str) -> PrincipalCommand {
    PrincipalCommand::CancelTask(CancelTask {
        task_id: task_id.to_owned(),
        view: View::default(),
    })
}

/// What each operation costs, by name.
fn costs(world: &mut World) -> Vec<(&'static str, Work)> {
    let open = world.submit("ann", "open");
    let send = cost(world, PrincipalCommand::Send(message("new", "new")));
    let duplicate = cost(world, PrincipalCommand::Send(message("new", "new")));
    let read = cost(world, get("task-500"));
    let page = cost(world, list(None));
    let page_of_state = cost(world, list(Some(3)));
    let canceled = cost(world, cancel(&open));
    world.settle();
    world.principals["ann"].store.take_work();
    let turn = world.take();
    let taken = world.principals["ann"].store.take_work();
    world.tool(&turn, complete("done"));
    let completed = world.principals["ann"].store.take_work();
    world.end(&turn);
    let ended = world.principals["ann"].store.take_work();
    vec![
        ("send", send),
        ("duplicate", duplicate),
        ("get", read),
        ("list", page),
        ("list by state", page_of_state),
        ("cancel", canceled),
        ("take", taken),
        ("complete", completed),
        ("end", ended),
    ]
}

#[test]
fn an_operation_costs_the_same_at_100000_tasks_as_at_1000() {
    let small = costs(&mut world_with(1_000));
    let large = costs(&mut world_with(100_000));
    for ((name, small), (_, large)) in small.into_iter().zip(large) {
        assert_eq!(small.statements, large.statements, "{name}");
        assert!(
            large.steps * 10 <= small.steps * 11,
            "{name}: {small:?}, then {large:?}"
        );
        assert!(
            large.scan_steps <= small.scan_steps && large.scan_steps <= PAGE,
            "{name} scans: {large:?}"
        );
        assert_eq!(large.sorts, 0, "{name} sorts");
    }
}
