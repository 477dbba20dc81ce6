//! A task with everything that is shown of it, read in one statement of one row: statements and rows are what a read
//! costs.

use super::artifacts::may_have_further_rows;
use super::task::{MAX_HISTORY, Task, artifacts, history};
use crate::commands::principal::View;
use crate::storage::{Store, StoreError};

/// A task, its artifacts and its newest messages, oldest first, each as the members of a JSON array.
pub(super) struct Whole {
    task: Task,
    artifacts: Option<String>,
    history: Option<String>,
}

impl Whole {
    /// The task of this id, as much of it as the view asks for, if the principal has one.
    pub fn find<S: Store>(
        store: &S,
        task_id: &str,
        view: &View,
    ) -> Result<Option<Self>, StoreError> {
        let newest = view
            .history_length
            .map_or(MAX_HISTORY, i64::from)
            .min(MAX_HISTORY);
        match store.first(QUERY, &[task_id.into(), newest.into()]) {
            Ok(None) => Ok(None),
            Ok(Some(mut row)) => {
                let artifacts = row.optional_text()?;
                // The rows of an artifact that came in chunks are no members of an array.
                if artifacts.as_deref().is_some_and(may_have_further_rows) {
                    return Self::in_parts(store, task_id, view);
                }
                Ok(Some(Self {
                    artifacts,
                    history: row.optional_text()?,
                    task: Task::from_row(row)?,
                }))
            }
            // The platform may refuse a value over 2,000,000 bytes even where it is only read: such a task is put together
            // here.
            Err(_) => Self::in_parts(store, task_id, view),
        }
    }

    fn in_parts<S: Store>(
        store: &S,
        task_id: &str,
        view: &View,
    ) -> Result<Option<Self>, StoreError> {
        let Some(task) = Task::find(store, task_id)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            task,
            artifacts: Some(artifacts(store, task_id)?.join(",")),
            history: Some(history(store, task_id, view.history_length)?.join(",")),
        }))
    }

    /// The task's row.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The A2A Task.
    pub fn render<S: Store>(&self, store: &S, view: &View) -> Result<String, StoreError> {
        let artifacts = (!view.without_artifacts)
            .then_some(self.artifacts.as_deref())
            .flatten();
        let history = self.history.as_deref();
        self.task.render_with(
            store,
            view,
            artifacts.unwrap_or_default(),
            history.unwrap_or_default(),
        )
    }
}

/// The artifacts, the newest messages and the task's row. Messages are numbered without a gap, so the newest are those
/// from a number on, and every part is read in the order of its key: a subquery that sorts would cost three times as
/// much.
const QUERY: &str = concat!(
    "SELECT (SELECT group_concat(artifact ORDER BY ordinal) FROM artifacts WHERE task_id = ?1), \
     (SELECT group_concat(message ORDER BY ordinal) FROM messages \
      WHERE task_id = ?1 AND ordinal >= tasks.next_ordinal - ?2), ",
    columns!(),
    " FROM tasks WHERE task_id = ?1"
);
