//! Wakes that are pushed to a URL of the resident's, and what becomes of those that can't be.

use durable_objects::commands::principal::PrincipalCommand;
use durable_objects::wake_queue::{Due, DuePush, MAX_PUSHES};

use crate::support::World;
use crate::support::ask::complete;

/// What is due of the queue `resident`, which pushes its wakes.
fn due(world: &mut World) -> Option<DuePush> {
    match world.queue("resident", |queue| queue.pushing(true).due()) {
        Ok(Due::Push(push)) => Some(push),
        Ok(_) => None,
        Err(failure) => panic!("{failure:?}"),
    }
}

fn pushing_world() -> World {
    let mut world = World::of(&["ann"]);
    world.pushes = true;
    world
}

#[test]
fn a_wake_is_pushed_once_where_it_is_taken() {
    let mut world = pushing_world();
    let task_id = world.submit("ann", "m1");
    let Some(DuePush::Tell(push)) = due(&mut world) else {
        panic!("no push");
    };
    assert_eq!(push.task_id, task_id);
    assert!(due(&mut world).is_none());
    world
        .queue("resident", |queue| queue.pushed(&push, true))
        .unwrap();
    world.now_ms += 3_600_000;
    assert!(due(&mut world).is_none());
}

#[test]
fn a_wake_that_was_taken_meanwhile_is_not_pushed() {
    let mut world = pushing_world();
    world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, complete("done"));
    assert!(due(&mut world).is_none());
}

#[test]
fn a_push_that_fails_three_times_is_a_wake_that_failed_and_is_offered_at_the_next_startup() {
    let mut world = pushing_world();
    let task_id = world.submit("ann", "m1");
    for _ in 0..MAX_PUSHES {
        let Some(DuePush::Tell(push)) = due(&mut world) else {
            panic!("no push");
        };
        world
            .queue("resident", |queue| queue.pushed(&push, false))
            .unwrap();
        world.now_ms += 300_000;
    }
    let Some(DuePush::Fail { principal, report }) = due(&mut world) else {
        panic!("not failed");
    };
    let activation_id = report.activation_id;
    world
        .command(&principal, None, PrincipalCommand::WakeFailed(report))
        .unwrap();
    world
        .queue("resident", |queue| {
            queue.wake_failed(&principal, activation_id)
        })
        .unwrap();
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "WAKE_FAILED"]);
    assert_eq!(world.queues["resident"].pending(), 0);
    assert_eq!(world.queues["resident"].logged_depth.as_deref(), Some("0"));
    assert!(due(&mut world).is_none());
    // The resident comes by itself: it is offered what failed.
    assert!(world.try_take("s1").unwrap().is_none());
    world.pass(0);
    assert_eq!(world.try_take("s1").unwrap().unwrap().task_id, task_id);
}

#[test]
fn a_wake_whose_grant_may_have_been_given_stays_takeable_when_its_pushes_fail() {
    let mut world = pushing_world();
    let task_id = world.submit("ann", "m1");
    world.is_deaf = true;
    // The principal grants the turn, and its answer is lost.
    world.begin_take("resident", "s1");
    world.deliver(0);
    world.lose(0);
    world.pass(600_000);
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "WOKEN"]);
    let turn = world.try_take("s1").unwrap().expect("it waits");
    assert_eq!((&turn.task_id, turn.delivery), (&task_id, 1));
    world.tool(&turn, complete("done"));
}
