//! What the Worker answers, and how errors become answers.

use protocol::error::{A2aError, CONTENT_TYPE, Reason};
use protocol::http::{JSON, PRIVATE_CACHE_CONTROL};
use protocol::mcp;
use wasm_bindgen::JsValue;

use crate::calls;
use crate::request_log::RequestRecord;
use crate::router::Exchange;
use crate::runtime::frames::OpenError;
use crate::runtime::log;
use crate::runtime::object_call::CallError;
use crate::runtime::response::{Body, JsResponse, Response, respond, respond_with_body};

/// A request that gets an error for an answer.
pub struct Failure {
    /// The caller's error.
    pub error: A2aError,
    /// Headers that go with it.
    pub headers: Vec<(&'static str, String)>,
}

impl From<A2aError> for Failure {
    fn from(error: A2aError) -> Self {
        Self {
            error,
            headers: Vec::new(),
        }
    }
}

impl From<CallError> for Failure {
    /// An object gave no answer: logged here, once. Every command may be repeated with the same ids, so the caller is
    /// told to try again where that can help.
    fn from(error: CallError) -> Self {
        match error {
            CallError::Deadline => {
                log::error("object_deadline_exceeded", &[]);
                A2aError::new(
                    Reason::DeadlineExceeded,
                    "the request was not answered in time: retrying it with the same ids is safe",
                )
                .into()
            }
            CallError::Object {
                overloaded: true, ..
            } => {
                log::error("object_overloaded", &[]);
                Self {
                    error: A2aError::new(
                        Reason::Unavailable,
                        "too busy: retrying with the same ids is safe",
                    ),
                    headers: vec![("retry-after", "1".to_owned())],
                }
            }
            CallError::Object {
                retryable, message, ..
            } => {
                log::error("object_failed", &[("reason", &message)]);
                if retryable {
                    // The object was reset or moved: the same call may succeed at once.
                    Self {
                        error: A2aError::new(
                            Reason::Unavailable,
                            "not reachable just now: retrying with the same ids is safe",
                        ),
                        headers: vec![("retry-after", "1".to_owned())],
                    }
                } else {
                    A2aError::internal().into()
                }
            }
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Call(error) => error.into(),
            OpenError::Refused { status, text } => match calls::refusal(&text) {
                Some(error) => error.into(),
                None => {
                    log::error("watch_refused", &[("status", &status.to_string())]);
                    A2aError::internal().into()
                }
            },
        }
    }
}

impl From<JsValue> for Failure {
    /// The platform refused to build a response: a mistake of ours.
    fn from(error: JsValue) -> Self {
        log::error("response_not_built", &[("reason", &format!("{error:?}"))]);
        A2aError::internal().into()
    }
}

/// How a browser is told to come encrypted from now on, for a year. This host alone: others of its domain are not ours
/// to speak for.
const STRICT_TRANSPORT_SECURITY: &str = "max-age=31536000";

/// Builds an answer with what all answers carry: the request's id, what browsers are told, and its line in the log.
///
/// # Errors
/// Where the platform refuses to build it: a mistake of ours.
pub fn finish(
    response: Response,
    exchange: &Exchange<'_>,
    record: &RequestRecord,
) -> Result<JsResponse, JsValue> {
    let (line, head) = (exchange.line, exchange.head);
    let mut headers = exchange
        .config
        .allowed_origins
        .headers(&line.path, head.page_origin.as_deref());
    headers.push(("x-content-type-options", "nosniff"));
    if line.is_secure() {
        headers.push(("strict-transport-security", STRICT_TRANSPORT_SECURITY));
    }
    let line = (exchange.config.logs_requests || record.status >= 500).then(|| record.line());
    if let Some(dataset) = &exchange.config.metrics {
        record.measure(dataset);
    }
    response.finish(&headers, &record.request_id, line.as_deref())
}

/// What a handler gives.
pub type Handled = Result<Response, Failure>;

/// An answer of the A2A binding.
#[must_use]
pub fn a2a_json(headers: &[(&str, &str)], body: Body) -> Response {
    let mut all = vec![
        ("content-type", CONTENT_TYPE),
        ("cache-control", PRIVATE_CACHE_CONTROL),
    ];
    all.extend_from_slice(headers);
    respond_with_body(200, &all, body)
}

/// An answer of this endpoint's own surfaces.
#[must_use]
pub fn json(body: Body) -> Response {
    let headers = [
        ("content-type", JSON),
        ("cache-control", PRIVATE_CACHE_CONTROL),
    ];
    respond_with_body(200, &headers, body)
}

/// An error in the form of the surface that the path belongs to: JSON-RPC's at `/mcp`, the contract's everywhere else.
#[must_use]
pub fn error(failure: &Failure, path: &str) -> Response {
    let (content_type, body) = if path == mcp::PATH {
        (JSON, mcp::refused(&failure.error))
    } else {
        (CONTENT_TYPE, failure.error.to_json())
    };
    let mut headers = vec![
        ("content-type", content_type),
        ("cache-control", PRIVATE_CACHE_CONTROL),
    ];
    headers.extend(
        failure
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str())),
    );
    respond(failure.error.http_status(), &headers, Some(&body))
}
