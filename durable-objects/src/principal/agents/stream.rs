//! Streams of remote tasks. A stream only says when to look: what a task came to is read by a look of its own, so that a
//! stream that ends early, lies or falls silent costs nothing but time. One that talks without end costs no more: what says
//! nothing new is heard without touching the store, and looks have a pause between them.

use a2a::TaskState;
use protocol::agents::answer::{self, may_become};

use super::calls::{Phase, RemoteCall};
use super::exchange::Exchange;
use super::follow::{FIRST_PAUSE_MS, settles};
use crate::error::CoreError;
use crate::principal::Principal;
use crate::storage::{Store, StoreError};

/// How long a stream is believed before its task is looked at all the same, in milliseconds.
pub const BELIEVED_MS: i64 = 120_000;

/// How often a stream that goes on is held against its call, in milliseconds, whatever it says.
const CHECK_MS: i64 = 1_000;

/// A stream of a call's task.
pub struct Subscription {
    /// The request for it.
    pub exchange: Exchange,
    /// What it has said.
    pub heard: Heard,
}

/// What a stream has said, in memory.
pub struct Heard {
    task_id: String,
    state: Option<TaskState>,
    opened_ms: i64,
    checked_ms: i64,
}

impl Heard {
    /// Whether [`Principal::take_event`] is to be told of an event, and with which state: the task moved, or the stream was
    /// not held against its call for a while.
    pub fn news(&mut self, now_ms: i64, event: &str) -> Option<Option<TaskState>> {
        let state = answer::of_event(event, &self.task_id);
        if is_new(self.state.as_ref(), state.as_ref()) {
            self.state.clone_from(&state);
        } else if now_ms.saturating_sub(self.checked_ms) < CHECK_MS {
            return None;
        }
        self.checked_ms = now_ms;
        Some(state)
    }
}

/// Whether a task moves by being in this state now.
fn is_new(before: Option<&TaskState>, state: Option<&TaskState>) -> bool {
    state.is_some_and(|state| {
        before.is_none_or(|before| before != state && may_become(before, state))
    })
}

/// What to do after an event, or how a stream ended without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamStep {
    /// Read on.
    ReadOn,
    /// The task has moved: look at it, and read no further.
    Look,
    /// The same, but it was looked at only just now: read no further, and look after a pause.
    LookLater,
    /// Read no further: there is nothing more to follow, or nothing more comes.
    Stop,
    /// The agent has no streams after all.
    Refused,
}

/// A stream of a call's task, where one is followed whose agent offers streams. The next look is put off.
///
/// # Errors
/// A fault of the store.
pub fn stream_opened<S: Store>(
    store: &S,
    now_ms: i64,
    call_id: i64,
) -> Result<Option<Subscription>, StoreError> {
    let Some(mut call) = RemoteCall::find(store, call_id)? else {
        return Ok(None);
    };
    let (Phase::Following, true, Some(id)) = (call.phase, call.streaming, &call.remote_task_id)
    else {
        return Ok(None);
    };
    let subscription = Subscription {
        exchange: Exchange::subscribe(&call.interface, id),
        heard: Heard {
            task_id: id.clone(),
            state: call.state.clone(),
            opened_ms: now_ms,
            checked_ms: now_ms,
        },
    };
    call.due_ms = Some(
        now_ms
            .saturating_add(BELIEVED_MS)
            .min(call.deadline_ms.max(now_ms)),
    );
    call.leased = true;
    call.save_pace(store)?;
    Ok(Some(subscription))
}

impl<S: Store> Principal<'_, S> {
    /// Takes the state in that a call's stream tells, if any. It is written only where the task has not had it yet.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn take_event(
        &mut self,
        call_id: i64,
        heard: &Heard,
        state: Option<TaskState>,
    ) -> Result<StreamStep, CoreError> {
        let Some(mut call) = RemoteCall::find(self.store, call_id)? else {
            return Ok(StreamStep::Stop);
        };
        if call.phase != Phase::Following {
            return Ok(StreamStep::Stop);
        }
        if !is_new(call.state.as_ref(), state.as_ref()) {
            return Ok(StreamStep::ReadOn);
        }
        if state.as_ref().is_some_and(settles) {
            return Ok(self.look_for(&call, heard));
        }
        call.state = state;
        call.attempts = 0;
        call.save(self.store)?;
        Ok(StreamStep::ReadOn)
    }

    /// When to look, where a stream says that its task has settled. One that says so again and again although it has not
    /// must not be able to make us look without end.
    fn look_for(&self, call: &RemoteCall, heard: &Heard) -> StreamStep {
        let open_ms = self.environment.now_ms.saturating_sub(heard.opened_ms);
        if call.attempts <= 1 || open_ms >= FIRST_PAUSE_MS {
            StreamStep::Look
        } else {
            StreamStep::LookLater
        }
    }

    /// A call's stream is over, after this step: its task is looked at next.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn end_stream(&mut self, call_id: i64, last: StreamStep) -> Result<(), CoreError> {
        let Some(mut call) = RemoteCall::find(self.store, call_id)? else {
            return Ok(());
        };
        if call.phase != Phase::Following {
            return Ok(());
        }
        call.streaming = call.streaming && last != StreamStep::Refused;
        call.leased = false;
        let due_ms = match last {
            StreamStep::LookLater => self.environment.now_ms.saturating_add(FIRST_PAUSE_MS),
            _ => self.next_step_ms(&call),
        };
        call.due_ms = Some(due_ms);
        call.save(self.store)?;
        self.effects.wake_at(due_ms);
        Ok(())
    }
}
