//! Sending to remote agents and following what they do, whatever they do.

use durable_objects::principal::agents::{Kind, Outcome, take_over};
use durable_objects::storage::Transactional;
use serde_json::json;

use super::remote::{LIFE_MS, answered, remote_task};
use crate::support::World;
use crate::support::ask::complete;

fn started() -> (World, durable_objects::commands::wake_queue::Turn) {
    let mut world = World::with_agents();
    world.submit("ann", "m1");
    let turn = world.take();
    (world, turn)
}

#[test]
fn a_message_is_stored_before_it_is_sent_and_sent_under_one_id_however_often() {
    let (mut world, turn) = started();
    let call_id = world.agent_send(&turn, "a2a://research");
    let first = world.next_step(call_id).unwrap();
    assert_eq!(first.kind, Kind::Send);
    assert_eq!(
        first.exchange.url,
        "https://research.example/a2a/message:send"
    );
    world.absorb(call_id, Kind::Send, &Outcome::TimedOut);
    assert_eq!(world.due_in(call_id), Some(1_000));
    let second = world.next_step(call_id).unwrap();
    assert_eq!(second.exchange, first.exchange);
    let task = json!({"task": remote_task("r", "WORKING")});
    world.absorb(call_id, Kind::Send, &answered(200, &task));
    let standing = world.standing(call_id);
    assert_eq!(standing["address"], "a2a://research/tasks/r");
    assert_eq!(
        (&standing["settled"], &standing["contextId"]),
        (&json!(false), &json!("there"))
    );
}

#[test]
fn the_same_message_id_under_one_task_is_one_call() {
    let (mut world, turn) = started();
    let first = world
        .try_agent_send(&turn, "a2a://research", Some("a"))
        .unwrap();
    let again = world
        .try_agent_send(&turn, "a2a://research", Some("a"))
        .unwrap();
    let other = world
        .try_agent_send(&turn, "a2a://research", Some("b"))
        .unwrap();
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn only_the_live_turn_sends() {
    let (mut world, turn) = started();
    world.tool(&turn, complete("done"));
    let refused = world
        .try_agent_send(&turn, "a2a://research", None)
        .unwrap_err();
    assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    assert_eq!(world.count("ann", "remote_calls"), 0);
}

#[test]
fn a_direct_message_makes_a_message_and_no_task() {
    let (mut world, turn) = started();
    let call_id = world.agent_send(&turn, "a2a://research");
    let message = json!({"messageId": "x", "role": "ROLE_AGENT", "parts": [{"text": "42"}]});
    world.exchange(
        call_id,
        Kind::Send,
        &answered(200, &json!({ "message": message })),
    );
    let standing = world.standing(call_id);
    assert_eq!(standing["address"], "a2a://research/messages/x");
    assert_eq!(standing["settled"], true);
    assert_eq!(standing.get("state"), None);
    assert!(world.next_step(call_id).is_none());
}

#[test]
fn a_task_is_looked_at_less_and_less_often_until_it_moves() {
    let (mut world, turn) = started();
    let call_id = world.delegated(&turn);
    let mut pauses = Vec::new();
    for _ in 0..9 {
        pauses.push(world.due_in(call_id).unwrap());
        world.now_ms += 61_000;
        assert_eq!(world.due(), [call_id]);
        world.found(call_id, "WORKING");
    }
    assert_eq!(
        pauses,
        [
            1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000
        ]
    );
    assert!(world.due().is_empty());
}

#[test]
fn what_a_dead_object_was_at_is_due_in_its_next_life() {
    let (mut world, turn) = started();
    let call_id = world.delegated(&turn);
    world.now_ms += 1_000;
    assert_eq!(world.due(), [call_id]);
    assert!(world.due().is_empty());
    let now_ms = world.now_ms;
    let store = &world.principals["ann"].store;
    store.transaction(|store| take_over(store, now_ms)).unwrap();
    assert_eq!(world.due(), [call_id]);
}

#[test]
fn an_agent_that_never_answers_is_given_up() {
    let (mut world, turn) = started();
    let sent = world.agent_send(&turn, "a2a://research");
    for _ in 0..5 {
        world.exchange(sent, Kind::Send, &Outcome::TimedOut);
        world.now_ms += 60_000;
    }
    assert!(world.next_step(sent).is_none());
    let refused = world
        .step("ann", |principal| principal.call_standing(sent))
        .unwrap_err();
    assert_eq!(refused.reason(), "REMOTE_FAILED");

    let followed = world.delegated(&turn);
    for _ in 0..20 {
        world.exchange(followed, Kind::Poll, &Outcome::Unreachable);
        world.now_ms += 60_000;
    }
    assert_eq!(world.standing(followed)["settled"], false);
    world.now_ms += LIFE_MS;
    assert!(world.next_step(followed).is_none());
    let standing = world.standing(followed);
    assert_eq!(standing["settled"], true);
    assert_eq!(standing["problem"], "it did not settle before its deadline");
    assert_eq!(world.claims_of_agents().len(), 2);
}

#[test]
fn an_agent_that_answers_garbage_is_given_up_after_five_times() {
    for garbage in [
        json!({"hello": "world"}),
        json!({"id": "r", "status": {"state": "working"}}),
        remote_task("another", "COMPLETED"),
        remote_task("r", "SUBMITTED"),
    ] {
        let (mut world, turn) = started();
        let call_id = world.delegated(&turn);
        for _ in 0..5 {
            assert_eq!(world.standing(call_id)["settled"], false);
            world.exchange(call_id, Kind::Poll, &answered(200, &garbage));
        }
        let standing = world.standing(call_id);
        assert_eq!(standing["settled"], true, "{garbage}");
        assert_eq!(standing["state"], "TASK_STATE_WORKING", "{garbage}");
        assert!(standing["problem"].is_string());
        assert_eq!(world.claims_of_agents(), ["1.1"]);
    }
}

#[test]
fn garbage_in_between_changes_nothing() {
    let (mut world, turn) = started();
    let call_id = world.delegated(&turn);
    for _ in 0..4 {
        world.exchange(call_id, Kind::Poll, &answered(200, &json!({})));
        world.exchange(
            call_id,
            Kind::Poll,
            &answered(200, &remote_task("r", "SUBMITTED")),
        );
        world.found(call_id, "WORKING");
    }
    world.found(call_id, "COMPLETED");
    assert_eq!(world.standing(call_id)["state"], "TASK_STATE_COMPLETED");
}

#[test]
fn a_refusal_settles_and_names_the_agents_reason() {
    let body = json!({"error": {"details": [{"reason": "TASK_NOT_FOUND"}]}});
    let (mut world, turn) = started();
    let call_id = world.delegated(&turn);
    world.exchange(call_id, Kind::Poll, &answered(404, &body));
    assert_eq!(
        world.standing(call_id)["problem"],
        "it answered 404 TASK_NOT_FOUND"
    );
}

#[test]
fn a_redirect_is_not_followed() {
    let (mut world, turn) = started();
    let call_id = world.agent_send(&turn, "a2a://research");
    world.exchange(call_id, Kind::Send, &answered(307, &json!({})));
    let refused = world
        .step("ann", |principal| principal.call_standing(call_id))
        .unwrap_err();
    assert_eq!(refused.reason(), "REMOTE_FAILED");
    assert!(world.next_step(call_id).is_none());
}

#[test]
fn a_disabled_agent_is_not_asked_again() {
    use durable_objects::commands::agents::AgentsCommand;
    use durable_objects::commands::principal::PrincipalCommand;
    let (mut world, turn) = started();
    let call_id = world.delegated(&turn);
    let disable = AgentsCommand::Disable {
        alias: "research".to_owned(),
    };
    world
        .command("ann", None, PrincipalCommand::Agents(disable))
        .unwrap();
    let step = world.next_step(call_id).unwrap();
    assert_eq!(step.definition, None);
    world.absorb(call_id, Kind::Poll, &Outcome::Withdrawn);
    assert_eq!(world.standing(call_id)["settled"], true);
}

#[test]
fn calls_are_bounded_for_each_task() {
    let (mut world, turn) = started();
    for _ in 0..256 {
        world.agent_send(&turn, "a2a://research");
    }
    let refused = world
        .try_agent_send(&turn, "a2a://research", None)
        .unwrap_err();
    assert_eq!(refused.reason(), "RESOURCE_EXHAUSTED");
}

#[test]
fn a_context_whose_id_is_none_is_not_told() {
    let (mut world, turn) = started();
    let call_id = world.agent_send(&turn, "a2a://research");
    let mut task = remote_task("r", "WORKING");
    task["contextId"] = json!("x".repeat(100_000));
    world.exchange(
        call_id,
        Kind::Send,
        &answered(200, &json!({ "task": task })),
    );
    assert_eq!(world.standing(call_id).get("contextId"), None);
}
