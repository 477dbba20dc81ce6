//! `message:send` (specification section 3.1.1).

use durable_objects::commands::principal::{GetTask, Send, SendReply, TaskReply, View, Watch};
use durable_objects::commands::{JsonText, wrapped};
use durable_objects::effects::FrameKind;
use protocol::digest::message_digest;
use protocol::error::{A2aError, Reason};
use protocol::extensions::Extension;
use protocol::http::check_content_type;
use protocol::outfitter_task;
use protocol::send::SendRequest;

use super::A2aCall;
use crate::calls;
use crate::reply::{Failure, Handled};
use crate::runtime::clock;
use crate::runtime::frames::{Frames, Next, OpenError};
use crate::runtime::log;
use crate::runtime::response::Body;
use crate::runtime::timer;

/// The pause before a watch that broke is opened again, in milliseconds.
const REOPEN_MS: u32 = 200;

/// Accepts a message, and waits for its task to settle unless the caller asked for an answer at once.
///
/// # Errors
/// What the contract refuses, in its shape.
pub async fn send(call: &A2aCall<'_>) -> Handled {
    let command = read(call, Follow::UntilSettled).await?;
    let objects = &call.exchange.objects;
    if command.max_watchers.is_none() {
        let answer = objects
            .principal_text(call.principal, call.resident, command)
            .await??;
        return Ok(call.answer(Body::Passed(answer)));
    }
    let view = command.view.clone();
    let reply = objects
        .principal(call.principal, call.resident, command)
        .await??;
    let answer = match reply {
        SendReply::Task(task) if !task.settled => wait(call, &task, &view).await?,
        settled => settled.into_body(),
    };
    Ok(call.answer(Body::Text(answer)))
}

/// What follows once a message is accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// The answer waits for the task to settle, unless the caller asked for one at once.
    UntilSettled,
    /// The answer streams the task.
    Stream,
}

/// Reads and validates the request's message. Where a watcher is to follow and none fits any more, it will be refused.
///
/// # Errors
/// What the contract refuses, in its shape.
pub async fn read(call: &A2aCall<'_>, follow: Follow) -> Result<Send, Failure> {
    let exchange = call.exchange;
    let body = exchange.body().await?;
    check_content_type(
        exchange.request.header("content-type").as_deref(),
        body.is_empty(),
    )?;
    let request = SendRequest::parse(&body)?;
    if call.activated.contains(Extension::OutfitterTask) {
        check_outfitter_task(&request)?;
    }
    let SendRequest {
        mut message,
        configuration,
        ..
    } = request;
    let digest = message_digest(&message);
    let (context_id, task_id) = (message.context_id.take(), message.task_id.take());
    let stored = serde_json::to_string(&message)
        .map(JsonText::from_text)
        .map_err(|error| {
            log::error("message_not_written", &[("reason", &error.to_string())]);
            A2aError::internal()
        })?;
    let watches = follow == Follow::Stream || !configuration.return_immediately;
    Ok(Send {
        message_id: message.message_id,
        digest,
        message: stored,
        context_id,
        task_id,
        accepted_output_modes: configuration.accepted_output_modes,
        extensions: call.activated,
        max_open_tasks: exchange.config.max_open_tasks,
        max_watchers: watches.then_some(exchange.config.max_watchers),
        view: call.view(configuration.history_length)?,
    })
}

/// Checks the extension's metadata, which a client that activated it may send with the message or the request.
fn check_outfitter_task(request: &SendRequest) -> Result<(), A2aError> {
    let mut violations = Vec::new();
    for (metadata, path) in [
        (&request.message.metadata, "message.metadata"),
        (&request.metadata, "metadata"),
    ] {
        if let Some(metadata) = metadata {
            violations.extend(outfitter_task::validate(metadata, path));
        }
    }
    if violations.is_empty() {
        Ok(())
    } else {
        Err(A2aError::invalid(violations))
    }
}

/// Waits until the task settles, at most the blocking timeout, and gives the response body (seed *A blocking send is
/// bounded*). A watch that breaks is opened again: the task goes on whatever becomes of it.
async fn wait(call: &A2aCall<'_>, task: &TaskReply, view: &View) -> Result<String, Failure> {
    let exchange = call.exchange;
    let timeout_ms = exchange.config.blocking_timeout_ms;
    let deadline_ms = clock::now_ms().saturating_add(i64::from(timeout_ms));
    let watch = Watch {
        task_id: task.task_id.clone(),
        subscribe: false,
        view: view.clone(),
        max_watchers: exchange.config.max_watchers,
    };
    loop {
        let socket = match exchange.objects.watch(call.principal, &watch).await {
            Ok(socket) => socket,
            // Others took the last places meanwhile. The message is accepted: its caller learns how far it is.
            Err(error) if is_without_room(&error) => return current(call, task, view).await,
            Err(error) => return Err(error.into()),
        };
        let frames = Frames::new(&socket, exchange.config.tick_ms);
        let mut is_snapshot = true;
        loop {
            // No longer than a tick at a time: a wait that makes no step is taken for forgotten.
            let left_ms = remaining_ms(deadline_ms);
            match frames.next(left_ms.min(exchange.config.tick_ms)).await {
                Next::Frame(frame) => match settling(&frame) {
                    Some(snapshot) if is_snapshot => return Ok(snapshot.to_owned()),
                    Some(_) => return current(call, task, view).await,
                    None => is_snapshot = false,
                },
                Next::Deadline if remaining_ms(deadline_ms) > 0 => {}
                Next::Deadline => return current(call, task, view).await,
                Next::Closed => break,
            }
        }
        if remaining_ms(deadline_ms) == 0 {
            return current(call, task, view).await;
        }
        timer::sleep(REOPEN_MS).await;
    }
}

/// Whether a watch was refused because the principal has as many watchers as it may.
pub fn is_without_room(error: &OpenError) -> bool {
    let OpenError::Refused { text, .. } = error else {
        return false;
    };
    calls::refusal(text).is_some_and(|error| error.reason == Reason::ResourceExhausted)
}

/// The frame's JSON, if it settles the task.
fn settling(frame: &str) -> Option<&str> {
    let mut characters = frame.chars();
    let kind = characters.next().and_then(FrameKind::from_letter)?;
    (kind != FrameKind::Progress).then_some(characters.as_str())
}

async fn current(call: &A2aCall<'_>, task: &TaskReply, view: &View) -> Result<String, Failure> {
    let command = GetTask {
        task_id: task.task_id.clone(),
        view: view.clone(),
    };
    let reply = call
        .exchange
        .objects
        .principal_text(call.principal, call.resident, command)
        .await??;
    Ok(wrapped("task", &reply.read()))
}

fn remaining_ms(deadline_ms: i64) -> u32 {
    u32::try_from(deadline_ms.saturating_sub(clock::now_ms())).unwrap_or(0)
}
