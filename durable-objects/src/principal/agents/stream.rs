//! Streams of remote tasks. A stream only says when to look: what a task came to is read by a look of its own, so that a
//! stream that ends early, lies or falls silent costs nothing but time.

use protocol::agents::answer::{self, Event, may_become};

use super::calls::{Phase, RemoteCall};
use super::exchange::Exchange;
use super::follow::{MAX_FAULTS, settles};
use crate::error::CoreError;
use crate::principal::Principal;
use crate::storage::{Store, StoreError};

/// How long a stream may be silent before its task is looked at all the same, in milliseconds.
pub const SILENCE_MS: i64 = 120_000;

/// What to do after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamStep {
    /// Read on.
    ReadOn,
    /// The task has moved: look at it, and read no further.
    Look,
    /// There is nothing more to follow.
    Stop,
}

/// The request for a stream of a call's task, where one is followed whose agent offers streams. The next look is put off.
///
/// # Errors
/// A fault of the store.
pub fn stream_opened<S: Store>(
    store: &S,
    now_ms: i64,
    call_id: i64,
) -> Result<Option<Exchange>, StoreError> {
    let Some(mut call) = RemoteCall::find(store, call_id)? else {
        return Ok(None);
    };
    let (Phase::Following, true, Some(id)) = (call.phase, call.streaming, &call.remote_task_id)
    else {
        return Ok(None);
    };
    let exchange = Exchange::subscribe(&call.interface, id);
    call.due_ms = Some(now_ms.saturating_add(SILENCE_MS));
    call.leased = true;
    call.save_pace(store)?;
    Ok(Some(exchange))
}

impl<S: Store> Principal<'_, S> {
    /// Takes an event of a call's stream in.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn take_event(&mut self, call_id: i64, event: &str) -> Result<StreamStep, CoreError> {
        let Some(mut call) = RemoteCall::find(self.store, call_id)? else {
            return Ok(StreamStep::Stop);
        };
        let (Phase::Following, Some(id)) = (call.phase, &call.remote_task_id) else {
            return Ok(StreamStep::Stop);
        };
        match answer::of_event(event, id) {
            Ok(Event::Task(task)) => {
                self.take_task(&mut call, task, None)?;
                if call.phase != Phase::Following {
                    return Ok(StreamStep::Stop);
                }
            }
            Ok(Event::State(state)) if settles(&state) => return Ok(StreamStep::Look),
            Ok(Event::State(state)) => {
                let before = call.state.as_ref();
                if before.is_some_and(|before| may_become(before, &state) && *before != state) {
                    call.state = Some(state);
                    call.attempts = 0;
                    call.save(self.store)?;
                }
            }
            Ok(Event::Other) => {}
            Err(_) => {
                call.faults = call.faults.saturating_add(1);
                call.save_pace(self.store)?;
                if call.faults >= MAX_FAULTS {
                    return Ok(StreamStep::Look);
                }
            }
        }
        let now_ms = self.environment.now_ms;
        call.due_ms = Some(now_ms.saturating_add(SILENCE_MS));
        call.leased = true;
        call.save_pace(self.store)?;
        Ok(StreamStep::ReadOn)
    }

    /// A call's stream is over, or fell silent, or was never opened: its task is looked at next. `refused` says that the
    /// agent has no streams after all.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn end_stream(&mut self, call_id: i64, refused: bool) -> Result<(), CoreError> {
        let Some(mut call) = RemoteCall::find(self.store, call_id)? else {
            return Ok(());
        };
        if call.phase != Phase::Following {
            return Ok(());
        }
        call.streaming = call.streaming && !refused;
        call.leased = false;
        let due_ms = self.next_step_ms(&call);
        call.due_ms = Some(due_ms);
        call.save(self.store)?;
        self.effects.wake_at(due_ms);
        Ok(())
    }
}
