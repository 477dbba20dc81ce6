//! The resident's tools, each one transaction, each only under the live turn of exactly its task.
//!
//! The queue has found the turn live; here its id must also be the task's fencing token, which is what holds when a
//! call was delayed past the end of its turn.

use a2a::TaskState;
use protocol::error::{A2aError, Reason};
use protocol::extensions::{
    Activated, ELICITATION_URI, Extension, OUTFITTER_TASK_KEY, OUTFITTER_TASK_URI,
};
use protocol::{outfitter_task, state};
use serde_json::{Map, Value as Json, json};

use super::artifacts::Chunk;
use super::task::Task;
use super::{Principal, read};
use crate::commands::principal::{Output, Tool, ToolReply, UseTool};
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// The id of the artifact that holds a completed task's response.
const RESPONSE: &str = "response";

/// The parts of a chunk that adds nothing to what it ends.
const NOTHING: &str = "[{\"text\":\"\"}]";

impl<S: Store> Principal<'_, S> {
    pub(super) fn use_tool(&mut self, command: &UseTool) -> Result<ToolReply, CoreError> {
        let mut task = read::find(self.store, &command.task_id)?;
        if task.turn_id.as_deref() != Some(&command.turn_id) {
            return Err(A2aError::turn_not_live().into());
        }
        if let Tool::Read { structured } = command.tool {
            return self.read_for_resident(&task, structured);
        }
        if task.state != TaskState::Working {
            // The turn has already settled the task, or put a question: what it had to say is said.
            return Err(A2aError::turn_not_live()
                .with("taskId", &task.task_id)
                .with("state", state::as_wire(&task.state))
                .into());
        }
        match &command.tool {
            Tool::Complete { response, outputs } => {
                for output in outputs {
                    self.record_output(&task, output)?;
                }
                match response {
                    Some(parts) => {
                        let artifact = response_artifact(parts.get());
                        self.put_artifact(&task, RESPONSE, &artifact, Chunk::Whole)?;
                    }
                    None if self.seal_artifact(&task, RESPONSE, &response_artifact(NOTHING))? => {}
                    None => {
                        return Err(A2aError::field(
                            "response",
                            "is required: nothing of it was appended before",
                        )
                        .into());
                    }
                }
                self.settle(&mut task, TaskState::Completed, None)
            }
            Tool::Reject { reason } => {
                let message = self.agent_message(&task, json!([{ "text": reason }]), None);
                self.settle(&mut task, TaskState::Rejected, Some(message))
            }
            Tool::AppendResponse {
                parts,
                append,
                last,
            } => {
                let chunk = Chunk::Part {
                    append: *append,
                    last: *last,
                };
                self.put_artifact(&task, RESPONSE, &response_artifact(parts.get()), chunk)?;
                Ok(ToolReply::Artifact(RESPONSE.to_owned()))
            }
            Tool::ReportProgress { note } => {
                // For whoever watches now: it is the status's message, and not kept as history.
                let message = self.agent_message(&task, json!([{ "text": note }]), None);
                self.transition(&mut task, TaskState::Working, Some(message))?;
                Ok(ToolReply::State(state::as_wire(&task.state).to_owned()))
            }
            Tool::RecordOutput(output) => {
                self.record_output(&task, output).map(ToolReply::Artifact)
            }
            Tool::RequireInput {
                question,
                requested_schema,
                auth,
            } => self.require_input(
                &mut task,
                question,
                requested_schema.as_ref().map(|schema| schema.get()),
                *auth,
            ),
            Tool::Read { .. } | Tool::Agents(_) => Err(StoreError::Corrupt { what: "tool" }.into()),
        }
    }

    fn settle(
        &mut self,
        task: &mut Task,
        next: TaskState,
        message: Option<String>,
    ) -> Result<ToolReply, CoreError> {
        if let Some(message) = &message {
            task.append_message(self.store, message)?;
        }
        self.transition(task, next, message)?;
        Ok(ToolReply::State(state::as_wire(&task.state).to_owned()))
    }

    /// Pauses the task on its caller. The plain question always stands; the typed one only where the caller activated
    /// `elicitation/v1` (seed *Surface*).
    fn require_input(
        &mut self,
        task: &mut Task,
        question: &str,
        requested_schema: Option<&str>,
        auth: bool,
    ) -> Result<ToolReply, CoreError> {
        if !self.can_be_continued(&task.task_id)? {
            return Err(A2aError::new(
                Reason::NoContinuation,
                "nobody can answer: this task's source declares no way to continue it; complete or reject it",
            )
            .with("taskId", &task.task_id)
            .into());
        }
        let mut parts = vec![json!({ "text": question })];
        let mut extension = None;
        if let Some(schema) = requested_schema
            && self.activated(task)?.contains(Extension::Elicitation)
        {
            let schema: Json =
                serde_json::from_str(schema).map_err(|_| StoreError::Corrupt { what: "schema" })?;
            parts.push(json!({ "data": { "message": question, "requestedSchema": schema } }));
            extension = Some(ELICITATION_URI);
        }
        let message = self.agent_message(task, Json::Array(parts), extension);
        let next = if auth {
            TaskState::AuthRequired
        } else {
            TaskState::InputRequired
        };
        self.settle(task, next, Some(message))
    }

    /// Records a declared output as the artifact named for it. Recording it again replaces it, so that a turn that is
    /// delivered anew does not leave two (seed *Output artifacts*).
    fn record_output(&mut self, task: &Task, output: &Output) -> Result<String, CoreError> {
        let artifact_id = format!("output.{}", output.name);
        let value: Map<String, Json> = serde_json::from_str(output.value.get())
            .map_err(|_| StoreError::Corrupt { what: "output" })?;
        let payload = outfitter_task::output_payload(&output.name, &output.kind, &value);
        let mut artifact = json!({
            "artifactId": artifact_id,
            "name": output.name,
            "parts": [{ "data": value }],
            "metadata": { OUTFITTER_TASK_KEY: payload },
        });
        if self.activated(task)?.contains(Extension::OutfitterTask)
            && let Some(fields) = artifact.as_object_mut()
        {
            fields.insert("extensions".to_owned(), json!([OUTFITTER_TASK_URI]));
        }
        self.put_artifact(task, &artifact_id, &artifact.to_string(), Chunk::Whole)?;
        Ok(artifact_id)
    }

    /// A message of the agent's about the task.
    pub(super) fn agent_message(
        &mut self,
        task: &Task,
        parts: Json,
        extension: Option<&str>,
    ) -> String {
        let mut message = self.agent_message_fields(task, parts);
        if let (Some(extension), Some(fields)) = (extension, message.as_object_mut()) {
            fields.insert("extensions".to_owned(), json!([extension]));
        }
        message.to_string()
    }

    /// The fields that every message to the task's caller has.
    pub(super) fn agent_message_fields(&mut self, task: &Task, parts: Json) -> Json {
        json!({
            "messageId": self.environment.ids.id(),
            "contextId": task.context_id,
            "taskId": task.task_id,
            "role": "ROLE_AGENT",
            "parts": parts,
        })
    }

    /// What the caller activated with the newest accepted activation of the task.
    pub(super) fn activated(&self, task: &Task) -> Result<Activated, CoreError> {
        let row = self.store.first(
            "SELECT extensions FROM claims WHERE activation_id = ?1",
            &[task.activation_id.into()],
        )?;
        let bits = row.map(|mut row| row.integer()).transpose()?.unwrap_or(0);
        Ok(Activated::from(u8::try_from(bits).unwrap_or(0)))
    }
}

/// The artifact that holds the response, or a chunk of it.
fn response_artifact(parts: &str) -> String {
    let mut artifact = String::with_capacity(parts.len().saturating_add(64));
    artifact.push_str("{\"artifactId\":\"response\",\"name\":\"response\",\"parts\":");
    artifact.push_str(parts);
    artifact.push('}');
    artifact
}
