//! Canceling a task (spec §3.1.5), which ends its turn.

use a2a::TaskState;
use protocol::error::A2aError;
use protocol::state;

use super::evidence::Kind;
use super::{Principal, read};
use crate::commands::principal::{CancelTask, TaskReply};
use crate::commands::wake_queue::Notice;
use crate::error::CoreError;
use crate::storage::Store;

impl<S: Store> Principal<'_, S> {
    pub(super) fn cancel_task(&mut self, command: &CancelTask) -> Result<TaskReply, CoreError> {
        let mut task = read::find(self.store, &command.task_id)?;
        if state::is_terminal(&task.state) {
            return Err(A2aError::task_not_cancelable(&command.task_id).into());
        }
        // The token goes first: whatever the turn still tries is fenced off by this commit, before its queue hears.
        task.turn_id = None;
        let granted_by = task.turn_resident.take();
        self.transition(&mut task, TaskState::Canceled, None)?;
        self.record(
            Kind::Canceled,
            Some(&task.task_id),
            task.activation_id,
            None,
        )?;
        self.cancel_calls(&task.task_id)?;
        let resident = granted_by.unwrap_or_else(|| self.scope.resident.to_owned());
        self.owe(
            &resident,
            Notice::Withdraw {
                principal: self.scope.principal.to_owned(),
                activation_id: task.activation_id,
                task_id: task.task_id.clone(),
            },
        )?;
        task.reply(self.store, &command.view)
    }
}
