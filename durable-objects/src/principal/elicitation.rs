//! The answer to a typed question: checked against what was asked (DESIGN *Extensions*). A plain answer is always taken.

use protocol::elicitation::{RequestedSchema, check_answer, find_answer};
use protocol::error::A2aError;
use serde_json::Value as Json;

use super::task::Task;
use crate::error::CoreError;
use crate::storage::StoreError;

/// Checks the typed answer in a message, if the task's question was a typed one and the message has such an answer.
///
/// # Errors
/// What is wrong with the answer, field by field; nothing of the message is kept then, and the question stands.
pub(super) fn check(task: &Task, message: &str) -> Result<(), CoreError> {
    let Some(schema) = asked(task)? else {
        return Ok(());
    };
    let message: Json =
        serde_json::from_str(message).map_err(|_| StoreError::Corrupt { what: "message" })?;
    let empty = Vec::new();
    let parts = message
        .get("parts")
        .and_then(Json::as_array)
        .unwrap_or(&empty);
    let answer = find_answer(parts, "message.parts")
        .map_err(|violation| A2aError::invalid(vec![violation]))?;
    let Some((index, data)) = answer else {
        return Ok(());
    };
    check_answer(data, &schema, &format!("message.parts[{index}].data"))
        .map_err(A2aError::invalid)?;
    Ok(())
}

/// The schema of the question that the task waits with, where it is one by our rules. A resident's always is; an executor
/// may put whatever it likes into its question, which is a plain one then: its answer is the executor's to check.
fn asked(task: &Task) -> Result<Option<RequestedSchema>, StoreError> {
    let Some(question) = &task.status_message else {
        return Ok(None);
    };
    let question: Json =
        serde_json::from_str(question).map_err(|_| StoreError::Corrupt { what: "question" })?;
    let schema = question
        .get("parts")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .find_map(|part| part.get("data")?.get("requestedSchema"));
    Ok(schema.and_then(|schema| RequestedSchema::parse(schema, "requestedSchema").ok()))
}
