//! One HTTP call, bounded in time and size.

use std::time::Duration;

use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::endpoint::Endpoint;
use crate::error::CallError;
use crate::refusal::Refusal;
use crate::token::Token;

/// An answer longer than this is not read to its end, in bytes: more than the 200 messages of 256 KiB that a
/// task keeps.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may take, over the time that the request itself asks to wait.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// An HTTP client that sends one token to one place.
#[derive(Debug, Clone)]
pub struct Connection {
    http: reqwest::Client,
    endpoint: Endpoint,
    token: Token,
}

/// A request of the plane's surface.
#[derive(Debug)]
pub struct Request<'a> {
    /// GET, POST or PUT.
    pub method: Method,
    /// Path and query, from the endpoint on; begins with a slash.
    pub path: &'a str,
    /// JSON.
    pub body: Option<Vec<u8>>,
    /// How long the plane is asked to wait before it answers.
    pub wait: Duration,
}

impl<'a> Request<'a> {
    /// A request without a body.
    #[must_use]
    pub fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            body: None,
            wait: Duration::ZERO,
        }
    }

    /// A request with a body.
    ///
    /// # Errors
    /// [`CallError::Unsendable`] where the body can't be written as JSON.
    pub fn with_body(
        method: Method,
        path: &'a str,
        body: &impl Serialize,
    ) -> Result<Self, CallError> {
        let body = serde_json::to_vec(body)
            .map_err(|_| CallError::Unsendable("the request can't be written as JSON"))?;
        Ok(Self {
            method,
            path,
            body: Some(body),
            wait: Duration::ZERO,
        })
    }

    /// With a wait that the request asks for.
    #[must_use]
    pub fn waiting(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }
}

/// An answer of success.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status, 200 to 299.
    pub status: u16,
    /// The body, at most [`MAX_ANSWER_BYTES`].
    pub body: Vec<u8>,
}

impl Answer {
    /// The body's value.
    ///
    /// # Errors
    /// [`CallError::Unreadable`] where it is not the JSON that was expected.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, CallError> {
        serde_json::from_slice(&self.body)
            .map_err(|_| CallError::Unreadable("the body is not the JSON of this contract"))
    }
}

impl Connection {
    /// A client that sends `token` to `endpoint`, and nowhere else: redirects are not followed. `user_agent` says which
    /// program it is.
    ///
    /// # Errors
    /// Why no HTTP client can be made, say because the machine has no root certificates.
    pub fn new(endpoint: Endpoint, token: Token, user_agent: &str) -> Result<Self, String> {
        Ok(Self {
            http: http_client(&endpoint, user_agent)?,
            endpoint,
            token,
        })
    }

    /// The same connection with another token.
    #[must_use]
    pub fn with_token(&self, token: Token) -> Self {
        Self {
            token,
            ..self.clone()
        }
    }

    /// Where it leads.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The token that it sends.
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Makes a call, once.
    ///
    /// # Errors
    /// The plane's refusal, and what kept it from answering.
    pub async fn call(&self, request: Request<'_>) -> Result<Answer, CallError> {
        let mut outgoing = self
            .http
            .request(request.method, self.endpoint.at(request.path))
            .bearer_auth(self.token.reveal())
            .header("accept", "application/json")
            .timeout(ANSWER_TIMEOUT.saturating_add(request.wait));
        if let Some(body) = request.body {
            outgoing = outgoing
                .header("content-type", "application/json")
                .body(body);
        }
        let mut response = outgoing.send().await.map_err(transport)?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(transport)? {
            if body.len().saturating_add(chunk.len()) > MAX_ANSWER_BYTES {
                return Err(CallError::Unreadable("it is longer than 64 MiB"));
            }
            body.extend_from_slice(&chunk);
        }
        match status {
            200..=299 => Ok(Answer { status, body }),
            _ => Err(CallError::Refused(Box::new(Refusal::read(status, &body)))),
        }
    }
}

/// An HTTP client for an endpoint. It follows no redirect.
///
/// # Errors
/// Why none can be made, say because the machine has no root certificates.
pub fn http_client(endpoint: &Endpoint, user_agent: &str) -> Result<reqwest::Client, String> {
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(user_agent)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT);
    if !endpoint.is_https {
        builder = builder.tls_certs_only([]);
    }
    if endpoint.is_loopback {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| root_cause(&error))
}

/// What a failure of the HTTP client means.
#[must_use]
pub fn transport(error: reqwest::Error) -> CallError {
    let cause = root_cause(&error);
    if error.is_connect() {
        CallError::Unreached(cause)
    } else {
        CallError::Lost(cause)
    }
}

/// The innermost cause: the outer ones repeat the URL and the library's layers.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.is_timeout() {
        "no answer in time".to_owned()
    } else {
        cause.to_string()
    }
}
