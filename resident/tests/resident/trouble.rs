//! What can go wrong on the way to the server, and with what it is asked.

use std::process::Command;

use crate::process::{PROGRAM, Runner};
use crate::standin::{Fault, Standin};

#[test]
fn a_lost_connection_is_retried_until_a_wake_comes() {
    let standin = Standin::start();
    for fault in [
        Fault::HangUp,
        Fault::Page(502),
        Fault::Refuse(504, "OBJECT_TIMEOUT"),
        Fault::HangUp,
    ] {
        standin.fail_next("wakes:take", fault);
    }
    let task_id = standin.send("hello");
    let runner = Runner::start(&standin, &["--once"], "resident complete done");
    let (code, said) = runner.until_ended();
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.matches("retry call=wakes:take").count(), 4, "{said}");
    standin.until_state(&task_id, "TASK_STATE_COMPLETED");
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for() {
    let standin = Standin::start();
    let runner = Runner::start_with(&standin, &[], "true", |command| {
        command.env("A2A_URL", "http://127.0.0.1:1");
    });
    runner.until_said("retry call=wakes:take");
    let said = runner.until_said("no connection");
    assert!(!said.contains("resident-token"), "{said}");
}

#[test]
fn a_turn_whose_grant_was_lost_on_the_way_is_taken_by_the_retry() {
    let standin = Standin::start();
    standin.fail_next("wakes:take", Fault::HangUpAfter);
    let task_id = standin.send("hello");
    let (code, said) = Runner::start(&standin, &["--once"], "resident complete done").until_ended();
    assert_eq!(code, 0, "{said}");
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    assert_eq!(task.deliveries, 1);
}

#[test]
fn the_end_of_a_turn_is_reported_until_it_is_answered() {
    let standin = Standin::start();
    for fault in [
        Fault::HangUp,
        Fault::Refuse(503, "UNAVAILABLE"),
        Fault::Page(500),
    ] {
        standin.fail_next(":end", fault);
    }
    standin.send("hello");
    let (code, said) = Runner::start(&standin, &["--once"], "resident complete done").until_ended();
    assert_eq!(code, 0, "{said}");
    assert_eq!(standin.state().ends.len(), 1);
    assert!(said.contains("disposition=settled"), "{said}");
}

#[test]
fn an_end_that_was_heard_before_its_answer_was_lost_counts() {
    let standin = Standin::start();
    standin.fail_next(":end", Fault::HangUpAfter);
    standin.send("hello");
    let (code, said) = Runner::start(&standin, &["--once"], "resident complete done").until_ended();
    assert_eq!(code, 0, "{said}");
    let state = standin.state();
    assert_eq!(state.ends.len(), 1);
    assert_eq!(state.seen_of(":end").last().unwrap().status, Some(409));
}

#[test]
fn a_refused_end_stops_the_resident_instead_of_running_the_same_turn_forever() {
    let standin = Standin::start();
    standin.fail_next(":end", Fault::Refuse(400, "INVALID_REQUEST"));
    standin.send("hello");
    let (code, said) = Runner::start(&standin, &[], "resident complete done").until_ended();
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("refused: INVALID_REQUEST: refused"), "{said}");
}

#[test]
fn lost_heartbeats_are_retried_while_the_command_goes_on() {
    let standin = Standin::start();
    for fault in [Fault::HangUp, Fault::Page(502), Fault::HangUp] {
        standin.fail_next(":heartbeat", fault);
    }
    let task_id = standin.send("hello");
    let runner = Runner::start(
        &standin,
        &["--once"],
        "resident output report '{}'; sleep 100",
    );
    standin.until("the command runs", |state| {
        state.tasks[&task_id].outputs.first().map(drop)
    });
    standin.until("three heartbeats were lost", |state| {
        (state
            .seen_of(":heartbeat")
            .filter(|seen| seen.status != Some(200))
            .count()
            == 3)
            .then_some(())
    });
    standin.cancel(&task_id);
    let (_, said) = runner.until_ended();
    assert!(said.contains("outcome=canceled"), "{said}");
}

#[test]
fn a_refused_heartbeat_fails_the_turn() {
    let standin = Standin::start();
    standin.fail_next(":heartbeat", Fault::Refuse(400, "INVALID_REQUEST"));
    standin.send("hello");
    Runner::start(&standin, &["--once"], "sleep 100").until_ended();
    assert_eq!(
        standin.state().ends[0]["reason"],
        "the heartbeat was refused: INVALID_REQUEST: refused"
    );
}

#[test]
fn a_task_that_cannot_be_read_fails_the_turn_without_running_the_command() {
    let standin = Standin::start();
    standin.fail_next("a2a_read_task", Fault::Refuse(404, "TASK_NOT_FOUND"));
    standin.send("hello");
    let (code, said) = Runner::start(&standin, &["--once"], "echo it-ran").until_ended();
    assert_eq!(code, 5, "{said}");
    assert!(!said.contains("it-ran"), "{said}");
    let reason = standin.state().ends[0]["reason"].clone();
    assert_eq!(
        reason,
        "the task could not be read: TASK_NOT_FOUND: refused"
    );
}

#[test]
fn a_wrong_token_ends_the_resident_with_what_to_check() {
    let standin = Standin::start();
    let runner = Runner::start_with(&standin, &[], "true", |command| {
        command.env("A2A_RESIDENT_TOKEN", "wrong-token");
    });
    let (code, said) = runner.until_ended();
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("check A2A_RESIDENT_TOKEN"), "{said}");
    assert!(said.contains("UNAUTHENTICATED"), "{said}");
    assert!(!said.contains("wrong-token"), "{said}");
}

#[test]
fn a_url_that_is_no_task_plane_ends_the_resident() {
    let standin = Standin::start();
    standin.fail_next("wakes:take", Fault::Page(404));
    let (code, said) = Runner::start(&standin, &[], "true").until_ended();
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("is this the task plane's URL?"), "{said}");
}

#[test]
fn a_wrong_command_line_is_told_before_anything_is_sent() {
    let cases: [(&[&str], &str); 7] = [
        (
            &[
                "run",
                "--url",
                "http://127.0.0.1:1",
                "--token",
                "t",
                "--",
                "no-such-program-here",
            ],
            "not on PATH",
        ),
        (
            &[
                "run",
                "--url",
                "http://agent.example",
                "--token",
                "t",
                "--",
                "true",
            ],
            "--insecure",
        ),
        (
            &["run", "--url", "not a url", "--token", "t", "--", "true"],
            "is not a URL",
        ),
        (
            &[
                "run",
                "--url",
                "http://127.0.0.1:1",
                "--token",
                "",
                "--",
                "true",
            ],
            "token",
        ),
        (
            &[
                "run",
                "--url",
                "http://127.0.0.1:1",
                "--token",
                "t",
                "--session",
                "a/b",
                "--",
                "true",
            ],
            "--session",
        ),
        (
            &["run", "--url", "http://127.0.0.1:1", "--token", "t"],
            "COMMAND",
        ),
        (
            &[
                "run",
                "--url",
                "http://127.0.0.1:1",
                "--token",
                "t",
                "--jobs",
                "2",
                "--",
                "true",
            ],
            "--jobs",
        ),
    ];
    for (arguments, wanted) in cases {
        let output = Command::new(PROGRAM)
            .args(arguments)
            .env_remove("A2A_URL")
            .env_remove("A2A_RESIDENT_TOKEN")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?}: {said}");
    }
}
