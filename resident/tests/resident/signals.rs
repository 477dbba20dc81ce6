//! Stopping: the task is canceled under the command, another session takes over, the resident is asked to stop.

use nix::sys::signal::Signal;

use crate::process::{Runner, folder, has_ended, until_written};
use crate::standin::Standin;

#[test]
fn a_canceled_task_ends_its_command_with_sigterm() {
    let standin = Standin::start();
    let task_id = standin.send("hello");
    let folder = folder();
    let runner = Runner::start_with(
        &standin,
        &["--once"],
        "trap 'echo heard > \"$FOLDER/term\"; exit 0' TERM; resident output report '{}'; sleep 100 & wait",
        |command| {
            command.env("FOLDER", &folder);
        },
    );
    standin.until("the command runs", |state| {
        state.tasks[&task_id].outputs.first().map(drop)
    });
    standin.cancel(&task_id);
    let (code, said) = runner.until_ended();
    assert_eq!(code, 5, "{said}");
    assert_eq!(until_written(&folder.join("term")), "heard\n");
    assert!(said.contains("outcome=canceled disposition=over"), "{said}");
    assert!(
        standin.state().ends.is_empty(),
        "the server ended the turn itself"
    );
}

#[test]
fn a_command_that_ignores_sigterm_is_killed_with_everything_it_started() {
    let standin = Standin::start();
    let task_id = standin.send("hello");
    let folder = folder();
    let runner = Runner::start_with(
        &standin,
        &["--once", "--kill-after-ms", "1000"],
        "trap 'echo heard > \"$FOLDER/term\"' TERM
         (trap '' TERM; while :; do sleep 1; done) & echo $! > \"$FOLDER/child\"
         echo $$ > \"$FOLDER/parent\"; resident output report '{}'; while :; do sleep 0.05; done",
        |command| {
            command.env("FOLDER", &folder);
        },
    );
    standin.until("the command runs", |state| {
        state.tasks[&task_id].outputs.first().map(drop)
    });
    standin.cancel(&task_id);
    let (_, said) = runner.until_ended();
    assert_eq!(
        until_written(&folder.join("term")),
        "heard\n",
        "SIGTERM came first: {said}"
    );
    for process in ["parent", "child"] {
        assert!(
            has_ended(&until_written(&folder.join(process))),
            "{process}"
        );
    }
}

#[test]
fn the_next_task_is_taken_after_a_cancellation() {
    let standin = Standin::start();
    let first = standin.send("wait");
    let _runner = Runner::start(
        &standin,
        &[],
        "[ \"$(resident read --text)\" = wait ] || exec resident complete done
         resident output report '{}'; sleep 100",
    );
    standin.until("the command runs", |state| {
        state.tasks[&first].outputs.first().map(drop)
    });
    standin.cancel(&first);
    let second = standin.send("go");
    standin.until_state(&second, "TASK_STATE_COMPLETED");
}

#[test]
fn a_superseded_session_stops_with_its_own_exit_code() {
    let standin = Standin::start();
    let runner = Runner::start(&standin, &[], "true");
    standin.until("the session is known", |state| {
        state.knows_a_session().then_some(())
    });
    standin.supersede();
    let (code, said) = runner.until_ended();
    assert_eq!(code, 4, "{said}");
    assert!(
        said.contains("a newer session of this resident is running"),
        "{said}"
    );
}

#[test]
fn a_session_superseded_in_a_turn_ends_its_command_and_stops() {
    let standin = Standin::start();
    let task_id = standin.send("hello");
    let runner = Runner::start(&standin, &[], "resident output report '{}'; sleep 100");
    standin.until("the command runs", |state| {
        state.tasks[&task_id].outputs.first().map(drop)
    });
    standin.supersede();
    let (code, said) = runner.until_ended();
    assert_eq!(code, 4, "{said}");
}

#[test]
fn a_signal_stops_an_idle_resident_at_once() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let standin = Standin::start();
        let runner = Runner::start(&standin, &["--wait-ms", "60000"], "true");
        standin.until("the session is known", |state| {
            state.knows_a_session().then_some(())
        });
        runner.signal(signal);
        let (code, said) = runner.until_ended();
        assert_eq!(code, 0, "{said}");
    }
}

#[test]
fn the_first_signal_lets_the_turn_finish_and_takes_no_other() {
    let standin = Standin::start();
    let first = standin.send("first");
    let second = standin.send("second");
    let folder = folder();
    let runner = Runner::start_with(
        &standin,
        &[],
        "resident output report '{}'; while ! [ -e \"$FOLDER/go\" ]; do sleep 0.02; done; resident complete done",
        |command| {
            command.env("FOLDER", &folder);
        },
    );
    standin.until("the command runs", |state| {
        state.tasks[&first].outputs.first().map(drop)
    });
    runner.signal(Signal::SIGINT);
    std::fs::write(folder.join("go"), "").unwrap();
    let (code, said) = runner.until_ended();
    assert_eq!(code, 0, "{said}");
    let state = standin.state();
    assert_eq!(state.tasks[&first].state, "TASK_STATE_COMPLETED");
    assert_eq!(state.ends[0]["outcome"], "ended");
    assert_eq!(state.tasks[&second].state, "TASK_STATE_SUBMITTED");
}

#[test]
fn the_second_signal_ends_the_command_and_fails_the_turn() {
    let standin = Standin::start();
    let task_id = standin.send("hello");
    let folder = folder();
    let runner = Runner::start_with(
        &standin,
        &[],
        "echo $$ > \"$FOLDER/pid\"; resident output report '{}'; exec sleep 100",
        |command| {
            command.env("FOLDER", &folder);
        },
    );
    standin.until("the command runs", |state| {
        state.tasks[&task_id].outputs.first().map(drop)
    });
    runner.signal(Signal::SIGINT);
    runner.signal(Signal::SIGTERM);
    let (code, said) = runner.until_ended();
    assert_eq!(code, 0, "{said}");
    let end = standin.state().ends[0].clone();
    assert_eq!(
        (&end["outcome"], &end["reason"]),
        (&"failed".into(), &"resident stopped".into())
    );
    assert!(has_ended(&until_written(&folder.join("pid"))));
}
