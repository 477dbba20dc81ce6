//! The public Agent Card. Serving it touches no object.

use protocol::error::A2aError;

use super::public_document::PublicDocument;
use crate::reply::Handled;
use crate::router::Exchange;

/// Answers GET and HEAD of the card.
///
/// # Errors
/// An internal error where a var is malformed: an honest failure instead of a wrong card.
pub fn respond(exchange: &Exchange<'_>) -> Handled {
    let config = &exchange.config;
    // What is wrong with the identity was logged when it was read.
    let identity = config.identity.as_ref().ok_or_else(A2aError::internal)?;
    let url = config.interface_url(&exchange.line.origin)?;
    PublicDocument::kept("card", url, |url| {
        let card = identity.render(url);
        PublicDocument {
            json: card.json,
            etag: card.etag,
        }
    })
    .respond(exchange)
}
