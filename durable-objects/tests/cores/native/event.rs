//! Short forms of what sources send.

use std::collections::BTreeMap;

use durable_objects::commands::JsonText;
use durable_objects::commands::principal::PrincipalCommand;
use durable_objects::commands::trusted::TrustedCommand;
use protocol::trusted::activation::Activation;
use protocol::trusted::delivery::{Begin, Outcome, Recovery, Settle};
use protocol::trusted::source::{Anchor, Declaration};
use serde_json::{Value as Json, json};

use crate::support::{Failure, World, decode};

pub const SOURCE: &str = "chat";

/// An event of a conversation of its own.
pub fn event(id: &str) -> Activation {
    Activation {
        source: SOURCE.to_owned(),
        provider_event_id: id.to_owned(),
        dedupe_key: id.to_owned(),
        conversation_key: None,
        native_locator: BTreeMap::from([("message".to_owned(), id.to_owned())]),
        received_ms: 1_000,
        parts: json!([{ "text": format!("the text of {id}") }]).to_string(),
        content_digest: format!("sha256:{id}"),
        display_url: None,
        evidence_locator: None,
        reply_to: None,
        task_id: None,
        context_id: None,
    }
}

/// The same in a conversation.
pub fn in_conversation(id: &str, key: &str) -> Activation {
    Activation {
        conversation_key: Some(key.to_owned()),
        ..event(id)
    }
}

/// The same as a direct reply to a response.
pub fn reply_to(id: &str, response_id: &str, key: &str) -> Activation {
    Activation {
        reply_to: Some(response_id.to_owned()),
        ..in_conversation(id, key)
    }
}

/// A delivery of the operation `reply`.
pub fn reply(task_id: &str, recovery: Recovery) -> Begin {
    Begin {
        task_id: task_id.to_owned(),
        source: SOURCE.to_owned(),
        operation_id: "reply".to_owned(),
        payload_digest: "sha256:one".to_owned(),
        recovery,
        fixed: false,
        holder: Some("adapter-1".to_owned()),
        can_reconcile: recovery == Recovery::Lookup,
        attempt: None,
    }
}

pub fn outcome(begun: &Json, outcome: Outcome, response_id: Option<&str>) -> Settle {
    Settle {
        delivery_id: begun["deliveryId"].as_str().unwrap().to_owned(),
        attempt: begun["attempt"].as_str().unwrap().to_owned(),
        outcome,
        provider_response_id: response_id.map(str::to_owned),
        reason: None,
    }
}

impl World {
    pub fn try_trusted(
        &mut self,
        principal: &str,
        command: TrustedCommand,
    ) -> Result<Json, Failure> {
        let reply = self.command(principal, None, PrincipalCommand::Trusted(command))?;
        let reply: JsonText = decode(&reply);
        Ok(serde_json::from_str(reply.get()).unwrap())
    }

    pub fn trusted(&mut self, principal: &str, command: TrustedCommand) -> Json {
        self.try_trusted(principal, command).unwrap()
    }

    pub fn try_accept(&mut self, principal: &str, activation: Activation) -> Result<Json, Failure> {
        self.try_trusted(
            principal,
            TrustedCommand::Accept {
                activation,
                max_open_tasks: 10_000,
            },
        )
    }

    pub fn accept(&mut self, principal: &str, activation: Activation) -> Json {
        self.try_accept(principal, activation).unwrap()
    }

    /// The source's tasks are continued by verified replies, and by explicit task ids.
    pub fn declare(&mut self, principal: &str, reply_anchor: bool, task_id: bool) {
        self.trusted(
            principal,
            TrustedCommand::Declare(Declaration {
                source: SOURCE.to_owned(),
                reply_anchor,
                task_id,
            }),
        );
    }

    pub fn try_anchor(
        &mut self,
        principal: &str,
        response: &str,
        task: &str,
    ) -> Result<Json, Failure> {
        self.try_trusted(
            principal,
            TrustedCommand::RecordAnchor(Anchor {
                source: SOURCE.to_owned(),
                provider_response_id: response.to_owned(),
                task_id: task.to_owned(),
            }),
        )
    }

    pub fn begin(&mut self, principal: &str, begin: Begin) -> Json {
        self.trusted(principal, TrustedCommand::Begin(begin))
    }

    pub fn try_settle(&mut self, principal: &str, settle: Settle) -> Result<Json, Failure> {
        self.try_trusted(principal, TrustedCommand::Settle(settle))
    }
}

/// The text of a field.
pub fn text<'a>(json: &'a Json, field: &str) -> &'a str {
    json[field]
        .as_str()
        .unwrap_or_else(|| panic!("no {field} in {json}"))
}
