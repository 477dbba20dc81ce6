//! Reading a task, once or as the beginning of a watch.

use protocol::error::A2aError;
use protocol::state;

use super::Principal;
use super::task::Task;
use super::whole::Whole;
use crate::commands::principal::{GetTask, TaskReply, View};
use crate::effects::FrameKind;
use crate::error::CoreError;
use crate::storage::Store;

/// What a watcher sees first: the task at the very moment from which it sees every later frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Whether it is also the last that the watcher waits for.
    pub kind: FrameKind,
    /// `{"task": …}`, on one line.
    pub json: String,
}

impl<S: Store> Principal<'_, S> {
    pub(super) fn get_task(&self, command: &GetTask) -> Result<TaskReply, CoreError> {
        let whole = whole(self.store, &command.task_id, &command.view)?;
        let rendered = whole.render(self.store, &command.view)?;
        Ok(whole.task().reply_of(rendered))
    }
}

pub(super) fn find<S: Store>(store: &S, task_id: &str) -> Result<Task, CoreError> {
    Task::find(store, task_id)?.ok_or_else(|| A2aError::task_not_found(task_id).into())
}

fn whole<S: Store>(store: &S, task_id: &str, view: &View) -> Result<Whole, CoreError> {
    Whole::find(store, task_id, view)?.ok_or_else(|| A2aError::task_not_found(task_id).into())
}

pub(super) fn snapshot<S: Store>(
    store: &S,
    task_id: &str,
    view: &View,
    subscribe: bool,
) -> Result<Snapshot, CoreError> {
    let whole = whole(store, task_id, view)?;
    let task = whole.task();
    if subscribe && state::is_terminal(&task.state) {
        return Err(A2aError::unsupported_operation(
            "the task is settled for good: there is nothing to subscribe to",
        )
        .with("taskId", task_id)
        .into());
    }
    let json = format!("{{\"task\":{}}}", whole.render(store, view)?);
    Ok(Snapshot {
        kind: task.frame_kind(),
        json,
    })
}
