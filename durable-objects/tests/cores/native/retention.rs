//! Thirty days: what goes, and what stays however old it is.

use durable_objects::principal::{HOLD_MS, RETENTION_MS};
use durable_objects::storage::Store;
use protocol::trusted::delivery::{Outcome, Recovery};

use super::event::{event, in_conversation, outcome, reply, text};
use crate::support::World;
use crate::support::ask::{complete, question};
use crate::support::peek::{integer, texts};

const HOUR_MS: i64 = 3_600_000;

/// Passes time in steps, as it does.
fn pass(world: &mut World, ms: i64) {
    let until_ms = world.now_ms + ms;
    while world.now_ms < until_ms {
        let step = (until_ms - world.now_ms).min(HOUR_MS * 12);
        world.pass(step);
    }
}

/// A native task that is completed.
fn settled(world: &mut World, id: &str) -> String {
    let task_id = text(
        &world.accept("ann", in_conversation(id, "thread")),
        "taskId",
    )
    .to_owned();
    world.settle();
    let turn = world.take();
    assert_eq!(turn.task_id, task_id);
    world.tool(&turn, complete("done"));
    world.end(&turn);
    task_id
}

#[test]
fn a_settled_task_is_kept_for_30_days_and_goes_with_everything_that_is_its_own() {
    let mut world = World::of(&["ann"]);
    world.declare("ann", true, false);
    let task_id = settled(&mut world, "e1");
    let begun = world.begin("ann", reply(&task_id, Recovery::Ambiguous));
    world
        .try_settle("ann", outcome(&begun, Outcome::Delivered, Some("r1")))
        .unwrap();
    pass(&mut world, RETENTION_MS - HOUR_MS);
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_COMPLETED");
    assert_eq!(
        world.accept("ann", in_conversation("e1", "thread"))["disposition"],
        "duplicate"
    );
    pass(&mut world, 3 * HOUR_MS);
    let gone = world.try_get("ann", &task_id).unwrap_err();
    assert_eq!(gone.reason(), "TASK_NOT_FOUND");
    for table in [
        "tasks",
        "messages",
        "artifacts",
        "origins",
        "reply_anchors",
        "deliveries",
        "settlements",
        "evidence",
        "ended_turns",
        "contexts",
    ] {
        assert_eq!(world.count("ann", table), 0, "{table}");
    }
    // Nothing is left to look for, so nothing wakes the object any more.
    assert_eq!(world.principals["ann"].alarm_ms, None);
}

#[test]
fn a_pruned_claims_event_is_accepted_as_new_work_under_a_new_activation_and_context() {
    let mut world = World::of(&["ann"]);
    let first = world.accept("ann", in_conversation("e1", "thread"));
    world.settle();
    let turn = world.take();
    world.tool(&turn, complete("done"));
    world.end(&turn);
    pass(&mut world, RETENTION_MS + 2 * HOUR_MS);
    let again = world.accept("ann", in_conversation("e1", "thread"));
    assert_eq!(again["disposition"], "created");
    for field in ["activationId", "taskId", "contextId"] {
        assert_ne!(again[field], first[field], "{field}");
    }
    world.settle();
    assert_eq!(world.take().task_id, text(&again, "taskId"));
}

#[test]
fn a_task_that_is_not_terminal_is_never_pruned_nor_what_it_needs() {
    let mut world = World::of(&["ann"]);
    world.declare("ann", true, false);
    let accepted = world.accept("ann", in_conversation("e1", "thread"));
    let task_id = text(&accepted, "taskId").to_owned();
    world.settle();
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    let begun = world.begin("ann", reply(&task_id, Recovery::Ambiguous));
    world
        .try_settle("ann", outcome(&begun, Outcome::Delivered, Some("r1")))
        .unwrap();
    let evidence = world.evidence("ann", &task_id);
    pass(&mut world, 3 * RETENTION_MS);
    assert_eq!(world.evidence("ann", &task_id), evidence);
    let later = world.accept("ann", in_conversation("e2", "thread"));
    assert_eq!(later["contextId"], accepted["contextId"]);
    let continued = world.accept("ann", super::event::reply_to("e3", "r1", "thread"));
    assert_eq!(continued["taskId"], task_id.as_str());
}

#[test]
fn a_conversation_outlives_30_days_after_its_last_event() {
    let mut world = World::of(&["ann"]);
    settled(&mut world, "e1");
    pass(&mut world, RETENTION_MS / 2);
    let second = world.accept("ann", in_conversation("e2", "thread"));
    world.settle();
    let turn = world.take();
    world.tool(&turn, complete("done"));
    world.end(&turn);
    pass(&mut world, RETENTION_MS - HOUR_MS);
    // The first task is gone, the conversation is not.
    assert_eq!(world.count("ann", "tasks"), 1);
    let third = world.accept("ann", in_conversation("e3", "thread"));
    assert_eq!(third["contextId"], second["contextId"]);
}

#[test]
fn a_sending_delivery_is_never_pruned_and_keeps_its_task() {
    let mut world = World::of(&["ann"]);
    let task_id = settled(&mut world, "e1");
    let begun = world.begin("ann", reply(&task_id, Recovery::Lookup));
    pass(&mut world, 2 * RETENTION_MS);
    let again = world.begin("ann", reply(&task_id, Recovery::Lookup));
    assert_eq!(again["disposition"], "RECONCILE");
    assert_eq!(again["deliveryId"], begun["deliveryId"]);
    world
        .try_settle("ann", outcome(&again, Outcome::Delivered, None))
        .unwrap();
    pass(&mut world, HOLD_MS + RETENTION_MS + 2 * 24 * HOUR_MS);
    assert_eq!(world.count("ann", "deliveries"), 0);
    assert_eq!(world.count("ann", "tasks"), 0);
}

#[test]
fn many_tasks_go_in_bounded_batches_and_no_activation_number_is_given_out_twice() {
    let mut world = World::of(&["ann"]);
    for n in 0..130 {
        settled(&mut world, &format!("e{n}"));
    }
    let newest = integer(
        &world.principals["ann"].store,
        "SELECT max(activation_id) FROM claims",
        &[],
    );
    world.now_ms += RETENTION_MS + 2 * HOUR_MS;
    let mut left = vec![world.count("ann", "tasks")];
    while let Some((address, at_ms)) = world
        .next_alarm()
        .filter(|(_, at_ms)| *at_ms <= world.now_ms)
    {
        let _ = at_ms;
        world.fire(&address);
        left.push(world.count("ann", "tasks"));
    }
    left.dedup();
    assert_eq!(left, [130, 80, 30, 0]);
    let again = world.accept("ann", event("e1"));
    let number: i64 = text(&again, "activationId").parse().unwrap();
    assert!(number > newest, "{number} after {newest}");
}

#[test]
fn counts_that_lists_show_go_down_with_the_tasks() {
    let mut world = World::of(&["ann"]);
    settled(&mut world, "e1");
    let open = text(
        &world.accept("ann", in_conversation("e2", "thread")),
        "taskId",
    )
    .to_owned();
    pass(&mut world, RETENTION_MS + 2 * HOUR_MS);
    let store = &world.principals["ann"].store;
    assert_eq!(texts(store, "SELECT task_id FROM tasks", &[]), [open]);
    assert_eq!(integer(store, "SELECT state_3 FROM task_counts", &[]), 0);
    assert_eq!(integer(store, "SELECT state_1 FROM task_counts", &[]), 1);
    assert_eq!(integer(store, "SELECT tasks FROM contexts", &[]), 1);
}

#[test]
fn looking_for_what_is_past_its_time_scans_no_table() {
    let world = World::of(&["ann"]);
    let store = &world.principals["ann"].store;
    for sql in [
        "SELECT task_id FROM tasks WHERE state = 3 AND status_ms < 1 ORDER BY status_ms, task_id LIMIT 50",
        "SELECT activation_id FROM claims WHERE task_id IS NULL AND accepted_ms < 1 AND source <> '' LIMIT 500",
        "SELECT context_id FROM contexts WHERE tasks = 0 AND last_event_ms < 1 LIMIT 500",
        "SELECT outbox_id FROM outbox WHERE due_ms <= 1 ORDER BY due_ms LIMIT 64",
        "SELECT settlement_id FROM settlements WHERE due_ms <= 1 ORDER BY due_ms LIMIT 32",
        "SELECT kind FROM evidence WHERE task_id = 'x' AND evidence_id < 9 ORDER BY evidence_id DESC LIMIT 9",
        "SELECT task_id FROM origins WHERE source = 'x' AND locator_digest = 'y' ORDER BY activation_id DESC LIMIT 1",
    ] {
        let plan: Vec<String> = store
            .query(&format!("EXPLAIN QUERY PLAN {sql}"), &[])
            .unwrap()
            .into_iter()
            .map(|mut row| {
                for _ in 0..3 {
                    row.integer().unwrap();
                }
                row.text().unwrap()
            })
            .collect();
        let plan = plan.join("; ");
        assert!(plan.contains("SEARCH"), "{sql}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
}

#[test]
fn a_delivery_is_kept_for_30_days_of_its_own() {
    let mut world = World::of(&["ann"]);
    let task_id = settled(&mut world, "e1");
    pass(&mut world, RETENTION_MS - HOUR_MS);
    let begun = world.begin("ann", reply(&task_id, Recovery::Ambiguous));
    world
        .try_settle("ann", outcome(&begun, Outcome::Indeterminate, None))
        .unwrap();
    pass(&mut world, RETENTION_MS - HOUR_MS);
    assert_eq!(world.count("ann", "deliveries"), 1);
    pass(&mut world, 48 * HOUR_MS);
    assert_eq!(world.count("ann", "deliveries"), 0);
    assert_eq!(world.count("ann", "tasks"), 0);
}

#[test]
fn what_keeps_a_task_beyond_its_time_wakes_the_object_once_a_day() {
    let mut world = World::of(&["ann"]);
    let task_id = settled(&mut world, "e1");
    world.begin("ann", reply(&task_id, Recovery::Lookup));
    pass(&mut world, RETENTION_MS + 2 * HOUR_MS);
    let (_, at_ms) = world.next_alarm().expect("an alarm");
    assert!(
        at_ms - world.now_ms > 11 * HOUR_MS,
        "{}",
        at_ms - world.now_ms
    );
}
