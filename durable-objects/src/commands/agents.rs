//! What can be asked of a principal about other agents: the family `agents` (seed *Outbound agents as Worker
//! Functionality*), and the tools by which a turn calls them.

use serde::{Deserialize, Serialize};

use super::principal::PrincipalCommand;
use super::{Call, JsonText};

/// A command of the family. Its answer is JSON for whoever asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum AgentsCommand {
    /// Every alias, whether it is enabled, and what is known of its agent.
    List,
    /// Looks an agent up. Adds, enables and stores nothing.
    Discover(Discovery),
    /// Adds a definition of the principal's own, disabled.
    Add {
        /// The alias, which is also the definition's name.
        alias: String,
        /// The definition as `protocol::agents::definition` writes it.
        definition: JsonText,
    },
    /// Enables an alias and prepares its agent.
    Enable {
        /// Which.
        alias: String,
    },
    /// Disables an alias.
    Disable {
        /// Which.
        alias: String,
    },
    /// Removes a definition of the principal's own.
    Remove {
        /// Which.
        alias: String,
    },
}

/// What is looked up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Discovery {
    /// The card of the agent that this definition leads to, without credentials.
    Source(JsonText),
    /// What a client's own configuration defines: the answer, made where it was read.
    Configuration(JsonText),
}

impl Call for AgentsCommand {
    type Object = PrincipalCommand;
    type Reply = JsonText;
    fn into_object(self) -> PrincipalCommand {
        PrincipalCommand::Agents(self)
    }
}

/// A tool that concerns other agents, used under a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum AgentsTool {
    /// `a2a_agents`.
    Manage(AgentsCommand),
    /// `a2a_send_agent`.
    Send {
        /// `a2a://<alias>`, or the task there that is continued.
        address: String,
        /// The message's parts, a JSON array.
        parts: JsonText,
        /// The context there to begin in.
        context_id: Option<String>,
        /// The id of the message, where the caller names one: sending it again changes nothing.
        message_id: Option<String>,
    },
    /// `a2a_read_agent`.
    Read {
        /// What.
        address: String,
        /// As exact JSON, instead of text between markers.
        structured: bool,
    },
    /// `a2a_cancel_agent`.
    Cancel {
        /// The task there.
        address: String,
    },
}
