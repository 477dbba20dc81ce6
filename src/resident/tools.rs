//! The tools over HTTP: validated here, checked by the queue, carried out by the principal.

use durable_objects::commands::JsonText;
use durable_objects::commands::principal::{Output, Tool, ToolReply};
use durable_objects::commands::wake_queue::CallTool;
use protocol::elicitation::RequestedSchema;
use protocol::error::{A2aError, Reason};
use protocol::manifest::Workflow;
use protocol::part::validate_parts;
use serde_json::{Value, json};

use super::body::Body;
use super::json;
use crate::agents;
use crate::config::Config;
use crate::reply::{Failure, Handled};
use crate::router::{Caller, Exchange};

/// The longest response or value, in bytes: what one artifact may hold.
const MAX_ARTIFACT_BYTES: usize = 1024 * 1024;

/// The longest value of an output, in bytes of its JSON: its artifact holds it twice, as the part and in the metadata, with
/// its name and type, which take less than the kibibyte that is left for them.
const MAX_OUTPUT_BYTES: usize = MAX_ARTIFACT_BYTES / 2 - 512;

/// The longest question or reason, in bytes.
const MAX_QUESTION_BYTES: usize = 64 * 1024;

/// The longest status note, in bytes.
const MAX_NOTE_BYTES: usize = 4 * 1024;

/// The most outputs recorded in one call.
const MAX_OUTPUTS: usize = 64;

/// Answers a call of a tool under the turn that the body names.
///
/// # Errors
/// As [`tool`].
pub async fn call(exchange: &Exchange<'_>, caller: &Caller, name: &str) -> Handled {
    let mut body = Body::of(exchange).await?;
    let turn_id = body.identifier("turnId")?;
    let task_id = body.identifier("taskId")?;
    let reply = tool(exchange, caller, name, &turn_id, &task_id, body).await?;
    json(&match reply {
        ToolReply::Text(text) => json!({ "text": text }).to_string(),
        ToolReply::Structured { task, request } => {
            format!("{{\"task\":{},\"request\":{}}}", task.get(), request.get())
        }
        ToolReply::State(state) => json!({ "state": state }).to_string(),
        ToolReply::Json(json) => json.get().to_owned(),
        ToolReply::Artifact(artifact_id) => json!({ "artifactId": artifact_id }).to_string(),
    })
}

/// Uses a tool under a turn, with the arguments in `body`.
///
/// # Errors
/// An unknown tool, invalid arguments, or `TURN_NOT_LIVE`; nothing is changed then.
pub async fn tool(
    exchange: &Exchange<'_>,
    caller: &Caller,
    name: &str,
    turn_id: &str,
    task_id: &str,
    mut body: Body,
) -> Result<ToolReply, Failure> {
    let authority = caller.authority(turn_id)?;
    let tool = read_tool(name, &mut body, &exchange.config).await?;
    let command = CallTool {
        resident: caller.resident().to_owned(),
        turn_id: turn_id.to_owned(),
        task_id: task_id.to_owned(),
        authority,
        tool,
    };
    Ok(exchange
        .objects
        .wake_queue(caller.resident(), command)
        .await??)
}

/// Reads a tool's arguments.
///
/// # Errors
/// An unknown tool, or an argument that is wrong.
pub async fn read_tool(name: &str, body: &mut Body, config: &Config) -> Result<Tool, A2aError> {
    if let Some(tool) = agents::read_tool(name, body, &config.remotes)? {
        return Ok(tool);
    }
    match name {
        "a2a_read_task" => read(body),
        "a2a_complete_task" => complete(body, config).await,
        "a2a_record_output" => Ok(Tool::RecordOutput(output(
            body.take("output"),
            body.take("value"),
            "",
            config.declared.workflow().await.as_deref(),
        )?)),
        "a2a_require_input" => require_input(body),
        "a2a_append_response" => append_response(body),
        "a2a_report_progress" => Ok(Tool::ReportProgress {
            note: body
                .text("note", MAX_NOTE_BYTES)?
                .ok_or_else(|| A2aError::field("note", "is required"))?,
        }),
        _ => Err(A2aError::new(
            Reason::NotFound,
            "there is no such tool: a2a_read_task, a2a_complete_task, a2a_record_output, a2a_append_response, \
             a2a_report_progress, a2a_require_input, a2a_agents, a2a_send_agent, a2a_read_agent and a2a_cancel_agent are",
        )),
    }
}

fn read(body: &mut Body) -> Result<Tool, A2aError> {
    Ok(Tool::Read {
        structured: body.is_second("format", ["text", "json"])?,
    })
}

async fn complete(body: &mut Body, config: &Config) -> Result<Tool, A2aError> {
    if body.is_second("outcome", ["completed", "rejected"])? {
        for name in ["response", "parts", "outputs"] {
            body.absent(name, "must be absent where the task is rejected")?;
        }
        let reason = body
            .text("reason", MAX_QUESTION_BYTES)?
            .ok_or_else(|| A2aError::field("reason", "is required when the task is rejected"))?;
        return Ok(Tool::Reject { reason });
    }
    body.absent("reason", "must be absent unless outcome is rejected")?;
    let mut parts = Vec::new();
    if let Some(response) = body.text("response", MAX_ARTIFACT_BYTES)? {
        parts.push(json!({ "text": response }));
    }
    if let Some(more) = body.take("parts") {
        parts.extend(validate_parts(more, "parts")?);
    }
    let mut outputs: Vec<Output> = Vec::new();
    match body.take("outputs") {
        None => {}
        Some(Value::Array(items)) if items.len() <= MAX_OUTPUTS => {
            let workflow = config.declared.workflow().await;
            for (index, mut item) in items.into_iter().enumerate() {
                let name = item.get_mut("output").map(Value::take);
                let value = item.get_mut("value").map(Value::take);
                let path = format!("outputs[{index}].");
                let output = output(name, value, &path, workflow.as_deref())?;
                if outputs.iter().any(|other| other.name == output.name) {
                    return Err(A2aError::field(
                        format!("{path}output"),
                        "must be another one: each output is given once",
                    ));
                }
                outputs.push(output);
            }
        }
        Some(_) => {
            return Err(A2aError::field(
                "outputs",
                format!("must be a list of at most {MAX_OUTPUTS} of {{output, value}}"),
            ));
        }
    }
    Ok(Tool::Complete {
        response: if parts.is_empty() {
            None
        } else {
            Some(raw(&Value::Array(parts), "response", MAX_ARTIFACT_BYTES)?)
        },
        outputs,
    })
}

fn append_response(body: &mut Body) -> Result<Tool, A2aError> {
    let mut parts = Vec::new();
    if let Some(text) = body.text("text", MAX_ARTIFACT_BYTES)? {
        parts.push(json!({ "text": text }));
    }
    if let Some(more) = body.take("parts") {
        parts.extend(validate_parts(more, "parts")?);
    }
    if parts.is_empty() {
        return Err(A2aError::field("text", "is required, or parts"));
    }
    Ok(Tool::AppendResponse {
        parts: raw(&Value::Array(parts), "parts", MAX_ARTIFACT_BYTES)?,
        append: body.flag("append")?,
        last: body.flag("lastChunk")?,
    })
}

fn output(
    name: Option<Value>,
    value: Option<Value>,
    path: &str,
    workflow: Option<&Workflow>,
) -> Result<Output, A2aError> {
    let Some(Value::String(name)) = name else {
        return Err(A2aError::field(
            format!("{path}output"),
            "must name a declared output",
        ));
    };
    let Some(workflow) = workflow else {
        return Err(A2aError::new(
            Reason::WorkflowNotConfigured,
            "no workflow is configured, so no output is declared",
        )
        .violating(format!("{path}output"), "no output is declared"));
    };
    let Some(kind) = workflow.output_type(&name) else {
        return Err(A2aError::new(
            Reason::OutputNotDeclared,
            "the selected workflow declares no output of this name",
        )
        .violating(format!("{path}output"), "must be a declared output"));
    };
    let value = value
        .filter(Value::is_object)
        .ok_or_else(|| A2aError::field(format!("{path}value"), "must be a JSON object"))?;
    Ok(Output {
        name,
        kind: kind.to_owned(),
        value: raw(&value, &format!("{path}value"), MAX_OUTPUT_BYTES)?,
    })
}

fn require_input(body: &mut Body) -> Result<Tool, A2aError> {
    let question = body
        .text("question", MAX_QUESTION_BYTES)?
        .ok_or_else(|| A2aError::field("question", "is required"))?;
    let auth = body.flag("auth")?;
    let requested_schema = match body.take("requestedSchema") {
        None => None,
        Some(schema) => {
            let schema =
                RequestedSchema::parse(&schema, "requestedSchema").map_err(A2aError::invalid)?;
            Some(raw(
                schema.as_value(),
                "requestedSchema",
                MAX_ARTIFACT_BYTES,
            )?)
        }
    };
    Ok(Tool::RequireInput {
        question,
        requested_schema,
        auth,
    })
}

/// Validated JSON as it travels on, of at most `max_bytes`.
fn raw(value: &Value, field: &str, max_bytes: usize) -> Result<JsonText, A2aError> {
    let json = value.to_string();
    if json.len() > max_bytes {
        return Err(A2aError::too_large(field, max_bytes));
    }
    Ok(JsonText::from_text(json))
}
