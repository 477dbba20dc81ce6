//! A turn's signs of life, and its end.

use durable_objects::commands::wake_queue::{End, Heartbeat, HeartbeatReply};
use durable_objects::wake_queue::{disposition_name, turn_bell};
use serde_json::json;

use super::body::Body;
use super::json;
use crate::reply::{Failure, Handled};
use crate::router::{Caller, Exchange};
use crate::runtime::frames::{Frames, Next};

/// The longest wait for the end of a turn, in milliseconds.
const MAX_WAIT_MS: u32 = 60_000;

/// Renews the lease. With `waitMs` it answers when the turn stops being live, or after that time.
///
/// # Errors
/// `TURN_NOT_LIVE` where the turn is unknown or the bearer may not speak for it.
pub async fn heartbeat(exchange: &Exchange<'_>, caller: &Caller, turn_id: &str) -> Handled {
    let mut body = Body::of(exchange).await?;
    let wait_ms = body.number("waitMs", MAX_WAIT_MS, 0)?;
    let mut reply = beat(exchange, caller, turn_id).await?;
    if wait_ms > 0 && matches!(reply, HeartbeatReply::Live { .. }) {
        let socket = exchange
            .objects
            .bell(caller.resident(), &turn_bell(turn_id))
            .await?;
        let bell = Frames::new(&socket, exchange.config.tick_ms);
        if matches!(bell.next(wait_ms).await, Next::Frame(_) | Next::Closed) {
            reply = beat(exchange, caller, turn_id).await?;
        }
    }
    json(
        &match reply {
            HeartbeatReply::Live { lease_ms } => json!({ "live": true, "leaseMs": lease_ms }),
            HeartbeatReply::Over { reason } => json!({ "live": false, "reason": reason }),
        }
        .to_string(),
    )
}

async fn beat(
    exchange: &Exchange<'_>,
    caller: &Caller,
    turn_id: &str,
) -> Result<HeartbeatReply, Failure> {
    let command = Heartbeat {
        turn_id: turn_id.to_owned(),
        authority: caller.authority(turn_id)?,
    };
    Ok(exchange
        .objects
        .wake_queue(caller.resident(), command)
        .await??)
}

/// Ends the turn, and tells what becomes of its task.
///
/// # Errors
/// `TURN_NOT_LIVE`, or an invalid body.
pub async fn end(exchange: &Exchange<'_>, resident: &str, turn_id: &str) -> Handled {
    let mut body = Body::of(exchange).await?;
    let outcome = body.outcome()?;
    let command = End {
        resident: resident.to_owned(),
        turn_id: turn_id.to_owned(),
        task_id: None,
        outcome,
    };
    let disposition = exchange.objects.wake_queue(resident, command).await??;
    json(&json!({ "disposition": disposition_name(&disposition) }).to_string())
}
