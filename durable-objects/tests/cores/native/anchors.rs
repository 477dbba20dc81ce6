//! A verified direct reply, and the six conditions of which each alone makes it a new task.

use durable_objects::storage::Store;
use protocol::trusted::activation::Activation;
use protocol::trusted::delivery::{Outcome, Recovery};

use super::event::{SOURCE, event, in_conversation, outcome, reply, reply_to, text};
use crate::support::World;
use crate::support::ask::{answer_to, authorization, complete, question};

/// A task of the conversation `thread` that waits, its question delivered as the response `r1`.
fn waiting(world: &mut World, auth: bool) -> String {
    world.declare("ann", true, false);
    let accepted = world.accept("ann", in_conversation("e1", "thread"));
    let task_id = text(&accepted, "taskId").to_owned();
    world.settle();
    let turn = world.take();
    let ask = if auth { authorization } else { question };
    world.tool(&turn, ask("which?"));
    world.end(&turn);
    deliver(world, &task_id, "r1");
    task_id
}

fn deliver(world: &mut World, task_id: &str, response_id: &str) {
    let begun = world.begin("ann", reply(task_id, Recovery::Idempotent));
    assert_eq!(begun["disposition"], "SEND");
    let settled = outcome(&begun, Outcome::Delivered, Some(response_id));
    assert_eq!(
        world.try_settle("ann", settled).unwrap()["state"],
        "DELIVERED"
    );
}

/// A new task in the conversation's context; the waiting one goes on waiting.
fn is_new_task(world: &mut World, waiting: &str, activation: Activation) {
    let state = world.state("ann", waiting);
    let accepted = world.accept("ann", activation);
    assert_eq!(accepted["disposition"], "created");
    assert_ne!(accepted["taskId"], waiting);
    let context = world.get("ann", waiting)["contextId"].clone();
    assert_eq!(accepted["contextId"], context);
    assert_eq!(world.state("ann", waiting), state);
}

#[test]
fn a_verified_direct_reply_continues_one_waiting_task_also_from_the_auth_required_state() {
    for auth in [false, true] {
        let mut world = World::of(&["ann"]);
        let task_id = waiting(&mut world, auth);
        let continued = world.accept("ann", reply_to("e2", "r1", "thread"));
        assert_eq!(continued["disposition"], "continued");
        assert_eq!(continued["taskId"], task_id.as_str());
        assert_eq!(world.state("ann", &task_id), "TASK_STATE_SUBMITTED");
        world.settle();
        assert_eq!(world.take().task_id, task_id);
    }
}

#[test]
fn a_redelivered_reply_returns_the_task_that_it_continued() {
    let mut world = World::of(&["ann"]);
    let task_id = waiting(&mut world, false);
    world.accept("ann", reply_to("e2", "r1", "thread"));
    let again = world.accept("ann", reply_to("e2", "r1", "thread"));
    assert_eq!(again["disposition"], "duplicate");
    assert_eq!(again["taskId"], task_id.as_str());
}

#[test]
fn a_reply_to_a_task_that_can_t_be_read_any_more_is_a_new_task() {
    let mut world = World::of(&["ann"]);
    let task_id = waiting(&mut world, false);
    let context = world.get("ann", &task_id)["contextId"].clone();
    world.principals["ann"]
        .store
        .execute(
            "UPDATE tasks SET state = 99 WHERE task_id = ?1",
            &[(&task_id).into()],
        )
        .unwrap();
    let accepted = world.accept("ann", reply_to("e2", "r1", "thread"));
    assert_eq!(accepted["disposition"], "created");
    assert_eq!(accepted["contextId"], context);
}

#[test]
fn condition_1_a_task_that_does_not_wait_is_not_continued() {
    let mut world = World::of(&["ann"]);
    let task_id = waiting(&mut world, false);
    world.try_cancel("ann", &task_id).unwrap();
    is_new_task(&mut world, &task_id, reply_to("e2", "r1", "thread"));
}

#[test]
fn condition_2_a_response_that_was_not_sent_for_the_task_continues_nothing() {
    let mut world = World::of(&["ann"]);
    world.declare("ann", true, false);
    let accepted = world.accept("ann", in_conversation("e1", "thread"));
    let task_id = text(&accepted, "taskId").to_owned();
    world.settle();
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    // The provider refused it, so there is no response of ours.
    let begun = world.begin("ann", reply(&task_id, Recovery::Idempotent));
    world
        .try_settle("ann", outcome(&begun, Outcome::Refused, None))
        .unwrap();
    is_new_task(&mut world, &task_id, reply_to("e2", "r1", "thread"));
}

#[test]
fn condition_3_a_response_that_is_no_stored_anchor_continues_nothing() {
    let mut world = World::of(&["ann"]);
    let task_id = waiting(&mut world, false);
    is_new_task(&mut world, &task_id, reply_to("e2", "r2", "thread"));
}

#[test]
fn condition_4_a_later_thread_message_creates_a_new_task() {
    let mut world = World::of(&["ann"]);
    let task_id = waiting(&mut world, false);
    is_new_task(&mut world, &task_id, in_conversation("e2", "thread"));
}

#[test]
fn condition_5_a_reply_anchor_from_a_principal_that_cannot_access_the_task_creates_a_new_task_instead()
 {
    let mut world = World::of(&["ann", "bob"]);
    let task_id = waiting(&mut world, false);
    world.declare("bob", true, false);
    let accepted = world.accept("bob", reply_to("e2", "r1", "thread"));
    assert_eq!(accepted["disposition"], "created");
    assert_ne!(accepted["taskId"], task_id.as_str());
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_INPUT_REQUIRED");
    // And of another source, within the principal.
    let elsewhere = Activation {
        source: "mail".to_owned(),
        ..reply_to("e3", "r1", "thread")
    };
    let accepted = world.accept("ann", elsewhere);
    assert_eq!(accepted["disposition"], "created");
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_INPUT_REQUIRED");
}

#[test]
fn condition_6_an_answered_question_takes_no_second_answer() {
    let mut world = World::of(&["ann"]);
    let task_id = waiting(&mut world, false);
    world
        .try_send("ann", answer_to(&task_id, "m1", "that one"))
        .unwrap();
    is_new_task(&mut world, &task_id, reply_to("e2", "r1", "thread"));
}

#[test]
fn a_source_that_declares_no_reply_anchors_has_none() {
    let mut world = World::of(&["ann"]);
    let task_id = waiting(&mut world, false);
    world.declare("ann", false, true);
    is_new_task(&mut world, &task_id, reply_to("e2", "r1", "thread"));
    let refused = world.try_anchor("ann", "r9", &task_id).unwrap_err();
    assert_eq!(refused.reason(), "NO_CONTINUATION");
}

#[test]
fn an_anchor_never_moves_to_another_task() {
    let mut world = World::of(&["ann"]);
    let first = waiting(&mut world, false);
    let second = text(&world.accept("ann", event("e5")), "taskId").to_owned();
    let refused = world.try_anchor("ann", "r1", &second).unwrap_err();
    assert_eq!(refused.reason(), "ANCHOR_TAKEN");
    // A delivery that reports the same response stands, and moves nothing either.
    deliver(&mut world, &second, "r1");
    assert_eq!(world.logged["anchor_taken"], 1);
    let continued = world.accept("ann", reply_to("e2", "r1", "thread"));
    assert_eq!(continued["taskId"], first.as_str());
    // Recording it again for its own task is no change.
    assert_eq!(
        world.try_anchor("ann", "r1", &first).unwrap()["taskId"],
        first.as_str()
    );
}

#[test]
fn an_anchor_is_recorded_only_for_a_task_of_the_principal_and_of_the_source() {
    let mut world = World::of(&["ann", "bob"]);
    let foreign = waiting(&mut world, false);
    world.declare("bob", true, false);
    for task_id in [foreign.as_str(), "never-seen"] {
        let refused = world.try_anchor("bob", "r9", task_id).unwrap_err();
        assert_eq!(refused.reason(), "TASK_NOT_FOUND");
    }
    let by_a2a = world.submit("ann", "m9");
    let refused = world.try_anchor("ann", "r9", &by_a2a).unwrap_err();
    assert_eq!(refused.reason(), "INVALID_REQUEST");
    assert_eq!(world.count("ann", "reply_anchors"), 1);
}

#[test]
fn a_settled_task_is_owed_to_its_source_once_each_time_it_settles() {
    let mut world = World::of(&["ann"]);
    let task_id = waiting(&mut world, false);
    world.accept("ann", reply_to("e2", "r1", "thread"));
    world.settle();
    let turn = world.take();
    world.tool(&turn, complete("done"));
    world.end(&turn);
    let settled: Vec<_> = world
        .settled
        .iter()
        .map(|owed| (owed.source.as_str(), owed.task_id.as_str(), owed.state))
        .collect();
    let id = task_id.as_str();
    assert_eq!(
        settled,
        [
            (SOURCE, id, "TASK_STATE_INPUT_REQUIRED"),
            (SOURCE, id, "TASK_STATE_COMPLETED")
        ]
    );
}
