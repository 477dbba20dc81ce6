//! `resident read | complete | reject | output | ask | append | progress`, in the environment of a turn.

use std::process::Output;

use serde_json::{Value, json};

use crate::process::{folder, tool, tool_with};
use crate::standin::{Fault, Standin, Task, Turn};

/// A stand-in with one task and its granted turn.
fn turn_on(text: &str) -> (Standin, Turn) {
    let standin = Standin::start();
    standin.send(text);
    let turn = standin.grant();
    (standin, turn)
}

fn task(standin: &Standin) -> Task {
    standin.state().tasks["task-1"].clone()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn shown(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn read_prints_the_task_between_its_markers() {
    let (standin, turn) = turn_on("first line\nsecond line");
    let output = tool(&standin, &turn, &["read"], b"");
    assert_eq!(
        shown(&output),
        "<<<untrusted\n| first line\n| second line\nuntrusted>>>\n"
    );
}

#[test]
fn read_json_prints_the_task_and_what_was_asked_for() {
    let (standin, turn) = turn_on("hello");
    let output = tool(&standin, &turn, &["read", "--json"], b"");
    let read: Value = serde_json::from_str(&shown(&output)).unwrap();
    assert_eq!(read["task"]["id"], "task-1");
    assert_eq!(read["task"]["history"][0]["parts"][0]["text"], "hello");
    assert_eq!(read["request"]["acceptedOutputModes"], json!([]));
}

#[test]
fn read_text_prints_only_what_the_caller_wrote_last() {
    let (standin, turn) = turn_on("first line\n$(second) line");
    assert_eq!(
        shown(&tool(&standin, &turn, &["read", "--text"], b"")),
        "first line\n$(second) line\n"
    );
    assert_eq!(
        shown(&tool(&standin, &turn, &["read", "--question"], b"")),
        ""
    );
}

#[test]
fn read_question_prints_what_the_newest_message_answers() {
    let (standin, turn) = turn_on("paint it");
    tool(&standin, &turn, &["ask", "Which colour?"], b"");
    standin.answer("task-1", "blue");
    assert_eq!(
        shown(&tool(&standin, &turn, &["read", "--question"], b"")),
        "Which colour?\n"
    );
    assert_eq!(
        shown(&tool(&standin, &turn, &["read", "--text"], b"")),
        "blue\n"
    );
}

#[test]
fn complete_sends_the_argument_or_stdin() {
    let cases: [(&[&str], &[u8]); 3] = [
        (&["complete", "two\nlines"], b""),
        (&["complete", "-"], b"two\nlines\n"),
        (&["complete"], b"two\nlines\n"),
    ];
    for (arguments, stdin) in cases {
        let (standin, turn) = turn_on("hello");
        assert_eq!(shown(&tool(&standin, &turn, arguments, stdin)), "");
        let task = task(&standin);
        assert_eq!(task.state, "TASK_STATE_COMPLETED");
        let completion = task.completion.unwrap();
        assert_eq!(completion["response"], "two\nlines");
        assert!(completion.get("parts").is_none() && completion.get("outputs").is_none());
    }
}

#[test]
fn complete_carries_outputs_and_files() {
    let (standin, turn) = turn_on("hello");
    let path = folder().join("chart.png");
    std::fs::write(&path, [0xff, 0x00]).unwrap();
    let arguments = [
        "complete",
        "--output",
        "report={\"url\": \"https://example.org/?a=b\"}",
        "--part-file",
        path.to_str().unwrap(),
        "done",
    ];
    shown(&tool(&standin, &turn, &arguments, b""));
    let completion = task(&standin).completion.unwrap();
    assert_eq!(
        completion["outputs"],
        json!([{"output": "report", "value": {"url": "https://example.org/?a=b"}}])
    );
    assert_eq!(
        completion["parts"],
        json!([{"raw": "/wA=", "mediaType": "image/png", "filename": "chart.png"}])
    );
}

#[test]
fn reject_gives_the_reason() {
    let (standin, turn) = turn_on("hello");
    shown(&tool(&standin, &turn, &["reject", "not my trade"], b""));
    let task = task(&standin);
    assert_eq!(task.state, "TASK_STATE_REJECTED");
    let completion = task.completion.unwrap();
    assert_eq!(
        (&completion["outcome"], &completion["reason"]),
        (&"rejected".into(), &"not my trade".into())
    );
}

#[test]
fn output_records_the_object_while_the_task_goes_on() {
    let (standin, turn) = turn_on("hello");
    shown(&tool(
        &standin,
        &turn,
        &["output", "report", "{\"n\": 1}"],
        b"",
    ));
    shown(&tool(
        &standin,
        &turn,
        &["output", "report", "-"],
        b"{\"n\": 2}\n",
    ));
    let task = task(&standin);
    assert_eq!(task.state, "TASK_STATE_WORKING");
    let values: Vec<&Value> = task.outputs.iter().map(|output| &output["value"]).collect();
    assert_eq!(values, [&json!({"n": 1}), &json!({"n": 2})]);
}

#[test]
fn ask_pauses_the_task_with_a_question_a_form_or_a_request_to_authenticate() {
    let (standin, turn) = turn_on("hello");
    let schema = r#"{"type": "object", "properties": {"colour": {"type": "string"}}}"#;
    shown(&tool(
        &standin,
        &turn,
        &["ask", "Which colour?", "--schema", schema],
        b"",
    ));
    let asked = task(&standin);
    assert_eq!(asked.state, "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(asked.questions[0]["question"], "Which colour?");
    assert_eq!(
        asked.questions[0]["requestedSchema"],
        serde_json::from_str::<Value>(schema).unwrap()
    );
    assert!(asked.questions[0].get("auth").is_none());

    let (standin, turn) = turn_on("hello");
    shown(&tool(
        &standin,
        &turn,
        &["ask", "Sign in, please", "--auth"],
        b"",
    ));
    assert_eq!(task(&standin).state, "TASK_STATE_AUTH_REQUIRED");
}

#[test]
fn append_sends_each_chunk_as_it_is_and_complete_adds_nothing_to_them() {
    let (standin, turn) = turn_on("hello");
    let calls: [(&[&str], &[u8]); 4] = [
        (&["append", "a false start"], b""),
        (&["append", "--restart", "one "], b""),
        (&["append"], b"two\n\n"),
        (&["append", "--last", "-"], b" three"),
    ];
    for (arguments, stdin) in calls {
        assert_eq!(shown(&tool(&standin, &turn, arguments, stdin)), "");
    }
    let chunks: Vec<Value> = task(&standin)
        .chunks
        .iter()
        .map(|chunk| json!([chunk["text"], chunk["append"], chunk["lastChunk"]]))
        .collect();
    assert_eq!(
        chunks,
        [
            json!(["one ", false, false]),
            json!(["two\n\n", true, false]),
            json!([" three", true, true]),
        ]
    );
    shown(&tool(&standin, &turn, &["complete", "--appended"], b""));
    let task = task(&standin);
    assert_eq!(task.state, "TASK_STATE_COMPLETED");
    assert!(task.completion.unwrap().get("response").is_none());
}

#[test]
fn progress_tells_what_is_being_done_and_the_task_goes_on() {
    let (standin, turn) = turn_on("hello");
    shown(&tool(&standin, &turn, &["progress", "halfway there"], b""));
    shown(&tool(&standin, &turn, &["progress", "-"], b"nearly\n"));
    let task = task(&standin);
    assert_eq!(task.notes, ["halfway there", "nearly"]);
    assert_eq!(task.state, "TASK_STATE_WORKING");
}

#[test]
fn outside_its_turn_a_tool_is_refused_with_the_reason() {
    let (standin, turn) = turn_on("hello");
    standin.cancel("task-1");
    for arguments in [
        &["read"] as &[&str],
        &["complete", "done"],
        &["reject", "no"],
        &["output", "report", "{}"],
        &["ask", "What?"],
        &["append", "chunk"],
        &["progress", "note"],
    ] {
        let output = tool(&standin, &turn, arguments, b"");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(
            said(&output),
            "resident: refused: TURN_NOT_LIVE: This turn is over\n"
        );
    }
}

#[test]
fn a_refusal_names_the_field_and_what_would_be_right() {
    let (standin, turn) = turn_on("hello");
    let output = tool(&standin, &turn, &["output", "unknown", "{}"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        said(&output),
        "resident: refused: INVALID_REQUEST: The request is not valid (output is not declared by the workflow: report is)\n"
    );
}

#[test]
fn wrong_input_is_told_before_anything_is_sent() {
    let (standin, turn) = turn_on("hello");
    let huge = "x".repeat(1024 * 1024 + 1).into_bytes();
    let cases: [(&[&str], &[u8], &str); 13] = [
        (&["complete", "  "], b"", "TEXT is empty"),
        (&["complete"], b"", "TEXT is empty"),
        (&["append"], b"", "TEXT is empty"),
        (&["append", "-"], &huge, "TEXT is over 1 MiB"),
        (&["progress", " "], b"", "NOTE is empty"),
        (
            &["complete", "--appended", "and more"],
            b"",
            "cannot be used with",
        ),
        (&["complete", "-"], b"\xff", "TEXT on stdin is not UTF-8"),
        (&["complete", "-"], &huge, "TEXT is over 1 MiB"),
        (
            &["complete", "--output", "report", "done"],
            b"",
            "--output must be NAME=JSON",
        ),
        (
            &["complete", "--part-file", "/no/such/file", "done"],
            b"",
            "cannot be read",
        ),
        (
            &["output", "report", "[1]"],
            b"",
            "JSON must be a JSON object",
        ),
        (&["output", "report", "{"], b"", "JSON is not JSON"),
        (
            &["ask", "What?", "--schema", "true"],
            b"",
            "--schema must be a JSON object",
        ),
    ];
    for (arguments, stdin, wanted) in cases {
        let output = tool(&standin, &turn, arguments, stdin);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            said(&output)
        );
        assert!(
            said(&output).contains(wanted),
            "{arguments:?}: {}",
            said(&output)
        );
    }
    assert!(standin.state().seen.is_empty());
}

#[test]
fn without_a_turn_in_the_environment_the_missing_variable_is_named() {
    let (standin, turn) = turn_on("hello");
    for name in ["A2A_URL", "A2A_TURN_TOKEN", "A2A_TURN_ID", "A2A_TASK_ID"] {
        let output = tool_with(&standin, &turn, &["read"], b"", |command| {
            command.env_remove(name);
        });
        assert_eq!(output.status.code(), Some(2));
        assert!(
            said(&output).contains(&format!("{name} is not set")),
            "{}",
            said(&output)
        );
    }
}

#[test]
fn a_server_that_cannot_be_reached_has_its_own_exit_code() {
    let (standin, turn) = turn_on("hello");
    let output = tool_with(&standin, &turn, &["complete", "done"], b"", |command| {
        command
            .env("A2A_URL", "http://127.0.0.1:1")
            .env("A2A_KEEP_TRYING_MS", "1");
    });
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("no connection"), "{}", said(&output));
}

#[test]
fn a_read_is_repeated_when_the_connection_is_lost() {
    let (standin, turn) = turn_on("hello");
    standin.fail_next("a2a_read_task", Fault::HangUp);
    standin.fail_next("a2a_read_task", Fault::Page(502));
    assert_eq!(
        shown(&tool(&standin, &turn, &["read", "--text"], b"")),
        "hello\n"
    );
}

#[test]
fn a_call_that_may_have_been_carried_out_is_not_repeated() {
    let (standin, turn) = turn_on("hello");
    standin.fail_next("a2a_record_output", Fault::HangUpAfter);
    let output = tool(&standin, &turn, &["output", "report", "{}"], b"");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(
        said(&output).contains("connection lost"),
        "{}",
        said(&output)
    );
    assert_eq!(task(&standin).outputs.len(), 1);
}
