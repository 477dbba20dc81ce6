//! The tools' effects on the task.

use durable_objects::commands::principal::{Send, Tool, ToolReply};
use protocol::extensions::{Activated, ELICITATION_URI, Extension, OUTFITTER_TASK_URI};
use serde_json::{Value as Json, json};

use crate::support::World;
use crate::support::ask::{complete, message, output, question, raw, reject};

fn schema_question() -> Tool {
    Tool::RequireInput {
        question: "which?".to_owned(),
        requested_schema: Some(raw(&json!({
            "type": "object",
            "properties": { "name": { "type": "string" } },
        }))),
        auth: false,
    }
}

#[test]
fn completing_records_the_outputs_and_then_the_response() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    let tool = Tool::Complete {
        response: raw(&json!([{ "text": "done" }])),
        outputs: vec![output("report", json!({ "title": "one" }))],
    };
    let ToolReply::State(state) = world.tool(&turn, tool) else {
        panic!("a state");
    };
    assert_eq!(state, "TASK_STATE_COMPLETED");
    let artifacts = world.get("ann", &task_id)["artifacts"].clone();
    assert_eq!(artifacts[0]["name"], "report");
    assert_eq!(
        artifacts[0]["metadata"]["outfitter-task/v1"],
        json!({ "output": "report", "type": "document", "value": { "title": "one" } })
    );
    assert_eq!(artifacts[1]["parts"], json!([{ "text": "done" }]));
    assert_eq!(artifacts.as_array().unwrap().len(), 2);
}

#[test]
fn an_output_recorded_again_replaces_itself() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    for title in ["one", "two"] {
        world.tool(
            &turn,
            Tool::RecordOutput(output("report", json!({ "title": title }))),
        );
    }
    let artifacts = world.get("ann", &task_id)["artifacts"].clone();
    assert_eq!(artifacts.as_array().unwrap().len(), 1);
    assert_eq!(artifacts[0]["parts"][0]["data"]["title"], "two");
}

#[test]
fn rejecting_says_why_in_the_status_and_the_history() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, reject("not mine"));
    let task = world.get("ann", &task_id);
    assert_eq!(task["status"]["state"], "TASK_STATE_REJECTED");
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "not mine");
    assert_eq!(task["history"][1], task["status"]["message"]);
}

#[test]
fn a_settled_task_takes_no_second_tool_in_the_same_turn() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.tool(&turn, complete("done"));
    for tool in [
        complete("again"),
        reject("no"),
        question("which?"),
        Tool::RecordOutput(output("report", json!({}))),
    ] {
        let refused = world.try_tool(&turn, tool).unwrap_err();
        assert_eq!(refused.reason(), "TURN_NOT_LIVE");
    }
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_COMPLETED");
}

#[test]
fn an_artifact_over_a_mebibyte_is_refused_and_nothing_of_the_call_is_kept() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    let tool = Tool::Complete {
        response: raw(&json!([{ "text": "x".repeat(1024 * 1024) }])),
        outputs: vec![output("report", json!({}))],
    };
    world.try_tool(&turn, tool).unwrap_err();
    let task = world.get("ann", &task_id);
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(task.get("artifacts"), None);
}

#[test]
fn a_typed_question_is_emitted_only_to_a_caller_that_activated_elicitation() {
    let asked = |extensions: Activated| -> Json {
        let mut world = World::of(&["ann"]);
        let send = Send {
            extensions,
            ..message("m1", "hi")
        };
        let task = world.try_send("ann", send).unwrap();
        world.settle();
        let turn = world.take();
        world.tool(&turn, schema_question());
        world.get("ann", task["id"].as_str().unwrap())["status"]["message"].clone()
    };
    let plain = asked(Activated::NONE);
    assert_eq!(plain["parts"], json!([{ "text": "which?" }]));
    assert_eq!(plain.get("extensions"), None);
    let typed = asked(Activated::NONE.with(Extension::Elicitation));
    assert_eq!(typed["parts"][0], json!({ "text": "which?" }));
    assert_eq!(typed["parts"][1]["data"]["message"], "which?");
    assert_eq!(typed["extensions"], json!([ELICITATION_URI]));
}

#[test]
fn an_output_names_its_extension_only_where_the_caller_activated_it() {
    let recorded = |extensions: Activated| -> Json {
        let mut world = World::of(&["ann"]);
        let send = Send {
            extensions,
            ..message("m1", "hi")
        };
        let task = world.try_send("ann", send).unwrap();
        world.settle();
        let turn = world.take();
        world.tool(&turn, Tool::RecordOutput(output("report", json!({}))));
        world.get("ann", task["id"].as_str().unwrap())["artifacts"][0].clone()
    };
    assert_eq!(recorded(Activated::NONE).get("extensions"), None);
    let activated = recorded(Activated::NONE.with(Extension::OutfitterTask));
    assert_eq!(activated["extensions"], json!([OUTFITTER_TASK_URI]));
}
