//! What operators see of a principal's evidence.

use durable_objects::commands::trusted::TrustedCommand;
use protocol::error::{A2aError, Reason};
use protocol::trusted::evidence::EvidenceQuery;

use crate::reply::{self, Handled};
use crate::router::Exchange;

/// Answers with a page of what was recorded about a principal's work.
///
/// # Errors
/// An invalid query; no credential names the principal: an object is never made by looking for it.
pub async fn list(exchange: &Exchange<'_>) -> Handled {
    let (principal, query) = EvidenceQuery::parse(exchange.query())?;
    let resident = exchange
        .config
        .credentials
        .as_ref()
        .and_then(|credentials| credentials.resident_of(&principal))
        .ok_or_else(|| A2aError::new(Reason::NotFound, "no credential names this principal"))?;
    let answer = exchange
        .objects
        .principal(&principal, resident, TrustedCommand::Evidence(query))
        .await??;
    reply::json(answer.get())
}
