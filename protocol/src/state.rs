//! The states of a task: their names on the wire, their codes in storage, and what each permits (§4.1.3).

use a2a::TaskState;

/// The full ProtoJSON name (§5.5), such as `TASK_STATE_WORKING`.
pub const fn as_wire(state: &TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "TASK_STATE_UNSPECIFIED",
        TaskState::Submitted => "TASK_STATE_SUBMITTED",
        TaskState::Working => "TASK_STATE_WORKING",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
        TaskState::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
    }
}

/// The state of that exact name; `None` for any other text. The names of protocol version 0.3 are other text.
pub fn from_wire(name: &str) -> Option<TaskState> {
    ALL.iter().find(|state| as_wire(state) == name).cloned()
}

/// The number of the state in `a2a.proto`: what storage keeps. Numbers never change their meaning.
pub const fn code(state: &TaskState) -> i64 {
    match state {
        TaskState::Unspecified => 0,
        TaskState::Submitted => 1,
        TaskState::Working => 2,
        TaskState::Completed => 3,
        TaskState::Failed => 4,
        TaskState::Canceled => 5,
        TaskState::InputRequired => 6,
        TaskState::Rejected => 7,
        TaskState::AuthRequired => 8,
    }
}

/// The state of that number; `None` for any other.
pub fn from_code(number: i64) -> Option<TaskState> {
    ALL.iter().find(|state| code(state) == number).cloned()
}

/// Every state, in the order of their numbers.
pub const ALL: [TaskState; 9] = [
    TaskState::Unspecified,
    TaskState::Submitted,
    TaskState::Working,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Canceled,
    TaskState::InputRequired,
    TaskState::Rejected,
    TaskState::AuthRequired,
];

/// Completed, failed, canceled or rejected: the task never changes again.
pub fn is_terminal(state: &TaskState) -> bool {
    state.is_terminal()
}

/// Input or authentication required: the task waits for its caller, and can still be continued and subscribed to.
pub const fn is_interrupted(state: &TaskState) -> bool {
    matches!(state, TaskState::InputRequired | TaskState::AuthRequired)
}

/// Terminal or interrupted: what a blocking send waits for (§3.1.1) and where `message:stream` ends.
pub fn is_settled(state: &TaskState) -> bool {
    is_terminal(state) || is_interrupted(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_survives_its_name_and_its_number() {
        for (number, state) in (0..).zip(&ALL) {
            assert_eq!(code(state), number);
            assert_eq!(from_code(number).as_ref(), Some(state));
            assert_eq!(from_wire(as_wire(state)).as_ref(), Some(state));
            assert_eq!(serde_json::to_value(state).unwrap(), as_wire(state));
        }
    }

    #[test]
    fn other_names_and_numbers_are_no_state() {
        for name in [
            "",
            "working",
            "TASK_STATE_working",
            "TASK_STATE_UNKNOWN",
            "TASK_STATE_WORKING ",
        ] {
            assert_eq!(from_wire(name), None, "{name:?}");
        }
        assert_eq!(from_code(9), None);
        assert_eq!(from_code(-1), None);
    }

    #[test]
    fn a_task_is_settled_when_it_is_terminal_or_interrupted() {
        let settled: Vec<_> = ALL.iter().filter(|s| is_settled(s)).map(as_wire).collect();
        assert_eq!(
            settled,
            [
                "TASK_STATE_COMPLETED",
                "TASK_STATE_FAILED",
                "TASK_STATE_CANCELED",
                "TASK_STATE_INPUT_REQUIRED",
                "TASK_STATE_REJECTED",
                "TASK_STATE_AUTH_REQUIRED",
            ]
        );
        assert!(ALL.iter().all(|s| !(is_terminal(s) && is_interrupted(s))));
    }
}
