//! From a request to its handler: route, then credential, then version, in that order.

use std::rc::Rc;

use protocol::credentials::{Credential, TurnToken, bearer_token, is_turn_token};
use protocol::error::{A2aError, Reason};
use protocol::ids;
use protocol::routes::{Access, Match, Operation, Params, match_route};
use protocol::{extensions, version};
use wasm_bindgen::JsValue;

use crate::calls::Objects;
use crate::config::{self, Config};
use crate::reply::{self, Failure, Handled};
use crate::runtime::body::BodyError;
use crate::runtime::env::Env;
use crate::runtime::request::{Request, RequestLine};
use crate::runtime::response::{Response, respond};
use crate::runtime::stream::ExecutionContext;
use crate::{a2a, resident};

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
pub async fn respond_to(
    request: &Request,
    env: &Env,
    context: &ExecutionContext,
) -> Result<Response, JsValue> {
    let line = request.line();
    let exchange = Exchange {
        request,
        line: &line,
        context,
        config: config::of(env),
        objects: Objects::of(env),
    };
    match handle(&exchange).await {
        Ok(response) => Ok(response),
        Err(failure) => reply::error(&failure),
    }
}

async fn handle(exchange: &Exchange<'_>) -> Handled {
    let line = exchange.line;
    let (operation, access, params) = match match_route(&line.method, &line.path) {
        Match::Found {
            operation,
            access,
            params,
        } => (operation, access, params),
        Match::MethodNotAllowed { allow } => {
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
    let caller = authenticate(exchange, access)?;
    match caller {
        Caller::Credential(credential) if access == Access::Principal => {
            version::negotiate(
                exchange.request.header(version::NAME).as_deref(),
                line.query.as_deref(),
            )?;
            principal(exchange, operation, &params, &credential).await
        }
        caller => resident::handle(exchange, operation, &params, &caller).await,
    }
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
            (exchange.line.method != "HEAD").then_some("{\"status\":\"ok\"}"),
        )?),
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
    let activated = extensions::activate(exchange.request.header(extensions::HEADER).as_deref())?;
    let call = a2a::A2aCall {
        exchange,
        principal,
        resident: &credential.resident,
        activated,
    };
    match operation {
        Operation::SendMessage => a2a::send::send(&call).await,
        Operation::SendStreamingMessage => a2a::stream::send_streaming(&call).await,
        Operation::GetTask => a2a::tasks::get(&call, &task_id(params, "id")?).await,
        Operation::ListTasks => a2a::tasks::list(&call).await,
        Operation::CancelTask => a2a::tasks::cancel(&call, &task_id(params, "id")?).await,
        Operation::SubscribeToTask => a2a::stream::subscribe(&call, &task_id(params, "id")?).await,
        Operation::PushNotificationConfig => {
            Err(A2aError::push_notification_not_supported().into())
        }
        _ => Err(A2aError::unsupported_operation("this agent has no extended card").into()),
    }
}

/// The task a path names. What is no identifier can't be a task's id, and is refused before any object is asked.
fn task_id(params: &Params<'_>, name: &'static str) -> Result<String, A2aError> {
    let id = params
        .get(name)
        .ok_or_else(|| A2aError::field(name, "must be percent-encoded UTF-8"))?;
    ids::check(name, &id).map(str::to_owned)
}

fn authenticate(exchange: &Exchange<'_>, access: Access) -> Result<Caller, Failure> {
    let Some(credentials) = &exchange.config.credentials else {
        return Err(A2aError::new(
            Reason::CredentialsNotConfigured,
            "this deployment has no credentials yet: its operator finds the reason in the log",
        )
        .into());
    };
    let header = exchange
        .request
        .header("authorization")
        .ok_or_else(unauthenticated)?;
    let token = bearer_token(&header).ok_or_else(unauthenticated)?;
    if is_turn_token(token) {
        let turn = TurnToken::parse(token).ok_or_else(unauthenticated)?;
        // Only queues that some credential names exist: a token can't make the Worker address another.
        if !credentials.residents().contains(&turn.resident) {
            return Err(unauthenticated());
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
    let credential = credentials
        .authenticate(token)
        .ok_or_else(unauthenticated)?;
    if !access.permits(credential.role) {
        return Err(forbidden());
    }
    Ok(Caller::Credential(credential.clone()))
}

fn unauthenticated() -> Failure {
    Failure {
        error: A2aError::new(
            Reason::Unauthenticated,
            "send a known token as Authorization: Bearer <token>",
        ),
        headers: vec![("www-authenticate", "Bearer realm=\"a2a\"".to_owned())],
    }
}

fn forbidden() -> Failure {
    A2aError::new(
        Reason::PermissionDenied,
        "this token's role does not open this route",
    )
    .into()
}
