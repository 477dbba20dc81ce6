//! Sending a message to a remote agent under a turn.

use a2a::TaskState;
use protocol::agents::address::{Address, RULE, Resource, is_id};
use protocol::agents::object::Object;
use protocol::agents::problem;
use protocol::error::{A2aError, Reason};
use protocol::state;
use serde_json::Value as Json;

use super::calls::{
    MAX_CALLS_OF_TASK, MAX_FOLLOWED, Phase, RemoteCall, count_followed, count_of_task,
};
use super::catalog::address_of;
use super::preparation::Connection;
use crate::commands::JsonText;
use crate::error::CoreError;
use crate::principal::task::Task;
use crate::principal::{Principal, read};
use crate::storage::{Store, StoreError};

/// A message as its tool says it.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// To whom: an agent, or its task that is continued.
    pub address: &'a Address,
    /// The parts, a JSON array.
    pub parts: &'a JsonText,
    /// The remote context to begin in.
    pub context_id: Option<&'a str>,
    /// The caller's id of the message.
    pub message_id: Option<&'a str>,
}

/// A tool's authority: the turn that the queue found live, and its task.
#[derive(Debug, Clone, Copy)]
pub struct UnderTurn<'a> {
    /// The turn.
    pub turn_id: &'a str,
    /// Its task.
    pub task_id: &'a str,
}

/// Reads an address that a tool names.
///
/// # Errors
/// The field `address`.
pub fn address(text: &str) -> Result<Address, A2aError> {
    Address::parse(text).ok_or_else(|| A2aError::field("address", RULE))
}

impl<S: Store> Principal<'_, S> {
    /// Checks that a turn has authority over its task, and that the task is worked on.
    ///
    /// # Errors
    /// `TURN_NOT_LIVE`, `TASK_NOT_FOUND`, or a fault of the store.
    pub fn check_turn(&self, under: UnderTurn<'_>) -> Result<(), CoreError> {
        let task = read::find(self.store, under.task_id)?;
        let is_live =
            task.turn_id.as_deref() == Some(under.turn_id) && task.state == TaskState::Working;
        if is_live {
            Ok(())
        } else {
            Err(A2aError::turn_not_live().into())
        }
    }

    /// The call that a message was sent by before, where its id was used already under this task.
    pub fn sent_before(
        &self,
        task_id: &str,
        outgoing: &Outgoing<'_>,
    ) -> Result<Option<i64>, CoreError> {
        let Some(message_id) = outgoing.message_id else {
            return Ok(None);
        };
        Ok(RemoteCall::of_message(self.store, task_id, message_id)?.map(|call| call.call_id))
    }

    /// Writes a message that is to be sent now, and gives its call.
    pub fn begin_agent_send(
        &mut self,
        under: UnderTurn<'_>,
        outgoing: &Outgoing<'_>,
        connection: &Connection,
        life_ms: i64,
    ) -> Result<i64, CoreError> {
        self.check_turn(under)?;
        if let Some(call_id) = self.sent_before(under.task_id, outgoing)? {
            return Ok(call_id);
        }
        let continued = match &outgoing.address.resource {
            Resource::Agent => None,
            Resource::Task(remote_task_id) => {
                Some(self.continuable_call(under, &outgoing.address.alias, remote_task_id)?)
            }
            _ => {
                return Err(A2aError::field(
                    "address",
                    "must be an agent's, or that of a task of it",
                )
                .into());
            }
        };
        if count_of_task(self.store, under.task_id)? >= MAX_CALLS_OF_TASK {
            return Err(too_many(
                "this task has sent as many messages to agents as it may",
                MAX_CALLS_OF_TASK,
            ));
        }
        if count_followed(self.store)? >= MAX_FOLLOWED {
            return Err(too_many(
                "as many tasks of agents are followed as may be at once",
                MAX_FOLLOWED,
            ));
        }
        let message_id = match outgoing.message_id {
            Some(message_id) => message_id.to_owned(),
            None => self.environment.ids.id(),
        };
        let (interface, remote_context) = match &continued {
            Some(call) => (call.interface.clone(), context_of(call)),
            None => (
                connection.interface.clone(),
                outgoing.context_id.map(str::to_owned),
            ),
        };
        let remote_task_id = continued
            .as_ref()
            .and_then(|call| call.remote_task_id.as_deref());
        let message = message(
            &message_id,
            outgoing.parts,
            remote_task_id,
            remote_context.as_deref(),
        );
        let now_ms = self.environment.now_ms;
        let mut call = RemoteCall {
            call_id: 0,
            principal: self.scope.principal.to_owned(),
            task_id: under.task_id.to_owned(),
            alias: connection.alias.clone(),
            interface,
            streaming: connection.streaming,
            message_id,
            request: Some(message),
            remote_task_id: remote_task_id.map(str::to_owned),
            remote_message_id: None,
            state: continued.as_ref().and_then(|call| call.state.clone()),
            answer: continued.as_ref().and_then(|call| call.answer.clone()),
            phase: Phase::Sending,
            attempts: 0,
            faults: 0,
            settlements: 0,
            problem: None,
            due_ms: Some(now_ms),
            leased: false,
            deadline_ms: now_ms.saturating_add(life_ms),
        };
        call.insert(self.store)?;
        if let Some(mut former) = continued {
            // The newest call follows the task from here on.
            if former.is_open() {
                former.phase = Phase::Released;
                former.due_ms = None;
                former.leased = false;
                former.save(self.store)?;
            }
        }
        self.effects.wake_at(now_ms);
        Ok(call.call_id)
    }

    /// The call whose remote task a message may continue.
    fn continuable_call(
        &self,
        under: UnderTurn<'_>,
        alias: &str,
        remote_task_id: &str,
    ) -> Result<RemoteCall, CoreError> {
        let call = self.own_call(under, alias, remote_task_id)?;
        if call.phase == Phase::Sending {
            return Err(A2aError::unsupported_operation(
                "a message to this task is still on its way",
            )
            .into());
        }
        if call.state.as_ref().is_some_and(state::is_terminal) {
            return Err(A2aError::unsupported_operation(
                "the task is settled for good and takes no further messages",
            )
            .into());
        }
        Ok(call)
    }

    /// The call of a remote task, for what changes it: only the task that made the call may, or any once that is settled.
    pub(super) fn own_call(
        &self,
        under: UnderTurn<'_>,
        alias: &str,
        remote_task_id: &str,
    ) -> Result<RemoteCall, CoreError> {
        let unknown = || A2aError::task_not_found(remote_task_id);
        let call =
            RemoteCall::of_remote_task(self.store, alias, remote_task_id)?.ok_or_else(unknown)?;
        if call.task_id != under.task_id {
            let owner = Task::find(self.store, &call.task_id)?;
            if owner.is_some_and(|owner| !state::is_terminal(&owner.state)) {
                return Err(unknown().into());
            }
        }
        Ok(call)
    }

    /// What a tool tells of a call.
    pub fn call_standing(&self, call_id: i64) -> Result<JsonText, CoreError> {
        let call = RemoteCall::find(self.store, call_id)?.ok_or(StoreError::Corrupt {
            what: "remote call",
        })?;
        if let (None, None, Some(why)) =
            (&call.remote_task_id, &call.remote_message_id, &call.problem)
        {
            return Err(problem::remote_failed(&call.alias, why).into());
        }
        let address = address_of(&call).map(|address| address.to_string());
        let told = Object::default()
            .text("messageId", &call.message_id)
            .flag("settled", !call.is_open())
            .maybe("address", address.as_deref())
            .maybe("state", call.state.as_ref().map(state::as_wire))
            .maybe("problem", call.problem.as_deref())
            .maybe("contextId", context_of(&call).as_deref());
        Ok(JsonText::from_text(told.end()))
    }
}

/// The context in which a call was answered.
fn context_of(call: &RemoteCall) -> Option<String> {
    let answer: Json = serde_json::from_str(call.answer.as_deref()?).ok()?;
    answer
        .get("contextId")
        .and_then(Json::as_str)
        .filter(|id| is_id(id))
        .map(str::to_owned)
}

fn message(
    message_id: &str,
    parts: &JsonText,
    remote_task_id: Option<&str>,
    remote_context: Option<&str>,
) -> String {
    Object::default()
        .text("messageId", message_id)
        .text("role", "ROLE_USER")
        .raw("parts", parts.get())
        .maybe("taskId", remote_task_id)
        .maybe("contextId", remote_context)
        .end()
}

fn too_many(message: &'static str, max: i64) -> CoreError {
    A2aError::new(Reason::ResourceExhausted, message)
        .with("max", max.to_string())
        .into()
}
