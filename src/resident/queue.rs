//! What operators see of a resident's queue.

use durable_objects::commands::wake_queue::Inspect;
use protocol::error::{A2aError, Reason};

use super::json;
use crate::reply::Handled;
use crate::router::Exchange;
use crate::runtime::log;

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
    let body = serde_json::to_string(&queue).map_err(|error| {
        log::error("answer_not_written", &[("reason", &error.to_string())]);
        A2aError::internal()
    })?;
    json(&body)
}
