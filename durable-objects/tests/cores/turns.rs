//! Granting, keeping and ending a turn.

use durable_objects::commands::principal::{
    Disposition, Grant, PrincipalCommand, Replay, TurnOutcome,
};
use durable_objects::commands::wake_queue::{HeartbeatReply, Turn, TurnAuthority};

use crate::support::ask::{complete, question};
use crate::support::network::{Address, Message};
use crate::support::{Answer, LEASE_MS, World};

fn queue() -> Address {
    Address::Queue("resident".to_owned())
}

fn token(turn: &Turn) -> TurnAuthority {
    TurnAuthority::Token(turn.token.clone())
}

/// Begins a take and lets its `Grant` reach the principal, but not the answer the queue.
fn grant_without_answer(world: &mut World) {
    world.begin_take("resident", "s1");
    world.deliver(0);
    assert!(matches!(world.in_flight[0], Message::Reply { .. }));
}

#[test]
fn a_turn_moves_the_task_to_working_and_records_woken_before_the_resident_has_it() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    grant_without_answer(&mut world);
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_WORKING");
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "WOKEN"]);
    assert!(world.handed_out.is_empty());
}

#[test]
fn a_resident_has_one_turn_at_a_time() {
    let mut world = World::of(&["ann", "bob"]);
    world.submit("ann", "m1");
    world.submit("bob", "m1");
    let turn = world.take();
    let again = world.take();
    assert_eq!(again.turn_id, turn.turn_id);
    assert_eq!(world.queues["resident"].pending(), 1);
    world.tool(&again, complete("done"));
    world.end(&again);
    assert_ne!(world.take().task_id, turn.task_id);
    assert_eq!(
        (world.logged["turn_granted"], world.logged["turn_ended"]),
        (2, 1)
    );
}

#[test]
fn taking_again_gives_the_same_turn_under_a_fresh_token_and_the_old_token_is_void() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    let again = world.take();
    assert_eq!((&turn.turn_id, turn.delivery), (&again.turn_id, 1));
    assert_ne!(turn.token, again.token);
    let refused = world.try_tool(&turn, complete("done")).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    world.tool(&again, complete("done"));
}

#[test]
fn a_token_is_stored_only_as_a_hash() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    let secret = turn.token.rsplit('~').next().unwrap();
    let stored = crate::support::peek::dump(&world.queues["resident"].store);
    assert!(stored.contains(&turn.turn_id));
    assert!(!stored.contains(secret));
}

#[test]
fn a_heartbeat_renews_the_lease() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    for _ in 0..5 {
        world.pass(LEASE_MS - 1);
        assert_eq!(
            world.heartbeat("resident", &turn.turn_id, token(&turn)),
            Ok(HeartbeatReply::Live { lease_ms: LEASE_MS })
        );
    }
}

#[test]
fn a_tool_renews_the_lease() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    world.pass(LEASE_MS - 1);
    world.tool(
        &turn,
        durable_objects::commands::principal::Tool::Read { structured: true },
    );
    world.pass(LEASE_MS - 1);
    world.tool(&turn, complete("done"));
}

#[test]
fn a_lease_without_a_sign_of_life_ends_the_turn_and_offers_its_task_again() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.pass(LEASE_MS);
    assert_eq!(
        world.heartbeat("resident", &turn.turn_id, token(&turn)),
        Ok(HeartbeatReply::Over {
            reason: "expired".to_owned()
        })
    );
    let refused = world.try_tool(&turn, complete("late")).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    let next = world.take();
    assert_eq!(
        (next.task_id.as_str(), next.delivery),
        (task_id.as_str(), 2)
    );
}

#[test]
fn a_lease_that_has_run_out_is_not_revived_by_a_take_that_beats_the_alarm() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    world.now_ms += LEASE_MS;
    assert!(world.try_take("s1").unwrap().is_none());
    world.pass(0);
    let next = world.take();
    assert_ne!(next.turn_id, turn.turn_id);
    assert_eq!(next.delivery, 2);
}

#[test]
fn the_bearer_of_another_turns_token_speaks_for_no_turn() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let first = world.take();
    world.tool(&first, complete("done"));
    world.end(&first);
    world.submit("ann", "m2");
    let second = world.take();
    let forged = Turn {
        token: first.token,
        ..second.clone()
    };
    for authority in [token(&forged), TurnAuthority::Token("turn~".to_owned())] {
        let refused = world
            .heartbeat("resident", &second.turn_id, authority)
            .unwrap_err();
        assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    }
    assert_eq!(
        world.try_tool(&forged, complete("x")).unwrap_err().reason(),
        "TURN_NOT_LIVE"
    );
}

#[test]
fn a_tool_that_names_another_task_is_refused_and_changes_nothing() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let queued = world.submit("ann", "m2");
    let turn = world.take();
    let other = Turn {
        task_id: queued.clone(),
        ..turn
    };
    let refused = world.try_tool(&other, complete("x")).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    assert_eq!(world.state("ann", &queued), "TASK_STATE_SUBMITTED");
}

#[test]
fn a_tool_that_was_delayed_past_its_turn_is_refused_and_changes_nothing() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.begin_tool("resident", &turn, token(&turn), complete("late"));
    let delayed = world.in_flight.remove(0);
    world.end(&turn);
    world.in_flight.push(delayed);
    world.settle();
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_WORKING");
}

#[test]
fn an_end_whose_report_is_lost_is_reported_again_and_counts_once() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    world.begin_end("resident", &turn.turn_id, TurnOutcome::Ended);
    world.deliver(0);
    world.lose(0);
    // Until the principal has answered, no other turn is handed out.
    assert!(world.try_take("s1").unwrap().is_none());
    world.pass(2_000);
    assert_eq!(world.take().delivery, 2);
}

/// Lets the time pass while nothing reaches a principal, until the queue has no turn any more; and how long that took, in
/// milliseconds.
fn pass_unreachable(world: &mut World) -> i64 {
    let began_ms = world.now_ms;
    while world.queues["resident"].turn().is_some() {
        let (address, at_ms) = world.next_alarm().expect("an alarm");
        world.now_ms = world.now_ms.max(at_ms);
        assert!(world.now_ms - began_ms < 3_600_000, "held up for an hour");
        world.fire(&address);
        while !world.in_flight.is_empty() {
            match world.in_flight[0] {
                Message::Request { .. } => world.lose(0),
                Message::Reply { .. } => world.deliver(0),
            }
        }
    }
    world.now_ms - began_ms
}

#[test]
fn a_principal_that_cannot_be_told_of_an_end_holds_up_the_others_for_nine_minutes_at_most() {
    let mut world = World::of(&["ann", "bob"]);
    world.submit("ann", "m1");
    let of_bob = world.submit("bob", "m1");
    let turn = world.take();
    world.begin_end("resident", &turn.turn_id, TurnOutcome::Ended);
    world.lose(0);
    let held_ms = pass_unreachable(&mut world);
    assert!((8 * 60_000..9 * 60_000).contains(&held_ms), "{held_ms}");
    assert_eq!(world.logged["turn_end_abandoned"], 1);
    let next = world.take();
    assert_eq!(next.task_id, of_bob);
    let refused = world.try_tool(&turn, complete("late")).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    world.tool(&next, complete("done"));
    world.end(&next);
}

#[test]
fn a_turn_whose_end_was_never_told_counts_as_one_whose_lease_ran_out() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for delivery in 1..=5 {
        let turn = world.take();
        assert_eq!(turn.delivery, delivery);
        world.begin_end("resident", &turn.turn_id, TurnOutcome::Ended);
        world.lose(0);
        pass_unreachable(&mut world);
        world.pass(2_000);
    }
    assert!(world.try_take("s1").unwrap().is_none());
    let evidence = world.evidence("ann", &task_id);
    let times = |kind: &str| evidence.iter().filter(|other| *other == kind).count();
    assert_eq!((times("TURN_EXPIRED"), times("WAKE_FAILED")), (5, 1));
}

#[test]
fn a_task_that_was_settled_in_a_turn_whose_end_was_never_told_is_not_offered_again() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, complete("done"));
    world.begin_end("resident", &turn.turn_id, TurnOutcome::Ended);
    world.lose(0);
    pass_unreachable(&mut world);
    world.pass(2_000);
    assert!(world.try_take("s1").unwrap().is_none());
    assert_eq!(world.queues["resident"].pending(), 0);
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_COMPLETED");
}

#[test]
fn an_end_of_an_earlier_turn_that_comes_very_late_changes_nothing() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let first = world.take();
    world.begin_end(
        "resident",
        &first.turn_id,
        TurnOutcome::Failed("exit 1".to_owned()),
    );
    world.repeat(0);
    let late = world.in_flight.pop().unwrap();
    world.settle();
    world.pass(1_000);
    let second = world.take();
    assert_eq!(
        world.fail(&second),
        Disposition::Retrying {
            not_before_ms: world.now_ms + 4_000
        }
    );
    world.in_flight.push(late);
    world.settle();
    world.pass(4_000);
    // The third try is still there.
    assert_eq!(world.take().delivery, 3);
    assert_eq!(
        world.evidence("ann", &task_id),
        [
            "ACCEPTED",
            "WOKEN",
            "TURN_FAILED",
            "WOKEN",
            "TURN_FAILED",
            "WOKEN"
        ]
    );
}

#[test]
fn a_grant_of_an_ended_turn_that_comes_late_gives_no_authority() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    world.begin_take("resident", "s1");
    world.repeat(0);
    let late = world.in_flight.pop().unwrap();
    world.settle();
    let turn = world.take();
    world.begin_tool("resident", &turn, token(&turn), complete("late"));
    let tool = world.in_flight.remove(0);
    world.end(&turn);
    let second = world.take();
    assert_eq!(second.delivery, 2);
    world.in_flight.push(late);
    world.in_flight.push(tool);
    world.settle();
    assert_eq!(world.state("ann", &second.task_id), "TASK_STATE_WORKING");
    world.tool(&second, complete("done"));
}

#[test]
fn a_grant_whose_answer_is_lost_is_asked_for_again_and_is_one_delivery() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for _ in 0..7 {
        grant_without_answer(&mut world);
        world.lose(0);
        world.settle();
        world.pass(2_000);
    }
    let turn = world.take();
    assert_eq!(turn.delivery, 1);
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "WOKEN"]);
}

#[test]
fn a_queue_that_dies_while_it_asks_for_a_grant_offers_the_task_again_as_the_same_delivery() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    for _ in 0..7 {
        grant_without_answer(&mut world);
        world.reset(&queue());
        world.settle();
        world.pass(60_000);
    }
    assert_eq!(world.take().delivery, 1);
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "WOKEN"]);
}

#[test]
fn a_principal_that_can_not_be_reached_does_not_hold_up_the_others() {
    let mut world = World::of(&["ann", "bob"]);
    world.submit("ann", "m1");
    let of_bob = world.submit("bob", "m1");
    world.begin_take("resident", "s1");
    world.lose(0);
    world.settle();
    assert_eq!(world.take().task_id, of_bob);
}

#[test]
fn an_interrupted_task_is_not_offered_again_before_it_is_answered() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, question("which?"));
    assert_eq!(world.end(&turn), Disposition::Interrupted);
    world.pass(3_600_000);
    assert!(world.try_take("s1").unwrap().is_none());
    assert!(world.try_take("s2").unwrap().is_none());
    world.pass(60_000);
    assert!(world.try_take("s2").unwrap().is_none());
}

#[test]
fn a_take_whose_wake_is_stale_goes_on_to_the_next() {
    let mut world = World::of(&["ann"]);
    let first = world.submit("ann", "m1");
    let second = world.submit("ann", "m2");
    world.try_cancel("ann", &first).unwrap();
    // The queue never hears of the cancel.
    world.in_flight.clear();
    assert_eq!(world.take().task_id, second);
}

#[test]
fn an_old_sessions_grant_does_not_hand_it_the_new_sessions_turn() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let old = world.begin_take("resident", "s1");
    let late = world.in_flight.remove(0);
    let new = world.begin_take("resident", "s2");
    world.settle();
    world.pass(20_000);
    let newer = world.begin_take("resident", "s2");
    world.in_flight.insert(0, late);
    world.settle();
    assert!(matches!(
        world.take_answer(old),
        Some(Answer::Turn(None) | Answer::Failed(_))
    ));
    drop((world.take_answer(new), world.take_answer(newer)));
    assert!(world.try_take("s2").unwrap().is_some());
}

#[test]
fn the_end_of_a_turn_whose_task_another_queue_has_taken_decides_nothing() {
    let mut world = World::of(&["ann"]);
    world.add_principal("bob", "other");
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    // The principal is served by another resident from now on.
    let grant = |turn_id: &str| {
        PrincipalCommand::Grant(Grant {
            activation_id: 1,
            task_id: task_id.clone(),
            turn_id: turn_id.to_owned(),
        })
    };
    let assigned = PrincipalCommand::Replay(Replay {
        assigned: true,
        startup: 0,
        after: 0,
    });
    world.command("ann", Some("other"), assigned).unwrap();
    world.settle();
    world
        .command("ann", Some("other"), grant("turn-of-the-other"))
        .unwrap();
    let before = crate::support::peek::dump(&world.principals["ann"].store);
    assert_eq!(world.fail(&turn), Disposition::Reoffered);
    assert_eq!(
        crate::support::peek::dump(&world.principals["ann"].store),
        before
    );
}

#[test]
fn a_lease_that_has_run_out_is_over_even_if_its_alarm_is_late() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.now_ms += LEASE_MS;
    assert_eq!(
        world.heartbeat("resident", &turn.turn_id, token(&turn)),
        Ok(HeartbeatReply::Over {
            reason: "expired".to_owned()
        })
    );
    let refused = world.try_tool(&turn, complete("late")).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    let refused = world.try_end(&turn, TurnOutcome::Ended).unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_WORKING");
}
