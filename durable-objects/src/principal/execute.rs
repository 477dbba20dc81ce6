//! An executor's answer to a message, carried out: it decides between a direct Message, a Task and work for the resident
//! (seed *Message versus Task is the executor's decision*).
//!
//! Nothing is stored before the executor's first line, so an executor that fails leaves no trace and the caller's retry
//! asks it again. From the first line of a task on, the execution's id is the task's fencing token, as a turn's is: a
//! cancel takes it away, and a line that comes later changes nothing.

use a2a::TaskState;
use protocol::executor::{Artifact, Content, Line, Status};
use protocol::state;
use serde_json::{Map, Value as Json, json};

use super::Principal;
use super::artifacts::Chunk;
use super::evidence::Kind;
use super::task::Task;
use super::turn::WakeState;
use crate::commands::JsonText;
use crate::commands::principal::{Send, SendReply, View};
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// How long an execution may be silent before its task is given up, in milliseconds: longer than the object waits for a
/// line, so that only an object that died in between leaves one behind.
pub const EXECUTION_LIFE_MS: i64 = 60_000;

/// What a caller is told of an executor's failure.
const FAILED: &str = "the agent failed";

/// A message before its executor is asked.
#[derive(Debug)]
pub enum Begun {
    /// It is a duplicate: its prior outcome.
    Answered(SendReply),
    /// The executor is to be asked this, as JSON.
    Ask(String),
}

/// How far an execution is after a line.
#[derive(Debug)]
pub enum Executed {
    /// There is nothing more to read.
    Over(SendReply),
    /// The task has begun; more lines may follow.
    Begun {
        /// The task as it is now.
        reply: SendReply,
        /// Which task.
        task_id: String,
        /// The execution's id.
        execution_id: String,
    },
}

impl<S: Store> Principal<'_, S> {
    /// What an executor is to be asked about a message, if it is new and may be accepted.
    pub(super) fn begin_execution(&mut self, command: &Send) -> Result<Begun, CoreError> {
        if let Some(prior) = self.prior(command)? {
            return Ok(Begun::Answered(prior));
        }
        let message: Json = serde_json::from_str(command.message.get())
            .map_err(|_| StoreError::Corrupt { what: "message" })?;
        let mut task = None;
        let mut request = json!({
            "principal": self.scope.principal,
            "message": message,
            "extensions": command.extensions.iter().map(|extension| extension.uri()).collect::<Vec<_>>(),
            "acceptedOutputModes": command.accepted_output_modes,
        });
        if let Some(task_id) = &command.task_id {
            let continued = self.continuable(command, task_id)?;
            task = Some(continued.render(self.store, &View::default())?);
        } else if let Some(context_id) = &command.context_id
            && self.owns_context(context_id)?
        {
            set(&mut request, "contextId", json!(context_id));
        }
        let mut request = request.to_string();
        if let Some(task) = task {
            // As it is stored: it may be long, and many times as long once it is parsed.
            request.pop();
            request.push_str(",\"task\":");
            request.push_str(&task);
            request.push('}');
        }
        Ok(Begun::Ask(request))
    }

    /// The executor's first line: it decides what becomes of the message.
    pub(super) fn execute(&mut self, command: &Send, line: &Line) -> Result<Executed, CoreError> {
        if let Some(prior) = self.prior(command)? {
            return Ok(Executed::Over(prior));
        }
        match line {
            Line::Work => self.send(command).map(Executed::Over),
            Line::Message(content) => self.answer_directly(command, content).map(Executed::Over),
            Line::Task { status, artifacts } => self.begin_task(command, status, artifacts),
            Line::StatusUpdate(_) | Line::ArtifactUpdate { .. } => {
                Err(protocol::error::A2aError::new(
                    protocol::error::Reason::InvalidAgentResponse,
                    FAILED,
                )
                .into())
            }
        }
    }

    fn answer_directly(
        &mut self,
        command: &Send,
        content: &Content,
    ) -> Result<SendReply, CoreError> {
        let context_id = match &command.task_id {
            Some(task_id) => self.continuable(command, task_id)?.context_id,
            None => self.owned_or_fresh_context(command.context_id.as_deref(), 0)?,
        };
        let mut message = json!({
            "messageId": self.environment.ids.id(),
            "contextId": context_id,
            "role": "ROLE_AGENT",
            "parts": content.parts,
        });
        if let Some(metadata) = &content.metadata {
            set(&mut message, "metadata", Json::Object(metadata.clone()));
        }
        let message = message.to_string();
        self.accept_message(command, &message)?;
        Ok(SendReply::Message(JsonText::from_text(message)))
    }

    fn begin_task(
        &mut self,
        command: &Send,
        status: &Status,
        artifacts: &[Artifact],
    ) -> Result<Executed, CoreError> {
        // The resident owes nothing for it unless the executor leaves it unsettled.
        let mut task = self.accept(command, WakeState::Done)?;
        let execution_id = format!("execution.{}", self.environment.ids.id());
        task.turn_id = Some(execution_id.clone());
        task.turn_resident = None;
        for artifact in artifacts {
            self.put_artifact(&task, &artifact.artifact_id, &wire(artifact), Chunk::Whole)?;
        }
        self.take_status(&mut task, status)?;
        let reply = SendReply::Task(task.reply(self.store, &command.view)?);
        if state::is_settled(&task.state) {
            return Ok(Executed::Over(reply));
        }
        self.expect_line(&task.task_id, &execution_id)?;
        Ok(Executed::Begun {
            reply,
            task_id: task.task_id,
            execution_id,
        })
    }

    /// A further line. False where the execution is over: it settled the task, or the task was taken from it.
    pub(super) fn continue_execution(
        &mut self,
        task_id: &str,
        execution_id: &str,
        line: &Line,
    ) -> Result<bool, CoreError> {
        let Some(mut task) = self.executing(task_id, execution_id)? else {
            return Ok(false);
        };
        match line {
            // What has begun is not un-begun: a watcher would see the task go back.
            Line::StatusUpdate(status)
                if status.state == state::code(&TaskState::Submitted)
                    && task.state == TaskState::Working =>
            {
                self.fail(&mut task)?;
            }
            Line::StatusUpdate(status) => self.take_status(&mut task, status)?,
            Line::ArtifactUpdate {
                artifact,
                append,
                last_chunk,
            } => self.put_artifact(
                &task,
                &artifact.artifact_id,
                &wire(artifact),
                Chunk::Part {
                    append: *append,
                    last: *last_chunk,
                },
            )?,
            Line::Work | Line::Message(_) | Line::Task { .. } => {
                self.fail(&mut task)?;
            }
        }
        if state::is_settled(&task.state) {
            self.forget_execution(task_id)?;
            return Ok(false);
        }
        self.expect_line(task_id, execution_id)?;
        Ok(true)
    }

    /// There are no more lines. A task left unsettled goes to the resident; after a failure it is FAILED.
    pub(super) fn end_execution(
        &mut self,
        task_id: &str,
        execution_id: &str,
        failed: bool,
    ) -> Result<(), CoreError> {
        let Some(mut task) = self.executing(task_id, execution_id)? else {
            return Ok(());
        };
        self.forget_execution(task_id)?;
        if failed {
            return self.fail(&mut task);
        }
        task.turn_id = None;
        self.store.execute(
            "UPDATE tasks SET turn_id = NULL WHERE task_id = ?1",
            &[task_id.into()],
        )?;
        self.store.execute(
            "UPDATE claims SET wake_state = ?2 WHERE activation_id = ?1",
            &[task.activation_id.into(), WakeState::Queued.code().into()],
        )?;
        // The principal may have moved while its executor was at work.
        let serving = self.serving()?;
        let resident = serving.as_deref().unwrap_or(self.scope.resident);
        self.owe_wake_to(resident, &task)?;
        Ok(())
    }

    /// Fails the tasks whose executor fell silent with an object that died.
    pub(super) fn fail_overdue_executions(&mut self) -> Result<(), CoreError> {
        let overdue = self.store.query(
            "SELECT task_id, execution_id FROM executions WHERE deadline_ms <= ?1 LIMIT 64",
            &[self.environment.now_ms.into()],
        )?;
        for mut row in overdue {
            let (task_id, execution_id) = (row.text()?, row.text()?);
            self.end_execution(&task_id, &execution_id, true)?;
            self.forget_execution(&task_id)?;
        }
        Ok(())
    }

    /// The task, if it is still this execution's to change.
    fn executing(&self, task_id: &str, execution_id: &str) -> Result<Option<Task>, StoreError> {
        Ok(Task::find(self.store, task_id)?.filter(|task| {
            task.turn_id.as_deref() == Some(execution_id) && !state::is_settled(&task.state)
        }))
    }

    fn take_status(&mut self, task: &mut Task, status: &Status) -> Result<(), CoreError> {
        let next = state::from_code(status.state).ok_or(StoreError::Corrupt { what: "state" })?;
        let message = status.message.as_ref().map(|content| {
            let mut message = self.agent_message_fields(task, Json::Array(content.parts.clone()));
            if let Some(metadata) = &content.metadata {
                set(&mut message, "metadata", Json::Object(metadata.clone()));
            }
            message.to_string()
        });
        if state::is_settled(&next) {
            // What settles the task is kept; what is said on the way is for whoever watches.
            if let Some(message) = &message {
                task.append_message(self.store, message)?;
            }
            task.turn_id = None;
        }
        self.transition(task, next, message)?;
        Ok(())
    }

    fn fail(&mut self, task: &mut Task) -> Result<(), CoreError> {
        let message = self.agent_message(task, json!([{ "text": FAILED }]), None);
        task.append_message(self.store, &message)?;
        task.turn_id = None;
        self.transition(task, TaskState::Failed, Some(message))?;
        self.record(
            Kind::Unhealthy,
            Some(&task.task_id),
            task.activation_id,
            Some("executor failed"),
        )?;
        Ok(())
    }

    fn expect_line(&mut self, task_id: &str, execution_id: &str) -> Result<(), StoreError> {
        let deadline_ms = self.environment.now_ms.saturating_add(EXECUTION_LIFE_MS);
        self.store.execute(
            "INSERT INTO executions (task_id, execution_id, deadline_ms) VALUES (?1, ?2, ?3) \
             ON CONFLICT (task_id) DO UPDATE SET execution_id = ?2, deadline_ms = ?3",
            &[task_id.into(), execution_id.into(), deadline_ms.into()],
        )?;
        self.effects.wake_at(deadline_ms);
        Ok(())
    }

    fn forget_execution(&self, task_id: &str) -> Result<(), StoreError> {
        self.store.execute(
            "DELETE FROM executions WHERE task_id = ?1",
            &[task_id.into()],
        )
    }
}

/// An executor's artifact as it is kept.
fn wire(artifact: &Artifact) -> String {
    let mut fields = Map::new();
    fields.insert("artifactId".to_owned(), json!(artifact.artifact_id));
    fields.insert("parts".to_owned(), Json::Array(artifact.parts.clone()));
    for (name, value) in [
        ("name", &artifact.name),
        ("description", &artifact.description),
    ] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(metadata) = &artifact.metadata {
        fields.insert("metadata".to_owned(), Json::Object(metadata.clone()));
    }
    Json::Object(fields).to_string()
}

fn set(object: &mut Json, name: &str, value: Json) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}
