//! The tools' effects on the task.

use durable_objects::commands::principal::{Send, Tool, ToolReply};
use protocol::extensions::{Activated, ELICITATION_URI, Extension, OUTFITTER_TASK_URI};
use serde_json::{Value as Json, json};

use crate::support::World;
use crate::support::ask::{answer_to, complete, message, output, question, raw, reject, state};

/// What the first watcher of ann's tasks saw.
fn frames(world: &World) -> Vec<Json> {
    world.principals["ann"].watchers[0]
        .frames
        .iter()
        .map(|(_, frame)| serde_json::from_str(frame).unwrap())
        .collect()
}

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
        response: Some(raw(&json!([{ "text": "done" }]))),
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
        response: Some(raw(&json!([{ "text": "x".repeat(1024 * 1024) }]))),
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

#[test]
fn the_folded_stream_of_a_response_equals_the_stored_artifact() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.watch("ann", &task_id).unwrap();
    for (text, append, last) in [("a", false, false), ("b", true, false), ("c", true, true)] {
        let chunk = Tool::AppendResponse {
            parts: raw(&json!([{ "text": text }])),
            append,
            last,
        };
        world.tool(&turn, chunk);
    }
    let more = Tool::AppendResponse {
        parts: raw(&json!([{ "text": "d" }])),
        append: true,
        last: false,
    };
    let sealed = world.try_tool(&turn, more).unwrap_err();
    assert_eq!(sealed.reason(), "UNSUPPORTED_OPERATION");
    let done = Tool::Complete {
        response: None,
        outputs: Vec::new(),
    };
    world.tool(&turn, done);
    let task = world.get("ann", &task_id);
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    let folded: Vec<Json> = frames(&world)
        .iter()
        .filter_map(|frame| frame["artifactUpdate"]["artifact"]["parts"].as_array())
        .flatten()
        .cloned()
        .collect();
    assert_eq!(task["artifacts"][0]["parts"], Json::Array(folded));
}

#[test]
fn completing_what_was_left_open_shows_a_last_chunk() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.watch("ann", &task_id).unwrap();
    for (text, append) in [("a", false), ("b", true)] {
        let chunk = Tool::AppendResponse {
            parts: raw(&json!([{ "text": text }])),
            append,
            last: false,
        };
        world.tool(&turn, chunk);
    }
    let done = Tool::Complete {
        response: None,
        outputs: Vec::new(),
    };
    world.tool(&turn, done);
    let updates: Vec<Json> = frames(&world)
        .iter()
        .filter_map(|frame| frame.get("artifactUpdate").cloned())
        .collect();
    let last = updates.last().unwrap();
    assert_eq!(
        (&last["append"], &last["lastChunk"]),
        (&json!(true), &json!(true))
    );
    assert!(
        updates
            .iter()
            .rev()
            .skip(1)
            .all(|update| update.get("lastChunk").is_none())
    );
    let folded: Vec<Json> = updates
        .iter()
        .filter_map(|update| update["artifact"]["parts"].as_array())
        .flatten()
        .cloned()
        .collect();
    let task = world.get("ann", &task_id);
    assert_eq!(task["artifacts"][0]["parts"], Json::Array(folded));
}

#[test]
fn completing_without_a_response_is_refused_unless_one_was_appended() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    let turn = world.take();
    let done = Tool::Complete {
        response: None,
        outputs: Vec::new(),
    };
    assert_eq!(
        world.try_tool(&turn, done).unwrap_err().reason(),
        "INVALID_REQUEST"
    );
}

#[test]
fn a_status_note_is_shown_to_watchers_and_is_not_history() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.watch("ann", &task_id).unwrap();
    let note = Tool::ReportProgress {
        note: "half way".to_owned(),
    };
    world.tool(&turn, note);
    let frames = frames(&world);
    let status = &frames.last().unwrap()["statusUpdate"]["status"];
    assert_eq!(status["state"], "TASK_STATE_WORKING");
    assert_eq!(status["message"]["parts"][0]["text"], "half way");
    assert_eq!(
        world.get("ann", &task_id)["history"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_typed_answer_is_checked_against_its_question_and_a_plain_one_is_always_taken() {
    let mut world = World::of(&["ann"]);
    let mut asking = message("m1", "hello");
    asking.extensions = Activated::NONE.with(Extension::Elicitation);
    let task = world.try_send("ann", asking).unwrap();
    let task_id = task["id"].as_str().unwrap().to_owned();
    world.settle();
    let turn = world.take();
    let question = Tool::RequireInput {
        question: "how many?".to_owned(),
        requested_schema: Some(raw(&json!({
            "type": "object",
            "properties": { "count": { "type": "integer" } },
            "required": ["count"],
        }))),
        auth: false,
    };
    world.tool(&turn, question);
    world.end(&turn);
    let typed = |message_id: &str, data: Json| {
        let mut answer = answer_to(&task_id, message_id, "");
        answer.message = raw(&json!({
            "messageId": message_id, "role": "ROLE_USER", "parts": [{ "data": data }],
        }));
        answer
    };
    for (index, wrong) in [
        json!({ "action": "perhaps" }),
        json!({ "action": "accept", "content": { "count": "many" } }),
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "decline", "content": {} }),
    ]
    .into_iter()
    .enumerate()
    {
        let refused = world.try_send("ann", typed(&format!("w{index}"), wrong));
        assert_eq!(refused.unwrap_err().reason(), "INVALID_REQUEST");
    }
    assert_eq!(
        world.get("ann", &task_id)["history"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let right = json!({ "action": "accept", "content": { "count": 3 } });
    let task = world.try_send("ann", typed("r1", right.clone())).unwrap();
    assert_eq!(state(&task), "TASK_STATE_SUBMITTED");
    assert_eq!(task["history"][2]["parts"][0]["data"], right);
}

#[test]
fn a_task_stays_small_enough_to_be_answered_whole() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    let large =
        |name: &str| Tool::RecordOutput(output(name, json!({ "text": "x".repeat(400_000) })));
    let refused = (0..20)
        .find_map(|n| world.try_tool(&turn, large(&format!("o{n}"))).err())
        .expect("a cap");
    assert_eq!(refused.reason(), "PAYLOAD_TOO_LARGE");
    // What is there already may be recorded anew, and the task can be settled.
    world.try_tool(&turn, large("o0")).unwrap();
    world.try_tool(&turn, complete("done")).unwrap();
    assert!(world.get("ann", &task_id).to_string().len() < 9 * 1024 * 1024);
}
