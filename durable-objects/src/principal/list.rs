//! Listing tasks, newest status first (spec §3.1.4), a page at a time.
//!
//! The cursor is the last task's (status timestamp, id), so a page costs the same wherever it begins, and tasks that
//! change between two pages hide no other and show none twice. Totals come from counters where the filter allows:
//! counting would read as many rows as there are tasks.

use std::collections::HashMap;

use protocol::cursor::{Cursor, KEY_BYTES};

use super::Principal;
use super::artifacts::push_row;
use super::task::{COLUMNS, MAX_HISTORY, Task, push_string};
use crate::commands::JsonText;
use crate::commands::principal::{ListReply, ListTasks};
use crate::error::CoreError;
use crate::storage::{Store, StoreError, Value};

/// The most parameters bound to one statement, under the platform's 100.
const MAX_BOUND: usize = 90;

/// The content of a page's tasks, in bytes, after which it ends.
const MAX_PAGE_BYTES: i64 = 8 * 1024 * 1024;

/// The name under which a principal's cursor key is kept.
const CURSOR_KEY: &str = "page_token";

impl<S: Store> Principal<'_, S> {
    pub(super) fn list_tasks(&mut self, command: &ListTasks) -> Result<ListReply, CoreError> {
        let key = self.cursor_key()?;
        let cursor = command
            .page_token
            .as_deref()
            .map(|token| Cursor::open(token, &key, &command.filter_digest))
            .transpose()?;
        let mut tasks = self.page(command, cursor.as_ref())?;
        let page_size = usize::try_from(command.page_size).unwrap_or(usize::MAX);
        let fitting = page_size.min(self.fitting(command, &tasks)?);
        let more = tasks.len() > fitting;
        tasks.truncate(fitting);
        let next_page_token = match tasks.last().filter(|_| more) {
            Some(last) => Cursor {
                status_timestamp_ms: last.status_ms,
                task_id: last.task_id.clone(),
            }
            .seal(&key, &command.filter_digest),
            None => String::new(),
        };
        let total = self.total(command)?;
        let mut json = String::from("{\"tasks\":[");
        self.push_tasks(&mut json, command, &tasks)?;
        json.push_str("],\"nextPageToken\":");
        push_string(&mut json, &next_page_token);
        json.push_str(&format!(
            ",\"pageSize\":{},\"totalSize\":{total}}}",
            command.page_size
        ));
        Ok(ListReply {
            page: JsonText::from_text(json),
        })
    }

    /// The tasks of the page, and one more if there is one.
    fn page(&self, command: &ListTasks, cursor: Option<&Cursor>) -> Result<Vec<Task>, StoreError> {
        let mut parameters: Vec<Value<'_>> = vec![(command.page_size.saturating_add(1)).into()];
        let mut sql = format!("SELECT {COLUMNS} FROM tasks WHERE ");
        filter(&mut sql, &mut parameters, command);
        if let Some(cursor) = cursor {
            parameters.push(cursor.status_timestamp_ms.into());
            parameters.push((&cursor.task_id).into());
            let id = parameters.len();
            let timestamp = id.saturating_sub(1);
            sql.push_str(&format!(
                " AND (status_ms, task_id) < (?{timestamp}, ?{id})"
            ));
        }
        sql.push_str(" ORDER BY status_ms DESC, task_id DESC LIMIT ?1");
        self.store
            .query(&sql, &parameters)?
            .into_iter()
            .map(Task::from_row)
            .collect()
    }

    /// How many of the tasks fit into one answer: at least one, and as many as [`MAX_PAGE_BYTES`] holds. A page may be
    /// shorter than it was asked to be (spec §3.1.4); its token says where to go on.
    fn fitting(&self, command: &ListTasks, tasks: &[Task]) -> Result<usize, StoreError> {
        let view = &command.view;
        let mut sizes: HashMap<String, i64> = HashMap::new();
        let mut add = |table: &str, column: &str| -> Result<(), StoreError> {
            for chunk in tasks.chunks(MAX_BOUND) {
                let (places, parameters) = bound(chunk);
                let sql = format!(
                    "SELECT task_id, sum(octet_length({column})) FROM {table} WHERE task_id IN ({places}) GROUP BY task_id"
                );
                for mut row in self.store.query(&sql, &parameters)? {
                    let size = sizes.entry(row.text()?).or_default();
                    *size = size.saturating_add(row.integer()?);
                }
            }
            Ok(())
        };
        if !view.without_artifacts {
            add("artifacts", "artifact")?;
        }
        if view.history_length != Some(0) {
            add("messages", "message")?;
        }
        let mut page_bytes = 0_i64;
        let fitting = tasks
            .iter()
            .take_while(|task| {
                page_bytes = page_bytes
                    .saturating_add(sizes.get(&task.task_id).copied().unwrap_or_default());
                page_bytes <= MAX_PAGE_BYTES
            })
            .count();
        Ok(fitting.max(1))
    }

    fn total(&self, command: &ListTasks) -> Result<i64, StoreError> {
        let counted = match (&command.context_id, command.state, command.status_from_ms) {
            (None, None, None) => self.store.first(
                "SELECT state_1 + state_2 + state_3 + state_4 + state_5 + state_6 + state_7 + state_8 \
                 FROM task_counts",
                &[],
            )?,
            (None, Some(state @ 1..=8), None) => self
                .store
                .first(&format!("SELECT state_{state} FROM task_counts"), &[])?,
            (Some(context_id), None, None) => self.store.first(
                "SELECT tasks FROM contexts WHERE context_id = ?1",
                &[context_id.into()],
            )?,
            _ => {
                let mut parameters = Vec::new();
                let mut sql = "SELECT count(*) FROM tasks WHERE ".to_owned();
                filter(&mut sql, &mut parameters, command);
                self.store.first(&sql, &parameters)?
            }
        };
        counted.map_or(Ok(0), |mut row| row.integer())
    }

    fn push_tasks(
        &self,
        json: &mut String,
        command: &ListTasks,
        tasks: &[Task],
    ) -> Result<(), StoreError> {
        let view = &command.view;
        let mut artifacts = if view.without_artifacts {
            HashMap::new()
        } else {
            self.of_tasks("SELECT task_id, artifact FROM artifacts", tasks)?
        };
        let mut histories = if view.history_length == Some(0) {
            HashMap::new()
        } else {
            self.of_tasks("SELECT task_id, message FROM messages", tasks)?
        };
        let shown = view.history_length.map_or(MAX_HISTORY, i64::from);
        let shown = usize::try_from(shown).unwrap_or(usize::MAX);
        let mut separator = "";
        for task in tasks {
            let artifacts = artifacts.remove(&task.task_id).unwrap_or_default();
            let mut history = histories.remove(&task.task_id).unwrap_or_default();
            history.drain(..history.len().saturating_sub(shown));
            json.push_str(separator);
            json.push_str(&task.render_with(
                self.store,
                view,
                &artifacts.join(","),
                &history.join(","),
            )?);
            separator = ",";
        }
        Ok(())
    }

    /// What the tasks have in a table, oldest first, in as few statements as the bound on parameters allows.
    fn of_tasks(
        &self,
        select: &str,
        tasks: &[Task],
    ) -> Result<HashMap<String, Vec<String>>, StoreError> {
        let mut found: HashMap<String, Vec<String>> = HashMap::new();
        for chunk in tasks.chunks(MAX_BOUND) {
            let (places, parameters) = bound(chunk);
            let sql = format!("{select} WHERE task_id IN ({places}) ORDER BY task_id, ordinal");
            for mut row in self.store.query(&sql, &parameters)? {
                push_row(found.entry(row.text()?).or_default(), row.text()?)?;
            }
        }
        Ok(found)
    }

    /// The key that authenticates this principal's cursors, made at its first use.
    fn cursor_key(&mut self) -> Result<[u8; KEY_BYTES], StoreError> {
        let stored = self
            .store
            .first("SELECT key FROM keys WHERE name = ?1", &[CURSOR_KEY.into()])?
            .map(|mut row| row.text())
            .transpose()?;
        if let Some(stored) = stored {
            return serde_json::from_str(&stored).map_err(|_| StoreError::Corrupt { what: "key" });
        }
        let key = self.environment.ids.secret();
        let stored =
            serde_json::to_string(&key).map_err(|_| StoreError::Corrupt { what: "key" })?;
        self.store.execute(
            "INSERT INTO keys (name, key) VALUES (?1, ?2)",
            &[CURSOR_KEY.into(), (&stored).into()],
        )?;
        Ok(key)
    }
}

/// The condition that selects the listed tasks.
fn filter<'a>(sql: &mut String, parameters: &mut Vec<Value<'a>>, command: &'a ListTasks) {
    // A row that no version of ours wrote hides no other. The plus keeps the indexes for what is asked.
    sql.push_str("+state BETWEEN 1 AND 8");
    let mut add = |condition: &str, value: Value<'a>| {
        parameters.push(value);
        sql.push_str(&format!(" AND {condition} ?{}", parameters.len()));
    };
    if let Some(context_id) = &command.context_id {
        add("context_id =", context_id.into());
    }
    if let Some(state) = command.state {
        // Within one context the tasks are few, and its index gives their order.
        let column = if command.context_id.is_some() {
            "+state ="
        } else {
            "state ="
        };
        add(column, state.into());
    }
    if let Some(from_ms) = command.status_from_ms {
        add("status_ms >=", from_ms.into());
    }
}

/// The places and parameters that stand for these tasks' ids in a statement.
fn bound(tasks: &[Task]) -> (String, Vec<Value<'_>>) {
    let places: Vec<String> = (1..=tasks.len()).map(|place| format!("?{place}")).collect();
    let parameters = tasks.iter().map(|task| (&task.task_id).into()).collect();
    (places.join(", "), parameters)
}
