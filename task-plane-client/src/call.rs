//! One HTTP call, bounded in time and size.

use std::time::Duration;

use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::endpoint::Endpoint;
use crate::error::{CallError, SetUpError};
use crate::refusal::Refusal;
use crate::token::Token;

/// An answer longer than this is not read to its end, in bytes: more than a task's history and artifacts together.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// An HTTP client that sends one token to one place.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    http: reqwest::Client,
    endpoint: Endpoint,
    token: Token,
}

impl Caller {
    /// A caller that sends `token` to `endpoint`, and nowhere else: redirects are not followed.
    pub fn new(endpoint: Endpoint, token: Token) -> Result<Self, SetUpError> {
        // Fails only when a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("a2a-task-plane-client/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(ANSWER_TIMEOUT);
        if !endpoint.is_https {
            builder = builder.tls_certs_only([]);
        }
        if endpoint.is_loopback {
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|error| SetUpError::Http(root_cause(&error)))?;
        Ok(Self {
            http,
            endpoint,
            token,
        })
    }

    /// Makes a call once, and reads its answer.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<T, CallError> {
        let mut request = self
            .http
            .request(method, self.endpoint.at(path))
            .bearer_auth(self.token.reveal())
            .header("accept", "application/json");
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_vec());
        }
        let mut response = request.send().await.map_err(|error| transport(&error))?;
        let status = response.status().as_u16();
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error))? {
            if answer.len().saturating_add(chunk.len()) > MAX_ANSWER_BYTES {
                return Err(CallError::Unreadable("the answer is longer than 64 MiB"));
            }
            answer.extend_from_slice(&chunk);
        }
        match status {
            200..=299 => serde_json::from_slice(&answer).map_err(|_| {
                CallError::Unreadable("the answer's body is not the JSON of this contract")
            }),
            _ => Err(CallError::Refused(Box::new(Refusal::read(status, &answer)))),
        }
    }
}

/// A request's body.
pub(crate) fn written(body: &impl Serialize) -> Result<Vec<u8>, CallError> {
    serde_json::to_vec(body)
        .map_err(|_| CallError::Unreadable("the request can't be written as JSON"))
}

fn transport(error: &reqwest::Error) -> CallError {
    if error.is_connect() {
        CallError::Unreached(root_cause(error))
    } else {
        lost(error)
    }
}

fn lost(error: &reqwest::Error) -> CallError {
    CallError::Lost(root_cause(error))
}

/// The innermost cause: the outer ones repeat the URL and the library's layers.
fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
