//! `tools/call`: the resident's tools, waiting for a wake among them.
//!
//! What a tool refuses is a result that says so, for the model to read; only a call that is no call is a protocol error.

use durable_objects::commands::principal::{ToolReply, TurnOutcome};
use durable_objects::commands::wake_queue::{End, Turn};
use durable_objects::wake_queue::disposition_name;
use protocol::error::A2aError;
use protocol::mcp::{self, tools};
use serde_json::{Map, Value, json};

use crate::reply::Failure;
use crate::resident::{Body, tool, wait};
use crate::router::{Caller, Exchange};

/// How long a turn lives between two calls of an agent that thinks, in milliseconds.
const LEASE_MS: i64 = 600_000;

/// The longest wait, below the time that clients give a request by default, in milliseconds.
const MAX_WAIT_MS: u32 = 50_000;
const WAIT_MS: u32 = 25_000;

/// Calls a tool.
///
/// # Errors
/// The JSON-RPC code and message of a call that names no tool, or has no arguments where there must be some.
pub async fn call(
    exchange: &Exchange<'_>,
    caller: &Caller,
    session: &str,
    mut params: Map<String, Value>,
) -> Result<Value, (i64, String)> {
    let Some(Value::String(name)) = params.remove("name") else {
        return Err((mcp::INVALID_PARAMS, "name must be a string".to_owned()));
    };
    let arguments = match params.remove("arguments") {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => {
            return Err((
                mcp::INVALID_PARAMS,
                "arguments must be an object".to_owned(),
            ));
        }
    };
    let of_turn = matches!(caller, Caller::Turn { .. });
    let listed = tools::list(of_turn);
    let known = listed
        .get("tools")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .any(|tool| tool.get("name").and_then(Value::as_str) == Some(&name));
    if !known {
        return Err((mcp::INVALID_PARAMS, format!("there is no tool {name}")));
    }
    let body = Body::from(arguments);
    let outcome = match name.as_str() {
        tools::WAIT_FOR_WAKE => wait_for_wake(exchange, caller, session, body).await,
        tools::END_TURN => end_turn(exchange, caller, body).await,
        _ => use_tool(exchange, caller, &name, body).await,
    };
    Ok(outcome.unwrap_or_else(|failure| refused(&failure.error)))
}

async fn wait_for_wake(
    exchange: &Exchange<'_>,
    caller: &Caller,
    session: &str,
    mut body: Body,
) -> Result<Value, Failure> {
    let wait_ms = body.number("waitMs", MAX_WAIT_MS, WAIT_MS)?;
    let turn = wait(
        exchange,
        caller.resident(),
        session,
        wait_ms,
        Some(LEASE_MS),
    )
    .await?;
    Ok(match turn {
        None => structured(
            "No task came in time. Call wait_for_wake again.",
            json!({ "turn": null }),
        ),
        Some(Turn {
            turn_id,
            task_id,
            delivery,
            ..
        }) => structured(
            &format!(
                "You have the turn {turn_id} on the task {task_id}. Read it with a2a_read_task."
            ),
            json!({ "turn": { "turnId": turn_id, "taskId": task_id, "delivery": delivery } }),
        ),
    })
}

async fn use_tool(
    exchange: &Exchange<'_>,
    caller: &Caller,
    name: &str,
    mut body: Body,
) -> Result<Value, Failure> {
    let turn_id = body.identifier("turnId")?;
    let task_id = body.identifier("taskId")?;
    let reply = tool(exchange, caller, name, &turn_id, &task_id, body).await?;
    let result = match reply {
        ToolReply::Text(text) => json!({ "content": [{ "type": "text", "text": text }] }),
        ToolReply::Structured { task, request } => {
            let text = format!("{{\"task\":{},\"request\":{}}}", task.get(), request.get());
            json!({ "content": [
                { "type": "text", "text": mcp::UNTRUSTED_NOTICE },
                { "type": "text", "text": text },
            ] })
        }
        ToolReply::State(state) => {
            structured(&format!("The task is {state}."), json!({ "state": state }))
        }
        ToolReply::Json(json) => json!({ "content": [
            { "type": "text", "text": mcp::UNTRUSTED_NOTICE },
            { "type": "text", "text": json.get() },
        ] }),
        ToolReply::Artifact(artifact_id) => structured(
            &format!("Recorded as the artifact {artifact_id}."),
            json!({ "artifactId": artifact_id }),
        ),
    };
    if tools::settles(name) && matches!(caller, Caller::Credential(_)) {
        // What settles the task ends the turn, so that the agent can wait for the next at once. The task is settled
        // whatever becomes of this call, and the lease ends the turn otherwise.
        drop(end(exchange, caller, turn_id, task_id, TurnOutcome::Ended).await);
    }
    Ok(result)
}

async fn end_turn(
    exchange: &Exchange<'_>,
    caller: &Caller,
    mut body: Body,
) -> Result<Value, Failure> {
    let turn_id = body.identifier("turnId")?;
    let task_id = body.identifier("taskId")?;
    let outcome = body.outcome()?;
    let disposition = end(exchange, caller, turn_id, task_id, outcome).await?;
    Ok(structured(
        &format!("The turn is over: {disposition}."),
        json!({ "disposition": disposition }),
    ))
}

async fn end(
    exchange: &Exchange<'_>,
    caller: &Caller,
    turn_id: String,
    task_id: String,
    outcome: TurnOutcome,
) -> Result<&'static str, Failure> {
    let command = End {
        resident: caller.resident().to_owned(),
        turn_id,
        task_id: Some(task_id),
        outcome,
    };
    let disposition = exchange
        .objects
        .wake_queue(caller.resident(), command)
        .await??;
    Ok(disposition_name(&disposition))
}

fn structured(text: &str, content: Value) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "structuredContent": content })
}

/// A refusal for a model to read: the stable reason, what is wrong, and which fields.
fn refused(error: &A2aError) -> Value {
    let mut text = format!("{}: {}", error.reason.as_str(), error.message);
    for violation in &error.violations {
        text.push_str(&format!("\n{}: {}", violation.field, violation.description));
    }
    json!({ "content": [{ "type": "text", "text": text }], "isError": true })
}
