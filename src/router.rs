//! From a request to its handler.
//!
//! What is asked of a request, in this order; the first that fails is the answer:
//!
//! 1. The route: 404, or 405 with `Allow`. `OPTIONS` of a path that exists is answered here, to anybody: browsers send
//!    it without a token. So are the public documents.
//! 2. The deployment has credentials: 503.
//! 3. The token is known: 401.
//! 4. Its role opens the route: 403.
//! 5. The protocol's version, on the A2A operations: 400.
//! 6. The caller's rate: 429.
//! 7. The extensions, then the body, then the rest, by the handler.
//!
//! Nothing of a body is read, and no object is asked, before all of the first six hold.

use std::rc::Rc;

use protocol::credentials::{Credential, TurnToken, bearer_token, is_turn_token};
use protocol::error::{A2aError, Reason};
use protocol::ids;
use protocol::routes::{self, Access, Match, Operation, Params, match_route};
use protocol::{extensions, pseudonym, trace_context, version};
use wasm_bindgen::JsValue;

use crate::calls::Objects;
use crate::config::{self, Config};
use crate::rate;
use crate::reply::{self, Failure, Handled};
use crate::request_log::RequestRecord;
use crate::runtime::body::BodyError;
use crate::runtime::clock;
use crate::runtime::env::Env;
use crate::runtime::promise::caught;
use crate::runtime::random;
use crate::runtime::request::{Request, RequestHead, RequestLine};
use crate::runtime::response::{JsResponse, respond};
use crate::runtime::stream::ExecutionContext;
use crate::{a2a, agents, resident, trusted};

/// The largest body read, in bytes.
const MAX_BODY_BYTES: u32 = 1024 * 1024;

/// How long a body may take to arrive, in milliseconds.
const BODY_TIMEOUT_MS: u32 = 30_000;

/// One request, and everything its handler may need.
pub struct Exchange<'a> {
    /// The request.
    pub request: &'a Request,
    /// Its method and URL.
    pub line: &'a RequestLine,
    /// The headers that every request is asked for.
    pub head: &'a RequestHead,
    /// What the platform gave with it.
    pub context: &'a ExecutionContext,
    /// The deployment's settings.
    pub config: Rc<Config>,
    /// The deployment's objects.
    pub objects: Objects,
}

impl Exchange<'_> {
    /// The body, under its cap.
    ///
    /// # Errors
    /// `PAYLOAD_TOO_LARGE`, or an invalid request where it did not arrive whole.
    pub async fn body(&self) -> Result<Vec<u8>, A2aError> {
        self.request
            .body(MAX_BODY_BYTES, BODY_TIMEOUT_MS)
            .await
            .map_err(|error| match error {
                BodyError::TooLarge => A2aError::too_large(
                    "body",
                    usize::try_from(MAX_BODY_BYTES).unwrap_or(usize::MAX),
                ),
                BodyError::Aborted => A2aError::field("body", "must arrive whole: it ended early"),
                BodyError::Stalled => A2aError::field("body", "must arrive within 30 seconds"),
            })
    }

    /// The query, without its `?`; empty where there is none.
    pub fn query(&self) -> &str {
        self.line.query.as_deref().unwrap_or_default()
    }

    /// Whether only the headers of the answer are asked for.
    pub fn is_head(&self) -> bool {
        self.line.method == "HEAD"
    }

    /// A body, unless only the headers are asked for.
    pub fn body_unless_head<'b>(&self, body: &'b str) -> Option<&'b str> {
        (!self.is_head()).then_some(body)
    }
}

/// Who calls.
pub enum Caller {
    /// A credential of the secret.
    Credential(Credential),
    /// The bearer of a turn's token, to be checked by the queue that granted the turn.
    Turn {
        /// The queue.
        resident: String,
        /// The turn.
        turn_id: String,
        /// The whole token.
        token: String,
    },
}

/// Answers a request: every failure becomes an answer of the contract's shape.
///
/// # Errors
/// Where the platform refuses to build the answer: a mistake of ours.
pub async fn respond_to(
    request: &Request,
    env: &Env,
    context: &ExecutionContext,
) -> Result<JsResponse, JsValue> {
    let began_ms = clock::now_ms();
    let head = request.head();
    let exchange = Exchange {
        request,
        line: &head.line,
        head: &head,
        context,
        config: config::of(env),
        objects: Objects::of(env),
    };
    let trace_id = head
        .traceparent
        .as_deref()
        .and_then(trace_context::trace_id);
    let mut record = RequestRecord::new(request_id(&head), trace_id);
    let outcome = caught(handle(&exchange, &mut record))
        .await
        .unwrap_or_else(|| Err(A2aError::internal().into()));
    let response = match outcome {
        Ok(response) => response,
        Err(failure) => {
            record.reason = Some(failure.error.reason);
            reply::error(&failure, &exchange.line.path)
        }
    };
    record.status = response.status();
    record.ms = clock::now_ms().saturating_sub(began_ms);
    record.count(exchange.objects.rows());
    reply::finish(response, &exchange, &record)
}

/// The caller's id of the request where it has the form of an identifier, otherwise a new one.
fn request_id(head: &RequestHead) -> String {
    match &head.request_id {
        Some(id) if ids::is_identifier(id) => id.clone(),
        _ => random::uuid_v4().to_string(),
    }
}

async fn handle(exchange: &Exchange<'_>, record: &mut RequestRecord) -> Handled {
    let line = exchange.line;
    let (operation, access, params) = match match_route(&line.method, &line.path) {
        Match::Found {
            id,
            operation,
            access,
            params,
        } => {
            record.operation = Some(id);
            (operation, access, params)
        }
        Match::Options { methods } => return options(exchange, &methods),
        Match::MethodNotAllowed { methods } => {
            let allow = routes::allow(&methods);
            return Err(Failure {
                error: A2aError::new(Reason::MethodNotAllowed, format!("use one of: {allow}")),
                headers: vec![("allow", allow)],
            });
        }
        Match::NotFound => {
            return Err(A2aError::new(Reason::NotFound, "there is nothing at this path").into());
        }
    };
    if access == Access::Public {
        return public(exchange, operation);
    }
    let caller = authenticate(exchange, access, record)?;
    if access == Access::Principal {
        version::negotiate(exchange.head.a2a_version.as_deref(), line.query.as_deref())?;
    }
    rate::check(&exchange.config, &caller).await?;
    match &caller {
        Caller::Credential(credential) if access == Access::Principal => {
            principal(exchange, operation, &params, credential).await
        }
        Caller::Credential(credential)
            if access == Access::Source || operation == Operation::ListEvidence =>
        {
            trusted::handle(exchange, operation, &params, credential).await
        }
        _ => resident::handle(exchange, operation, &params, &caller).await,
    }
}

/// Answers `OPTIONS` of a path that exists, a browser's preflight among them.
fn options(exchange: &Exchange<'_>, methods: &str) -> Handled {
    let allow = routes::allow(methods);
    let mut headers = exchange.config.allowed_origins.preflight(
        &exchange.line.path,
        exchange.head.page_origin.as_deref(),
        methods,
    );
    headers.push(("allow", &allow));
    Ok(respond(204, &headers, None))
}

fn public(exchange: &Exchange<'_>, operation: Operation) -> Handled {
    match operation {
        Operation::AgentCard => a2a::card::respond(exchange),
        Operation::OpenApi => a2a::describe::respond(exchange),
        _ => Ok(respond(
            200,
            &[
                ("content-type", "application/json"),
                ("cache-control", "no-store"),
            ],
            exchange.body_unless_head("{\"status\":\"ok\"}"),
        )),
    }
}

async fn principal(
    exchange: &Exchange<'_>,
    operation: Operation,
    params: &Params<'_>,
    credential: &Credential,
) -> Handled {
    let Some(principal) = &credential.principal else {
        return Err(forbidden());
    };
    let activated = extensions::activate(exchange.head.a2a_extensions.as_deref())?;
    let call = a2a::A2aCall {
        exchange,
        principal,
        resident: &credential.resident,
        activated,
    };
    operate(&call, operation, params)
        .await
        .map_err(|mut failure| {
            // What was negotiated is said of a refusal, too.
            failure.headers.extend(call.headers());
            failure
        })
}

async fn operate(call: &a2a::A2aCall<'_>, operation: Operation, params: &Params<'_>) -> Handled {
    match operation {
        Operation::SendMessage => a2a::send::send(call).await,
        Operation::SendStreamingMessage => a2a::stream::send_streaming(call).await,
        Operation::GetTask => a2a::tasks::get(call, &identifier(params, "id")?).await,
        Operation::ListTasks => a2a::tasks::list(call).await,
        Operation::CancelTask => a2a::tasks::cancel(call, &identifier(params, "id")?).await,
        Operation::SubscribeToTask => {
            a2a::stream::subscribe(call, &identifier(params, "id")?).await
        }
        Operation::ListAgents
        | Operation::AddAgent
        | Operation::DiscoverAgents
        | Operation::EnableAgent
        | Operation::DisableAgent
        | Operation::RemoveAgent => agents::handle(call, operation, params).await,
        Operation::PushNotificationConfig => {
            Err(A2aError::push_notification_not_supported().into())
        }
        _ => Err(A2aError::unsupported_operation("this agent has no extended card").into()),
    }
}

/// The id that a path names. What is no identifier can't be one, and is refused before any object is asked.
///
/// # Errors
/// An invalid request, naming it.
pub fn identifier(params: &Params<'_>, name: &'static str) -> Result<String, A2aError> {
    let id = params
        .get(name)
        .ok_or_else(|| A2aError::field(name, "must be percent-encoded UTF-8"))?;
    ids::check(name, &id).map(str::to_owned)
}

fn authenticate(
    exchange: &Exchange<'_>,
    access: Access,
    record: &mut RequestRecord,
) -> Result<Caller, Failure> {
    let Some(credentials) = &exchange.config.credentials else {
        return Err(A2aError::new(
            Reason::CredentialsNotConfigured,
            "this deployment has no credentials yet: its operator finds the reason in the log",
        )
        .into());
    };
    let header = exchange.head.authorization.as_deref();
    let token = header.and_then(bearer_token).ok_or_else(no_token)?;
    if is_turn_token(token) {
        let turn = TurnToken::parse(token).ok_or_else(unknown_token)?;
        // Only queues that some credential names exist: a token can't make the Worker address another.
        if !credentials.residents().contains(&turn.resident) {
            return Err(unknown_token());
        }
        if access != Access::TurnOrResident {
            return Err(forbidden());
        }
        return Ok(Caller::Turn {
            resident: turn.resident.to_owned(),
            turn_id: turn.turn_id.to_owned(),
            token: token.to_owned(),
        });
    }
    let credential = credentials.authenticate(token).ok_or_else(unknown_token)?;
    record.principal = credential.principal.as_deref().map(pseudonym::short);
    if !access.permits(credential.role) {
        return Err(forbidden());
    }
    Ok(Caller::Credential(credential.clone()))
}

fn no_token() -> Failure {
    unauthenticated("Bearer realm=\"a2a\"")
}

/// As RFC 6750 section 3.1 has it: a token was sent, and it is not good.
fn unknown_token() -> Failure {
    unauthenticated("Bearer realm=\"a2a\", error=\"invalid_token\"")
}

fn unauthenticated(challenge: &str) -> Failure {
    Failure {
        error: A2aError::new(
            Reason::Unauthenticated,
            "send a known token as Authorization: Bearer <token>",
        ),
        headers: vec![("www-authenticate", challenge.to_owned())],
    }
}

/// A known credential, at another role's route.
pub fn forbidden() -> Failure {
    A2aError::new(
        Reason::PermissionDenied,
        "this token's role does not open this route",
    )
    .into()
}
