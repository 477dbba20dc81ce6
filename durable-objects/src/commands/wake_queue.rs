//! What a WakeQueueObject can be asked.

use serde::{Deserialize, Serialize};

use super::Call;
use super::principal::{Disposition, Tool, ToolReply, TurnOutcome};

/// Every command of a WakeQueueObject.
#[derive(Debug, Serialize, Deserialize)]
pub enum WakeQueueCommand {
    /// See [`Notify`].
    Notify(Notify),
    /// See [`Take`].
    Take(Take),
    /// See [`Assign`].
    Assign(Assign),
    /// See [`Inspect`].
    Inspect(Inspect),
    /// See [`Heartbeat`].
    Heartbeat(Heartbeat),
    /// See [`End`].
    End(End),
    /// See [`CallTool`].
    CallTool(CallTool),
}

/// A principal delivers its outbox. Each notice is answered in order; repeating one changes nothing.
#[derive(Debug, Serialize, Deserialize)]
pub struct Notify {
    /// The queue's own name.
    pub resident: String,
    /// Oldest first.
    pub notices: Vec<Notice>,
}

/// What a principal tells a resident's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// A task awaits the resident.
    Wake {
        /// Whose.
        principal: String,
        /// The accepted activation.
        activation_id: i64,
        /// Its task.
        task_id: String,
    },
    /// Nothing is owed for an activation any more; a turn on it is over.
    Withdraw {
        /// Whose.
        principal: String,
        /// The activation.
        activation_id: i64,
        /// Its task.
        task_id: String,
    },
    /// Another resident served the principal until now: all it has open is to be asked for ([`Replay`]).
    ///
    /// [`Replay`]: super::principal::Replay
    Moved {
        /// Whose.
        principal: String,
    },
}

/// What a queue did with a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admission {
    /// It is in effect, or was already.
    Admitted,
    /// 128 wakes wait already: this one is not kept.
    Overflow,
}

/// A resident's session asks for a turn.
#[derive(Debug, Serialize, Deserialize)]
pub struct Take {
    /// The queue's own name.
    pub resident: String,
    /// The session, made by the resident when it starts.
    pub session: String,
    /// How long the turn lives without a sign of life, in milliseconds, where the deployment's lease is too short.
    pub lease_ms: Option<i64>,
}

/// The turn that was granted, if one was.
#[derive(Debug, Serialize, Deserialize)]
pub struct TakeReply {
    /// None where no wake is ready.
    pub turn: Option<Turn>,
    /// The session has just started: [`Assign`] follows.
    pub started: bool,
}

/// Whom the deployment's credentials have this resident serve, told once a session.
#[derive(Debug, Serialize, Deserialize)]
pub struct Assign {
    /// The queue's own name.
    pub resident: String,
    /// The session that started.
    pub session: String,
    /// The principals.
    pub principals: Vec<String>,
}

/// It is in effect.
#[derive(Debug, Serialize, Deserialize)]
pub struct Assigned {}

/// An operator looks at the queue. Changes nothing.
#[derive(Debug, Serialize, Deserialize)]
pub struct Inspect {}

/// A queue as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectReply {
    /// Wakes that wait, at most 128.
    pub depth: i64,
    /// Those of them that wait for a failed turn's pause to end.
    pub delayed: i64,
    /// The turn, if there is one.
    pub turn: Option<TurnState>,
}

/// The one turn as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnState {
    /// The turn.
    pub turn_id: String,
    /// Whose task it is on.
    pub principal: String,
    /// The task.
    pub task_id: String,
    /// `reserved`, `live` or `ending`.
    pub phase: String,
    /// Which consecutive delivery of the activation this is, from 1; 0 before it is granted.
    pub delivery: i64,
    /// How long it has been going on, in milliseconds.
    pub age_ms: i64,
    /// How long until its lease ends, in milliseconds; 0 where it is not live.
    pub lease_left_ms: i64,
}

/// A live turn, as handed to the resident. It names the work and holds none of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The turn.
    pub turn_id: String,
    /// The one task it has authority over.
    pub task_id: String,
    /// The task's context.
    pub context_id: String,
    /// Which consecutive delivery of the activation this is, from 1.
    pub delivery: u32,
    /// The lease, in milliseconds from the last sign of life.
    pub lease_ms: i64,
    /// The turn's bearer token (`protocol::credentials::TurnToken`); only the hash of its secret is stored.
    pub token: String,
}

/// Who speaks for a turn.
#[derive(Debug, Serialize, Deserialize)]
pub enum TurnAuthority {
    /// The resident itself, authenticated by its own token.
    Resident,
    /// The bearer of a turn's token.
    Token(String),
}

/// A sign of life.
#[derive(Debug, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The turn.
    pub turn_id: String,
    /// Who speaks.
    pub authority: TurnAuthority,
}

/// Whether a turn is live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeartbeatReply {
    /// It is, and its lease begins anew.
    Live {
        /// Milliseconds.
        lease_ms: i64,
    },
    /// It is over.
    Over {
        /// `canceled`, `expired`, `ended` or `superseded`.
        reason: String,
    },
}

/// The resident ends its turn.
#[derive(Debug, Serialize, Deserialize)]
pub struct End {
    /// The queue's own name.
    pub resident: String,
    /// The turn.
    pub turn_id: String,
    /// Its task, where the caller names that too.
    pub task_id: Option<String>,
    /// `Ended` or `Failed`.
    pub outcome: TurnOutcome,
}

/// A tool is used under a turn.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallTool {
    /// The queue's own name.
    pub resident: String,
    /// The turn the caller names.
    pub turn_id: String,
    /// The task the caller names.
    pub task_id: String,
    /// Who speaks.
    pub authority: TurnAuthority,
    /// Which tool, validated.
    pub tool: Tool,
}

macro_rules! calls {
    ($($call:ident => $reply:ty),+ $(,)?) => {$(
        impl Call for $call {
            type Object = WakeQueueCommand;
            type Reply = $reply;
            fn into_object(self) -> WakeQueueCommand {
                WakeQueueCommand::$call(self)
            }
        }
    )+};
}

calls! {
    Notify => Vec<Admission>,
    Take => TakeReply,
    Assign => Assigned,
    Inspect => InspectReply,
    Heartbeat => HeartbeatReply,
    End => Disposition,
    CallTool => ToolReply,
}
