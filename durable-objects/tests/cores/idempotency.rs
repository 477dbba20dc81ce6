//! One (principal, messageId), one outcome.

use crate::support::World;
use crate::support::ask::{answer_to, complete, history, message, question, state};

#[test]
fn a_duplicate_returns_the_prior_task_as_it_is_now() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    assert_eq!(state(&world.send("ann", "m1")), "TASK_STATE_WORKING");
    world.tool(&turn, complete("done"));
    world.end(&turn);
    let again = world.send("ann", "m1");
    assert_eq!(again, world.get("ann", &task_id));
    assert_eq!(state(&again), "TASK_STATE_COMPLETED");
}

#[test]
fn a_duplicate_leaves_no_second_history_entry_and_no_second_wake() {
    let mut world = World::of(&["ann"]);
    let first = world.send("ann", "m1");
    let again = world.send("ann", "m1");
    world.settle();
    assert_eq!(first, again);
    assert_eq!(history(&again), ["m1"]);
    assert_eq!(world.queues["resident"].pending(), 1);
    assert_eq!(
        world.evidence("ann", first["id"].as_str().unwrap()),
        ["ACCEPTED"]
    );
}

#[test]
fn a_duplicate_with_another_payload_is_refused() {
    let mut world = World::of(&["ann"]);
    let task = world.send("ann", "m1");
    let refused = world
        .try_send("ann", message("m1", "something else"))
        .unwrap_err();
    assert_eq!(refused.reason(), "DUPLICATE_MESSAGE_ID");
    assert_eq!(world.send("ann", "m1"), task);
}

#[test]
fn a_duplicate_of_a_continuation_returns_the_task_and_changes_nothing() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    let answered = world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    world.settle();
    let again = world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    assert_eq!(answered, again);
    assert_eq!(world.queues["resident"].pending(), 1);
    // Also once the task is settled and would take no new message.
    let turn = world.take();
    world.tool(&turn, complete("done"));
    let settled = world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    assert_eq!(state(&settled), "TASK_STATE_COMPLETED");
}

#[test]
fn equal_message_ids_of_two_principals_do_not_collide() {
    let mut world = World::of(&["ann", "bob"]);
    let of_ann = world.try_send("ann", message("m1", "one thing")).unwrap();
    let of_bob = world.try_send("bob", message("m1", "another")).unwrap();
    assert_ne!(of_ann["id"], of_bob["id"]);
}

#[test]
fn a_refused_message_is_not_kept_and_its_id_stays_free() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let refused = world
        .try_send("ann", answer_to(&task_id, "m2", "too early"))
        .unwrap_err();
    assert_eq!(refused.reason(), "UNSUPPORTED_OPERATION");
    assert_eq!(history(&world.get("ann", &task_id)), ["m1"]);
    let task = world.try_send("ann", message("m2", "new work")).unwrap();
    assert_eq!(history(&task), ["m2"]);
}
