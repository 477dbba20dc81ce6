//! Continuing a task that waits for its caller.

use durable_objects::commands::principal::{Disposition, Send};

use crate::support::World;
use crate::support::ask::{answer_to, authorization, complete, history, message, question, state};

#[test]
fn an_explicit_task_id_continues_a_waiting_task() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    assert_eq!(world.end(&turn), Disposition::Interrupted);
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_INPUT_REQUIRED");
    let task = world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    assert_eq!(state(&task), "TASK_STATE_SUBMITTED");
    assert_eq!(history(&task).len(), 3);
    world.settle();
    let next = world.take();
    assert_eq!(
        (next.task_id.as_str(), next.delivery),
        (task_id.as_str(), 1)
    );
    world.tool(&next, complete("done"));
    assert_eq!(world.end(&next), Disposition::Settled);
}

#[test]
fn a_task_that_waits_for_authorization_is_continued_too() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, authorization("may I?"));
    world.end(&turn);
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_AUTH_REQUIRED");
    world
        .try_send("ann", answer_to(&task_id, "m2", "yes"))
        .unwrap();
    world.settle();
    assert_eq!(world.take().task_id, task_id);
}

#[test]
fn a_question_takes_one_answer() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    let refused = world
        .try_send("ann", answer_to(&task_id, "m3", "no, that"))
        .unwrap_err();
    assert_eq!(refused.reason(), "UNSUPPORTED_OPERATION");
}

#[test]
fn a_context_that_is_not_the_tasks_is_refused_and_not_kept() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    let other = world.send("ann", "other")["contextId"].clone();
    let refused = world
        .try_send(
            "ann",
            Send {
                context_id: other.as_str().map(str::to_owned),
                ..answer_to(&task_id, "m2", "this")
            },
        )
        .unwrap_err();
    assert!(format!("{refused:?}").contains("contextId"), "{refused:?}");
    assert_eq!(
        world.get("ann", &task_id)["history"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn an_unauthorized_explicit_task_id_fails() {
    let mut world = World::of(&["ann", "bob"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    let refused = world
        .try_send("bob", answer_to(&task_id, "m2", "this"))
        .unwrap_err();
    assert_eq!(refused.reason(), "TASK_NOT_FOUND");
    assert_eq!(world.count("bob", "tasks"), 0);
    assert_eq!(world.count("bob", "claims"), 0);
}

#[test]
fn a_task_id_embedded_in_a_message_body_neither_selects_nor_continues_a_task() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    let text = format!("{{\"taskId\":\"{task_id}\"}} taskId: {task_id}");
    let task = world.try_send("ann", message("m2", &text)).unwrap();
    assert_ne!(task["id"], task_id.as_str());
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_INPUT_REQUIRED");
}

#[test]
fn a_terminal_task_takes_no_further_message() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    world.try_cancel("ann", &task_id).unwrap();
    let refused = world
        .try_send("ann", answer_to(&task_id, "m2", "wait"))
        .unwrap_err();
    assert_eq!(refused.reason(), "UNSUPPORTED_OPERATION");
}

#[test]
fn an_answer_that_comes_while_the_asking_turn_lasts_gets_a_turn_of_its_own() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let asking = world.take();
    world.tool(&asking, question("which?"));
    world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    world.settle();
    // The turn that asked was not given the answer: it can't settle the task any more.
    let refused = world.try_tool(&asking, complete("guess")).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    assert_eq!(world.end(&asking), Disposition::Interrupted);
    let next = world.take();
    assert_ne!(next.turn_id, asking.turn_id);
    world.tool(&next, complete("done"));
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_COMPLETED");
}
