//! A turn: what the command gets, and what becomes of how it ends.

use std::time::{Duration, Instant};

use crate::process::{PROGRAM, Runner, folder, has_ended, until_written};
use crate::standin::{RESIDENT_TOKEN, Standin};

#[test]
fn a_wake_runs_the_command_with_the_prompt_on_stdin_and_the_turn_ends_with_it() {
    let standin = Standin::start();
    let task_id = standin.send("count these words");
    let folder = folder();
    let runner = Runner::start_with(
        &standin,
        &["--once"],
        "cat > \"$FOLDER/prompt\" && resident complete done",
        |command| {
            command.env("FOLDER", &folder);
        },
    );
    let (code, said) = runner.until_ended();
    assert_eq!(code, 0, "{said}");
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    assert_eq!(task.completion.unwrap()["response"], "done");
    assert_eq!(standin.state().ends[0]["outcome"], "ended");
    assert!(
        said.contains("turn=turn-1 task=task-1 delivery=1 outcome=ended disposition=settled ms="),
        "{said}"
    );
    let prompt = std::fs::read_to_string(folder.join("prompt")).unwrap();
    assert!(prompt.contains("resident complete TEXT"), "{prompt}");
    assert!(
        prompt.contains("<<<untrusted\n| count these words\nuntrusted>>>"),
        "{prompt}"
    );
}

#[test]
fn the_command_gets_its_turn_by_the_environment_and_never_the_residents_token() {
    let standin = Standin::start();
    standin.send("hello");
    let folder = folder();
    let runner = Runner::start_with(
        &standin,
        &["--once", "--token", RESIDENT_TOKEN],
        "env > \"$FOLDER/environment\"; tr '\\0' '\\n' < /proc/self/cmdline >> \"$FOLDER/environment\"",
        |command| {
            command
                .env("FOLDER", &folder)
                .env("A2A_TOKEN", RESIDENT_TOKEN)
                .env(
                    "HEADERS",
                    format!("{{\"authorization\": \"Bearer {RESIDENT_TOKEN}\"}}"),
                );
        },
    );
    let (_, said) = runner.until_ended();
    let environment = std::fs::read_to_string(folder.join("environment")).unwrap();
    assert!(!environment.contains(RESIDENT_TOKEN), "{environment}");
    assert!(
        !said.contains(RESIDENT_TOKEN) && !said.contains("turn~"),
        "{said}"
    );
    let variable = |name: &str| {
        environment
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_else(|| panic!("{name} is missing: {environment}"))
    };
    assert_eq!(variable("A2A_URL"), standin.url);
    assert!(variable("A2A_TURN_TOKEN").starts_with("turn~"));
    assert_eq!(variable("A2A_TASK_ID"), "task-1");
    assert_eq!(variable("A2A_TURN_ID"), "turn-1");
    assert_eq!(variable("A2A_CONTEXT_ID"), "context-1");
    assert_eq!(variable("A2A_DELIVERY"), "1");
    assert_eq!(
        uuid::Uuid::parse_str(variable("A2A_SESSION_ID"))
            .unwrap()
            .get_version_num(),
        5
    );
    let own_folder = std::path::Path::new(PROGRAM).parent().unwrap();
    assert_eq!(
        std::env::split_paths(variable("PATH")).next().unwrap(),
        own_folder
    );
}

#[test]
fn only_the_turn_itself_is_reported_with_the_residents_token() {
    let standin = Standin::start();
    standin.send("hello");
    let (code, said) = Runner::start(
        &standin,
        &["--once"],
        "resident read && resident complete done",
    )
    .until_ended();
    assert_eq!(code, 0, "{said}");
    let state = standin.state();
    assert_eq!(state.seen_of("a2a_read_task").count(), 2);
    for seen in &state.seen {
        let expected = if seen.path.contains("/tools/") {
            "turn"
        } else {
            "resident"
        };
        assert_eq!(seen.authority, expected, "{seen:?}");
    }
}

#[test]
fn an_exit_status_other_than_zero_fails_the_turn() {
    let standin = Standin::start();
    standin.send("hello");
    let (code, said) = Runner::start(&standin, &["--once"], "exit 3").until_ended();
    assert_eq!(code, 5, "{said}");
    let end = standin.state().ends[0].clone();
    assert_eq!(
        (&end["outcome"], &end["reason"]),
        (&"failed".into(), &"exit status 3".into())
    );
    assert!(
        said.contains("outcome=failed reason=\"exit status 3\" disposition=retrying"),
        "{said}"
    );
}

#[test]
fn a_command_that_a_signal_killed_fails_the_turn() {
    let standin = Standin::start();
    standin.send("hello");
    Runner::start(&standin, &["--once"], "kill -9 $$").until_ended();
    assert_eq!(standin.state().ends[0]["reason"], "killed by signal 9");
}

#[test]
fn a_failed_turn_is_taken_again_and_the_prompt_says_so() {
    let standin = Standin::start();
    let task_id = standin.send("hello");
    let _runner = Runner::start(
        &standin,
        &[],
        "grep -q 'An earlier turn' || exit 1; resident complete \"delivery $A2A_DELIVERY\"",
    );
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    assert_eq!(task.completion.unwrap()["response"], "delivery 2");
}

#[test]
fn turns_are_taken_one_after_the_other() {
    let standin = Standin::start();
    let tasks = ["one", "two", "three"].map(|text| standin.send(text));
    let _runner = Runner::start(
        &standin,
        &[],
        "resident complete \"$(resident read --text)\"",
    );
    for (task_id, text) in tasks.iter().zip(["one", "two", "three"]) {
        let task = standin.until_state(task_id, "TASK_STATE_COMPLETED");
        assert_eq!(task.completion.unwrap()["response"], text);
    }
}

#[test]
fn a_command_that_ignores_its_stdin_is_not_blocked_by_a_huge_prompt() {
    let standin = Standin::start();
    standin.send(&"word ".repeat(400_000));
    let (code, said) = Runner::start(&standin, &["--once"], "resident complete done").until_ended();
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_huge_prompt_arrives_whole() {
    let standin = Standin::start();
    let task_id = standin.send(&"word ".repeat(400_000));
    let (code, said) = Runner::start(
        &standin,
        &["--once"],
        "resident complete \"$(tr -cd d | wc -c)\"",
    )
    .until_ended();
    assert_eq!(code, 0, "{said}");
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    let count: usize = task.completion.unwrap()["response"]
        .as_str()
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!((400_000..400_200).contains(&count), "{count}");
}

#[test]
fn the_commands_own_output_goes_to_stderr() {
    let standin = Standin::start();
    standin.send("hello");
    let (_, said) =
        Runner::start(&standin, &["--once"], "echo to-stdout; echo to-stderr >&2").until_ended();
    assert!(
        said.contains("to-stdout\n") && said.contains("to-stderr\n"),
        "{said}"
    );
}

#[test]
fn the_lease_is_renewed_for_as_long_as_the_command_works() {
    let lease = Duration::from_millis(1000);
    let standin = Standin::with_lease(lease);
    let task_id = standin.send("hello");
    let folder = folder();
    let _runner = Runner::start_with(
        &standin,
        &[],
        "while ! [ -e \"$FOLDER/go\" ]; do sleep 0.02; done; resident complete done",
        |command| {
            command.env("FOLDER", &folder);
        },
    );
    let begun = standin.until("the turn is granted", |state| {
        state.turn.as_ref().map(|_| Instant::now())
    });
    standin.until("two leases have passed", |_| {
        (begun.elapsed() > lease * 2).then_some(())
    });
    std::fs::write(folder.join("go"), "").unwrap();
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    assert_eq!(
        task.deliveries, 1,
        "the first turn lived until it settled the task"
    );
}

#[test]
fn what_the_command_leaves_behind_in_its_group_ends_with_the_turn() {
    let standin = Standin::start();
    standin.send("hello");
    let folder = folder();
    let runner = Runner::start_with(
        &standin,
        &["--once", "--kill-after-ms", "50"],
        "(trap '' TERM; echo ready > \"$FOLDER/ready\"; while :; do sleep 1; done) & echo $! > \"$FOLDER/pid\"
         while ! [ -s \"$FOLDER/ready\" ]; do sleep 0.02; done",
        |command| {
            command.env("FOLDER", &folder);
        },
    );
    runner.until_ended();
    assert!(has_ended(&until_written(&folder.join("pid"))));
}
