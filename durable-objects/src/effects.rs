//! What must happen outside a core once its transaction has committed.

use serde::Serialize;

use crate::commands::wake_queue::Notice;

/// Whether a frame is the last that some watcher waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// The task goes on.
    Progress,
    /// The task waits for its caller: ends a blocking send and `message:stream`, not `:subscribe`.
    Interrupted,
    /// The task is terminal: ends every watcher.
    Terminal,
}

impl FrameKind {
    /// The letter that stands before a frame on a watcher's socket.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Progress => 'p',
            Self::Interrupted => 'i',
            Self::Terminal => 't',
        }
    }

    /// The kind a letter stands for.
    #[must_use]
    pub fn from_letter(letter: char) -> Option<Self> {
        match letter {
            'p' => Some(Self::Progress),
            'i' => Some(Self::Interrupted),
            't' => Some(Self::Terminal),
            _ => None,
        }
    }
}

/// One A2A `StreamResponse` for every watcher of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Whose watchers.
    pub task_id: String,
    /// Whether it ends them.
    pub kind: FrameKind,
    /// The `StreamResponse`, on one line.
    pub json: String,
}

/// A line for the log. Fields hold ids and numbers, never content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// The stable name.
    pub event: &'static str,
    /// What it is about.
    pub fields: Vec<(&'static str, String)>,
    /// It comes with every task, like the line of a request, and is left out where those are.
    pub is_routine: bool,
}

impl LogEvent {
    /// An event without fields.
    #[must_use]
    pub fn new(event: &'static str) -> Self {
        Self {
            event,
            fields: Vec::new(),
            is_routine: false,
        }
    }

    /// The same event, as one that comes with every task.
    #[must_use]
    pub const fn routine(mut self) -> Self {
        self.is_routine = true;
        self
    }

    /// The same event with one more field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.fields.push((name, value.to_string()));
        self
    }
}

/// A row of the outbox: a notice that a resident's queue has not acknowledged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwedNotice {
    /// The row.
    pub outbox_id: i64,
    /// The queue.
    pub resident: String,
    /// What to tell it.
    pub notice: Notice,
}

/// A settled native task that its source has not taken yet, as it is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwedSettlement {
    /// The row.
    pub settlement_id: i64,
    /// Whose task.
    pub principal: String,
    /// The source to tell.
    pub source: String,
    /// The task.
    pub task_id: String,
    /// Its context.
    pub context_id: String,
    /// The state in which it was settled, by its A2A name.
    pub state: &'static str,
    /// When, as A2A writes times.
    pub settled_at: String,
}

/// Everything a command leaves to do, in order of commit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Frames for the watchers of tasks, oldest first.
    pub frames: Vec<Frame>,
    /// Doorbells to ring: the tags of waiting sockets.
    pub rings: Vec<String>,
    /// Notices written to the outbox by this commit: to be delivered now rather than at the alarm.
    pub notices: Vec<OwedNotice>,
    /// Native tasks settled by this commit: their sources are to be told now rather than at the alarm.
    pub settlements: Vec<OwedSettlement>,
    /// The alarm must go off no later than this, in Unix milliseconds.
    pub alarm_ms: Option<i64>,
    /// Lines for the log.
    pub log: Vec<LogEvent>,
}

impl Effects {
    /// Asks that the alarm go off no later than `at_ms`.
    pub fn wake_at(&mut self, at_ms: i64) {
        self.alarm_ms = Some(self.alarm_ms.map_or(at_ms, |earlier| earlier.min(at_ms)));
    }
}
