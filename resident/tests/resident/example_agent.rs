//! The agent that `make dev` runs, as a whole: what its callers see.

use serde_json::json;

use crate::process::Runner;
use crate::standin::Standin;

const AGENT: &str = concat!(
    "exec sh ",
    env!("CARGO_MANIFEST_DIR"),
    "/../examples/agent.sh"
);

#[test]
fn by_default_it_answers_with_the_number_of_words() {
    let standin = Standin::start();
    let task_id = standin.send("four words of text");
    let _runner = Runner::start(&standin, &[], AGENT);
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    let response = task.completion.unwrap()["response"].clone();
    assert_eq!(response, "Your message has 4 words.");
}

#[test]
fn asked_for_an_output_it_records_the_report_first() {
    let standin = Standin::start();
    let task_id = standin.send("output a report, please");
    let _runner = Runner::start(&standin, &[], AGENT);
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    assert_eq!(task.outputs[0]["output"], "report");
    assert_eq!(task.outputs[0]["value"], json!({"words": 4}));
}

#[test]
fn told_to_ask_it_asks_and_uses_the_answer() {
    let standin = Standin::start();
    let task_id = standin.send("please ask me something");
    let _runner = Runner::start(&standin, &[], AGENT);
    standin.until_state(&task_id, "TASK_STATE_INPUT_REQUIRED");
    standin.until("the first turn is over", |state| {
        state.ends.first().map(drop)
    });
    standin.answer(&task_id, "ask for blue");
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    let response = task.completion.unwrap()["response"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(response.contains("ask for blue"), "{response}");
}

#[test]
fn told_to_reject_it_rejects() {
    let standin = Standin::start();
    let task_id = standin.send("reject this");
    let _runner = Runner::start(&standin, &[], AGENT);
    standin.until_state(&task_id, "TASK_STATE_REJECTED");
}

#[test]
fn told_to_fail_it_fails_its_turn() {
    let standin = Standin::start();
    standin.send("fail this");
    Runner::start(&standin, &["--once"], AGENT).until_ended();
    assert_eq!(standin.state().ends[0]["reason"], "exit status 1");
}

#[test]
fn told_to_be_slow_it_works_for_that_long_and_can_be_canceled() {
    let standin = Standin::start();
    let first = standin.send("slow 0");
    let runner = Runner::start(&standin, &[], AGENT);
    standin.until_state(&first, "TASK_STATE_COMPLETED");
    let second = standin.send("slow 300");
    standin.until("it has read the second task", |state| {
        state
            .seen_of("a2a_read_task")
            .filter(|seen| seen.body["taskId"] == *second)
            .nth(1)
            .map(drop)
    });
    standin.cancel(&second);
    runner.until_said("outcome=canceled");
}

#[test]
fn what_the_message_says_is_never_run() {
    let standin = Standin::start();
    let task_id = standin.send("$(exit 7) `exit 7` \"; exit 7; \" -- --help %s\\n");
    let _runner = Runner::start(&standin, &[], AGENT);
    let task = standin.until_state(&task_id, "TASK_STATE_COMPLETED");
    assert_eq!(task.deliveries, 1);
}

#[test]
fn every_example_is_a_script_that_parses() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let scripts: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "sh"))
        .collect();
    assert!(scripts.len() >= 4, "{scripts:?}");
    for script in scripts {
        let parsed = std::process::Command::new("sh")
            .arg("-n")
            .arg(&script)
            .status()
            .unwrap();
        assert!(parsed.success(), "{}", script.display());
    }
}
