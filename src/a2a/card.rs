//! The public Agent Card. Serving it touches no object.

use protocol::card::interface_url;
use protocol::error::A2aError;
use protocol::http::{CARD_CACHE_CONTROL, JSON};

use crate::reply::Handled;
use crate::router::Exchange;
use crate::runtime::log;
use crate::runtime::response::respond as build;

/// Answers GET and HEAD of the card.
///
/// # Errors
/// An internal error where a var is malformed: an honest failure instead of a wrong card.
pub fn respond(exchange: &Exchange<'_>) -> Handled {
    let config = &exchange.config;
    // What is wrong with the identity was logged when it was read.
    let identity = config.identity.as_ref().ok_or_else(A2aError::internal)?;
    let url =
        interface_url(config.public_url.as_deref(), &exchange.line.origin).map_err(|error| {
            log::error(
                "agent_card_not_configured",
                &[("reason", &error.to_string())],
            );
            A2aError::internal()
        })?;
    let card = identity.render(&url);
    let headers = [
        ("content-type", JSON),
        ("cache-control", CARD_CACHE_CONTROL),
        ("etag", card.etag.as_str()),
        ("access-control-allow-origin", "*"),
    ];
    let body = (exchange.line.method != "HEAD").then_some(card.json.as_str());
    Ok(build(200, &headers, body)?)
}
