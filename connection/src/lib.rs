//! What every native client of the task plane needs: one token, sent to one place, and the plane's errors, typed.
//!
//! The invariant: **a token goes to its endpoint and nowhere else.** No redirect is followed, nothing that is shown holds
//! it, and an endpoint that would carry it over a network in the clear has to be asked for.

mod call;
mod endpoint;
mod error;
mod quoted;
mod refusal;
mod token;

pub use call::{Answer, Connection, MAX_ANSWER_BYTES, Request, http_client, transport};
pub use endpoint::{Endpoint, EndpointError};
pub use error::CallError;
pub use quoted::quoted;
pub use refusal::{FieldAtFault, Refusal};
pub use reqwest::Method;
pub use token::{Token, TokenError};
