//! What operators see of a resident's queue.

use durable_objects::commands::wake_queue::Inspect;
use protocol::error::{A2aError, Reason};

use serde_json::json;

use super::json;
use crate::reply::Handled;
use crate::router::Exchange;

/// Answers with the queue's depth and its turn.
///
/// # Errors
/// No credential names this resident.
pub async fn inspect(exchange: &Exchange<'_>, resident: &str) -> Handled {
    let known = exchange
        .config
        .credentials
        .as_ref()
        .is_some_and(|credentials| credentials.residents().contains(&resident));
    if !known {
        return Err(A2aError::new(Reason::NotFound, "no credential names this resident").into());
    }
    let queue = exchange.objects.wake_queue(resident, Inspect {}).await??;
    let mut body = json!({ "depth": queue.depth, "delayed": queue.delayed });
    if let (Some(turn), Some(fields)) = (queue.turn, body.as_object_mut()) {
        let turn = json!({
            "turnId": turn.turn_id,
            "principal": turn.principal,
            "taskId": turn.task_id,
            "phase": turn.phase,
            "delivery": turn.delivery,
            "ageMs": turn.age_ms,
            "leaseLeftMs": turn.lease_left_ms,
        });
        fields.insert("turn".to_owned(), turn);
    }
    json(&body.to_string())
}
