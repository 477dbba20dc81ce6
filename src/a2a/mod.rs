//! The A2A binding: HTTP+JSON, specification section 11.

pub mod card;
pub mod describe;
pub mod public_document;
pub mod send;
pub mod stream;
pub mod tasks;

use durable_objects::commands::principal::{Locator, View};
use protocol::extensions::{Activated, Extension, HEADER};

use crate::reply::{Failure, a2a_json};
use crate::router::Exchange;
use crate::runtime::response::{Body, Response};

/// A request of an authenticated principal.
pub struct A2aCall<'a> {
    /// The request.
    pub exchange: &'a Exchange<'a>,
    /// Whose it is.
    pub principal: &'a str,
    /// The queue that serves the principal.
    pub resident: &'a str,
    /// The extensions that it activated.
    pub activated: Activated,
}

impl A2aCall<'_> {
    /// How much of a task the answer shows.
    ///
    /// # Errors
    /// An internal error where the deployment's URL is malformed: a locator must never be wrong.
    pub fn view(&self, history_length: Option<u32>) -> Result<View, Failure> {
        let locator = if self.activated.contains(Extension::OutfitterTask) {
            let exchange = self.exchange;
            Some(Locator {
                agent_interface: exchange.config.interface_url(&exchange.line.origin)?,
                scope: self.principal.to_owned(),
            })
        } else {
            None
        };
        Ok(View {
            history_length,
            without_artifacts: false,
            locator,
        })
    }

    /// The headers that every answer of the binding carries: which extensions are in effect.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        self.activated
            .header_value()
            .map(|value| (HEADER, value))
            .into_iter()
            .collect()
    }

    /// A whole answer.
    #[must_use]
    pub fn answer(&self, body: Body) -> Response {
        let headers = self.headers();
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        a2a_json(&headers, body)
    }
}
