//! What an executor answers: another Worker that decides, for each inbound message, between a direct Message, a Task and
//! work for the resident (seed *Message versus Task is the executor's decision*).
//!
//! The answer is lines of JSON. The first line decides:
//!
//! - `{"work": {}}`: the resident does it. Nothing follows.
//! - `{"message": {"parts": […]}}`: a direct Message and no Task. Nothing follows.
//! - `{"task": {"status": {"state", "message"?}, "artifacts"?}}`: a Task. Lines of `{"statusUpdate": {"status": …}}` and
//!   `{"artifactUpdate": {"artifact", "append"?, "lastChunk"?}}` may follow, each shown to watchers as it arrives.
//!
//! Ids of tasks, contexts and messages are the server's, and an executor's are not looked at. A line that is anything
//! else is `INVALID_AGENT_RESPONSE`: the executor is ours to trust with work, not with the wire.

use a2a::TaskState;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{A2aError, Reason};
use crate::part::validate_parts;
use crate::{ids, json, state};

/// The largest line, in bytes: as large as an artifact, and a little around it.
pub const MAX_LINE_BYTES: usize = 1024 * 1024 + 4096;

/// The most artifacts of a task's first line.
pub const MAX_ARTIFACTS: usize = 64;

/// One line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Line {
    /// The resident does it.
    Work,
    /// A direct Message.
    Message(Content),
    /// A Task, begun.
    Task {
        /// Its status.
        status: Status,
        /// What it has made so far.
        artifacts: Vec<Artifact>,
    },
    /// The task goes on.
    StatusUpdate(Status),
    /// The task has made something.
    ArtifactUpdate {
        /// What, or the next chunk of it.
        artifact: Artifact,
        /// It continues the artifact of the same id.
        append: bool,
        /// Nothing more will be appended.
        last_chunk: bool,
    },
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// 1 to 100 validated parts.
    pub parts: Vec<Value>,
    /// The executor's own fields.
    pub metadata: Option<Map<String, Value>>,
}

/// A status, without the timestamp, which is the server's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The number of the state (`state::code`).
    pub state: i64,
    /// What is said with it.
    pub message: Option<Content>,
}

/// An artifact, or a chunk of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// Unique within the task.
    pub artifact_id: String,
    /// For a reader.
    pub name: Option<String>,
    /// For a reader.
    pub description: Option<String>,
    /// 1 to 100 validated parts.
    pub parts: Vec<Value>,
    /// The executor's own fields.
    pub metadata: Option<Map<String, Value>>,
}

impl Line {
    /// Reads one line.
    ///
    /// # Errors
    /// `INVALID_AGENT_RESPONSE`, saying which field of the line is wrong. It is for the log: the caller of the endpoint
    /// is told only that the agent behind it failed.
    pub fn parse(line: &[u8]) -> Result<Self, A2aError> {
        if line.len() > MAX_LINE_BYTES {
            return Err(invalid("the line is too long"));
        }
        let Value::Object(mut fields) =
            json::parse(line).map_err(|error| invalid(error.into_message()))?
        else {
            return Err(invalid("the line must be an object"));
        };
        let kinds = ["work", "message", "task", "statusUpdate", "artifactUpdate"];
        let mut present = kinds.iter().filter(|kind| fields.contains_key(**kind));
        let (Some(kind), None) = (present.next(), present.next()) else {
            return Err(invalid(
                "the line must have exactly one of work, message, task, statusUpdate, artifactUpdate",
            ));
        };
        let body = fields.remove(*kind).unwrap_or_default();
        match *kind {
            "work" => Ok(Self::Work),
            "message" => Ok(Self::Message(content(body, "message")?)),
            "task" => task(body),
            "statusUpdate" => {
                let mut update = object(body, "statusUpdate")?;
                Ok(Self::StatusUpdate(status(
                    update.remove("status"),
                    "statusUpdate.status",
                )?))
            }
            _ => artifact_update(body),
        }
    }
}

fn task(body: Value) -> Result<Line, A2aError> {
    let mut fields = object(body, "task")?;
    let status = status(fields.remove("status"), "task.status")?;
    let artifacts = match fields.remove("artifacts") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) if items.len() <= MAX_ARTIFACTS => items
            .into_iter()
            .map(|item| artifact(item, "task.artifacts"))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(invalid("task.artifacts must be a list of at most 64")),
    };
    Ok(Line::Task { status, artifacts })
}

fn artifact_update(body: Value) -> Result<Line, A2aError> {
    let mut fields = object(body, "artifactUpdate")?;
    let mut flag = |name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(_) => Err(invalid(format!(
            "artifactUpdate.{name} must be true or false"
        ))),
    };
    let (append, last_chunk) = (flag("append")?, flag("lastChunk")?);
    let artifact = artifact(
        fields.remove("artifact").unwrap_or_default(),
        "artifactUpdate.artifact",
    )?;
    Ok(Line::ArtifactUpdate {
        artifact,
        append,
        last_chunk,
    })
}

fn status(value: Option<Value>, path: &str) -> Result<Status, A2aError> {
    let mut fields = object(value.unwrap_or_default(), path)?;
    let state = fields
        .get("state")
        .and_then(Value::as_str)
        .and_then(state::from_wire)
        .filter(|state| *state != TaskState::Unspecified)
        .ok_or_else(|| invalid(format!("{path}.state must be a task state")))?;
    let message = match fields.remove("message") {
        None | Some(Value::Null) => None,
        Some(message) => Some(content(message, &format!("{path}.message"))?),
    };
    Ok(Status {
        state: state::code(&state),
        message,
    })
}

fn content(value: Value, path: &str) -> Result<Content, A2aError> {
    let mut fields = object(value, path)?;
    Ok(Content {
        parts: parts(&mut fields, path)?,
        metadata: metadata(&mut fields, path)?,
    })
}

fn artifact(value: Value, path: &str) -> Result<Artifact, A2aError> {
    let mut fields = object(value, path)?;
    let artifact_id = match fields.remove("artifactId") {
        Some(Value::String(id)) if ids::is_identifier(&id) => id,
        _ => return Err(invalid(format!("{path}.artifactId must be an identifier"))),
    };
    let mut text = |name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(format!("{path}.{name} must be a string"))),
    };
    let (name, description) = (text("name")?, text("description")?);
    Ok(Artifact {
        artifact_id,
        name,
        description,
        parts: parts(&mut fields, path)?,
        metadata: metadata(&mut fields, path)?,
    })
}

fn parts(fields: &mut Map<String, Value>, path: &str) -> Result<Vec<Value>, A2aError> {
    let parts = fields.remove("parts").unwrap_or_default();
    validate_parts(parts, &format!("{path}.parts")).map_err(|error| invalid(error.into_message()))
}

fn metadata(
    fields: &mut Map<String, Value>,
    path: &str,
) -> Result<Option<Map<String, Value>>, A2aError> {
    match fields.remove("metadata") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(metadata)) => Ok(Some(metadata)),
        Some(_) => Err(invalid(format!("{path}.metadata must be an object"))),
    }
}

fn object(value: Value, path: &str) -> Result<Map<String, Value>, A2aError> {
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(invalid(format!("{path} must be an object"))),
    }
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> A2aError {
    A2aError::new(Reason::InvalidAgentResponse, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(line: &str) -> Result<Line, A2aError> {
        Line::parse(line.as_bytes())
    }

    #[test]
    fn an_executor_may_leave_the_work_to_the_resident() {
        assert_eq!(parse(r#"{"work": {}}"#), Ok(Line::Work));
    }

    #[test]
    fn an_executor_may_answer_directly() {
        let Ok(Line::Message(content)) = parse(r#"{"message": {"parts": [{"text": "hi"}]}}"#)
        else {
            panic!("a message");
        };
        assert_eq!(content.parts.len(), 1);
    }

    #[test]
    fn an_executor_may_begin_a_task_and_go_on_with_it() {
        let begun = parse(r#"{"task": {"status": {"state": "TASK_STATE_WORKING"}}}"#).unwrap();
        assert!(matches!(begun, Line::Task { status, .. } if status.state == 2));
        let update = parse(
            r#"{"artifactUpdate": {"artifact": {"artifactId": "a", "parts": [{"text": "x"}]}, "append": true}}"#,
        );
        assert!(matches!(
            update,
            Ok(Line::ArtifactUpdate {
                append: true,
                last_chunk: false,
                ..
            })
        ));
    }

    #[test]
    fn any_other_line_is_an_invalid_agent_response() {
        for line in [
            "",
            "[]",
            "{}",
            r#"{"work": {}, "message": {"parts": [{"text": "x"}]}}"#,
            r#"{"message": {"parts": []}}"#,
            r#"{"task": {"status": {"state": "done"}}}"#,
            r#"{"task": {"status": {"state": "TASK_STATE_UNSPECIFIED"}}}"#,
            r#"{"artifactUpdate": {"artifact": {"parts": [{"text": "x"}]}}}"#,
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.reason, Reason::InvalidAgentResponse, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".*") {
            let _ = parse(&line);
        }
    }
}
