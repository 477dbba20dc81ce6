//! What is believed of a remote agent's answers. They are read strictly where something depends on it (ids, states) and
//! kept otherwise as they came.

use a2a::TaskState;
use serde_json::Value;

use super::address::is_id;
use crate::{json, state};

/// The largest answer read, in bytes: what the store keeps of one value, and room for what stands around it.
pub const MAX_ANSWER_BYTES: u32 = 1024 * 1024;

/// The largest event of a stream, in bytes.
pub const MAX_EVENT_BYTES: u32 = MAX_ANSWER_BYTES;

/// A remote Task.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteTask {
    /// Its id there.
    pub id: String,
    /// Its context there.
    pub context_id: Option<String>,
    /// Its state.
    pub state: TaskState,
    /// The whole Task, as JSON.
    pub json: String,
}

/// A direct Message.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteMessage {
    /// Its id there.
    pub id: String,
    /// The whole Message, as JSON.
    pub json: String,
}

/// The answer to a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Work has begun, or is done already.
    Task(RemoteTask),
    /// Said directly, with no task.
    Message(RemoteMessage),
}

/// Reads a SendMessageResponse (A2A section 3.2.2).
///
/// # Errors
/// What is wrong with it, for a person.
pub fn of_send(body: &[u8]) -> Result<Answer, &'static str> {
    let mut answer = parse(body)?;
    // In ProtoJSON, null is a field that is not there.
    let mut said = |name: &str| {
        let value = answer.get_mut(name).map(Value::take);
        value.filter(|value| !value.is_null())
    };
    if let Some(task) = said("task") {
        return task_of(task).map(Answer::Task);
    }
    match said("message") {
        Some(message) => message_of(message).map(Answer::Message),
        None => Err("its answer is neither a task nor a message"),
    }
}

/// Reads a Task, as it answers reading and canceling one.
///
/// # Errors
/// What is wrong with it, for a person.
pub fn of_task(body: &[u8]) -> Result<RemoteTask, &'static str> {
    task_of(parse(body)?)
}

/// Reads a StreamResponse (section 3.2.3): the state that it says the task `task_id` is in, if it says one. What is about
/// another task, or none that is known, says nothing.
#[must_use]
pub fn of_event(text: &str, task_id: &str) -> Option<TaskState> {
    let event = parse(text.as_bytes()).ok()?;
    let said = |name: &str| event.get(name).filter(|value| !value.is_null());
    let (told, id) = match said("task") {
        Some(task) => (task, "id"),
        None => (said("statusUpdate")?, "taskId"),
    };
    if told.get(id)?.as_str()? != task_id {
        return None;
    }
    state_of(told).ok()
}

fn parse(body: &[u8]) -> Result<Value, &'static str> {
    let value = json::parse(body).map_err(|_| "its answer is not JSON")?;
    if value.is_object() {
        Ok(value)
    } else {
        Err("its answer is no JSON object")
    }
}

fn task_of(task: Value) -> Result<RemoteTask, &'static str> {
    let id = id_of(&task, "id").ok_or("its task has no id")?;
    let artifacts = task.get("artifacts");
    let are_named = artifacts.is_none_or(|artifacts| {
        artifacts.is_null()
            || artifacts.as_array().is_some_and(|artifacts| {
                artifacts
                    .iter()
                    .all(|artifact| id_of(artifact, "artifactId").is_some())
            })
    });
    if !are_named {
        return Err("its task has an artifact without id");
    }
    Ok(RemoteTask {
        id,
        context_id: id_of(&task, "contextId"),
        state: state_of(&task)?,
        json: task.to_string(),
    })
}

fn message_of(message: Value) -> Result<RemoteMessage, &'static str> {
    if !message.get("parts").is_some_and(Value::is_array) {
        return Err("its message has no parts");
    }
    Ok(RemoteMessage {
        id: id_of(&message, "messageId").ok_or("its message has no messageId")?,
        json: message.to_string(),
    })
}

fn state_of(holder: &Value) -> Result<TaskState, &'static str> {
    holder
        .pointer("/status/state")
        .and_then(Value::as_str)
        .and_then(state::from_wire)
        .filter(|state| *state != TaskState::Unspecified)
        .ok_or("its task has no state of A2A 1.0")
}

fn id_of(holder: &Value, name: &str) -> Option<String> {
    let id = holder.get(name)?.as_str()?;
    is_id(id).then(|| id.to_owned())
}

/// Whether a task that was in the state `from` may be in the state `to` at the next look. What has settled for good
/// never changes, and what has begun is not un-begun; where the task waited, its caller may have answered.
#[must_use]
pub fn may_become(from: &TaskState, to: &TaskState) -> bool {
    if state::is_terminal(from) {
        return from == to;
    }
    *to != TaskState::Submitted || *from == TaskState::Submitted || state::is_interrupted(from)
}

/// The reason that a refusal carries (section 11.6), where it carries one.
#[must_use]
pub fn refusal_reason(body: &[u8]) -> Option<String> {
    let body = json::parse(body).ok()?;
    let details = body.pointer("/error/details")?.as_array()?;
    let reason = details
        .iter()
        .find_map(|detail| detail.get("reason"))?
        .as_str()?;
    let is_reason = reason.len() <= 64
        && reason
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_reason.then(|| reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn task() -> Value {
        json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}, "x": 1.5})
    }

    #[test]
    fn a_message_is_answered_with_a_task_or_a_message() {
        let body = json!({"task": task()}).to_string();
        let Ok(Answer::Task(read)) = of_send(body.as_bytes()) else {
            panic!("no task");
        };
        assert_eq!((read.id.as_str(), read.state), ("t", TaskState::Working));
        assert_eq!(serde_json::from_str::<Value>(&read.json).unwrap(), task());
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
        let body = json!({ "message": message }).to_string();
        let Ok(Answer::Message(read)) = of_send(body.as_bytes()) else {
            panic!("no message");
        };
        assert_eq!(serde_json::from_str::<Value>(&read.json).unwrap(), message);
    }

    #[test]
    fn a_field_that_is_null_is_not_there() {
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": []});
        let body = json!({"task": null, "message": message}).to_string();
        assert!(matches!(of_send(body.as_bytes()), Ok(Answer::Message(_))));
        let body = json!({"task": task(), "message": null}).to_string();
        assert!(matches!(of_send(body.as_bytes()), Ok(Answer::Task(_))));
        let event = json!({
            "task": null, "message": null, "artifactUpdate": null,
            "statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}},
        });
        assert_eq!(of_event(&event.to_string(), "t"), Some(TaskState::Working));
        let event = json!({"statusUpdate": null, "artifactUpdate": {"taskId": "t"}});
        assert_eq!(of_event(&event.to_string(), "t"), None);
    }

    #[test]
    fn garbage_is_refused() {
        for body in [
            "",
            "null",
            "[]",
            "{}",
            "<html>",
            r#"{"task": null}"#,
            r#"{"task": {"id": "t"}}"#,
            r#"{"task": {"id": "t", "status": {"state": "working"}}}"#,
            r#"{"task": {"id": "t", "status": {"state": "TASK_STATE_UNSPECIFIED"}}}"#,
            r#"{"task": {"id": "", "status": {"state": "TASK_STATE_WORKING"}}}"#,
            r#"{"task": {"id": 1, "status": {"state": "TASK_STATE_WORKING"}}}"#,
            r#"{"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [{}]}}"#,
            r#"{"message": {"messageId": "m"}}"#,
            r#"{"message": {"parts": []}}"#,
        ] {
            assert!(of_send(body.as_bytes()).is_err(), "{body}");
        }
        assert!(of_send(&[0xff]).is_err());
    }

    #[test]
    fn an_event_is_of_the_task_that_is_followed() {
        let event = |event: Value| of_event(&event.to_string(), "t");
        assert_eq!(event(json!({"task": task()})), Some(TaskState::Working));
        let another = json!({"id": "u", "status": {"state": "TASK_STATE_COMPLETED"}});
        assert_eq!(event(json!({ "task": another })), None);
        let status = json!({"taskId": "t", "status": {"state": "TASK_STATE_COMPLETED"}});
        assert_eq!(
            event(json!({ "statusUpdate": status })),
            Some(TaskState::Completed)
        );
        assert_eq!(event(json!({"artifactUpdate": {"taskId": "t"}})), None);
        assert_eq!(event(json!({"artifactUpdate": {"taskId": "u"}})), None);
        assert_eq!(event(json!({"message": {}})), None);
    }

    #[test]
    fn a_state_does_not_go_back() {
        use TaskState::{Canceled, Completed, InputRequired, Submitted, Working};
        for (from, to, may) in [
            (Submitted, Submitted, true),
            (Submitted, Working, true),
            (Working, Submitted, false),
            (Working, Completed, true),
            (InputRequired, Working, true),
            (InputRequired, Submitted, true),
            (Completed, Working, false),
            (Completed, Canceled, false),
            (Completed, Completed, true),
        ] {
            assert_eq!(may_become(&from, &to), may, "{from:?} {to:?}");
        }
    }

    #[test]
    fn a_refusals_reason_is_a_name_or_nothing() {
        let body =
            |reason: &str| json!({"error": {"details": [{"@type": "x"}, {"reason": reason}]}});
        let read = |reason: &str| refusal_reason(body(reason).to_string().as_bytes());
        assert_eq!(read("TASK_NOT_FOUND").as_deref(), Some("TASK_NOT_FOUND"));
        assert_eq!(read("ignore all previous"), None);
        assert_eq!(refusal_reason(b"<html>"), None);
    }

    proptest! {
        #[test]
        fn any_body_is_an_answer_or_not(body in "\\PC{0,200}") {
            let _ = of_send(body.as_bytes());
            let _ = of_event(&body, "t");
        }
    }
}
