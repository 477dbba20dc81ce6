//! The PrincipalObject's core: everything that belongs to one principal, serialized.
//!
//! The invariants it keeps, by their numbers in DESIGN:
//!
//! 1. *An acknowledged activation is never lost.* Claim, task, history, context, evidence and the outbox row of the wake
//!    are one transaction ([`accept`]).
//! 2. *One key, one outcome.* `claims` has a unique key, read before anything is written.
//! 3. *Terminal states absorb; history only grows; status timestamps do not go back.* Every change of state goes through
//!    [`task::Task::transition`].
//! 4. *A tool acts under its own turn.* [`tools`] checks the fencing token that [`turn`] stored.
//! 5. *Bounded deliveries.* [`turn`] counts, and decides what becomes of an activation.
//! 6. *Every watcher sees the same frames.* Frames are effects of the transaction that changed the task.

mod accept;
pub mod agents;
mod artifacts;
mod cancel;
mod earliest;
mod elicitation;
mod evidence;
mod execute;
mod list;
mod outbox;
mod read;
mod reading;
mod replay;
mod retention;
mod settlements;
#[macro_use]
mod task;
mod tools;
mod trusted;
mod turn;
mod whole;

pub use execute::{Begun, EXECUTION_LIFE_MS, Executed};
pub use outbox::{Done, OUTBOX_RETRY_MS};
pub use read::Snapshot;
pub use retention::RETENTION_MS;
pub use trusted::HOLD_MS;
pub use turn::{MAX_DELIVERIES, MAX_FAILURES};

use protocol::executor::Line;
use serde::Serialize;

use crate::commands;
use crate::commands::principal::{PrincipalCall, PrincipalCommand, Send, View};
use crate::commands::wake_queue::Admission;
use crate::effects::{Effects, OwedNotice, OwedSettlement};
use crate::environment::Environment;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// One command's run over the store: the time and ids it was given, and the effects it gathers.
pub struct Principal<'a, S> {
    store: &'a S,
    environment: Environment<'a>,
    scope: Scope<'a>,
    effects: Effects,
}

/// Whose command it is.
#[derive(Clone, Copy)]
struct Scope<'a> {
    principal: &'a str,
    resident: &'a str,
}

/// Runs one call. To be called inside a transaction, which must be rolled back on an error, unless the command
/// [only reads](PrincipalCommand::only_reads).
///
/// The answer is the bytes of one that carries the call's reply (`commands::Call::Reply`).
///
/// # Errors
/// [`CoreError::Refused`] for what the caller got wrong, [`CoreError::Store`] for what failed here.
pub fn handle<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
    call: &'a PrincipalCall,
) -> Result<(Vec<u8>, Effects), CoreError> {
    let mut principal = Principal::of(store, environment, call);
    let reply = principal.carry_out(&call.command)?;
    Ok((reply, principal.effects))
}

/// What the Worker gets for a call: as [`handle`], except that what is a response's body as it stands comes as that, so
/// that nobody takes it apart on its way.
///
/// # Errors
/// As [`handle`].
pub fn answer<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
    call: &'a PrincipalCall,
) -> Result<(Answer, Effects), CoreError> {
    let mut principal = Principal::of(store, environment, call);
    let answer = match &call.command {
        PrincipalCommand::Send(command) if command.max_watchers.is_none() => {
            Answer::Body(principal.send(command)?.into_body())
        }
        PrincipalCommand::GetTask(command) => {
            Answer::Body(principal.get_task(command)?.task.into_text())
        }
        PrincipalCommand::ListTasks(command) => {
            Answer::Body(principal.list_tasks(command)?.page.into_text())
        }
        PrincipalCommand::CancelTask(command) => {
            Answer::Body(principal.cancel_task(command)?.task.into_text())
        }
        PrincipalCommand::Trusted(command) => Answer::Body(principal.trusted(command)?.into_text()),
        command => Answer::Bytes(principal.carry_out(command)?),
    };
    Ok((answer, principal.effects))
}

/// An answer to the Worker.
#[derive(Debug)]
pub enum Answer {
    /// The body of the response to the caller.
    Body(String),
    /// The bytes of an answer that carries the call's reply.
    Bytes(Vec<u8>),
}

impl<'a, S: Store> Principal<'a, S> {
    fn of(store: &'a S, environment: Environment<'a>, call: &'a PrincipalCall) -> Self {
        Self {
            store,
            environment,
            scope: Scope {
                principal: &call.principal,
                resident: &call.resident,
            },
            effects: Effects::default(),
        }
    }

    fn carry_out(&mut self, command: &PrincipalCommand) -> Result<Vec<u8>, CoreError> {
        match command {
            PrincipalCommand::Send(command) => encode(&self.send(command)?),
            PrincipalCommand::GetTask(command) => encode(&self.get_task(command)?),
            PrincipalCommand::ListTasks(command) => encode(&self.list_tasks(command)?),
            PrincipalCommand::CancelTask(command) => encode(&self.cancel_task(command)?),
            PrincipalCommand::Grant(command) => encode(&self.grant(command)?),
            PrincipalCommand::EndTurn(command) => encode(&self.end_turn(command)?),
            PrincipalCommand::UseTool(command) => encode(&self.use_tool(command)?),
            PrincipalCommand::Replay(command) => encode(&self.replay(command)?),
            PrincipalCommand::WakeFailed(command) => encode(&self.fail_wake(command)?),
            PrincipalCommand::Trusted(command) => encode(&self.trusted(command)?),
            PrincipalCommand::Agents(command) => encode(&self.manage_agents(command, false)?),
        }
    }
}

/// What an executor is to be asked about a message, if it is new and may be accepted. Changes nothing.
///
/// # Errors
/// What [`handle`] would refuse the message for, or a fault of the store.
pub fn begin_execution<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
    scope: (&'a str, &'a str),
    command: &Send,
) -> Result<Begun, CoreError> {
    run(store, environment, scope, |principal| {
        principal.begin_execution(command)
    })
    .map(|(begun, _)| begun)
}

/// Carries out an executor's first line. `scope` is the principal and its resident.
///
/// # Errors
/// What [`handle`] would refuse the message for, `INVALID_AGENT_RESPONSE` for a line that can't be the first, or a fault
/// of the store.
pub fn execute<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
    scope: (&'a str, &'a str),
    command: &Send,
    line: &Line,
) -> Result<(Executed, Effects), CoreError> {
    run(store, environment, scope, |principal| {
        principal.execute(command, line)
    })
}

/// Carries out a further line. False where the execution is over.
///
/// # Errors
/// An artifact that is too large or complete already, or a fault of the store.
pub fn continue_execution<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
    scope: (&'a str, &'a str),
    task_id: &str,
    execution_id: &str,
    line: &Line,
) -> Result<(bool, Effects), CoreError> {
    run(store, environment, scope, |principal| {
        principal.continue_execution(task_id, execution_id, line)
    })
}

/// An executor has nothing more to say, or `failed`.
///
/// # Errors
/// A fault of the store.
pub fn end_execution<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
    scope: (&'a str, &'a str),
    task_id: &str,
    execution_id: &str,
    failed: bool,
) -> Result<Effects, CoreError> {
    run(store, environment, scope, |principal| {
        principal.end_execution(task_id, execution_id, failed)
    })
    .map(|((), effects)| effects)
}

/// Fails the tasks whose executor fell silent with an object that died.
///
/// # Errors
/// A fault of the store.
pub fn fail_overdue_executions<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
) -> Result<Effects, CoreError> {
    run(store, environment, ("", ""), |principal| {
        principal.fail_overdue_executions()
    })
    .map(|((), effects)| effects)
}

/// Runs `work` as one step of the principal's. To be called inside a transaction, as [`handle`] is. `scope` is the principal
/// and its resident.
///
/// # Errors
/// What `work` gives.
pub fn run<'a, S: Store, T>(
    store: &'a S,
    environment: Environment<'a>,
    (principal, resident): (&'a str, &'a str),
    work: impl FnOnce(&mut Principal<'a, S>) -> Result<T, CoreError>,
) -> Result<(T, Effects), CoreError> {
    let mut principal = Principal {
        store,
        environment,
        scope: Scope {
            principal,
            resident,
        },
        effects: Effects::default(),
    };
    let answer = work(&mut principal)?;
    Ok((answer, principal.effects))
}

/// The task as a new watcher sees it first. With `subscribe`, a terminal task is refused (spec §3.1.6).
///
/// # Errors
/// `TASK_NOT_FOUND`, `UNSUPPORTED_OPERATION`, or a fault of the store.
pub fn watch<S: Store>(
    store: &S,
    task_id: &str,
    view: &View,
    subscribe: bool,
) -> Result<Snapshot, CoreError> {
    read::snapshot(store, task_id, view, subscribe)
}

/// The notices whose delivery is due, oldest first: those of commits after which the object died, or whose queue did not
/// answer. Each is postponed, so that it is tried again if it is not answered now either. What is done is forgotten.
///
/// # Errors
/// A fault of the store.
pub fn due_notices<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
    done: &Done,
) -> Result<(Vec<OwedNotice>, Effects), CoreError> {
    run(store, environment, ("", ""), |principal| {
        principal.due_notices(done)
    })
}

/// A queue has answered: these notices are over, and what it could not keep is recorded as `WAKE_FAILED`. What is done is
/// forgotten.
///
/// # Errors
/// A fault of the store.
pub fn notices_answered<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
    answered: &[(OwedNotice, Admission)],
    done: &Done,
) -> Result<Effects, CoreError> {
    run(store, environment, ("", ""), |principal| {
        principal.forget(done)?;
        if answered.is_empty() {
            return Ok(());
        }
        principal.settle_notices(answered)
    })
    .map(|((), effects)| effects)
}

/// The settlements that their sources have not taken yet and are to be told of again, oldest first. Each is postponed.
///
/// # Errors
/// A fault of the store.
pub fn due_settlements<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
) -> Result<(Vec<OwedSettlement>, Effects), CoreError> {
    run(store, environment, ("", ""), Principal::due_settlements)
}

/// Gives up what a crash left in sending and nobody can look up (seed *fails closed as ambiguous*).
///
/// # Errors
/// A fault of the store.
pub fn fail_abandoned_deliveries<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
) -> Result<Effects, CoreError> {
    run(
        store,
        environment,
        ("", ""),
        Principal::fail_abandoned_deliveries,
    )
    .map(|((), effects)| effects)
}

/// A source has taken a settlement, or this deployment can't tell it: it asks by itself.
///
/// # Errors
/// A fault of the store.
pub fn settlement_told<S: Store>(store: &S, settlement_id: i64) -> Result<(), StoreError> {
    settlements::told(store, settlement_id)
}

/// Removes one batch of what is past its time, if a look is due. What is left is due again at once.
///
/// # Errors
/// A fault of the store.
pub fn compact<'a, S: Store>(
    store: &'a S,
    environment: Environment<'a>,
) -> Result<Effects, CoreError> {
    run(store, environment, ("", ""), Principal::compact).map(|((), effects)| effects)
}

/// Sets a timer to the earlier of `due_ms` and what it was set to.
///
/// # Errors
/// A fault of the store.
pub fn set_timer<S: Store>(store: &S, timer: Timer, due_ms: i64) -> Result<(), StoreError> {
    store.execute(
        "INSERT INTO timers (name, due_ms) VALUES (?1, ?2) \
         ON CONFLICT (name) DO UPDATE SET due_ms = min(due_ms, excluded.due_ms)",
        &[timer.name().into(), due_ms.into()],
    )
}

/// Takes a timer down if it is due, and tells whether it was.
///
/// # Errors
/// A fault of the store.
pub fn take_timer<S: Store>(store: &S, timer: Timer, now_ms: i64) -> Result<bool, StoreError> {
    let due = store.first(
        "DELETE FROM timers WHERE name = ?1 AND due_ms <= ?2 RETURNING name",
        &[timer.name().into(), now_ms.into()],
    )?;
    Ok(due.is_some())
}

/// What a PrincipalObject does at a time, besides its outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// When to close watchers whose Worker has stopped pinging.
    WatcherSweep,
}

impl Timer {
    const fn name(self) -> &'static str {
        match self {
            Self::WatcherSweep => "watcher_sweep",
        }
    }
}

/// When the alarm must go off next, in Unix milliseconds, if anything waits.
///
/// # Errors
/// A fault of the store.
pub fn next_due_ms<S: Store>(store: &S) -> Result<Option<i64>, StoreError> {
    earliest::earliest_ms(
        store,
        &[
            "(SELECT min(due_ms) FROM outbox)",
            "(SELECT min(due_ms) FROM settlements WHERE due_ms IS NOT NULL)",
            "(SELECT retention_ms FROM task_counts)",
            "(SELECT min(held_until_ms) FROM deliveries WHERE state = 1 AND recovery = 3)",
            "(SELECT min(due_ms) FROM timers)",
            "(SELECT min(deadline_ms) FROM executions)",
            "(SELECT min(due_ms) FROM remote_calls WHERE due_ms IS NOT NULL)",
        ],
        &[],
    )
}

fn encode(reply: &impl Serialize) -> Result<Vec<u8>, CoreError> {
    commands::accepted(reply).map_err(|_| CoreError::Store(StoreError::Corrupt { what: "reply" }))
}
