//! Notices: delivered at least once, in effect once.

use durable_objects::commands::wake_queue::Admission;
use durable_objects::principal::{OUTBOX_RETRY_MS, RETENTION_MS};

use crate::support::World;
use crate::support::ask::complete;
use crate::support::network::{Address, Awaiting, Message};

#[test]
fn a_notice_is_tried_again_until_the_queue_answers() {
    let mut world = World::of(&["ann"]);
    world.send("ann", "m1");
    world.in_flight.clear();
    for _ in 0..10 {
        let (address, at_ms) = world.next_alarm().expect("an alarm");
        assert!(at_ms - world.now_ms <= 60_000);
        world.now_ms = at_ms;
        world.fire(&address);
        assert_eq!(world.in_flight.len(), 1);
        world.in_flight.clear();
    }
    world.pass(60_000);
    assert_eq!(world.queues["resident"].pending(), 1);
    world.pass(60_000);
    assert_eq!(world.count("ann", "outbox"), 0);
    // The last alarm finds nothing to do. The next is for what will be past its time in 30 days.
    world.pass(60_000);
    let (_, at_ms) = world.next_alarm().expect("an alarm");
    assert!(at_ms - world.now_ms > RETENTION_MS - 3_600_000);
}

#[test]
fn more_notices_than_one_alarm_takes_are_all_delivered() {
    let mut world = World::of(&["ann"]);
    for number in 0..100 {
        world.send("ann", &format!("m{number}"));
    }
    world.in_flight.clear();
    world.pass(10_000);
    assert_eq!(world.queues["resident"].pending(), 100);
    assert_eq!(world.count("ann", "outbox"), 0);
}

#[test]
fn a_late_second_answer_does_not_take_down_a_notice_of_which_the_queue_never_heard() {
    let mut world = World::of(&["ann"]);
    world.send("ann", "m1");
    let Message::Request {
        awaiting: Some(Awaiting::Admissions(notices)),
        ..
    } = world.in_flight.remove(0)
    else {
        panic!("a notify");
    };
    // It was delivered twice; the first answer comes at once, the second after the next message, when the row is gone.
    let answer = |notices: &[_]| {
        notices
            .iter()
            .cloned()
            .map(|notice| (notice, Admission::Admitted))
            .collect()
    };
    world.notices_answered("ann", answer(&notices));
    world.pass(2_000);
    assert_eq!(world.count("ann", "outbox"), 0);
    world.send("ann", "m2");
    world.in_flight.clear();
    world.notices_answered("ann", answer(&notices));
    assert_eq!(world.count("ann", "outbox"), 1);
    world.pass(2_000);
    assert_eq!(world.queues["resident"].pending(), 1);
}

#[test]
fn a_notice_that_was_answered_is_forgotten_at_the_alarm_and_not_delivered_again() {
    let mut world = World::of(&["ann"]);
    for number in 0..3 {
        world.submit("ann", &format!("m{number}"));
        world.pass(500);
    }
    assert_eq!(world.count("ann", "outbox"), 3);
    world.pass(500);
    assert_eq!(world.count("ann", "outbox"), 0);
    assert!(world.in_flight.is_empty());
    assert_eq!(world.queues["resident"].pending(), 3);
}

#[test]
fn answered_notices_that_are_too_many_to_wait_for_the_alarm_are_forgotten_at_once() {
    let mut world = World::of(&["ann"]);
    for number in 0..300 {
        let task = world.submit("ann", &format!("m{number}"));
        world.try_cancel("ann", &task).unwrap();
        world.settle();
        assert!(world.count("ann", "outbox") <= 257);
    }
}

#[test]
fn an_answered_notice_whose_object_died_is_delivered_again_and_changes_nothing() {
    let mut world = World::of(&["ann"]);
    let task = world.submit("ann", "m1");
    world.reset(&Address::Principal("ann".to_owned()));
    world.pass(120_000);
    assert_eq!(world.count("ann", "outbox"), 0);
    assert_eq!(world.queues["resident"].pending(), 1);
    assert_eq!(world.evidence("ann", &task), ["ACCEPTED"]);
}

#[test]
fn a_wake_that_has_come_to_a_turn_is_not_delivered_again_when_its_object_died() {
    for is_over in [false, true] {
        let mut world = World::of(&["ann"]);
        world.submit("ann", "m1");
        let turn = world.take();
        if is_over {
            world.tool(&turn, complete("done"));
            world.end(&turn);
        }
        let ann = Address::Principal("ann".to_owned());
        world.reset(&ann);
        world.now_ms += OUTBOX_RETRY_MS;
        world.fire(&ann);
        assert!(world.in_flight.is_empty());
        assert_eq!(world.count("ann", "outbox"), 0);
        assert_eq!(world.queues["resident"].pending(), 0);
    }
}
