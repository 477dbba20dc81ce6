//! Acceptance: one transaction, or nothing.

use durable_objects::commands::principal::{PrincipalCall, PrincipalCommand, Send};
use durable_objects::environment::Environment;
use durable_objects::error::CoreError;
use durable_objects::principal::handle;
use durable_objects::storage::native::NativeStore;
use durable_objects::storage::{Row, Store, StoreError, Transactional, Value};
use std::cell::Cell;

use crate::support::World;
use crate::support::ask::{history, message, state};
use crate::support::network::Address;
use crate::support::objects::{Counter, PrincipalObject};
use crate::support::peek::dump;

#[test]
fn a_message_becomes_a_submitted_task_with_that_message_in_its_history() {
    let mut world = World::of(&["ann"]);
    let task = world.send("ann", "m1");
    assert_eq!(state(&task), "TASK_STATE_SUBMITTED");
    assert_eq!(history(&task), ["m1"]);
    assert_eq!(task["history"][0]["taskId"], task["id"]);
    assert_eq!(task["history"][0]["contextId"], task["contextId"]);
    let task_id = task["id"].as_str().unwrap();
    assert_eq!(world.evidence("ann", task_id), ["ACCEPTED"]);
    assert_eq!(world.get("ann", task_id), task);
}

#[test]
fn separate_messages_in_one_context_create_separate_tasks() {
    let mut world = World::of(&["ann"]);
    let first = world.send("ann", "m1");
    let second = Send {
        context_id: first["contextId"].as_str().map(str::to_owned),
        ..message("m2", "more")
    };
    let second = world.try_send("ann", second).unwrap();
    assert_eq!(first["contextId"], second["contextId"]);
    assert_ne!(first["id"], second["id"]);
    assert_eq!(world.count("ann", "contexts"), 1);
}

#[test]
fn a_foreign_context_id_does_not_join_local_work() {
    let mut world = World::of(&["ann", "bob"]);
    let foreign = world.send("ann", "m1")["contextId"].clone();
    let named = |context_id: &str| Send {
        context_id: Some(context_id.to_owned()),
        ..message(&format!("in {context_id}"), "hi")
    };
    let of_foreign = world
        .try_send("bob", named(foreign.as_str().unwrap()))
        .unwrap();
    let of_unknown = world.try_send("bob", named("never-seen")).unwrap();
    assert_ne!(of_foreign["contextId"], foreign);
    assert_ne!(of_unknown["contextId"], "never-seen");
    assert_ne!(of_foreign["contextId"], of_unknown["contextId"]);
}

#[test]
fn a_foreign_task_id_and_an_unknown_one_get_the_same_answer() {
    let mut world = World::of(&["ann", "bob"]);
    let foreign = world.submit("ann", "m1");
    // Of the same length, so that the two answers differ in nothing but the id itself.
    let unknown = "x".repeat(foreign.len());
    let failures = [foreign, unknown].map(|task_id| {
        let failure = world.try_get("bob", &task_id).unwrap_err();
        assert_eq!(failure.reason(), "TASK_NOT_FOUND");
        format!("{failure:?}").replace(&task_id, "ID")
    });
    assert_eq!(failures[0], failures[1]);
}

#[test]
fn the_wake_reaches_the_queue_and_says_nothing_of_the_message() {
    let mut world = World::of(&["ann"]);
    world
        .try_send("ann", message("m1", "the secret plan"))
        .unwrap();
    assert!(!format!("{:?}", world.in_flight).contains("secret"));
    world.settle();
    assert_eq!(world.queues["resident"].pending(), 1);
    assert_eq!(world.queues["resident"].rings, ["wake"]);
    assert!(!dump(&world.queues["resident"].store).contains("secret"));
}

#[test]
fn a_principal_that_dies_right_after_the_commit_has_accepted_and_wakes_at_its_alarm() {
    let mut world = World::of(&["ann"]);
    world.dies_after_commit = true;
    let lost = world.try_send("ann", message("m1", "m1")).unwrap_err();
    assert_eq!(lost.reason(), "LOST");
    assert!(world.in_flight.is_empty());
    world.pass(2_000);
    assert_eq!(world.queues["resident"].pending(), 1);
    // The retry of the caller, who never heard, completes it.
    let task = world.send("ann", "m1");
    assert_eq!(task["id"].as_str(), Some(world.take().task_id.as_str()));
    assert_eq!(world.count("ann", "tasks"), 1);
}

#[test]
fn a_queue_that_dies_before_it_answers_is_told_again_and_keeps_one_wake() {
    let mut world = World::of(&["ann"]);
    world.send("ann", "m1");
    world.dies_after_commit = true;
    world.settle();
    assert_eq!(world.count("ann", "outbox"), 1);
    world.reset(&Address::Principal("ann".to_owned()));
    world.pass(60_000);
    assert_eq!(world.count("ann", "outbox"), 0);
    assert_eq!(world.queues["resident"].pending(), 1);
}

/// Refuses one statement of a run, the `fails_at`th.
struct Faulty<'a> {
    store: &'a NativeStore,
    statements: Cell<u32>,
    fails_at: u32,
}

impl Store for Faulty<'_> {
    fn query(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let statement = self.statements.get();
        self.statements.set(statement + 1);
        if statement == self.fails_at {
            return Err(StoreError::Database("the disk is full".to_owned()));
        }
        self.store.query(sql, parameters)
    }
}

#[test]
fn a_persistence_failure_at_any_statement_leaves_no_trace() {
    let object = PrincipalObject::new("resident");
    let call = PrincipalCall {
        principal: "ann".to_owned(),
        resident: "resident".to_owned(),
        command: PrincipalCommand::Send(message("m1", "m1")),
    };
    let mut ids = Counter::default();
    let before = dump(&object.store);
    for fails_at in 0.. {
        let ran = object.store.transaction(|store| {
            let faulty = Faulty {
                store,
                statements: Cell::new(0),
                fails_at,
            };
            let environment = Environment {
                now_ms: 1,
                ids: &mut ids,
            };
            handle(&faulty, environment, &call)
        });
        match ran {
            Err(CoreError::Store(_)) => assert_eq!(dump(&object.store), before, "{fails_at}"),
            Err(CoreError::Refused(refusal)) => panic!("{refusal}"),
            Ok(_) => {
                assert!(fails_at > 5, "only {fails_at} statements were tried");
                return;
            }
        }
    }
}

#[test]
fn a_history_keeps_its_newest_200_messages() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m0");
    for round in 1..=150 {
        let turn = world.take();
        world.tool(&turn, crate::support::ask::question("and then?"));
        world.end(&turn);
        let answer =
            crate::support::ask::answer_to(&task_id, &format!("m{round}"), &format!("{round}"));
        world.try_send("ann", answer).unwrap();
        world.settle();
    }
    let task = world.get("ann", &task_id);
    let kept = history(&task);
    assert_eq!(kept.len(), 200);
    assert_eq!(kept.last(), Some(&"m150"));
    // 301 messages came, every second one from the caller: the oldest kept is the agent's 51st.
    assert_eq!(kept[1], "m51");
}

#[test]
fn a_status_timestamp_does_not_go_back_with_the_clock() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let before = world.get("ann", &task_id)["status"]["timestamp"].clone();
    world.now_ms -= 3_600_000;
    let turn = world.take();
    world.tool(&turn, crate::support::ask::complete("done"));
    let task = world.get("ann", &task_id);
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    assert_eq!(task["status"]["timestamp"], before);
}
