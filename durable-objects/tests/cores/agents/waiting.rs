//! The task that asked: it waits, and is woken once per settlement.

use durable_objects::commands::principal::{Disposition, TurnOutcome};
use durable_objects::principal::agents::Kind;
use serde_json::json;

use super::remote::{LIFE_MS, answered, remote_task};
use crate::support::World;
use crate::support::ask::{answer_to, complete, question};

fn delegated() -> (World, durable_objects::commands::wake_queue::Turn, i64) {
    let mut world = World::with_agents();
    world.submit("ann", "m1");
    let turn = world.take();
    let call_id = world.delegated(&turn);
    (world, turn, call_id)
}

impl World {
    /// The turn after this one, which was interrupted by a settlement.
    fn take_after(
        &mut self,
        turn: &durable_objects::commands::wake_queue::Turn,
    ) -> durable_objects::commands::wake_queue::Turn {
        assert_eq!(self.end(turn), Disposition::Interrupted);
        self.take()
    }
}

#[test]
fn a_task_that_waits_for_an_agent_is_not_offered_again_until_it_settles() {
    let (mut world, turn, call_id) = delegated();
    assert_eq!(world.end(&turn), Disposition::AwaitingAgents);
    assert!(world.try_take("s1").unwrap().is_none());
    assert_eq!(world.state("ann", &turn.task_id), "TASK_STATE_WORKING");
    world.found(call_id, "WORKING");
    assert!(world.try_take("s1").unwrap().is_none());
    world.found(call_id, "COMPLETED");
    let next = world.take();
    assert_eq!((&next.task_id, next.delivery), (&turn.task_id, 1));
    assert!(
        world
            .text(&next)
            .contains("a2a://research/tasks/r TASK_STATE_COMPLETED\n")
    );
    world.tool(&next, complete("done"));
    assert_eq!(world.end(&next), Disposition::Settled);
    assert_eq!(world.claims_of_agents(), ["1.1"]);
    assert!(world.try_take("s1").unwrap().is_none());
}

#[test]
fn a_turn_that_was_lost_is_offered_again_though_an_agent_is_awaited() {
    let (mut world, turn, _) = delegated();
    let disposition = world.try_end(&turn, TurnOutcome::Expired).unwrap();
    assert_eq!(disposition, Disposition::Reoffered);
    let next = world.take();
    assert_eq!(next.delivery, 2);
    assert_eq!(world.end(&next), Disposition::AwaitingAgents);
}

#[test]
fn a_settlement_during_a_turn_gets_a_turn_of_its_own() {
    let (mut world, turn, call_id) = delegated();
    world.found(call_id, "COMPLETED");
    assert_eq!(world.end(&turn), Disposition::Interrupted);
    let next = world.take();
    assert_eq!((&next.task_id, next.delivery), (&turn.task_id, 1));
    assert_eq!(world.end(&next), Disposition::Reoffered);
}

#[test]
fn a_settlement_that_the_turn_was_told_of_needs_none() {
    let mut world = World::with_agents();
    world.submit("ann", "m1");
    let turn = world.take();
    let call_id = world.agent_send(&turn, "a2a://research");
    world.next_step(call_id).unwrap();
    let outcome = answered(200, &json!({"task": remote_task("r", "COMPLETED")}));
    world
        .step("ann", |principal| {
            principal.absorb_outcome(call_id, Kind::Send, &outcome, Some(&turn.turn_id))
        })
        .unwrap();
    world.settle();
    assert_eq!(world.claims_of_agents(), [""; 0]);
    world.tool(&turn, complete("done"));
    world.end(&turn);
    assert!(world.try_take("s1").unwrap().is_none());
}

#[test]
fn a_settlement_told_too_late_wakes_all_the_same() {
    let mut world = World::with_agents();
    world.submit("ann", "m1");
    let turn = world.take();
    let call_id = world.agent_send(&turn, "a2a://research");
    world.next_step(call_id).unwrap();
    assert_eq!(world.end(&turn), Disposition::AwaitingAgents);
    let outcome = answered(200, &json!({"task": remote_task("r", "COMPLETED")}));
    world
        .step("ann", |principal| {
            principal.absorb_outcome(call_id, Kind::Send, &outcome, Some(&turn.turn_id))
        })
        .unwrap();
    world.settle();
    assert_eq!(world.take().task_id, turn.task_id);
}

#[test]
fn many_settlements_at_once_are_read_in_one_turn() {
    let mut world = World::with_agents();
    world.submit("ann", "m1");
    let turn = world.take();
    let calls: Vec<i64> = (0..200)
        .map(|index| {
            let call_id = world.agent_send(&turn, "a2a://research");
            let task = json!({"task": remote_task(&format!("r{index}"), "WORKING")});
            world.exchange(call_id, Kind::Send, &answered(200, &task));
            call_id
        })
        .collect();
    world.end(&turn);
    for (index, call_id) in calls.iter().enumerate() {
        let task = remote_task(&format!("r{index}"), "COMPLETED");
        world.exchange(*call_id, Kind::Poll, &answered(200, &task));
    }
    assert_eq!(world.claims_of_agents().len(), 200);
    assert_eq!(world.queues["resident"].pending(), 1);
    let next = world.take();
    world.tool(&next, complete("done"));
    world.end(&next);
    assert!(world.try_take("s1").unwrap().is_none());
}

#[test]
fn a_new_session_is_not_offered_a_task_that_waits_for_an_agent() {
    let (mut world, turn, call_id) = delegated();
    world.end(&turn);
    assert!(world.try_take("s2").unwrap().is_none());
    world.found(call_id, "COMPLETED");
    assert_eq!(world.try_take("s2").unwrap().unwrap().task_id, turn.task_id);
}

#[test]
fn a_task_that_waits_for_its_caller_reads_the_settlement_at_its_next_turn() {
    let (mut world, turn, call_id) = delegated();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    world.found(call_id, "COMPLETED");
    assert_eq!(world.claims_of_agents(), ["1.1"]);
    assert!(world.try_take("s1").unwrap().is_none());
    world
        .try_send("ann", answer_to(&turn.task_id, "m2", "this"))
        .unwrap();
    world.settle();
    let next = world.take();
    assert!(
        world
            .text(&next)
            .contains("a2a://research/tasks/r TASK_STATE_COMPLETED\n")
    );
}

#[test]
fn a_terminal_task_is_not_woken_and_its_remote_task_is_let_go() {
    let (mut world, turn, call_id) = delegated();
    world.tool(&turn, complete("done without it"));
    world.end(&turn);
    assert!(world.next_step(call_id).is_none());
    assert_eq!(world.due_in(call_id), None);
    assert_eq!(world.claims_of_agents(), [""; 0]);
}

#[test]
fn canceling_a_task_asks_its_remote_tasks_to_cancel() {
    let (mut world, turn, call_id) = delegated();
    let unsent = world.agent_send(&turn, "a2a://research");
    world.try_cancel("ann", &turn.task_id).unwrap();
    assert_eq!(world.due(), [call_id]);
    assert!(world.next_step(unsent).is_none());
    let canceled = answered(200, &remote_task("r", "CANCELED"));
    let step = world.exchange(call_id, Kind::Cancel, &canceled);
    assert_eq!(
        step.exchange.url,
        "https://research.example/a2a/tasks/r:cancel"
    );
    assert_eq!(world.standing(call_id)["state"], "TASK_STATE_CANCELED");
    assert_eq!(world.claims_of_agents(), [""; 0]);
}

#[test]
fn canceling_a_task_asks_a_remote_task_that_waits_for_an_answer_to_cancel() {
    for state in ["INPUT_REQUIRED", "AUTH_REQUIRED"] {
        let (mut world, turn, call_id) = delegated();
        world.found(call_id, state);
        world.tool(&turn, question("which?"));
        world.end(&turn);
        world.now_ms += 2 * LIFE_MS;
        world.try_cancel("ann", &turn.task_id).unwrap();
        assert_eq!(world.due(), [call_id], "{state}");
        let canceled = answered(200, &remote_task("r", "CANCELED"));
        world.exchange(call_id, Kind::Cancel, &canceled);
        assert_eq!(world.standing(call_id)["state"], "TASK_STATE_CANCELED");
    }
}

#[test]
fn canceling_a_task_cancels_each_remote_task_once_and_none_that_is_settled_for_good() {
    let (mut world, turn, call_id) = delegated();
    world.found(call_id, "INPUT_REQUIRED");
    let newer = world.agent_send(&turn, "a2a://research/tasks/r");
    let done = json!({"task": remote_task("done", "COMPLETED")});
    let other = world.agent_send(&turn, "a2a://research");
    world.exchange(other, Kind::Send, &answered(200, &done));
    world.try_cancel("ann", &turn.task_id).unwrap();
    assert_eq!(world.due(), [newer]);
    let canceled = answered(200, &remote_task("r", "CANCELED"));
    world.exchange(newer, Kind::Cancel, &canceled);
    assert!(world.due().is_empty());
}

#[test]
fn a_message_to_a_task_on_its_way_when_its_own_is_canceled_and_refused_leaves_no_task_behind() {
    let (mut world, turn, call_id) = delegated();
    let more = world.agent_send(&turn, "a2a://research/tasks/r");
    world.next_step(more).unwrap();
    world.try_cancel("ann", &turn.task_id).unwrap();
    world.absorb(more, Kind::Send, &answered(400, &json!({})));
    let canceled = answered(200, &remote_task("r", "CANCELED"));
    world.exchange(call_id, Kind::Cancel, &canceled);
}

#[test]
fn a_remote_task_that_takes_no_message_is_followed_on() {
    for refusal in [
        answered(400, &json!({})),
        answered(200, &json!({"task": remote_task("another", "WORKING")})),
    ] {
        let (mut world, turn, call_id) = delegated();
        let more = world.agent_send(&turn, "a2a://research/tasks/r");
        world.exchange(more, Kind::Send, &refusal);
        let refused = world
            .step("ann", |principal| principal.call_standing(more))
            .unwrap_err();
        assert_eq!(refused.reason(), "REMOTE_FAILED");
        let again = world.take_after(&turn);
        assert_eq!(world.end(&again), Disposition::AwaitingAgents);
        world.found(call_id, "COMPLETED");
        let next = world.take();
        assert_eq!(next.task_id, turn.task_id);
        assert!(
            world
                .text(&next)
                .contains("a2a://research/tasks/r TASK_STATE_COMPLETED\n")
        );
    }
}

#[test]
fn a_question_that_takes_no_answer_is_not_told_again() {
    let (mut world, turn, call_id) = delegated();
    world.found(call_id, "INPUT_REQUIRED");
    let answer = world.agent_send(&turn, "a2a://research/tasks/r");
    world.exchange(answer, Kind::Send, &answered(400, &json!({})));
    assert!(world.due().is_empty());
    assert_eq!(world.claims_of_agents(), ["1.1", "2.1"]);
    // It can be tried again.
    world.agent_send(&turn, "a2a://research/tasks/r");
}

/// A question of the agent, answered by a message that the agent answers with a direct one.
fn answered_directly() -> (World, durable_objects::commands::wake_queue::Turn, i64) {
    let (mut world, turn, call_id) = delegated();
    world.end(&turn);
    world.found(call_id, "INPUT_REQUIRED");
    let next = world.take();
    // What followed the task before was to be given up by now: the message gives it a life of its own.
    world.now_ms += 30_000;
    world.end_life_of(call_id);
    let answer = world.agent_send(&next, "a2a://research/tasks/r");
    world.next_step(answer).unwrap();
    let message = json!({"messageId": "x", "role": "ROLE_AGENT", "parts": [{"text": "Hm?"}]});
    let outcome = answered(200, &json!({ "message": message }));
    world
        .step("ann", |principal| {
            principal.absorb_outcome(answer, Kind::Send, &outcome, Some(&next.turn_id))
        })
        .unwrap();
    assert_eq!(world.due(), [call_id]);
    (world, next, call_id)
}

#[test]
fn a_question_that_stands_after_a_direct_message_is_not_told_again() {
    let (mut world, turn, call_id) = answered_directly();
    world.found(call_id, "INPUT_REQUIRED");
    assert_eq!(world.standing(call_id)["settled"], true);
    assert_eq!(world.claims_of_agents(), ["1.1"]);
    assert!(world.due().is_empty());
    assert_ne!(world.end(&turn), Disposition::AwaitingAgents);
}

#[test]
fn a_task_that_moves_after_a_direct_message_is_followed_on() {
    for state in ["COMPLETED", "AUTH_REQUIRED"] {
        let (mut world, turn, call_id) = answered_directly();
        world.found(call_id, "WORKING");
        assert_eq!(world.end(&turn), Disposition::AwaitingAgents);
        world.found(call_id, state);
        assert_eq!(world.claims_of_agents(), ["1.1", "1.2"]);
        assert_eq!(world.take().task_id, turn.task_id);
    }
}

#[test]
fn a_turn_that_ended_before_the_look_is_not_left_waiting() {
    let (mut world, turn, call_id) = answered_directly();
    assert_eq!(world.end(&turn), Disposition::AwaitingAgents);
    world.found(call_id, "INPUT_REQUIRED");
    assert_eq!(world.take().task_id, turn.task_id);
}

#[test]
fn a_task_that_was_given_up_is_read_without_being_given_up_again() {
    let (mut world, turn, call_id) = delegated();
    world.end(&turn);
    world.end_life_of(call_id);
    assert!(world.next_step(call_id).is_none());
    world.settle();
    let next = world.take();
    world.found(call_id, "WORKING");
    assert!(world.due().is_empty());
    assert_eq!(
        world.standing(call_id)["problem"],
        "it did not settle before its deadline"
    );
    assert_ne!(world.end(&next), Disposition::AwaitingAgents);
    assert_eq!(world.claims_of_agents(), ["1.1"]);
}

#[test]
fn a_message_on_its_way_when_its_task_is_canceled_is_canceled_once_its_task_is_known() {
    let mut world = World::with_agents();
    world.submit("ann", "m1");
    let turn = world.take();
    let call_id = world.agent_send(&turn, "a2a://research");
    world.next_step(call_id).unwrap();
    world.try_cancel("ann", &turn.task_id).unwrap();
    let outcome = answered(200, &json!({"task": remote_task("r", "WORKING")}));
    world.absorb(call_id, Kind::Send, &outcome);
    world.exchange(
        call_id,
        Kind::Cancel,
        &answered(200, &remote_task("r", "CANCELED")),
    );
    assert_eq!(world.standing(call_id)["settled"], true);
}

#[test]
fn a_question_of_the_remote_agent_is_answered_under_the_same_ids() {
    let (mut world, turn, call_id) = delegated();
    world.end(&turn);
    world.found(call_id, "INPUT_REQUIRED");
    let next = world.take();
    let answer = world.agent_send(&next, "a2a://research/tasks/r");
    let step = world.next_step(answer).unwrap();
    let body: serde_json::Value = serde_json::from_str(&step.exchange.body.unwrap()).unwrap();
    assert_eq!(body["message"]["taskId"], "r");
    assert_eq!(body["message"]["contextId"], "there");
    let task = json!({"task": remote_task("r", "SUBMITTED")});
    world.absorb(answer, Kind::Send, &answered(200, &task));
    assert_eq!(world.end(&next), Disposition::AwaitingAgents);
    world.exchange(
        answer,
        Kind::Poll,
        &answered(200, &remote_task("r", "COMPLETED")),
    );
    assert_eq!(world.take().task_id, turn.task_id);
    assert_eq!(world.claims_of_agents(), ["1.1", "2.1"]);
}
