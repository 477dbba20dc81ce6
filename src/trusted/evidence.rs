//! What operators see of a principal's evidence.

use durable_objects::commands::trusted::TrustedCommand;
use protocol::error::{A2aError, Reason};
use protocol::trusted::evidence::EvidenceQuery;

use crate::router::Exchange;

/// The principal whose evidence is asked for, its queue, and the question.
///
/// # Errors
/// An invalid query; no credential names the principal: an object is never made by looking for it.
pub fn asked<'a>(
    exchange: &'a Exchange<'_>,
) -> Result<(String, &'a str, TrustedCommand), A2aError> {
    let (principal, query) = EvidenceQuery::parse(exchange.query())?;
    let resident = exchange
        .config
        .credentials
        .as_ref()
        .and_then(|credentials| credentials.resident_of(&principal))
        .ok_or_else(|| A2aError::new(Reason::NotFound, "no credential names this principal"))?;
    Ok((principal, resident, TrustedCommand::Evidence(query)))
}
