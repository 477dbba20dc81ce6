//! Commands and tools that may have to call an agent before they are answered.

use std::rc::Rc;

use durable_objects::commands::JsonText;
use durable_objects::commands::agents::{AgentsCommand, AgentsTool, Discovery};
use durable_objects::commands::principal::{
    PrincipalCall, PrincipalCommand, Tool, ToolReply, UseTool,
};
use durable_objects::error::CoreError;
use durable_objects::principal::agents::{
    Outgoing, UnderTurn, address, candidate, catalog, to_discover,
};
use durable_objects::storage::StoreError;
use futures::channel::oneshot;
use protocol::agents::address::Resource;
use protocol::agents::definition::Definition;
use wasm_bindgen::JsValue;

use super::super::{accepted, answer};
use super::Inner;
use super::follow::Waiting;
use crate::runtime::clock;
use crate::runtime::timer;

/// How long the first reading of a turn waits for cards, in milliseconds. What comes later is in the next reading.
const CATALOG_PATIENCE_MS: u32 = 2_000;

/// Whether a command concerns agents in a way that an agent may have to be called for.
fn calls_agents(command: &PrincipalCommand) -> bool {
    match command {
        PrincipalCommand::Agents(command) => matches!(
            command,
            AgentsCommand::Enable { .. } | AgentsCommand::Discover(_)
        ),
        PrincipalCommand::UseTool(command) => matches!(
            command.tool,
            Tool::Agents(_) | Tool::Read { structured: false }
        ),
        _ => false,
    }
}

/// What came of serving a command here.
pub(in crate::objects) enum Answered {
    /// Its answer.
    Answer(JsValue),
    /// It is to be carried out as any other now: what it needed of agents has been had.
    NotYet(Box<PrincipalCall>),
}

impl Inner {
    /// Whether a command has to wait for an agent, as far as it is known before.
    pub(in crate::objects) fn waits_for_agents(&self, call: &PrincipalCall) -> bool {
        let reads = matches!(&call.command, PrincipalCommand::UseTool(command)
            if matches!(command.tool, Tool::Read { structured: false }));
        calls_agents(&call.command) && (!reads || !self.unprepared().is_empty())
    }

    fn unprepared(&self) -> Vec<String> {
        catalog::unprepared(&self.database, clock::now_ms()).unwrap_or_default()
    }

    /// Serves a command that concerns agents.
    pub(in crate::objects) async fn serve_agents(
        this: Rc<Self>,
        call: PrincipalCall,
    ) -> Result<Answered, JsValue> {
        let until_ms = clock::now_ms().saturating_add(i64::from(this.agents.patience_ms));
        let PrincipalCall {
            principal,
            resident,
            command,
        } = call;
        let scope = (principal.as_str(), resident.as_str());
        let outcome = match command {
            PrincipalCommand::Agents(command) => {
                Self::family(&this, scope, command, false, until_ms)
                    .await
                    .map(|reply| accepted(&reply))
            }
            PrincipalCommand::UseTool(UseTool {
                turn_id,
                task_id,
                tool: Tool::Agents(tool),
            }) => {
                let under = UnderTurn {
                    turn_id: &turn_id,
                    task_id: &task_id,
                };
                Self::agents_tool(&this, scope, under, tool, until_ms)
                    .await
                    .map(|reply| accepted(&reply))
            }
            command => {
                Self::prepare_catalog(&this).await;
                return Ok(Answered::NotYet(Box::new(PrincipalCall {
                    principal,
                    resident,
                    command,
                })));
            }
        };
        match outcome {
            Ok(reply) => reply.map(Answered::Answer),
            Err(error) => answer(Err(error)).map(Answered::Answer),
        }
    }

    async fn family(
        this: &Rc<Self>,
        scope: (&str, &str),
        command: AgentsCommand,
        for_agent: bool,
        until_ms: i64,
    ) -> Result<JsonText, CoreError> {
        match &command {
            AgentsCommand::Discover(Discovery::Configuration(found)) => return Ok(found.clone()),
            AgentsCommand::Discover(Discovery::Source(definition)) => {
                let (connection, exchange) = to_discover(definition_from(definition)?);
                let outcome = this
                    .agents
                    .fetch_card(&connection, &exchange, left(until_ms))
                    .await;
                let found = candidate(&connection, &outcome)?;
                return Ok(JsonText::from_text(found));
            }
            _ => {}
        }
        let reply = Self::step(this, scope, |principal| {
            principal.manage_agents(&command, for_agent)
        })?;
        let AgentsCommand::Enable { alias } = &command else {
            return Ok(reply);
        };
        // Enabled it is; what came of its preparation is part of what is told.
        drop(this.connection(alias, left(until_ms)).await);
        Self::step(this, scope, |principal| {
            principal.manage_agents(&command, for_agent)
        })
    }

    async fn agents_tool(
        this: &Rc<Self>,
        scope: (&str, &str),
        under: UnderTurn<'_>,
        tool: AgentsTool,
        until_ms: i64,
    ) -> Result<ToolReply, CoreError> {
        Self::step(this, scope, |principal| principal.check_turn(under))?;
        match tool {
            AgentsTool::Manage(command) => Self::family(this, scope, command, true, until_ms)
                .await
                .map(ToolReply::Json),
            AgentsTool::Send {
                address: to,
                parts,
                context_id,
                message_id,
            } => {
                let to = address(&to)?;
                let outgoing = Outgoing {
                    address: &to,
                    parts: &parts,
                    context_id: context_id.as_deref(),
                    message_id: message_id.as_deref(),
                };
                let prior = Self::step(this, scope, |principal| {
                    principal.sent_before(under.task_id, &outgoing)
                })?;
                let call_id = match prior {
                    Some(call_id) => call_id,
                    None => {
                        let connection = this.connection(&to.alias, left(until_ms)).await?;
                        let life_ms = this.agents.remotes().request_timeout_ms;
                        let call_id = Self::step(this, scope, |principal| {
                            principal.begin_agent_send(under, &outgoing, &connection, life_ms)
                        })?;
                        Self::wait_for(this, call_id, under.turn_id, until_ms).await;
                        call_id
                    }
                };
                Self::standing(this, scope, call_id)
            }
            AgentsTool::Read {
                address: of,
                structured,
            } => {
                let of = address(&of)?;
                let look = Self::step(this, scope, |principal| {
                    principal.check_alias(&of.alias)?;
                    principal.call_to_look_at(&of)
                })?;
                if of.resource == Resource::Agent {
                    this.connection(&of.alias, left(until_ms)).await?;
                }
                if let Some(call_id) = look {
                    Self::wait_for(this, call_id, under.turn_id, until_ms).await;
                }
                Self::step(this, scope, |principal| {
                    principal.read_resource(&of, structured)
                })
            }
            AgentsTool::Cancel { address: of } => {
                let of = address(&of)?;
                let call_id = Self::step(this, scope, |principal| {
                    principal.check_alias(&of.alias)?;
                    principal.begin_agent_cancel(under, &of)
                })?;
                Self::wait_for(this, call_id, under.turn_id, until_ms).await;
                Self::standing(this, scope, call_id)
            }
        }
    }

    fn standing(
        this: &Rc<Self>,
        scope: (&str, &str),
        call_id: i64,
    ) -> Result<ToolReply, CoreError> {
        Self::step(this, scope, |principal| principal.call_standing(call_id)).map(ToolReply::Json)
    }

    /// Takes the next step of a call and waits for it, but not longer than its caller does.
    async fn wait_for(this: &Rc<Self>, call_id: i64, turn_id: &str, until_ms: i64) {
        let waiting = Rc::new(Waiting {
            turn_id: turn_id.to_owned(),
            ..Waiting::default()
        });
        let (done, told) = oneshot::channel::<()>();
        let (inner, waits) = (Rc::clone(this), Rc::clone(&waiting));
        Self::keep(this, async move {
            Self::carry_on(&inner, call_id, Some(&waits)).await;
            // Nobody waits any more where it took too long.
            done.send(()).ok();
        });
        if timer::within(left(until_ms), told).await.is_none() {
            waiting.gone.set(true);
        }
    }

    /// Fetches the cards that the catalog lacks, and waits for them a little.
    async fn prepare_catalog(this: &Rc<Self>) {
        let Some(shift) = this.agents.preparing.begin() else {
            return;
        };
        let (done, told) = oneshot::channel::<()>();
        // One that does not answer holds up nothing but itself. The last of them ends the shift, and the wait.
        let held = Rc::new((shift, done));
        for alias in this.unprepared() {
            let (inner, held) = (Rc::clone(this), Rc::clone(&held));
            Self::keep(this, async move {
                let _held = held;
                // What is wrong with it is kept beside its alias.
                drop(inner.connection(&alias, u32::MAX).await);
            });
        }
        drop(held);
        timer::within(CATALOG_PATIENCE_MS, told).await;
    }
}

fn definition_from(text: &JsonText) -> Result<Definition, StoreError> {
    let corrupt = StoreError::Corrupt { what: "definition" };
    let json = serde_json::from_str(text.get()).map_err(|_| corrupt.clone())?;
    Definition::from_json(&json, true, "").map_err(|_| corrupt)
}

/// What is left of a caller's patience, in milliseconds.
fn left(until_ms: i64) -> u32 {
    u32::try_from(until_ms.saturating_sub(clock::now_ms()))
        .unwrap_or(1)
        .max(1)
}
