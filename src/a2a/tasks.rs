//! Reading, listing and canceling tasks (specification sections 3.1.3 to 3.1.5).

use durable_objects::commands::principal::{CancelTask, GetTask, ListTasks};
use protocol::error::A2aError;
use protocol::http::check_content_type;
use protocol::json;
use protocol::query::{GetTaskQuery, ListTasksQuery};
use protocol::state;
use serde_json::Value;

use super::A2aCall;
use crate::reply::Handled;
use crate::runtime::response::Body;

/// Reads one task.
///
/// # Errors
/// `TASK_NOT_FOUND`, or an invalid query.
pub async fn get(call: &A2aCall<'_>, task_id: &str) -> Handled {
    let query = GetTaskQuery::parse(call.exchange.query())?;
    let command = GetTask {
        task_id: task_id.to_owned(),
        view: call.view(query.history_length)?,
    };
    let reply = call
        .exchange
        .objects
        .principal_text(call.principal, call.resident, command)
        .await??;
    Ok(call.answer(Body::Passed(reply)))
}

/// Lists tasks, newest status first.
///
/// # Errors
/// An invalid query, a `pageToken` of another list or principal among them.
pub async fn list(call: &A2aCall<'_>) -> Handled {
    let query = ListTasksQuery::parse(call.exchange.query())?;
    let mut view = call.view(query.history_length)?;
    view.without_artifacts = !query.include_artifacts;
    let command = ListTasks {
        filter_digest: query.filter_digest(),
        context_id: query.context_id,
        state: query.status.as_ref().map(state::code),
        status_from_ms: query.status_timestamp_after_ms,
        page_size: query.page_size,
        page_token: query.page_token,
        view,
    };
    let reply = call
        .exchange
        .objects
        .principal_text(call.principal, call.resident, command)
        .await??;
    Ok(call.answer(Body::Passed(reply)))
}

/// Cancels a task.
///
/// # Errors
/// `TASK_NOT_FOUND`, `TASK_NOT_CANCELABLE`, or an invalid body.
pub async fn cancel(call: &A2aCall<'_>, task_id: &str) -> Handled {
    read_optional_body(call, task_id).await?;
    let command = CancelTask {
        task_id: task_id.to_owned(),
        view: call.view(None)?,
    };
    let reply = call
        .exchange
        .objects
        .principal_text(call.principal, call.resident, command)
        .await??;
    Ok(call.answer(Body::Passed(reply)))
}

/// Reads the body that `:cancel` and `:subscribe` may have: none, `{}`, or an object that repeats the id of the path.
///
/// # Errors
/// A body of another media type or shape, or that names another task.
pub async fn read_optional_body(call: &A2aCall<'_>, task_id: &str) -> Result<(), A2aError> {
    let body = call.exchange.body().await?;
    check_content_type(
        call.exchange.request.header("content-type").as_deref(),
        body.is_empty(),
    )?;
    if body.is_empty() {
        return Ok(());
    }
    let Value::Object(fields) = json::parse(&body)? else {
        return Err(A2aError::field("body", "must be a JSON object"));
    };
    match fields.get("id") {
        None | Some(Value::Null) => {}
        Some(Value::String(id)) if id.is_empty() || id == task_id => {}
        Some(_) => return Err(A2aError::field("id", "must be the id in the path")),
    }
    match fields.get("tenant") {
        None | Some(Value::Null) => {}
        Some(Value::String(tenant)) if tenant.is_empty() => {}
        Some(_) => {
            return Err(A2aError::field(
                "tenant",
                "must be absent: this agent has no tenants",
            ));
        }
    }
    match fields.get("metadata") {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(_) => Err(A2aError::field("metadata", "must be an object")),
    }
}
