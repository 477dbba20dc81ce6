//! The interface described: `/openapi.json`.

use protocol::error::A2aError;
use protocol::error::Reason;

use crate::reply::Handled;
use crate::router::Exchange;

/// Answers with the OpenAPI document.
///
/// # Errors
/// Not built yet: there is nothing at this path.
pub fn respond(_exchange: &Exchange<'_>) -> Handled {
    Err(A2aError::new(Reason::NotFound, "there is nothing at this path").into())
}
