//! The tools by which a turn calls other agents, read and validated.

use durable_objects::commands::JsonText;
use durable_objects::commands::agents::{AgentsCommand, AgentsTool};
use durable_objects::commands::principal::Tool;
use protocol::agents::address::{Address, MAX_ID_BYTES, RULE};
use protocol::agents::alias;
use protocol::error::{A2aError, Reason};
use protocol::message::MAX_MESSAGE_BYTES;
use protocol::part::validate_parts;
use serde_json::{Value, json};

use super::{add, discovery};
use crate::remotes::Remotes;
use crate::resident::Body;

/// The longest address, in bytes: two ids, escaped.
const MAX_ADDRESS_BYTES: usize = 2048;

/// Reads the arguments of a tool that concerns other agents; none where it is another tool.
///
/// # Errors
/// An argument that is wrong, or an action that this deployment does not allow its resident.
pub fn read_tool(name: &str, body: &mut Body, remotes: &Remotes) -> Result<Option<Tool>, A2aError> {
    let tool = match name {
        "a2a_agents" => AgentsTool::Manage(manage(body, remotes)?),
        "a2a_send_agent" => send(body)?,
        "a2a_read_agent" => AgentsTool::Read {
            address: address(body)?,
            structured: match body.text("format", 16)?.as_deref() {
                None | Some("text") => false,
                Some("json") => true,
                Some(_) => return Err(A2aError::field("format", "must be text or json")),
            },
        },
        "a2a_cancel_agent" => AgentsTool::Cancel {
            address: address(body)?,
        },
        _ => return Ok(None),
    };
    Ok(Some(Tool::Agents(tool)))
}

fn manage(body: &mut Body, remotes: &Remotes) -> Result<AgentsCommand, A2aError> {
    let action = body
        .text("action", 16)?
        .unwrap_or_else(|| "list".to_owned());
    if action == "list" {
        return Ok(AgentsCommand::List);
    }
    if !remotes.managed_by_resident {
        return Err(A2aError::new(
            Reason::PermissionDenied,
            "this deployment lets its resident list agents, and no more",
        )
        .violating("action", "must be list"));
    }
    if action == "discover" {
        return discovery(body, remotes).map(AgentsCommand::Discover);
    }
    let named = body.text("alias", alias::MAX_BYTES)?;
    if action == "add" {
        return add(named, body.take("definition"), remotes);
    }
    let alias = named
        .as_deref()
        .and_then(alias::canonical)
        .ok_or_else(|| A2aError::field("alias", alias::RULE))?;
    match action.as_str() {
        "enable" => Ok(AgentsCommand::Enable { alias }),
        "disable" => Ok(AgentsCommand::Disable { alias }),
        "remove" => Ok(AgentsCommand::Remove { alias }),
        _ => Err(A2aError::field(
            "action",
            "must be list, discover, add, enable, disable or remove",
        )),
    }
}

fn send(body: &mut Body) -> Result<AgentsTool, A2aError> {
    let address = address(body)?;
    let mut parts = Vec::new();
    if let Some(text) = body.text("text", MAX_MESSAGE_BYTES)? {
        parts.push(json!({ "text": text }));
    }
    if let Some(more) = body.take("parts") {
        parts.extend(validate_parts(more, "parts")?);
    }
    if parts.is_empty() {
        return Err(A2aError::field("text", "is required, or parts"));
    }
    let parts = Value::Array(parts).to_string();
    if parts.len() > MAX_MESSAGE_BYTES {
        return Err(A2aError::too_large("parts", MAX_MESSAGE_BYTES));
    }
    let message_id = match body.text("messageId", usize::MAX)? {
        None => None,
        Some(id) => Some(protocol::ids::check("messageId", &id)?.to_owned()),
    };
    Ok(AgentsTool::Send {
        address,
        parts: JsonText::from_text(parts),
        context_id: body.text("contextId", MAX_ID_BYTES)?,
        message_id,
    })
}

fn address(body: &mut Body) -> Result<String, A2aError> {
    body.text("address", MAX_ADDRESS_BYTES)?
        .filter(|address| Address::parse(address).is_some())
        .ok_or_else(|| A2aError::field("address", RULE))
}
