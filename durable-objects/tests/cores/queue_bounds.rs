//! At most 128 wakes wait behind the turn.

use durable_objects::commands::wake_queue::{Notice, Notify};

use crate::support::World;
use crate::support::ask::complete;
use crate::support::network::Message;

fn full() -> World {
    let mut world = World::of(&["ann"]);
    world.try_take("s1").unwrap();
    for number in 0..128 {
        world.submit("ann", &format!("m{number}"));
    }
    world
}

#[test]
fn the_129th_wake_is_recorded_as_failed_and_its_activation_stays_accepted() {
    let mut world = full();
    let over = world.submit("ann", "over");
    assert_eq!(world.queues["resident"].pending(), 128);
    assert_eq!(world.evidence("ann", &over), ["ACCEPTED", "WAKE_FAILED"]);
    assert_eq!(world.state("ann", &over), "TASK_STATE_SUBMITTED");
    world.pass(2_000);
    assert_eq!(world.count("ann", "outbox"), 0);
    assert_eq!(world.queues["resident"].pending(), 128);
}

#[test]
fn the_turn_does_not_count_towards_the_bound() {
    let mut world = full();
    world.take();
    let task_id = world.submit("ann", "one more");
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED"]);
    let over = world.submit("ann", "over");
    assert_eq!(world.evidence("ann", &over), ["ACCEPTED", "WAKE_FAILED"]);
}

#[test]
fn what_overflowed_is_offered_when_the_resident_connects_anew() {
    let mut world = full();
    let over = world.submit("ann", "over");
    for session in ["s1", "s2"] {
        while let Some(turn) = world.try_take(session).unwrap() {
            world.tool(&turn, complete("done"));
            world.end(&turn);
        }
        world.pass(0);
    }
    assert_eq!(world.state("ann", &over), "TASK_STATE_COMPLETED");
}

#[test]
fn an_overflow_that_is_answered_after_the_work_was_done_records_no_failure() {
    let mut world = full();
    let task_id = world.send("ann", "over")["id"].as_str().unwrap().to_owned();
    world.deliver(0);
    let overflow = world.in_flight.pop().unwrap();
    assert!(matches!(overflow, Message::Reply { .. }));
    // The notice is delivered again, now that there is room, and its work is done.
    world.pass(2_000);
    for _ in 0..2 {
        while let Some(turn) = world.try_take("s1").unwrap() {
            world.tool(&turn, complete("done"));
            world.end(&turn);
        }
        world.pass(60_000);
        if world
            .evidence("ann", &task_id)
            .contains(&"WAKE_FAILED".to_owned())
        {
            world.try_take("s2").unwrap();
            return;
        }
    }
    world.in_flight.push(overflow);
    world.settle();
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_COMPLETED");
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "WOKEN"]);
}

#[test]
fn a_wake_that_is_notified_twice_waits_once() {
    let mut world = World::of(&["ann"]);
    world.send("ann", "m1");
    world.repeat(0);
    world.settle();
    assert_eq!(world.queues["resident"].pending(), 1);
}

#[test]
fn a_wake_that_turns_out_to_be_stale_leaves_the_depth_in_the_log() {
    let mut world = World::of(&["ann"]);
    let wake = Notice::Wake {
        principal: "ann".to_owned(),
        activation_id: 99,
        task_id: "gone".to_owned(),
    };
    let notify = Notify {
        resident: "resident".to_owned(),
        notices: vec![wake],
    };
    world
        .queue("resident", |queue| queue.notify(&notify))
        .unwrap();
    let logged = |world: &World| world.queues["resident"].logged_depth.clone();
    assert_eq!(logged(&world).as_deref(), Some("1"));
    assert!(world.try_take("s1").unwrap().is_none());
    assert_eq!(world.queues["resident"].pending(), 0);
    assert_eq!(logged(&world).as_deref(), Some("0"));
}

#[test]
fn a_wake_that_is_withdrawn_while_its_turn_is_asked_for_leaves_the_depth_in_the_log() {
    let mut world = World::of(&["ann"]);
    world.try_take("s1").unwrap();
    let task_id = world.submit("ann", "m1");
    world.begin_take("resident", "s1");
    world.try_cancel("ann", &task_id).unwrap();
    // The withdrawal is heard before the principal is.
    world.deliver(1);
    world.settle();
    let queue = &world.queues["resident"];
    assert_eq!(
        (queue.pending(), queue.logged_depth.as_deref()),
        (0, Some("0"))
    );
}
