//! The family `agents`: which remote agents a principal's tasks may call (seed *Outbound agents as Worker Functionality*).
//! For the principal's own client here, and for its resident, where that is allowed, by the tool `a2a_agents`.

mod tools;

pub use tools::read_tool;

use durable_objects::commands::JsonText;
use durable_objects::commands::agents::{AgentsCommand, Discovery};
use protocol::agents::definition::Definition;
use protocol::agents::object::{Object, array, quote};
use protocol::agents::vars::Definitions;
use protocol::agents::{alias, problem};
use protocol::error::A2aError;
use protocol::http::{JSON, PRIVATE_CACHE_CONTROL};
use protocol::routes::{Operation, Params};
use serde_json::Value;

use crate::a2a::A2aCall;
use crate::remotes::Remotes;
use crate::reply::Handled;
use crate::resident::Body;
use crate::runtime::response::respond;

/// The longest URL and configuration value, in bytes.
const MAX_TEXT_BYTES: usize = 8192;

/// Answers a request of the family.
///
/// # Errors
/// What the contract refuses, in its shape.
pub async fn handle(call: &A2aCall<'_>, operation: Operation, params: &Params<'_>) -> Handled {
    let remotes = &call.exchange.config.remotes;
    let command = match operation {
        Operation::AddAgent => {
            let mut body = Body::of(call.exchange).await?;
            let alias = body.text("alias", MAX_TEXT_BYTES)?;
            add(alias, body.take("definition"), remotes)?
        }
        Operation::DiscoverAgents => {
            let mut body = Body::of(call.exchange).await?;
            AgentsCommand::Discover(discovery(&mut body, remotes)?)
        }
        Operation::EnableAgent => AgentsCommand::Enable {
            alias: named(params)?,
        },
        Operation::DisableAgent => AgentsCommand::Disable {
            alias: named(params)?,
        },
        Operation::RemoveAgent => AgentsCommand::Remove {
            alias: named(params)?,
        },
        _ => AgentsCommand::List,
    };
    let reply = call
        .exchange
        .objects
        .principal(call.principal, call.resident, command)
        .await??;
    Ok(respond(
        200,
        &[
            ("content-type", JSON),
            ("cache-control", PRIVATE_CACHE_CONTROL),
        ],
        call.exchange.body_unless_head(reply.get()),
    ))
}

/// The alias of a path. What is none stands for no agent.
fn named(params: &Params<'_>) -> Result<String, A2aError> {
    let text = params.get("alias").unwrap_or_default();
    alias::canonical(&text).ok_or_else(|| problem::not_configured(&text))
}

/// Reads `alias` and `definition`, whose name must be the alias.
fn add(
    alias: Option<String>,
    definition: Option<Value>,
    remotes: &Remotes,
) -> Result<AgentsCommand, A2aError> {
    let alias = alias
        .as_deref()
        .and_then(alias::canonical)
        .ok_or_else(|| A2aError::field("alias", alias::RULE))?;
    let definition = definition.ok_or_else(|| A2aError::field("definition", "is required"))?;
    let definition = Definition::from_json(&definition, remotes.loopback, "definition.")?;
    if definition.name != alias {
        return Err(A2aError::field("definition.name", "must be the alias"));
    }
    Ok(AgentsCommand::Add {
        alias,
        definition: JsonText::from_text(definition.to_json()),
    })
}

/// Reads what is to be discovered: exactly one of `source`, `configuration` and `query`.
fn discovery(body: &mut Body, remotes: &Remotes) -> Result<Discovery, A2aError> {
    let source = body.text("source", MAX_TEXT_BYTES)?;
    let configuration = body.take("configuration");
    let query = body.take("query");
    match (source, configuration, query) {
        (Some(source), None, None) => Ok(Discovery::Source(JsonText::from_text(
            Definition::from_source(&source, remotes.loopback)
                .map_err(|rule| A2aError::field("source", rule))?
                .to_json(),
        ))),
        (None, Some(configuration), None) => Ok(Discovery::Configuration(JsonText::from_text(
            candidates(&configuration, remotes)?,
        ))),
        (None, None, Some(_)) => Err(problem::registry_not_configured()),
        _ => Err(A2aError::field(
            "source",
            "must be given, or configuration, or query: one of them",
        )),
    }
}

/// What a client's own configuration defines, and what is wrong with it.
fn candidates(configuration: &Value, remotes: &Remotes) -> Result<String, A2aError> {
    let rule = || {
        A2aError::field(
            "configuration",
            "must be an object of variables and their text",
        )
    };
    let mut vars = Vec::new();
    for (name, value) in configuration.as_object().ok_or_else(rule)? {
        vars.push((name.as_str(), value.as_str().ok_or_else(rule)?));
    }
    let found = Definitions::from_vars(&vars, None, remotes.loopback);
    let mut candidates = Vec::new();
    for (alias, read) in &found.by_alias {
        if let Ok(definition) = read {
            let candidate = Object::default()
                .text("alias", alias)
                .text("provenance", "client-configuration")
                .raw("definition", &definition.to_json());
            candidates.push(candidate.end());
        }
    }
    let problems: Vec<String> = found.problems.iter().map(|text| quote(text)).collect();
    Ok(Object::default()
        .raw("candidates", &array(&candidates))
        .raw("problems", &array(&problems))
        .end())
}
