//! A settlement: what a remote task came to, told to the task that asked.
//!
//! It is an activation of that task, with a claim of its own. Where a turn is already owed to the task, that turn reads it,
//! too, and no second wake is owed. A task that waits for its caller reads it at its next turn, and a terminal one never.

use a2a::TaskState;
use protocol::state;

use super::calls::{Phase, RemoteCall};
use crate::effects::LogEvent;
use crate::principal::Principal;
use crate::principal::evidence::Kind;
use crate::principal::task::Task;
use crate::principal::turn::WakeState;
use crate::storage::{Store, StoreError};

/// The source of activations that remote agents' settlements are.
pub(in crate::principal) const AGENTS: &str = "agents";

impl<S: Store> Principal<'_, S> {
    /// Settles a call and saves it. With `told_turn`, that turn is about to be told by the tool it waits in, and needs no
    /// wake if it is still live.
    pub(super) fn settle_call(
        &mut self,
        call: &mut RemoteCall,
        problem: Option<String>,
        told_turn: Option<&str>,
    ) -> Result<(), StoreError> {
        call.phase = Phase::Settled;
        call.problem = problem;
        call.request = None;
        call.due_ms = None;
        call.leased = false;
        call.attempts = 0;
        call.faults = 0;
        call.settlements = call.settlements.saturating_add(1);
        call.save(self.store)?;
        self.effects.log.push(
            LogEvent::new("remote_task_settled")
                .with("task_id", &call.task_id)
                .with("alias", &call.alias)
                .with("state", call.state.as_ref().map_or("none", state::as_wire)),
        );
        let Some(mut task) = Task::find(self.store, &call.task_id)? else {
            return Ok(());
        };
        if state::is_terminal(&task.state) {
            return Ok(());
        }
        if told_turn.is_some() && task.turn_id.as_deref() == told_turn {
            return Ok(());
        }
        self.activate(&mut task, call)
    }

    fn activate(&mut self, task: &mut Task, call: &RemoteCall) -> Result<(), StoreError> {
        let wakes = !state::is_interrupted(&task.state) && !self.is_owed_a_turn(task)?;
        let wake_state = if wakes {
            WakeState::Queued
        } else {
            WakeState::Done
        };
        let dedupe_key = format!("{}.{}", call.call_id, call.settlements);
        // What the caller activated and accepts stays so: the work is the same.
        let row = self.store.first(
            "INSERT INTO claims (source, dedupe_key, digest, task_id, accepted_ms, extensions, accepted_output_modes, \
             wake_state, deliveries, failures) \
             SELECT ?1, ?2, '', ?3, ?4, extensions, accepted_output_modes, ?5, 0, 0 FROM claims WHERE activation_id = ?6 \
             ON CONFLICT (source, dedupe_key) DO NOTHING RETURNING activation_id",
            &[
                AGENTS.into(),
                (&dedupe_key).into(),
                (&task.task_id).into(),
                self.environment.now_ms.into(),
                wake_state.code().into(),
                task.activation_id.into(),
            ],
        )?;
        let Some(mut row) = row else {
            return Ok(());
        };
        let activation_id = row.integer()?;
        self.record(
            Kind::Accepted,
            Some(&task.task_id),
            activation_id,
            Some(AGENTS),
        )?;
        if !wakes {
            return Ok(());
        }
        // Whatever its predecessor still had to be done is done by this one's turns.
        self.store.execute(
            "UPDATE claims SET wake_state = ?2 WHERE activation_id = ?1 AND wake_state <> ?3",
            &[
                task.activation_id.into(),
                WakeState::Done.code().into(),
                WakeState::Woken.code().into(),
            ],
        )?;
        task.activation_id = activation_id;
        self.store.execute(
            "UPDATE tasks SET activation_id = ?2 WHERE task_id = ?1",
            &[(&task.task_id).into(), activation_id.into()],
        )?;
        if task.state == TaskState::Submitted || task.state == TaskState::Working {
            self.owe_wake(task)?;
        }
        Ok(())
    }

    /// Whether a turn that has not begun will read whatever is stored until then.
    fn is_owed_a_turn(&self, task: &Task) -> Result<bool, StoreError> {
        if task.turn_id.is_some() {
            return Ok(false);
        }
        Ok(self.wake_state_of(task)? == Some(WakeState::Queued.code()))
    }

    /// How far the wake for a task's work is, where it has one.
    pub(super) fn wake_state_of(&self, task: &Task) -> Result<Option<i64>, StoreError> {
        let row = self.store.first(
            "SELECT wake_state FROM claims WHERE activation_id = ?1",
            &[task.activation_id.into()],
        )?;
        row.map(|mut row| row.integer()).transpose()
    }
}
