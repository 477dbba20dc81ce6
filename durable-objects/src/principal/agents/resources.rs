//! Reading and canceling what remote agents have given, by address (seed *Outbound resources*).

use protocol::agents::address::{Address, Resource};
use protocol::agents::card::shown;
use protocol::agents::problem;
use protocol::agents::render::{self, Read};
use protocol::error::A2aError;
use protocol::state;
use serde_json::{Value as Json, json};

use super::calls::{Phase, RemoteCall};
use super::family::Entry;
use super::preparation::{Card, stored};
use super::send::UnderTurn;
use crate::commands::JsonText;
use crate::commands::principal::ToolReply;
use crate::error::CoreError;
use crate::principal::Principal;
use crate::storage::{Store, StoreError};

impl<S: Store> Principal<'_, S> {
    /// Checks that an alias is enabled.
    ///
    /// # Errors
    /// `agent-not-configured`, or a fault of the store.
    pub fn check_alias(&self, alias: &str) -> Result<(), CoreError> {
        match Entry::find(self.store, alias)?.filter(|entry| entry.enabled) {
            Some(_) => Ok(()),
            None => Err(problem::not_configured(alias).into()),
        }
    }

    /// The call to look at before a resource is read: that of a task that may have moved.
    pub fn call_to_look_at(&self, address: &Address) -> Result<Option<i64>, CoreError> {
        let task_id = match &address.resource {
            Resource::Task(task_id) | Resource::Artifact { task_id, .. } => task_id,
            Resource::Agent | Resource::Message(_) => return Ok(None),
        };
        let call = RemoteCall::of_remote_task(self.store, &address.alias, task_id)?
            .ok_or_else(|| A2aError::task_not_found(task_id))?;
        let may_move = call.phase != Phase::Sending
            && call.phase != Phase::Canceling
            && !call.state.as_ref().is_some_and(state::is_terminal);
        Ok(may_move.then_some(call.call_id))
    }

    /// A resource as it is stored.
    pub fn read_resource(
        &self,
        address: &Address,
        structured: bool,
    ) -> Result<ToolReply, CoreError> {
        let json = self.resource(address)?;
        if structured {
            return Ok(ToolReply::Json(JsonText::from_text(
                json!({ "resource": json }).to_string(),
            )));
        }
        let read = match &address.resource {
            Resource::Agent => Read::Card(&json),
            Resource::Message(_) => Read::Message(&json),
            Resource::Task(_) => Read::Task(&json),
            Resource::Artifact { .. } => Read::Artifact(&json),
        };
        Ok(ToolReply::Text(render::text(address, read)))
    }

    fn resource(&self, address: &Address) -> Result<Json, CoreError> {
        let alias = &address.alias;
        match &address.resource {
            Resource::Agent => self.card(alias),
            Resource::Message(id) => {
                let call = RemoteCall::of_remote_message(self.store, alias, id)?;
                answer_of(call.as_ref()).map_err(|_| nothing_there())
            }
            Resource::Task(id) => {
                let call = RemoteCall::of_remote_task(self.store, alias, id)?;
                answer_of(call.as_ref()).map_err(|_| nothing_there())
            }
            Resource::Artifact {
                task_id,
                artifact_id,
            } => {
                let call = RemoteCall::of_remote_task(self.store, alias, task_id)?;
                let mut task = answer_of(call.as_ref()).map_err(|_| nothing_there())?;
                task.get_mut("artifacts")
                    .and_then(Json::as_array_mut)
                    .into_iter()
                    .flatten()
                    .find(|artifact| artifact.get("artifactId") == Some(&json!(artifact_id)))
                    .map(Json::take)
                    .ok_or_else(nothing_there)
            }
        }
    }

    fn card(&self, alias: &str) -> Result<Json, CoreError> {
        let entry = Entry::find(self.store, alias)?;
        let definition = entry.and_then(|entry| entry.definition.ok());
        let card: Option<Card> = match definition {
            Some(definition) => stored(self.store, alias, &definition)?,
            None => None,
        };
        card.and_then(|card| card.card)
            .and_then(|text| serde_json::from_str(&text).ok())
            .map(|card| shown(&card))
            .ok_or_else(nothing_there)
    }

    /// Marks a remote task as one to be canceled, and gives its call.
    pub fn begin_agent_cancel(
        &mut self,
        under: UnderTurn<'_>,
        address: &Address,
    ) -> Result<i64, CoreError> {
        self.check_turn(under)?;
        let Resource::Task(id) = &address.resource else {
            return Err(A2aError::field("address", "must be that of a task").into());
        };
        let mut call = self.own_call(under, &address.alias, id)?;
        if call.state.as_ref().is_some_and(state::is_terminal) {
            return Err(A2aError::task_not_cancelable(id).into());
        }
        if call.phase == Phase::Sending {
            return Err(A2aError::unsupported_operation(
                "a message to this task is still on its way",
            )
            .into());
        }
        call.phase = Phase::Canceling;
        call.attempts = 0;
        call.due_ms = Some(self.environment.now_ms);
        call.save(self.store)?;
        self.effects.wake_at(self.environment.now_ms);
        Ok(call.call_id)
    }
}

fn answer_of(call: Option<&RemoteCall>) -> Result<Json, StoreError> {
    let nothing = StoreError::Corrupt { what: "answer" };
    let text = call
        .and_then(|call| call.answer.as_deref())
        .ok_or(nothing.clone())?;
    serde_json::from_str(text).map_err(|_| nothing)
}

fn nothing_there() -> CoreError {
    A2aError::new(
        protocol::error::Reason::NotFound,
        "there is nothing at this address",
    )
    .into()
}
