//! Notices: delivered at least once, in effect once.

use durable_objects::commands::wake_queue::Admission;
use durable_objects::principal::RETENTION_MS;

use crate::support::World;
use crate::support::network::{Awaiting, Message};

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
    // It was delivered twice; the first answer comes at once, the second after the next message.
    let answer = |notices: &[_]| {
        notices
            .iter()
            .cloned()
            .map(|notice| (notice, Admission::Admitted))
            .collect()
    };
    world.notices_answered("ann", answer(&notices));
    world.send("ann", "m2");
    world.in_flight.clear();
    world.notices_answered("ann", answer(&notices));
    assert_eq!(world.count("ann", "outbox"), 1);
    world.pass(2_000);
    assert_eq!(world.queues["resident"].pending(), 1);
}
