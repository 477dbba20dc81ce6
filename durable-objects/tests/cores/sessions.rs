//! Resident sessions, and what a startup offers again.

use durable_objects::commands::principal::{PrincipalCommand, Replay};
use durable_objects::commands::wake_queue::{HeartbeatReply, TurnAuthority};
use durable_objects::storage::Store;

use crate::support::World;
use crate::support::ask::{answer_to, complete, question};
use crate::support::network::Address;
use crate::support::peek::integer;

#[test]
fn a_new_session_ends_the_turn_of_the_one_before_and_gets_its_task() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let old = world.take();
    assert!(world.try_take("s2").unwrap().is_none());
    world.pass(0);
    assert_eq!(
        world.heartbeat("resident", &old.turn_id, TurnAuthority::Resident),
        Ok(HeartbeatReply::Over {
            reason: "superseded".to_owned()
        })
    );
    let refused = world.try_tool(&old, complete("late")).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    let new = world.try_take("s2").unwrap().expect("a turn");
    assert_eq!(new.task_id, task_id);
    assert_eq!(
        world.evidence("ann", &task_id),
        ["ACCEPTED", "WOKEN", "TURN_SUPERSEDED", "WOKEN"]
    );
}

#[test]
fn a_queue_that_starts_anew_does_not_wait_for_a_grant_that_nobody_awaits() {
    for granted in [false, true] {
        let mut world = World::of(&["ann"]);
        let task_id = world.submit("ann", "m1");
        world.begin_take("resident", "s1");
        if granted {
            world.deliver(0);
        }
        world.reset(&Address::Queue("resident".to_owned()));
        let turn = world.try_take("s1").unwrap().expect("a turn, at once");
        assert_eq!((turn.task_id, turn.delivery), (task_id, 1));
    }
}

#[test]
fn an_older_session_is_told_that_it_was_superseded() {
    let mut world = World::of(&["ann"]);
    world.try_take("s1").unwrap();
    world.try_take("s2").unwrap();
    let refused = world.try_take("s1").unwrap_err();
    assert_eq!(refused.reason(), "SESSION_SUPERSEDED");
    world.try_take("s2").unwrap();
}

#[test]
fn startup_offers_only_the_newest_accepted_activation_of_a_task() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    world.settle();
    world.try_take("s2").unwrap();
    world.pass(60_000);
    let turn = world.try_take("s2").unwrap().expect("a turn");
    world.tool(&turn, complete("done"));
    world.end(&turn);
    assert!(world.try_take("s2").unwrap().is_none());
}

#[test]
fn startup_offers_nothing_of_a_settled_task() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, complete("done"));
    world.end(&turn);
    world.try_take("s2").unwrap();
    world.pass(60_000);
    assert_eq!(world.queues["resident"].pending(), 0);
}

#[test]
fn startup_recovers_every_principals_work_even_if_one_can_not_be_reached() {
    let mut world = World::of(&["ann", "bob"]);
    let of_ann = world.submit("ann", "m1");
    let of_bob = world.submit("bob", "m1");
    for _ in 0..2 {
        for pause_ms in [1_000, 4_000, 0] {
            let turn = world.take();
            world.fail(&turn);
            let other = world.take();
            world.fail(&other);
            world.pass(pause_ms);
        }
        if world
            .evidence("bob", &of_bob)
            .contains(&"UNHEALTHY".to_owned())
        {
            break;
        }
    }
    world.try_take("s2").unwrap();
    let address = world.next_alarm().unwrap().0;
    world.fire(&address);
    world.lose(0);
    world.settle();
    let next = world
        .try_take("s2")
        .unwrap()
        .expect("of the other principal");
    world.tool(&next, complete("done"));
    world.end(&next);
    world.pass(10_000);
    let last = world.try_take("s2").unwrap().expect("of the first");
    assert_ne!(last.task_id, next.task_id);
    assert!([of_ann, of_bob].contains(&last.task_id));
}

#[test]
fn startup_asks_for_many_tasks_batch_by_batch_and_misses_none() {
    let mut world = World::of(&["ann"]);
    let tasks: Vec<_> = (0..300)
        .map(|n| world.send("ann", &format!("m{n}")))
        .collect();
    // None of them reached the queue.
    while !world.in_flight.is_empty() {
        world.in_flight.pop();
    }
    let store = &world.principals["ann"].store;
    store.execute("DELETE FROM outbox", &[]).unwrap();
    world.try_take("s1").unwrap();
    world.fire(&Address::Queue("resident".to_owned()));
    let mut batches = 0;
    while let Some(index) = world
        .in_flight
        .iter()
        .position(|message| format!("{message:?}").contains("Replay("))
    {
        batches += 1;
        world.deliver(index);
        let owed = integer(
            &world.principals["ann"].store,
            "SELECT count(*) FROM outbox",
            &[],
        );
        assert!(owed <= 128 * batches, "{owed} after {batches}");
    }
    // Two messages a batch: what is asked, and what is answered.
    assert_eq!(batches, 2 * 3);
    let offered = integer(
        &world.principals["ann"].store,
        "SELECT count(*) FROM outbox",
        &[],
    );
    assert_eq!(usize::try_from(offered), Ok(tasks.len()));
}

/// Fails a task's turns until it is parked.
fn park(world: &mut World) {
    for pause_ms in [1_000, 4_000, 0] {
        let turn = world.take();
        world.fail(&turn);
        world.pass(pause_ms);
    }
    assert!(world.try_take("s1").unwrap().is_none());
}

#[test]
fn a_replay_that_comes_late_or_twice_gives_nothing_parked_its_attempts_anew() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let again = |startup| {
        PrincipalCommand::Replay(Replay {
            assigned: true,
            startup,
            after: 0,
        })
    };
    assert!(world.try_take("s1").unwrap().is_some());
    world.pass(60_000);
    park(&mut world);
    world.command("ann", None, again(0)).unwrap();
    world.pass(60_000);
    assert!(world.try_take("s1").unwrap().is_none());
    // A startup that is one offers it again, and an earlier one that comes after it changes nothing.
    world.try_take("s2").unwrap();
    world.pass(0);
    for pause_ms in [1_000, 4_000, 0] {
        let turn = world.try_take("s2").unwrap().expect("offered anew");
        assert_eq!(turn.task_id, task_id);
        world.fail(&turn);
        world.pass(pause_ms);
    }
    for startup in [0, 1] {
        world.command("ann", None, again(startup)).unwrap();
        world.pass(60_000);
        assert!(world.try_take("s2").unwrap().is_none());
    }
}

#[test]
fn a_turn_that_a_startup_cuts_short_counts_as_a_delivery_only_if_the_resident_was_heard_in_it() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let mut sessions = (0..).map(|n| format!("s{n}"));
    let mut turn_of_new_session = |world: &mut World| {
        let session = sessions.next().unwrap();
        world.try_take(&session).unwrap();
        world.pass(0);
        world.try_take(&session).unwrap()
    };
    for _ in 0..8 {
        let turn = turn_of_new_session(&mut world).expect("a turn");
        assert_eq!((&turn.task_id, turn.delivery), (&task_id, 1));
    }
    // From now on the agent begins, and takes its resident along.
    for delivery in 1..=5 {
        let turn = turn_of_new_session(&mut world).expect("a turn");
        assert_eq!(turn.delivery, delivery);
        world
            .heartbeat("resident", &turn.turn_id, TurnAuthority::Resident)
            .unwrap();
    }
    assert!(turn_of_new_session(&mut world).is_none());
    assert_eq!(
        world.evidence("ann", &task_id).last().unwrap(),
        "WAKE_FAILED"
    );
}
