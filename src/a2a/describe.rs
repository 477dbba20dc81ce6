//! The interface described: `/openapi.json`.

use protocol::{entity_tag, openapi};

use super::public_document::PublicDocument;
use crate::reply::Handled;
use crate::router::Exchange;

/// Answers GET and HEAD of the OpenAPI document.
///
/// # Errors
/// An internal error where `A2A_PUBLIC_URL` is malformed.
pub fn respond(exchange: &Exchange<'_>) -> Handled {
    let url = exchange.config.interface_url(&exchange.line.origin)?;
    PublicDocument::kept("openapi", url, |url| {
        let json = openapi::document(url);
        PublicDocument {
            etag: entity_tag::of(json.as_bytes()),
            json,
        }
    })
    .respond(exchange)
}
