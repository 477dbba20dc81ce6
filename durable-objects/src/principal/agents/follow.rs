//! Following calls: what to ask next, and what an answer changes.

use a2a::TaskState;
use protocol::agents::answer::{self, Answer, RemoteTask, may_become};
use protocol::agents::definition::Definition;
use protocol::agents::target::Target;
use protocol::state;

use super::calls::{Phase, RemoteCall};
use super::exchange::{Exchange, Outcome};
use super::family::Entry;
use crate::error::CoreError;
use crate::principal::Principal;
use crate::principal::task::Task;
use crate::storage::{Store, StoreError};

/// The pause before a task that goes on is looked at again, in milliseconds; doubled each time, up to [`MAX_PAUSE_MS`].
pub const FIRST_PAUSE_MS: i64 = 1_000;

/// The longest pause, in milliseconds.
pub const MAX_PAUSE_MS: i64 = 60_000;

/// How long a step may take until it is due again, in milliseconds: longer than any exchange. An object that dies in
/// between is followed by one that finds the lease and does not wait for its end.
pub const LEASE_MS: i64 = 300_000;

/// Tries to send a message, and to cancel a task, before the agent is given up.
pub const MAX_TRIES: i64 = 5;

/// Answers in a row that are none, before the agent is given up.
pub const MAX_FAULTS: i64 = 5;

/// What is due within this time is done together, in milliseconds, so that one alarm serves many calls.
const TOGETHER_MS: i64 = 1_000;

/// Why a call ends at its deadline.
const OVERDUE: &str = "it did not settle before its deadline";

/// What a step asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// That a message be taken.
    Send,
    /// How a task is.
    Poll,
    /// That a task be canceled.
    Cancel,
}

/// One step of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it asks.
    pub kind: Kind,
    /// The request.
    pub exchange: Exchange,
    /// The agent's definition, for the headers; none where the agent may not be asked any more.
    pub definition: Option<Definition>,
    /// The principal added the definition.
    pub is_own: bool,
}

/// The calls that are due, now leased. Oldest first, at most `limit`.
///
/// # Errors
/// A fault of the store.
pub fn lease_due<S: Store>(store: &S, now_ms: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
    store
        .query(
            "UPDATE remote_calls SET due_ms = ?2, leased = 1 WHERE call_id IN \
             (SELECT call_id FROM remote_calls WHERE due_ms <= ?1 ORDER BY due_ms LIMIT ?3) RETURNING call_id",
            &[
                now_ms.saturating_add(TOGETHER_MS).into(),
                now_ms.saturating_add(LEASE_MS).into(),
                limit.into(),
            ],
        )?
        .into_iter()
        .map(|mut row| row.integer())
        .collect()
}

/// Makes due what a former life of the object was at.
///
/// # Errors
/// A fault of the store.
pub fn take_over<S: Store>(store: &S, now_ms: i64) -> Result<(), StoreError> {
    let leased = store.first("SELECT 1 FROM remote_calls WHERE leased = 1 LIMIT 1", &[])?;
    if leased.is_none() {
        return Ok(());
    }
    store.execute(
        "UPDATE remote_calls SET due_ms = ?1, leased = 0 WHERE leased = 1",
        &[now_ms.into()],
    )
}

impl<S: Store> Principal<'_, S> {
    /// What to ask next about a call; none where there is nothing more to ask. The call is leased meanwhile.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn next_call_step(&mut self, call_id: i64) -> Result<Option<Step>, CoreError> {
        let Some(mut call) = RemoteCall::find(self.store, call_id)? else {
            return Ok(None);
        };
        let now_ms = self.environment.now_ms;
        let local = Task::find(self.store, &call.task_id)?;
        let is_awaited = local.is_some_and(|task| !state::is_terminal(&task.state));
        if !call.is_open() && !self.may_look_again(&call) {
            return Ok(None);
        }
        if !is_awaited && call.phase != Phase::Canceling {
            self.release(&mut call)?;
            return Ok(None);
        }
        if now_ms >= call.deadline_ms && call.is_open() {
            if is_awaited {
                self.settle_call(&mut call, Some(OVERDUE.to_owned()), None)?;
            } else {
                self.release(&mut call)?;
            }
            return Ok(None);
        }
        let (kind, exchange) = match (call.phase, &call.request, &call.remote_task_id) {
            (Phase::Sending | Phase::Canceling, Some(message), _) => {
                (Kind::Send, Exchange::send(&call.interface, message))
            }
            (Phase::Canceling, None, Some(id)) => {
                (Kind::Cancel, Exchange::cancel(&call.interface, id))
            }
            (_, _, Some(id)) => (Kind::Poll, Exchange::poll(&call.interface, id)),
            _ => {
                self.release(&mut call)?;
                return Ok(None);
            }
        };
        let (definition, is_own) = definition_for(self.store, &call)?;
        call.attempts = call.attempts.saturating_add(1);
        call.due_ms = call.is_open().then(|| {
            now_ms
                .saturating_add(LEASE_MS)
                .min(call.deadline_ms.max(now_ms))
        });
        call.leased = call.is_open();
        call.save_pace(self.store)?;
        Ok(Some(Step {
            kind,
            exchange,
            definition,
            is_own,
        }))
    }

    /// A remote task that waits for somebody may go on without us: reading it looks again.
    fn may_look_again(&self, call: &RemoteCall) -> bool {
        call.phase == Phase::Settled
            && call.remote_task_id.is_some()
            && !call.state.as_ref().is_some_and(state::is_terminal)
    }

    /// Takes in what came of a step. `told_turn` is the turn whose tool waits for it, where one does.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn absorb_outcome(
        &mut self,
        call_id: i64,
        kind: Kind,
        outcome: &Outcome,
        told_turn: Option<&str>,
    ) -> Result<(), CoreError> {
        let Some(mut call) = RemoteCall::find(self.store, call_id)? else {
            return Ok(());
        };
        call.leased = false;
        match kind {
            // An earlier try was answered meanwhile.
            Kind::Send if call.request.is_none() => Ok(()),
            Kind::Send => self.absorb_send(&mut call, outcome, told_turn),
            Kind::Poll if call.phase == Phase::Sending || call.phase == Phase::Released => Ok(()),
            Kind::Poll => self.absorb_poll(&mut call, outcome, told_turn),
            Kind::Cancel => self.absorb_cancel(&mut call, outcome, told_turn),
        }?;
        if let Some(due_ms) = call.due_ms {
            self.effects.wake_at(due_ms);
        }
        Ok(())
    }

    fn absorb_send(
        &mut self,
        call: &mut RemoteCall,
        outcome: &Outcome,
        told_turn: Option<&str>,
    ) -> Result<(), CoreError> {
        let answered = outcome.success().map(answer::of_send);
        match answered {
            Some(Ok(Answer::Task(task))) => {
                call.request = None;
                if call
                    .remote_task_id
                    .as_ref()
                    .is_some_and(|id| *id != task.id)
                {
                    let why = "it answered for another task".to_owned();
                    return self.give_message_up(call, why, told_turn);
                }
                call.attempts = 0;
                if call.phase == Phase::Sending {
                    call.phase = Phase::Following;
                }
                call.remote_task_id = Some(task.id.clone());
                // Its caller has answered: whatever it says now is news.
                call.state = None;
                self.take_task(call, task, told_turn)
            }
            Some(Ok(Answer::Message(message))) => {
                call.request = None;
                if let Some(remote_task_id) = call.remote_task_id.take() {
                    self.follow_former(call, &remote_task_id, false)?;
                }
                call.remote_message_id = Some(message.id);
                call.state = None;
                call.answer = Some(message.json);
                Ok(self.settle_call(call, None, told_turn)?)
            }
            Some(Err(why)) => self.retry_or_settle(call, why.to_owned(), true, told_turn),
            None => {
                let why = outcome.complaint();
                self.retry_or_settle(call, why, outcome.is_transient(), told_turn)
            }
        }
    }

    /// A message to a task did not go into it, by being answered with a direct one or not at all: whoever followed the task
    /// before follows it again. With `only_released`, a task that had settled stays so, since it was told of already.
    fn follow_former(
        &mut self,
        call: &RemoteCall,
        remote_task_id: &str,
        only_released: bool,
    ) -> Result<(), CoreError> {
        // Where the task that asked is canceled meanwhile, so is what it asked for.
        let phase = match call.phase {
            Phase::Canceling => Phase::Canceling,
            _ => Phase::Following,
        };
        self.store.execute(
            "UPDATE remote_calls SET phase = ?4, due_ms = ?5, attempts = 0, deadline_ms = max(deadline_ms, ?8) WHERE call_id = (SELECT max(call_id) \
             FROM remote_calls WHERE alias = ?1 AND remote_task_id = ?2 AND call_id < ?3) \
             AND phase = CASE WHEN ?6 THEN ?7 WHEN phase = ?4 THEN NULL ELSE phase END",
            &[
                (&call.alias).into(),
                remote_task_id.into(),
                call.call_id.into(),
                phase.code().into(),
                self.environment.now_ms.into(),
                i64::from(only_released).into(),
                Phase::Released.code().into(),
                call.deadline_ms.into(),
            ],
        )?;
        self.effects.wake_at(self.environment.now_ms);
        Ok(())
    }

    fn retry_or_settle(
        &mut self,
        call: &mut RemoteCall,
        why: String,
        is_transient: bool,
        told_turn: Option<&str>,
    ) -> Result<(), CoreError> {
        if !is_transient || call.attempts >= MAX_TRIES {
            return self.give_message_up(call, why, told_turn);
        }
        self.postpone(call)
    }

    /// A message was not taken. The task that it was to continue goes on without it.
    fn give_message_up(
        &mut self,
        call: &mut RemoteCall,
        why: String,
        told_turn: Option<&str>,
    ) -> Result<(), CoreError> {
        if let Some(remote_task_id) = call.remote_task_id.take() {
            call.state = None;
            call.answer = None;
            self.follow_former(call, &remote_task_id, true)?;
        }
        Ok(self.settle_call(call, Some(why), told_turn)?)
    }

    fn absorb_poll(
        &mut self,
        call: &mut RemoteCall,
        outcome: &Outcome,
        told_turn: Option<&str>,
    ) -> Result<(), CoreError> {
        match outcome.success().map(answer::of_task) {
            Some(Ok(task)) if Some(&task.id) == call.remote_task_id.as_ref() => {
                self.take_task(call, task, told_turn)
            }
            Some(Ok(_)) => self.fault(call, "it answered for another task", told_turn),
            Some(Err(why)) => self.fault(call, why, told_turn),
            None if outcome.is_transient() || !call.is_open() => self.postpone(call),
            None => Ok(self.settle_call(call, Some(outcome.complaint()), told_turn)?),
        }
    }

    fn absorb_cancel(
        &mut self,
        call: &mut RemoteCall,
        outcome: &Outcome,
        told_turn: Option<&str>,
    ) -> Result<(), CoreError> {
        if let Some(Ok(task)) = outcome.success().map(answer::of_task)
            && Some(&task.id) == call.remote_task_id.as_ref()
        {
            call.phase = Phase::Following;
            call.attempts = 0;
            return self.take_task(call, task, told_turn);
        }
        if outcome.is_transient() && call.attempts < MAX_TRIES {
            return self.postpone(call);
        }
        // It will not be canceled, or has settled before: looking tells.
        call.phase = Phase::Following;
        call.attempts = 0;
        call.due_ms = Some(self.environment.now_ms);
        Ok(call.save(self.store)?)
    }

    /// The task as the agent tells it now.
    pub(super) fn take_task(
        &mut self,
        call: &mut RemoteCall,
        task: RemoteTask,
        told_turn: Option<&str>,
    ) -> Result<(), CoreError> {
        if call
            .state
            .as_ref()
            .is_some_and(|before| !may_become(before, &task.state))
        {
            return self.fault(call, "its task went back to an earlier state", told_turn);
        }
        let moved = call.state.as_ref() != Some(&task.state);
        let changed = moved || call.answer.as_ref() != Some(&task.json);
        let was_open = call.is_open();
        call.state = Some(task.state);
        call.answer = Some(task.json);
        call.faults = 0;
        if moved {
            call.attempts = 0;
        }
        if call.state.as_ref().is_some_and(state::is_settled) {
            if moved {
                return Ok(self.settle_call(call, None, told_turn)?);
            }
            // Its task was told of this before.
            call.phase = Phase::Settled;
            call.due_ms = None;
            call.save(self.store)?;
            if was_open && self.waits_for_nothing(&call.task_id)? {
                return Ok(self.settle_call(call, None, told_turn)?);
            }
            return Ok(());
        }
        if !was_open && self.environment.now_ms >= call.deadline_ms {
            // It was given up, and is read, but not followed again.
            return Ok(call.save(self.store)?);
        }
        if !was_open {
            call.phase = Phase::Following;
            call.problem = None;
        }
        call.due_ms = Some(self.next_step_ms(call));
        if changed || !was_open {
            Ok(call.save(self.store)?)
        } else {
            Ok(call.save_pace(self.store)?)
        }
    }

    fn fault(
        &mut self,
        call: &mut RemoteCall,
        why: &str,
        told_turn: Option<&str>,
    ) -> Result<(), CoreError> {
        call.faults = call.faults.saturating_add(1);
        if call.faults >= MAX_FAULTS && call.is_open() {
            return Ok(self.settle_call(call, Some(why.to_owned()), told_turn)?);
        }
        self.postpone(call)
    }

    /// The same again, later.
    fn postpone(&mut self, call: &mut RemoteCall) -> Result<(), CoreError> {
        call.due_ms = call.is_open().then(|| self.next_step_ms(call));
        Ok(call.save_pace(self.store)?)
    }

    pub(super) fn next_step_ms(&self, call: &RemoteCall) -> i64 {
        let doublings = u32::try_from(call.attempts.saturating_sub(1).clamp(0, 16)).unwrap_or(0);
        let pause_ms = FIRST_PAUSE_MS
            .saturating_mul(1_i64 << doublings)
            .min(MAX_PAUSE_MS);
        let now_ms = self.environment.now_ms;
        now_ms
            .saturating_add(pause_ms)
            .min(call.deadline_ms.max(now_ms))
    }

    fn release(&mut self, call: &mut RemoteCall) -> Result<(), CoreError> {
        call.phase = Phase::Released;
        call.request = None;
        call.due_ms = None;
        call.leased = false;
        Ok(call.save(self.store)?)
    }
}

/// The definition under which a call's agent may still be asked: enabled, and, where it has credentials, of the origin that
/// the call went to.
fn definition_for<S: Store>(
    store: &S,
    call: &RemoteCall,
) -> Result<(Option<Definition>, bool), StoreError> {
    let Some(entry) = Entry::find(store, &call.alias)?.filter(|entry| entry.enabled) else {
        return Ok((None, false));
    };
    let definition = entry.read()?;
    let is_there = Target::parse(&call.interface, true).is_ok_and(|target| {
        target.origin == definition.target.origin || !definition.has_credentials()
    });
    Ok((is_there.then_some(definition), entry.is_own))
}

/// Whose call it is: the principal, and the resident that serves it. None where there is no such call.
///
/// # Errors
/// A fault of the store.
pub fn scope_of<S: Store>(store: &S, call_id: i64) -> Result<Option<(String, String)>, StoreError> {
    store
        .first(
            "SELECT principal, (SELECT coalesce(resident, '') FROM task_counts) FROM remote_calls WHERE call_id = ?1",
            &[call_id.into()],
        )?
        .map(|mut row| Ok((row.text()?, row.text()?)))
        .transpose()
}

/// The definition under which a call's agent may still be asked, and whether the principal added it.
///
/// # Errors
/// A fault of the store.
pub fn reached_by<S: Store>(
    store: &S,
    call_id: i64,
) -> Result<Option<(Definition, bool)>, StoreError> {
    let Some(call) = RemoteCall::find(store, call_id)? else {
        return Ok(None);
    };
    let (definition, is_own) = definition_for(store, &call)?;
    Ok(definition.map(|definition| (definition, is_own)))
}

/// Whether a state is one at which a watcher of the remote task is told.
pub(super) fn settles(state: &TaskState) -> bool {
    state::is_settled(state)
}
