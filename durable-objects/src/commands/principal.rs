//! What a PrincipalObject can be asked.

use protocol::extensions::Activated;
use serde::{Deserialize, Serialize};

use super::agents::{AgentsCommand, AgentsTool};
use super::trusted::TrustedCommand;
use super::{Call, JsonText, wrapped};

/// A command and whose it is. The object is addressed by `principal`; it is repeated here so that what the object
/// sends on names its origin.
#[derive(Debug, Serialize, Deserialize)]
pub struct PrincipalCall {
    /// The authenticated principal, or the one the queue's wake names.
    pub principal: String,
    /// The queue that serves this principal.
    pub resident: String,
    /// What is asked.
    pub command: PrincipalCommand,
}

/// Every command of a PrincipalObject.
#[derive(Debug, Serialize, Deserialize)]
pub enum PrincipalCommand {
    /// See [`Send`].
    Send(Send),
    /// See [`GetTask`].
    GetTask(GetTask),
    /// See [`ListTasks`].
    ListTasks(ListTasks),
    /// See [`CancelTask`].
    CancelTask(CancelTask),
    /// See [`Grant`].
    Grant(Grant),
    /// See [`EndTurn`].
    EndTurn(EndTurn),
    /// See [`UseTool`].
    UseTool(UseTool),
    /// See [`Replay`].
    Replay(Replay),
    /// See [`WakeFailed`].
    WakeFailed(WakeFailed),
    /// See [`TrustedCommand`].
    Trusted(TrustedCommand),
    /// See [`AgentsCommand`].
    Agents(AgentsCommand),
}

impl PrincipalCommand {
    /// Whether it writes nothing, so that it needs no transaction. What it reads is of one moment all the same: nothing
    /// is awaited within a command.
    #[must_use]
    pub const fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::GetTask(_)
                | Self::Trusted(
                    TrustedCommand::ReadSource { .. }
                        | TrustedCommand::Locate(_)
                        | TrustedCommand::ReadTask { .. }
                        | TrustedCommand::Settlements { .. }
                        | TrustedCommand::Evidence(_)
                )
        )
    }
}

/// How much of a task an answer shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The newest messages to show: all kept where absent, no `history` field where 0 (spec §3.2.4).
    pub history_length: Option<u32>,
    /// Leaves out `artifacts` (spec §3.1.4; only a list does).
    pub without_artifacts: bool,
    /// Shows the task's locator and idempotency record, for a caller that activated `outfitter-task/v1`.
    pub locator: Option<Locator>,
}

/// What a task's locator says besides the task's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locator {
    /// The URL of this deployment's interface.
    pub agent_interface: String,
    /// The principal within which a messageId is unique.
    pub scope: String,
}

/// Accept a message of the A2A binding: a new task, or the answer that a waiting one asked for.
#[derive(Debug, Serialize, Deserialize)]
pub struct Send {
    /// The caller's messageId: the dedupe key within the principal.
    pub message_id: String,
    /// The digest of everything the caller said (`protocol::digest`).
    pub digest: String,
    /// The validated message as a JSON object without `contextId` and `taskId`.
    pub message: JsonText,
    /// The context the caller names.
    pub context_id: Option<String>,
    /// The task the caller continues.
    pub task_id: Option<String>,
    /// `acceptedOutputModes`, kept for the resident.
    pub accepted_output_modes: Vec<String>,
    /// The activated extensions, kept for what the resident contributes later.
    pub extensions: Activated,
    /// Tasks that are not terminal and that the principal may have at once.
    pub max_open_tasks: u32,
    /// Watchers that the principal may have open at once, where one is to follow this message: without room for it, a
    /// message that is new is refused, and nothing is stored. Where none follows, the object answers with the response's
    /// body.
    pub max_watchers: Option<u32>,
    /// What the answer shows.
    pub view: View,
}

/// What became of a [`Send`].
#[derive(Debug, Serialize, Deserialize)]
pub enum SendReply {
    /// The task as it is now.
    Task(TaskReply),
    /// The direct message with which the activation was answered.
    Message(JsonText),
}

impl SendReply {
    /// The body that answers a `message:send` (specification section 3.2.3).
    #[must_use]
    pub fn into_body(self) -> String {
        match self {
            Self::Task(reply) => wrapped("task", reply.task.get()),
            Self::Message(message) => wrapped("message", message.get()),
        }
    }
}

/// A task as it is shown to its caller.
#[derive(Debug, Serialize, Deserialize)]
pub struct TaskReply {
    /// The task's id.
    pub task_id: String,
    /// Whether it is terminal or waits for its caller.
    pub settled: bool,
    /// The A2A Task.
    pub task: JsonText,
}

/// Read a task.
#[derive(Debug, Serialize, Deserialize)]
pub struct GetTask {
    /// Which.
    pub task_id: String,
    /// How much of it.
    pub view: View,
}

/// List tasks, newest status first (spec §3.1.4).
#[derive(Debug, Serialize, Deserialize)]
pub struct ListTasks {
    /// Only tasks of this context.
    pub context_id: Option<String>,
    /// Only tasks in the state of this number.
    pub state: Option<i64>,
    /// Only tasks whose status timestamp, in Unix milliseconds, is this or later.
    pub status_from_ms: Option<i64>,
    /// Most tasks on the page, 1 to 100.
    pub page_size: u32,
    /// Where to go on, as an earlier page said.
    pub page_token: Option<String>,
    /// A digest of what selects the tasks, which binds the token to its list.
    pub filter_digest: [u8; 32],
    /// How much of each task the page shows.
    pub view: View,
}

/// A page of tasks.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListReply {
    /// The A2A ListTasksResponse.
    pub page: JsonText,
}

/// Watch a task, as the Worker asks it in an upgrade: the first frame is the task, every later one follows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Watch {
    /// Which.
    pub task_id: String,
    /// Refuse a terminal task (spec §3.1.6).
    pub subscribe: bool,
    /// How much of the task the first frame shows.
    pub view: View,
    /// Watchers that the principal may have open at once.
    pub max_watchers: u32,
}

/// Cancel a task that is not terminal.
#[derive(Debug, Serialize, Deserialize)]
pub struct CancelTask {
    /// Which.
    pub task_id: String,
    /// How much of it to answer.
    pub view: View,
}

/// A queue asks that the task of an activation be moved to WORKING under a turn. Repeating it changes nothing.
#[derive(Debug, Serialize, Deserialize)]
pub struct Grant {
    /// The accepted activation that the wake stands for.
    pub activation_id: i64,
    /// Its task.
    pub task_id: String,
    /// The fencing token.
    pub turn_id: String,
}

/// Whether a turn may begin.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantReply {
    /// The task is WORKING under this turn.
    Granted {
        /// The task's context.
        context_id: String,
        /// Which consecutive delivery of the activation this is, from 1.
        delivery: u32,
    },
    /// Nothing is owed for this activation any more: the wake is done.
    Stale,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The resident said so.
    Ended,
    /// The resident said that it failed, and why.
    Failed(String),
    /// Its lease ran out without a heartbeat.
    Expired,
    /// A new resident session began.
    Superseded,
    /// The same, before there was any sign of life in the turn: it was not delivered.
    Undelivered,
}

/// A queue reports that a turn is over. Repeating it answers the same.
#[derive(Debug, Serialize, Deserialize)]
pub struct EndTurn {
    /// The activation that was delivered.
    pub activation_id: i64,
    /// Its task.
    pub task_id: String,
    /// The turn.
    pub turn_id: String,
    /// How it ended.
    pub outcome: TurnOutcome,
}

/// What becomes of an activation after its turn (DESIGN *Wake and turn*).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// The task is terminal: the wake is done.
    Settled,
    /// The task waits for its caller: the wake is done.
    Interrupted,
    /// The task is unsettled: the wake is offered again.
    Reoffered,
    /// The turn failed: the wake is offered again, not before this time.
    Retrying {
        /// Unix milliseconds.
        not_before_ms: i64,
    },
    /// Three turns failed: nothing more until the resident connects anew.
    Parked,
    /// Five deliveries left the task unsettled: the activation has failed for good.
    Exhausted,
    /// The task is unsettled and waits for remote agents: it is offered again when one of them settles.
    AwaitingAgents,
}

/// A resident's tool, used under a turn.
#[derive(Debug, Serialize, Deserialize)]
pub struct UseTool {
    /// The turn that the queue found live.
    pub turn_id: String,
    /// The task the tool names.
    pub task_id: String,
    /// Which tool, validated.
    pub tool: Tool,
}

/// The tools. Whatever can be checked without the task has been.
#[derive(Debug, Serialize, Deserialize)]
pub enum Tool {
    /// `a2a_read_task`.
    Read {
        /// Structured, instead of text between markers.
        structured: bool,
    },
    /// `a2a_complete_task` with outcome `completed`.
    Complete {
        /// The response artifact's parts, a JSON array. Absent where the response was appended before.
        response: Option<JsonText>,
        /// Declared outputs, recorded before the response.
        outputs: Vec<Output>,
    },
    /// `a2a_complete_task` with outcome `rejected`.
    Reject {
        /// Why, for the caller.
        reason: String,
    },
    /// `a2a_record_output`.
    RecordOutput(Output),
    /// `a2a_append_response`.
    AppendResponse {
        /// The chunk's parts, a JSON array.
        parts: JsonText,
        /// The chunk continues what was appended before, rather than beginning anew.
        append: bool,
        /// Nothing more will be appended.
        last: bool,
    },
    /// `a2a_report_progress`.
    ReportProgress {
        /// For whoever watches.
        note: String,
    },
    /// `a2a_require_input`.
    RequireInput {
        /// The question, for the caller.
        question: String,
        /// A flat schema for the answer, if the caller can be shown one.
        requested_schema: Option<JsonText>,
        /// Ask for authorization instead of input.
        auth: bool,
    },
    /// One of those that concern other agents. The object carries them out, since it calls the agents.
    Agents(AgentsTool),
}

/// An output that the selected workflow declares.
#[derive(Debug, Serialize, Deserialize)]
pub struct Output {
    /// The declared name.
    pub name: String,
    /// The declared type.
    pub kind: String,
    /// A JSON object.
    pub value: JsonText,
}

/// What a tool answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToolReply {
    /// The task as text between untrusted-content markers.
    Text(String),
    /// The task as structured JSON.
    Structured {
        /// The A2A Task.
        task: JsonText,
        /// What its newest message asked for: activated extensions, accepted output modes, referenced tasks.
        request: JsonText,
    },
    /// The task's state after the tool, as the A2A name.
    State(String),
    /// The artifact that holds the output.
    Artifact(String),
    /// What a tool that concerns other agents gives, as a JSON object.
    Json(JsonText),
}

/// A queue's new session asks for everything this principal still has to be done by its resident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// The deployment's credentials name this resident for the principal: if another served it before, its unfinished
    /// tasks move here.
    pub assigned: bool,
    /// Counts the queue's startups. What an earlier one asks, and late comes, changes nothing.
    pub startup: i64,
    /// Goes on behind this activation; 0 at the beginning.
    pub after: i64,
}

/// A queue could not tell its resident of a wake, three times: the wake has failed.
#[derive(Debug, Serialize, Deserialize)]
pub struct WakeFailed {
    /// The activation.
    pub activation_id: i64,
    /// Its task.
    pub task_id: String,
}

/// It is recorded.
#[derive(Debug, Serialize, Deserialize)]
pub struct Recorded {}

/// What a [`Replay`] found.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReplayReply {
    /// Activations that follow by the outbox.
    pub offered: u32,
    /// Where there are more: to be asked for behind this activation.
    pub next: Option<i64>,
    /// Another resident serves the principal now: nothing more is owed to this one.
    pub moved: bool,
}

macro_rules! calls {
    ($($call:ident => $reply:ty),+ $(,)?) => {$(
        impl Call for $call {
            type Object = PrincipalCommand;
            type Reply = $reply;
            fn into_object(self) -> PrincipalCommand {
                PrincipalCommand::$call(self)
            }
        }
    )+};
}

calls! {
    Send => SendReply,
    GetTask => TaskReply,
    ListTasks => ListReply,
    CancelTask => TaskReply,
    Grant => GrantReply,
    EndTurn => Disposition,
    UseTool => ToolReply,
    Replay => ReplayReply,
    WakeFailed => Recorded,
}
