//! The resident surface for agents that speak the Model Context Protocol: Streamable HTTP at `/mcp`, one JSON answer per
//! request, no state. The rules of the wire are in `protocol::mcp`.

mod call;

use protocol::credentials::is_turn_token;
use protocol::error::{A2aError, Reason};
use protocol::http::{JSON, PRIVATE_CACHE_CONTROL};
use protocol::ids;
use protocol::mcp::{self, Message, RpcError, tools};
use serde_json::{Map, Value, json};

use crate::reply::Handled;
use crate::router::{Caller, Exchange};
use crate::runtime::random;
use crate::runtime::response::respond;

/// Answers one message. What is wrong with it is a JSON-RPC error.
///
/// # Errors
/// What is wrong with the request around it, which is answered as a JSON-RPC error, too.
pub async fn handle(exchange: &Exchange<'_>, caller: &Caller) -> Handled {
    let body = read(exchange).await?;
    let message = match Message::parse(&body) {
        Ok(message) => message,
        Err(error) => return answer(400, &[], &error.to_json()),
    };
    let version = exchange.request.header(mcp::VERSION_HEADER);
    if !mcp::speaks(version.as_deref()) {
        let error = RpcError::new(message.id(), mcp::INVALID_REQUEST, mcp::version_refusal());
        return answer(400, &[], &error.to_json());
    }
    let Message::Request { id, method, params } = message else {
        return Ok(respond(202, &[("cache-control", "no-store")], None));
    };
    if method == "initialize" {
        return initialize(caller, &id, &params);
    }
    let session = exchange
        .request
        .header(mcp::SESSION_HEADER)
        .filter(|session| ids::is_identifier(session));
    let Some(session) = session else {
        let error = RpcError::new(
            id,
            mcp::INVALID_REQUEST,
            "initialize first, then send the Mcp-Session-Id that it answered",
        );
        return answer(400, &[], &error.to_json());
    };
    let of_turn = matches!(caller, Caller::Turn { .. });
    let result = match method.as_str() {
        "ping" => Ok(json!({})),
        "tools/list" => Ok(tools::list(of_turn)),
        "tools/call" => call::call(exchange, caller, &session, params).await,
        _ => Err((mcp::METHOD_NOT_FOUND, "there is no such method".to_owned())),
    };
    match result {
        Ok(result) => answer(200, &[], &mcp::result(&id, &result)),
        Err((code, message)) => answer(200, &[], &RpcError::new(id, code, message).to_json()),
    }
}

/// The message's text, where the request around it is as it must be.
async fn read(exchange: &Exchange<'_>) -> Result<Vec<u8>, A2aError> {
    check_origin(exchange)?;
    let body = exchange.body().await?;
    protocol::http::check_content_type(
        exchange.request.header("content-type").as_deref(),
        body.is_empty(),
    )?;
    Ok(body)
}

/// Refuses a web page that the deployment doesn't allow, as MCP asks of every server (*Streamable HTTP*, *Security
/// Warning*): a name that a stranger points at this server would let his page speak to it as its own.
fn check_origin(exchange: &Exchange<'_>) -> Result<(), A2aError> {
    let origin = exchange.head.page_origin.as_deref();
    let allowed = &exchange.config.allowed_origins;
    if origin.is_none() || allowed.allow(&exchange.line.path, origin).is_some() {
        return Ok(());
    }
    Err(A2aError::new(
        Reason::PermissionDenied,
        "web pages of this origin may not call: A2A_ALLOWED_ORIGINS names those that may",
    ))
}

/// Begins a session: the resident session under which wakes are taken.
fn initialize(caller: &Caller, id: &Value, params: &Map<String, Value>) -> Handled {
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let instructions = match caller {
        Caller::Turn { token, .. } if is_turn_token(token) => mcp::TURN_INSTRUCTIONS,
        _ => mcp::INSTRUCTIONS,
    };
    let session = random::uuid_v4().to_string();
    let result = mcp::initialized(requested, env!("CARGO_PKG_VERSION"), instructions);
    answer(
        200,
        &[("mcp-session-id", &session)],
        &mcp::result(id, &result),
    )
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Handled {
    let mut all = vec![
        ("content-type", JSON),
        ("cache-control", PRIVATE_CACHE_CONTROL),
    ];
    all.extend_from_slice(headers);
    Ok(respond(status, &all, Some(body)))
}
