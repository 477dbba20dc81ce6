//! Taking a wake: at once where one waits, otherwise at the queue's doorbell.

use durable_objects::commands::wake_queue::{Assign, Take, TakeReply, Turn};
use durable_objects::wake_queue::WAKE_BELL;
use protocol::sse;
use serde_json::json;

use super::body::Body;
use super::json;
use crate::reply::{Failure, Handled};
use crate::router::Exchange;
use crate::runtime::clock;
use crate::runtime::frames::{Frames, Next};
use crate::runtime::response::respond;
use crate::runtime::stream::{Event, respond_with_stream};
use crate::runtime::timer;

/// The longest and the usual wait for a wake, in milliseconds.
const MAX_WAIT_MS: u32 = 60_000;
const WAIT_MS: u32 = 25_000;

/// The pause before a doorbell that broke is tried again, in milliseconds.
const REOPEN_MS: u32 = 200;

/// Answers with a turn, waiting for a wake at most as long as the resident asks.
///
/// # Errors
/// As [`wait`], or an invalid body.
pub async fn take(exchange: &Exchange<'_>, resident: &str) -> Handled {
    let mut body = Body::of(exchange).await?;
    let session = body.identifier("session")?;
    let wait_ms = body.number("waitMs", MAX_WAIT_MS, WAIT_MS)?;
    match wait(exchange, resident, &session, wait_ms, None).await? {
        Some(turn) => granted(&turn),
        None => Ok(respond(204, &[("cache-control", "no-store")], None)),
    }
}

/// Waits for a wake, at most `wait_ms`, and takes its turn. `lease_ms` is how long the turn lives without a sign of life,
/// where the deployment's lease is too short.
///
/// # Errors
/// `SESSION_SUPERSEDED`.
pub async fn wait(
    exchange: &Exchange<'_>,
    resident: &str,
    session: &str,
    wait_ms: u32,
    lease_ms: Option<i64>,
) -> Result<Option<Turn>, Failure> {
    let deadline_ms = clock::now_ms().saturating_add(i64::from(wait_ms));
    loop {
        let command = Take {
            resident: resident.to_owned(),
            session: session.to_owned(),
            lease_ms,
        };
        let TakeReply { turn, started } = exchange.objects.wake_queue(resident, command).await??;
        if started {
            assign(exchange, resident, session).await?;
            continue;
        }
        let remaining_ms = remaining_ms(deadline_ms);
        if turn.is_some() || remaining_ms == 0 {
            return Ok(turn);
        }
        let socket = exchange.objects.bell(resident, WAKE_BELL).await?;
        let bell = Frames::new(&socket, exchange.config.tick_ms);
        match bell.next(remaining_ms).await {
            Next::Frame(_) => {}
            Next::Deadline => return Ok(None),
            Next::Closed => timer::sleep(REOPEN_MS).await,
        }
    }
}

/// Streams a notice whenever a wake may be taken. It holds nothing in memory while nothing comes, and carries nothing:
/// the turn is taken by a call of its own.
///
/// # Errors
/// Where the queue can't be reached.
pub async fn watch(exchange: &Exchange<'_>, resident: &str) -> Handled {
    if exchange.is_head() {
        return Ok(respond(200, &[("content-type", sse::CONTENT_TYPE)], None));
    }
    let socket = exchange.objects.bell(resident, WAKE_BELL).await?;
    let notice = sse::frame("{\"wake\":{}}");
    respond_with_stream(
        &socket,
        &[],
        exchange.config.tick_ms,
        exchange.context,
        move |_| Event::More(notice.clone()),
    )
    .map_err(|error| {
        socket.close(1011, "");
        error.into()
    })
}

/// Tells a session that has just started whom it serves: the principals whose credentials name this resident.
async fn assign(exchange: &Exchange<'_>, resident: &str, session: &str) -> Result<(), Failure> {
    let principals = match &exchange.config.credentials {
        Some(credentials) => credentials.principals_of(resident),
        None => Vec::new(),
    };
    let command = Assign {
        resident: resident.to_owned(),
        session: session.to_owned(),
        principals,
    };
    exchange.objects.wake_queue(resident, command).await??;
    Ok(())
}

fn granted(turn: &Turn) -> Handled {
    json(
        &json!({
            "turn": {
                "turnId": turn.turn_id,
                "taskId": turn.task_id,
                "contextId": turn.context_id,
                "delivery": turn.delivery,
                "leaseMs": turn.lease_ms,
                "token": turn.token,
            }
        })
        .to_string(),
    )
}

fn remaining_ms(deadline_ms: i64) -> u32 {
    u32::try_from(deadline_ms.saturating_sub(clock::now_ms())).unwrap_or(0)
}
