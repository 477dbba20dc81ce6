//! A task with everything that is shown of it, read in one statement: statements are what a read costs.

use super::task::{MAX_HISTORY, Task};
use crate::commands::principal::View;
use crate::storage::{Store, StoreError};

/// What kind of row the statement gives.
const TASK: i64 = 0;
const ARTIFACT: i64 = 1;

/// A task, its artifacts and its newest messages, oldest first, as JSON.
pub(super) struct Whole {
    task: Task,
    artifacts: Vec<String>,
    history: Vec<String>,
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
        let rows = store.query(QUERY, &[task_id.into(), newest.into()])?;
        let mut rows = rows.into_iter();
        let Some(mut first) = rows.next() else {
            return Ok(None);
        };
        if first.integer()? != TASK {
            return Ok(None);
        }
        let mut whole = Self {
            task: Task::from_row(first)?,
            artifacts: Vec::new(),
            history: Vec::new(),
        };
        for mut row in rows {
            let shown = match row.integer()? {
                ARTIFACT => &mut whole.artifacts,
                _ => &mut whole.history,
            };
            shown.push(row.text()?);
        }
        whole.history.reverse();
        Ok(Some(whole))
    }

    /// The task's row.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The A2A Task.
    pub fn render<S: Store>(&self, store: &S, view: &View) -> Result<String, StoreError> {
        let artifacts = if view.without_artifacts {
            &[][..]
        } else {
            &self.artifacts
        };
        self.task.render_with(store, view, artifacts, &self.history)
    }
}

/// The task's row first, then its artifacts, then its messages from the newest on. Each part is in the order of its key.
const QUERY: &str = concat!(
    "SELECT 0, ",
    columns!(),
    " FROM tasks WHERE task_id = ?1 \
     UNION ALL \
     SELECT 1, artifact, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
     FROM (SELECT artifact FROM artifacts WHERE task_id = ?1 ORDER BY ordinal) \
     UNION ALL \
     SELECT 2, message, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
     FROM (SELECT message FROM messages WHERE task_id = ?1 ORDER BY ordinal DESC LIMIT ?2)"
);
