//! The rows of calls: what was sent to remote agents, and how far it has come.

use a2a::TaskState;
use protocol::state;

use crate::storage::{Row, Store, StoreError};

/// The calls that may be on their way or followed at once for one principal.
pub const MAX_FOLLOWED: i64 = 1_000;

/// The messages that one task may send to remote agents.
pub const MAX_CALLS_OF_TASK: i64 = 256;

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its message is to be sent.
    Sending,
    /// Its remote task goes on.
    Following,
    /// It has settled: nothing more comes unless it is continued.
    Settled,
    /// Its remote task is to be canceled.
    Canceling,
    /// Nobody waits for it any more.
    Released,
}

impl Phase {
    pub(super) const fn code(self) -> i64 {
        match self {
            Self::Sending => 0,
            Self::Following => 1,
            Self::Settled => 2,
            Self::Canceling => 3,
            Self::Released => 4,
        }
    }

    fn from_code(code: i64) -> Option<Self> {
        [
            Self::Sending,
            Self::Following,
            Self::Settled,
            Self::Canceling,
            Self::Released,
        ]
        .into_iter()
        .find(|phase| phase.code() == code)
    }
}

/// A call as stored.
#[derive(Debug, Clone)]
pub struct RemoteCall {
    /// The row.
    pub call_id: i64,
    /// Whose it is.
    pub principal: String,
    /// The task of this principal whose turn made it.
    pub task_id: String,
    /// The agent.
    pub alias: String,
    /// The interface that it was sent to.
    pub interface: String,
    /// Whether the agent offers streams.
    pub streaming: bool,
    /// The message's id.
    pub message_id: String,
    /// The message that is still to be sent.
    pub request: Option<String>,
    /// The remote task.
    pub remote_task_id: Option<String>,
    /// The direct message that answered it.
    pub remote_message_id: Option<String>,
    /// The remote task's last known state.
    pub state: Option<TaskState>,
    /// The Task or Message, as JSON.
    pub answer: Option<String>,
    /// How far it has come.
    pub phase: Phase,
    /// Tries since something changed.
    pub attempts: i64,
    /// Answers in a row that could not be understood.
    pub faults: i64,
    /// How often it has settled.
    pub settlements: i64,
    /// Why it has settled without an answer.
    pub problem: Option<String>,
    /// When something is to be done next, in Unix milliseconds.
    pub due_ms: Option<i64>,
    /// An object is at it.
    pub leased: bool,
    /// When it is given up, in Unix milliseconds.
    pub deadline_ms: i64,
}

macro_rules! columns {
    () => {
        "call_id, principal, task_id, alias, interface, streaming, message_id, request, remote_task_id, \
         remote_message_id, state, answer, phase, attempts, faults, settlements, problem, due_ms, leased, deadline_ms"
    };
}

impl RemoteCall {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let corrupt = || StoreError::Corrupt {
            what: "remote call",
        };
        Ok(Self {
            call_id: row.integer()?,
            principal: row.text()?,
            task_id: row.text()?,
            alias: row.text()?,
            interface: row.text()?,
            streaming: row.integer()? != 0,
            message_id: row.text()?,
            request: row.optional_text()?,
            remote_task_id: row.optional_text()?,
            remote_message_id: row.optional_text()?,
            state: match row.optional_integer()? {
                None => None,
                Some(code) => Some(state::from_code(code).ok_or_else(corrupt)?),
            },
            answer: row.optional_text()?,
            phase: Phase::from_code(row.integer()?).ok_or_else(corrupt)?,
            attempts: row.integer()?,
            faults: row.integer()?,
            settlements: row.integer()?,
            problem: row.optional_text()?,
            due_ms: row.optional_integer()?,
            leased: row.integer()? != 0,
            deadline_ms: row.integer()?,
        })
    }

    pub(super) fn find<S: Store>(store: &S, call_id: i64) -> Result<Option<Self>, StoreError> {
        Self::one(
            store,
            concat!(
                "SELECT ",
                columns!(),
                " FROM remote_calls WHERE call_id = ?1"
            ),
            &[call_id.into()],
        )
    }

    /// The newest call that a remote task belongs to.
    pub(super) fn of_remote_task<S: Store>(
        store: &S,
        alias: &str,
        remote_task_id: &str,
    ) -> Result<Option<Self>, StoreError> {
        Self::one(
            store,
            concat!(
                "SELECT ",
                columns!(),
                " FROM remote_calls WHERE alias = ?1 AND remote_task_id = ?2 ORDER BY call_id DESC LIMIT 1"
            ),
            &[alias.into(), remote_task_id.into()],
        )
    }

    /// The newest call that a direct message answered.
    pub(super) fn of_remote_message<S: Store>(
        store: &S,
        alias: &str,
        remote_message_id: &str,
    ) -> Result<Option<Self>, StoreError> {
        Self::one(
            store,
            concat!(
                "SELECT ",
                columns!(),
                " FROM remote_calls WHERE alias = ?1 AND remote_task_id IS NULL AND remote_message_id = ?2 \
                 ORDER BY call_id DESC LIMIT 1"
            ),
            &[alias.into(), remote_message_id.into()],
        )
    }

    /// The call of a task that sent the message of this id.
    pub(super) fn of_message<S: Store>(
        store: &S,
        task_id: &str,
        message_id: &str,
    ) -> Result<Option<Self>, StoreError> {
        Self::one(
            store,
            concat!(
                "SELECT ",
                columns!(),
                " FROM remote_calls WHERE task_id = ?1 AND message_id = ?2"
            ),
            &[task_id.into(), message_id.into()],
        )
    }

    /// The calls of a task, newest first.
    pub(super) fn of_task<S: Store>(
        store: &S,
        task_id: &str,
        limit: i64,
    ) -> Result<Vec<Self>, StoreError> {
        store
            .query(
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM remote_calls WHERE task_id = ?1 ORDER BY call_id DESC LIMIT ?2"
                ),
                &[task_id.into(), limit.into()],
            )?
            .into_iter()
            .map(Self::from_row)
            .collect()
    }

    fn one<S: Store>(
        store: &S,
        sql: &str,
        parameters: &[crate::storage::Value<'_>],
    ) -> Result<Option<Self>, StoreError> {
        store
            .first(sql, parameters)?
            .map(Self::from_row)
            .transpose()
    }

    /// Writes a new call. Its `call_id` is given here.
    pub(super) fn insert<S: Store>(&mut self, store: &S) -> Result<(), StoreError> {
        let mut row = store
            .first(
                "INSERT INTO remote_calls (principal, task_id, alias, interface, streaming, message_id, request, \
                 phase, attempts, faults, settlements, leased, deadline_ms) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 0, 0, ?8) RETURNING call_id",
                &[
                    (&self.principal).into(),
                    (&self.task_id).into(),
                    (&self.alias).into(),
                    (&self.interface).into(),
                    i64::from(self.streaming).into(),
                    (&self.message_id).into(),
                    self.request.as_ref().into(),
                    self.deadline_ms.into(),
                ],
            )?
            .ok_or(StoreError::Corrupt { what: "remote call" })?;
        self.call_id = row.integer()?;
        self.save(store)
    }

    /// Writes what may have changed.
    pub(super) fn save<S: Store>(&self, store: &S) -> Result<(), StoreError> {
        store.execute(
            "UPDATE remote_calls SET request = ?2, remote_task_id = ?3, remote_message_id = ?4, state = ?5, \
             answer = ?6, phase = ?7, attempts = ?8, faults = ?9, settlements = ?10, problem = ?11, due_ms = ?12, \
             leased = ?13, streaming = ?14 WHERE call_id = ?1",
            &[
                self.call_id.into(),
                self.request.as_ref().into(),
                self.remote_task_id.as_ref().into(),
                self.remote_message_id.as_ref().into(),
                self.state.as_ref().map(state::code).into(),
                self.answer.as_ref().into(),
                self.phase.code().into(),
                self.attempts.into(),
                self.faults.into(),
                self.settlements.into(),
                self.problem.as_ref().into(),
                self.due_ms.into(),
                i64::from(self.leased).into(),
                i64::from(self.streaming).into(),
            ],
        )
    }

    /// Writes when it is due next, where nothing but the pace has changed.
    pub(super) fn save_pace<S: Store>(&self, store: &S) -> Result<(), StoreError> {
        store.execute(
            "UPDATE remote_calls SET due_ms = ?2, leased = ?3, attempts = ?4, faults = ?5 WHERE call_id = ?1",
            &[
                self.call_id.into(),
                self.due_ms.into(),
                i64::from(self.leased).into(),
                self.attempts.into(),
                self.faults.into(),
            ],
        )
    }

    /// Whether something is still to come of it by itself.
    pub(super) fn is_open(&self) -> bool {
        matches!(
            self.phase,
            Phase::Sending | Phase::Following | Phase::Canceling
        )
    }
}

/// How many calls are on their way or followed.
pub(super) fn count_followed<S: Store>(store: &S) -> Result<i64, StoreError> {
    count(
        store,
        "SELECT count(*) FROM remote_calls WHERE due_ms IS NOT NULL",
        &[],
    )
}

/// How many calls a task has made.
pub(super) fn count_of_task<S: Store>(store: &S, task_id: &str) -> Result<i64, StoreError> {
    count(
        store,
        "SELECT count(*) FROM remote_calls WHERE task_id = ?1",
        &[task_id.into()],
    )
}

fn count<S: Store>(
    store: &S,
    sql: &str,
    parameters: &[crate::storage::Value<'_>],
) -> Result<i64, StoreError> {
    store
        .first(sql, parameters)?
        .ok_or(StoreError::Corrupt { what: "count" })?
        .integer()
}
