//! How often work is offered, and what becomes of what fails.

use durable_objects::commands::principal::Disposition;

use crate::support::LEASE_MS;
use crate::support::World;
use crate::support::ask::{answer_to, complete, question};

#[test]
fn an_unsettled_task_is_delivered_five_times_and_then_failed_for_good() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for delivery in 1..=5 {
        let turn = world.take();
        assert_eq!(turn.delivery, delivery);
        let disposition = world.end(&turn);
        let expected = if delivery < 5 {
            Disposition::Reoffered
        } else {
            Disposition::Exhausted
        };
        assert_eq!(disposition, expected);
    }
    assert_eq!(
        world.evidence("ann", &task_id).last().unwrap(),
        "WAKE_FAILED"
    );
    assert!(
        world
            .evidence("ann", &task_id)
            .contains(&"UNHEALTHY".to_owned())
    );
    world.pass(3_600_000);
    assert!(world.try_take("s1").unwrap().is_none());
}

#[test]
fn startup_does_not_resurrect_what_failed_for_good() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for _ in 0..5 {
        let turn = world.take();
        world.end(&turn);
    }
    assert!(world.try_take("s2").unwrap().is_none());
    world.pass(60_000);
    assert!(world.try_take("s2").unwrap().is_none());
    let failed = world.evidence("ann", &task_id);
    assert_eq!(
        failed.iter().filter(|kind| *kind == "WAKE_FAILED").count(),
        1
    );
}

#[test]
fn a_failed_turn_is_tried_three_times_with_backoff_and_then_parked() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for pause_ms in [1_000, 4_000] {
        let turn = world.take();
        let not_before_ms = world.now_ms + pause_ms;
        assert_eq!(world.fail(&turn), Disposition::Retrying { not_before_ms });
        world.pass(pause_ms - 1);
        assert!(world.try_take("s1").unwrap().is_none());
        world.pass(1);
    }
    let turn = world.take();
    assert_eq!(turn.delivery, 3);
    assert_eq!(world.fail(&turn), Disposition::Parked);
    assert_eq!(world.evidence("ann", &task_id).last().unwrap(), "UNHEALTHY");
    world.pass(3_600_000);
    assert!(world.try_take("s1").unwrap().is_none());
}

#[test]
fn a_parked_activation_is_offered_again_when_the_resident_connects_anew() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for pause_ms in [1_000, 4_000, 0] {
        let turn = world.take();
        world.fail(&turn);
        world.pass(pause_ms);
    }
    assert!(world.try_take("s2").unwrap().is_none());
    world.pass(0);
    let turn = world.try_take("s2").unwrap().expect("a turn");
    assert_eq!(turn.task_id, task_id);
    world.tool(&turn, complete("done"));
    assert_eq!(world.end(&turn), Disposition::Settled);
}

#[test]
fn a_continuation_starts_with_all_its_attempts() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for _ in 0..4 {
        let turn = world.take();
        world.end(&turn);
    }
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    world.settle();
    for delivery in 1..=5 {
        let turn = world.take();
        assert_eq!(turn.delivery, delivery);
        world.end(&turn);
    }
}

#[test]
fn leases_that_run_out_count_as_deliveries() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for _ in 0..5 {
        world.take();
        world.pass(LEASE_MS);
    }
    assert_eq!(
        world.evidence("ann", &task_id).last().unwrap(),
        "WAKE_FAILED"
    );
    assert!(world.try_take("s1").unwrap().is_none());
}

#[test]
fn what_is_offered_again_waits_behind_what_was_there() {
    let mut world = World::of(&["ann"]);
    let first = world.submit("ann", "m1");
    let second = world.submit("ann", "m2");
    let turn = world.take();
    world.end(&turn);
    for expected in [&second, &first] {
        let turn = world.take();
        assert_eq!(turn.task_id, *expected);
        world.tool(&turn, complete("done"));
        world.end(&turn);
    }
}
