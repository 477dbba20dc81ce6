//! Canceling a task, which ends its turn.

use durable_objects::commands::principal::TurnOutcome;
use durable_objects::commands::wake_queue::{HeartbeatReply, TurnAuthority};

use crate::support::World;
use crate::support::ask::{complete, question, state};

#[test]
fn a_canceled_task_is_terminal_and_can_not_be_canceled_again() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let task = world.try_cancel("ann", &task_id).unwrap();
    assert_eq!(state(&task), "TASK_STATE_CANCELED");
    let refused = world.try_cancel("ann", &task_id).unwrap_err();
    assert_eq!(refused.reason(), "TASK_NOT_CANCELABLE");
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "CANCELED"]);
}

#[test]
fn canceling_a_queued_task_takes_its_wake_back() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    world.try_cancel("ann", &task_id).unwrap();
    world.settle();
    assert_eq!(world.queues["resident"].pending(), 0);
    assert!(world.try_take("s1").unwrap().is_none());
}

#[test]
fn canceling_ends_the_turn_and_tells_its_heartbeat_why() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.try_cancel("ann", &task_id).unwrap();
    world.settle();
    let bell = format!("turn:{}", turn.turn_id);
    assert!(world.queues["resident"].rings.contains(&bell));
    assert_eq!(
        world.heartbeat("resident", &turn.turn_id, TurnAuthority::Resident),
        Ok(HeartbeatReply::Over {
            reason: "canceled".to_owned()
        })
    );
    let refused = world.try_end(&turn, TurnOutcome::Ended).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
}

#[test]
fn a_tool_is_fenced_off_by_a_cancel_of_which_the_queue_has_not_heard_yet() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.try_cancel("ann", &task_id).unwrap();
    world.lose(0);
    let refused = world.try_tool(&turn, complete("done")).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_CANCELED");
}

#[test]
fn the_next_task_gets_its_turn_after_a_cancel() {
    let mut world = World::of(&["ann"]);
    let first = world.submit("ann", "m1");
    let second = world.submit("ann", "m2");
    world.take();
    world.try_cancel("ann", &first).unwrap();
    world.settle();
    assert_eq!(world.take().task_id, second);
}

#[test]
fn a_cancel_that_overtakes_the_grant_leaves_no_turn() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let ticket = world.begin_take("resident", "s1");
    world.try_cancel("ann", &task_id).unwrap();
    world.settle();
    let answer = world.take_answer(ticket).unwrap();
    assert!(format!("{answer:?}").contains("None"), "{answer:?}");
    assert_eq!(world.queues["resident"].turn(), None);
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_CANCELED");
}

#[test]
fn a_task_that_waits_for_its_caller_can_be_canceled() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    world.try_cancel("ann", &task_id).unwrap();
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_CANCELED");
}
