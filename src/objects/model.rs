//! A model as the resident: the queue's object takes the turns itself, lets the model use the tools of a turn, and ends
//! them. A model that fails, asks for too much or says nothing is a failed turn, and nothing else.

use std::rc::Rc;

use durable_objects::commands::principal::{Tool, ToolReply, TurnOutcome, UseTool};
use durable_objects::commands::wake_queue::{Assign, CallTool, End, Take, Turn, TurnAuthority};
use durable_objects::error::CoreError;
use protocol::error::A2aError;
use protocol::mcp::UNTRUSTED_NOTICE;
use protocol::mcp::tools::settles;
use protocol::model::{
    Answer, Conversation, MAX_ANSWER_BYTES, MAX_STEPS, MAX_TURN_TOKENS, TURN_TIMEOUT_MS, ToolCall,
    time_left_ms,
};
use serde_json::Map;

use super::wake_queue::Inner;
use crate::config::{Config, Model, ModelEndpoint};
use crate::resident::{Body, read_tool};
use crate::runtime::clock;
use crate::runtime::log;
use crate::runtime::post::post;

/// The lease of a model's turn, in milliseconds: each tool renews it.
const LEASE_MS: i64 = 300_000;

/// Takes turns while there are any. Bounded, so that an object that has much to do is looked at anew. False where none can
/// be had: trying again at once, while wakes wait for somebody else, would never end.
pub(super) async fn work(inner: &Rc<Inner>, config: &Config, model: &Model, session: &str) -> bool {
    for _ in 0..64 {
        match next_turn(inner, config, model, session).await {
            Ok(Some(turn)) => {
                let outcome = match run(inner, config, model, &turn).await {
                    Ok(()) => TurnOutcome::Ended,
                    Err(reason) => {
                        log::error("model_turn_failed", &[("reason", &reason)]);
                        TurnOutcome::Failed(reason)
                    }
                };
                let end = End {
                    resident: model.resident.clone(),
                    turn_id: turn.turn_id,
                    task_id: None,
                    outcome,
                };
                // What could not be ended ends by its lease.
                drop(inner.end(&end).await);
            }
            Ok(None) => return true,
            Err(error) => {
                log::error("model_take_failed", &[("reason", &error.to_string())]);
                return false;
            }
        }
    }
    true
}

async fn next_turn(
    inner: &Rc<Inner>,
    config: &Config,
    model: &Model,
    session: &str,
) -> Result<Option<Turn>, CoreError> {
    let take = Take {
        resident: model.resident.clone(),
        session: session.to_owned(),
        lease_ms: Some(LEASE_MS),
    };
    let mut reply = inner.take(&take).await?;
    if reply.started {
        let assign = Assign {
            resident: model.resident.clone(),
            session: session.to_owned(),
            principals: config
                .credentials
                .as_ref()
                .map(|credentials| credentials.principals_of(&model.resident))
                .unwrap_or_default(),
        };
        inner.run(&model.resident, |queue| queue.assign(&assign))?;
        reply = inner.take(&take).await?;
    }
    Ok(reply.turn)
}

/// One turn. The error says why it failed, for the evidence: never what was said in it.
async fn run(inner: &Rc<Inner>, config: &Config, model: &Model, turn: &Turn) -> Result<(), String> {
    let task = match tool(inner, model, turn, Tool::Read { structured: false }).await? {
        Ok(ToolReply::Text(task)) => task,
        Ok(_) => return Err("the task could not be read".to_owned()),
        Err(error) => return Err(error.reason.as_str().to_owned()),
    };
    let mut conversation = Conversation::about(&model.name, &task);
    let deadline_ms = clock::now_ms().saturating_add(TURN_TIMEOUT_MS);
    let mut tokens = 0_u64;
    for _ in 0..MAX_STEPS {
        if conversation.is_too_long() {
            return Err("the model's conversation grew too long".to_owned());
        }
        let answer = ask(model, &conversation, left_ms(deadline_ms)?).await?;
        tokens = tokens.saturating_add(answer.tokens);
        if tokens > MAX_TURN_TOKENS {
            return Err("the model took too many tokens".to_owned());
        }
        conversation.answered(&answer);
        if answer.calls.is_empty() {
            let Some(text) = answer.text else {
                return Err("the model said nothing".to_owned());
            };
            // A model that only speaks has answered the caller.
            let mut arguments = Map::new();
            arguments.insert("response".to_owned(), text.into());
            return match use_tool(inner, config, model, turn, "a2a_complete_task", arguments)
                .await?
            {
                Ok(_) => Ok(()),
                Err(error) => Err(error.reason.as_str().to_owned()),
            };
        }
        for call in &answer.calls {
            left_ms(deadline_ms)?;
            if done(inner, config, model, turn, call, &mut conversation).await? {
                return Ok(());
            }
        }
    }
    Err("the model took too many steps".to_owned())
}

/// How long the next step may take, in milliseconds.
fn left_ms(deadline_ms: i64) -> Result<u32, String> {
    time_left_ms(clock::now_ms(), deadline_ms).ok_or_else(|| "the model took too long".to_owned())
}

/// Carries a call out and tells the model what came of it. True where it settled the task.
async fn done(
    inner: &Rc<Inner>,
    config: &Config,
    model: &Model,
    turn: &Turn,
    call: &ToolCall,
    conversation: &mut Conversation,
) -> Result<bool, String> {
    let outcome = use_tool(
        inner,
        config,
        model,
        turn,
        &call.name,
        call.arguments.clone(),
    )
    .await?;
    let result = match outcome {
        Ok(_) if settles(&call.name) => return Ok(true),
        Ok(ToolReply::Text(text)) => text,
        Ok(ToolReply::Structured { task, request }) => format!(
            "{UNTRUSTED_NOTICE}\n{{\"task\":{},\"request\":{}}}",
            task.get(),
            request.get()
        ),
        Ok(ToolReply::State(state)) => state,
        Ok(ToolReply::Json(json)) => format!("{UNTRUSTED_NOTICE}\n{}", json.get()),
        Ok(ToolReply::Artifact(artifact_id)) => format!("recorded as {artifact_id}"),
        Err(error) => format!("{}: {}", error.reason.as_str(), error.message),
    };
    conversation.tool_result(call, &result);
    Ok(false)
}

async fn use_tool(
    inner: &Rc<Inner>,
    config: &Config,
    model: &Model,
    turn: &Turn,
    name: &str,
    arguments: Map<String, serde_json::Value>,
) -> Result<Result<ToolReply, A2aError>, String> {
    let mut body = Body::from(arguments);
    match read_tool(name, &mut body, config).await {
        Ok(read) => tool(inner, model, turn, read).await,
        Err(error) => Ok(Err(error)),
    }
}

/// Uses a tool of the turn: checked by the queue and fenced by the principal, as everybody's.
async fn tool(
    inner: &Rc<Inner>,
    model: &Model,
    turn: &Turn,
    tool: Tool,
) -> Result<Result<ToolReply, A2aError>, String> {
    let call = CallTool {
        resident: model.resident.clone(),
        turn_id: turn.turn_id.clone(),
        task_id: turn.task_id.clone(),
        authority: TurnAuthority::Resident,
        tool,
    };
    let checked = match inner.run(&model.resident, |queue| queue.check(&call)) {
        Ok(checked) => checked,
        Err(CoreError::Refused(error)) => return Err(error.reason.as_str().to_owned()),
        Err(CoreError::Store(error)) => {
            log::error("storage_failed", &[("reason", &error.to_string())]);
            return Err("storage failed".to_owned());
        }
    };
    let command = UseTool {
        turn_id: call.turn_id,
        task_id: call.task_id,
        tool: call.tool,
    };
    inner
        .objects
        .principal(&checked.principal, &model.resident, command)
        .await
        .map_err(|error| {
            log::error("tool_failed", &[("reason", &error.to_string())]);
            "the task could not be reached".to_owned()
        })
}

async fn ask(
    model: &Model,
    conversation: &Conversation,
    timeout_ms: u32,
) -> Result<Answer, String> {
    let request = conversation.request();
    let text = match &model.endpoint {
        ModelEndpoint::Url { url, key } => {
            let bearer = key.as_ref().map(|key| format!("Bearer {key}"));
            let mut headers = vec![("content-type", "application/json")];
            if let Some(bearer) = &bearer {
                headers.push(("authorization", bearer));
            }
            let posted = post(url, &headers, &request, MAX_ANSWER_BYTES, timeout_ms)
                .await
                .map_err(|error| {
                    log::error("model_unanswered", &[("reason", &error.to_string())]);
                    "the model did not answer".to_owned()
                })?;
            if posted.status != 200 {
                return Err(format!("the model answered with status {}", posted.status));
            }
            posted.text
        }
        ModelEndpoint::WorkersAi(ai) => {
            ai.run(&model.name, &request, timeout_ms)
                .await
                .map_err(|error| {
                    log::error("model_unanswered", &[("reason", &error.to_string())]);
                    "the model did not answer".to_owned()
                })?
        }
    };
    Answer::parse(&text).ok_or_else(|| "the model's answer is none".to_owned())
}
