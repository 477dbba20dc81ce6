//! What remote agents gave, by address, and the catalog.

use durable_objects::commands::principal::ToolReply;
use durable_objects::commands::wake_queue::Turn;
use durable_objects::principal::agents::{Kind, UnderTurn, address};
use serde_json::{Value as Json, json};

use super::remote::{answered, remote_task};
use crate::support::ask::complete;
use crate::support::{Failure, World};

impl World {
    fn try_resource(&mut self, at: &str) -> Result<Json, Failure> {
        let at = address(at).unwrap();
        let reply = self.step("ann", |principal| principal.read_resource(&at, true))?;
        match reply {
            ToolReply::Json(json) => {
                let mut read: Json = serde_json::from_str(json.get()).unwrap();
                Ok(read["resource"].take())
            }
            other => panic!("no JSON: {other:?}"),
        }
    }

    fn resource_text(&mut self, at: &str) -> String {
        let at = address(at).unwrap();
        match self
            .step("ann", |principal| principal.read_resource(&at, false))
            .unwrap()
        {
            ToolReply::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    fn try_agent_cancel(&mut self, turn: &Turn, at: &str) -> Result<i64, Failure> {
        let at = address(at).unwrap();
        let under = UnderTurn {
            turn_id: &turn.turn_id,
            task_id: &turn.task_id,
        };
        self.step("ann", |principal| principal.begin_agent_cancel(under, &at))
    }
}

fn started() -> (World, Turn) {
    let mut world = World::with_agents();
    world.submit("ann", "m1");
    let turn = world.take();
    (world, turn)
}

#[test]
fn several_artifacts_stay_several() {
    let (mut world, turn) = started();
    let call_id = world.delegated(&turn);
    let mut task = remote_task("r", "COMPLETED");
    task["artifacts"] = json!([
        {"artifactId": "a", "parts": [{"text": "first"}]},
        {"artifactId": "b/c", "parts": [{"data": {"n": 1.5}}]},
    ]);
    world.exchange(call_id, Kind::Poll, &answered(200, &task));
    assert_eq!(world.try_resource("a2a://research/tasks/r").unwrap(), task);
    for (at, index) in [("a", 0), ("b%2Fc", 1)] {
        let at = format!("a2a://research/tasks/r/artifacts/{at}");
        assert_eq!(world.try_resource(&at).unwrap(), task["artifacts"][index]);
    }
    let text = world.resource_text("a2a://research/tasks/r");
    assert!(text.contains("a2a://research/tasks/r/artifacts/b%2Fc"));
    assert!(text.contains("| first"));
    let missing = world
        .try_resource("a2a://research/tasks/r/artifacts/x")
        .unwrap_err();
    assert_eq!(missing.reason(), "NOT_FOUND");
}

#[test]
fn a_card_is_read_without_where_its_agent_is() {
    let (mut world, turn) = started();
    world.delegated(&turn);
    let card = world.try_resource("a2a://research").unwrap();
    assert_eq!(card["name"], "Research Agent");
    assert!(!card.to_string().contains("research.example"));
    assert!(
        !world
            .resource_text("a2a://research")
            .contains("research.example")
    );
}

#[test]
fn a_turn_reads_one_line_of_each_enabled_and_prepared_agent() {
    let (mut world, turn) = started();
    let line = "a2a://research — Research Agent v2.0: Finds things out.\n";
    assert!(!world.text(&turn).contains("a2a://"));
    world.prepare("ann", "research");
    let text = world.text(&turn);
    let (ours, theirs) = text.split_once("<<<BEGIN").unwrap();
    assert!(ours.contains(line), "{ours}");
    assert!(!theirs.contains("a2a://"));
    assert!(!text.contains("research.example"));
}

#[test]
fn another_task_of_the_principal_changes_nothing_of_a_call_before_its_own_task_is_settled() {
    let (mut world, turn) = started();
    world.delegated(&turn);
    world.end(&turn);
    world.submit("ann", "m2");
    let other = world.take();
    let at = "a2a://research/tasks/r";
    assert_eq!(
        world.try_agent_send(&other, at, None).unwrap_err().reason(),
        "TASK_NOT_FOUND"
    );
    assert_eq!(
        world.try_agent_cancel(&other, at).unwrap_err().reason(),
        "TASK_NOT_FOUND"
    );
    world.try_cancel("ann", &turn.task_id).unwrap();
    world.exchange(
        1,
        Kind::Cancel,
        &answered(200, &remote_task("r", "INPUT_REQUIRED")),
    );
    world.try_agent_send(&other, at, None).unwrap();
}

#[test]
fn a_terminal_remote_task_takes_no_message_and_no_cancel() {
    let (mut world, turn) = started();
    let call_id = world.delegated(&turn);
    world.found(call_id, "COMPLETED");
    let at = "a2a://research/tasks/r";
    let refused = world.try_agent_send(&turn, at, None).unwrap_err();
    assert_eq!(refused.reason(), "UNSUPPORTED_OPERATION");
    assert_eq!(
        world.try_agent_cancel(&turn, at).unwrap_err().reason(),
        "TASK_NOT_CANCELABLE"
    );
}

#[test]
fn a_tool_cancels_a_remote_task() {
    let (mut world, turn) = started();
    world.delegated(&turn);
    let call_id = world
        .try_agent_cancel(&turn, "a2a://research/tasks/r")
        .unwrap();
    world.exchange(
        call_id,
        Kind::Cancel,
        &answered(200, &remote_task("r", "CANCELED")),
    );
    assert_eq!(world.standing(call_id)["state"], "TASK_STATE_CANCELED");
    assert_eq!(world.claims_of_agents(), ["1.1"]);
}

#[test]
fn a_task_that_cannot_be_canceled_is_followed_on() {
    let (mut world, turn) = started();
    world.delegated(&turn);
    let call_id = world
        .try_agent_cancel(&turn, "a2a://research/tasks/r")
        .unwrap();
    world.exchange(call_id, Kind::Cancel, &answered(400, &json!({})));
    world.found(call_id, "COMPLETED");
    assert_eq!(world.standing(call_id)["state"], "TASK_STATE_COMPLETED");
}

#[test]
fn an_unknown_address_is_answered_with_nothing_there() {
    let (mut world, turn) = started();
    for at in [
        "a2a://research/tasks/x",
        "a2a://research/messages/x",
        "a2a://unknown",
    ] {
        assert_eq!(
            world.try_resource(at).unwrap_err().reason(),
            "NOT_FOUND",
            "{at}"
        );
    }
    world.tool(&turn, complete("done"));
}
