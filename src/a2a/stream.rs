//! `message:stream` and `:subscribe` (specification sections 3.1.2 and 3.1.6).
//!
//! Nothing is streamed before the first frame is at hand, so every refusal is a plain JSON error.

use durable_objects::commands::principal::{SendReply, Watch};
use durable_objects::commands::wrapped;
use durable_objects::effects::FrameKind;
use protocol::query::GetTaskQuery;
use protocol::sse;

use super::send::{Follow, is_without_room, read};
use super::{A2aCall, tasks};
use crate::reply::Handled;
use crate::runtime::response::{Response, respond};
use crate::runtime::sockets::WebSocket;
use crate::runtime::stream::{Event, respond_with_stream};

/// Accepts a message and streams its task until it settles.
///
/// # Errors
/// What the contract refuses, in its shape.
pub async fn send_streaming(call: &A2aCall<'_>) -> Handled {
    let command = read(call, Follow::Stream).await?;
    let view = command.view.clone();
    let reply = call
        .exchange
        .objects
        .principal(call.principal, call.resident, command)
        .await??;
    match reply {
        message @ SendReply::Message(_) => Ok(one_frame(call, &message.into_body())),
        SendReply::Task(task) => {
            let watch = Watch {
                task_id: task.task_id.clone(),
                subscribe: false,
                view,
                max_watchers: call.exchange.config.max_watchers,
            };
            let opened = call.exchange.objects.watch(call.principal, &watch).await;
            match opened {
                Ok(socket) => stream(call, &watch, &socket),
                // Others took the last places meanwhile. The message is accepted: the stream says so, and ends early.
                Err(error) if is_without_room(&error) => {
                    Ok(one_frame(call, &wrapped("task", task.task.get())))
                }
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// A stream of which all is known.
fn one_frame(call: &A2aCall<'_>, json: &str) -> Response {
    let headers = call.headers();
    let mut headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    headers.push(("content-type", sse::CONTENT_TYPE));
    headers.push(("cache-control", protocol::http::STREAM_CACHE_CONTROL));
    respond(200, &headers, Some(&sse::frame(json)))
}

/// Streams a task that is not terminal until it is.
///
/// # Errors
/// `TASK_NOT_FOUND`, `UNSUPPORTED_OPERATION` for a terminal task, or an invalid request.
pub async fn subscribe(call: &A2aCall<'_>, task_id: &str) -> Handled {
    if call.exchange.line.method == "POST" {
        tasks::read_optional_body(call, task_id).await?;
    }
    let query = GetTaskQuery::parse(call.exchange.query())?;
    let watch = Watch {
        task_id: task_id.to_owned(),
        subscribe: true,
        view: call.view(query.history_length)?,
        max_watchers: call.exchange.config.max_watchers,
    };
    let socket = call.exchange.objects.watch(call.principal, &watch).await?;
    stream(call, &watch, &socket)
}

fn stream(call: &A2aCall<'_>, watch: &Watch, socket: &WebSocket) -> Handled {
    let exchange = call.exchange;
    let headers = call.headers();
    let mut headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    if exchange.is_head() {
        socket.close(1000, "");
        headers.push(("content-type", sse::CONTENT_TYPE));
        headers.push(("cache-control", protocol::http::STREAM_CACHE_CONTROL));
        return Ok(respond(200, &headers, None));
    }
    let until_terminal = watch.subscribe;
    respond_with_stream(
        socket,
        &headers,
        exchange.config.tick_ms,
        exchange.context,
        move |frame| event(&frame, until_terminal),
    )
    .map_err(|error| {
        socket.close(1011, "");
        error.into()
    })
}

/// What a watcher's frame becomes on the wire. A stream of a message ends when its task settles, a subscription when it
/// is terminal (DESIGN *Subscribe*).
fn event(frame: &str, until_terminal: bool) -> Event {
    let mut characters = frame.chars();
    let Some(kind) = characters.next().and_then(FrameKind::from_letter) else {
        return Event::Skip;
    };
    let text = sse::frame(characters.as_str());
    let last = match kind {
        FrameKind::Progress => false,
        FrameKind::Interrupted => !until_terminal,
        FrameKind::Terminal => true,
    };
    if last {
        Event::Last(text)
    } else {
        Event::More(text)
    }
}
