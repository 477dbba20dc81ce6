//! Native tasks that were settled: what their sources have to carry back to where the events came from.
//!
//! A row is written in the commit that settles the task. A source that this deployment can reach is told, again and again
//! until it has taken it; every source can read them in order, and keep how far it came as its checkpoint.

use a2a::TaskState;
use protocol::{state, time};
use serde::Serialize;

use super::evidence::Kind;
use super::task::Task;
use super::{Principal, accept};
use crate::commands::JsonText;
use crate::effects::{LogEvent, OwedSettlement};
use crate::error::CoreError;
use crate::storage::{Row, Store, StoreError};

/// How long a source may take before it is told again, in milliseconds. Doubled each time, up to [`MAX_RETRY_MS`].
const RETRY_MS: i64 = 2_000;

/// The longest pause between two tries, in milliseconds.
const MAX_RETRY_MS: i64 = 10 * 60_000;

/// How often a source is told before it is left to ask by itself: about three days.
const MAX_ATTEMPTS: i64 = 440;

/// The most settlements taken up at one alarm.
const MAX_BATCH: i64 = 32;

const COLUMNS: &str = "settlement_id, principal, settlements.source, settlements.task_id, context_id, settlements.state, at_ms";

#[derive(Serialize)]
struct Page {
    settlements: Vec<OwedSettlement>,
    next: i64,
}

impl<S: Store> Principal<'_, S> {
    /// Changes a task's status, the one way in which it is changed. A native task that is settled by it is owed to its
    /// source.
    pub(super) fn transition(
        &mut self,
        task: &mut Task,
        next: TaskState,
        status_message: Option<String>,
    ) -> Result<(), StoreError> {
        let now_ms = self.environment.now_ms;
        let source =
            task.transition(self.store, &mut self.effects, now_ms, next, status_message)?;
        match source {
            Some(source) if source != accept::A2A => self.owe_settlement(task, source),
            _ => Ok(()),
        }
    }

    fn owe_settlement(&mut self, task: &Task, source: String) -> Result<(), StoreError> {
        let due_ms = self.environment.now_ms.saturating_add(RETRY_MS);
        let mut row = self
            .store
            .first(
                "INSERT INTO settlements (principal, source, task_id, state, at_ms, due_ms, attempts) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0) RETURNING settlement_id",
                &[
                    self.scope.principal.into(),
                    (&source).into(),
                    (&task.task_id).into(),
                    state::code(&task.state).into(),
                    task.status_ms.into(),
                    due_ms.into(),
                ],
            )?
            .ok_or(StoreError::Corrupt { what: "settlement" })?;
        self.effects.settlements.push(OwedSettlement {
            settlement_id: row.integer()?,
            principal: self.scope.principal.to_owned(),
            source,
            task_id: task.task_id.clone(),
            context_id: task.context_id.clone(),
            state: state::as_wire(&task.state),
            settled_at: time::format(task.status_ms),
        });
        self.effects.wake_at(due_ms);
        Ok(())
    }

    /// The settlements of a source after a point, oldest first.
    pub(super) fn list_settlements(
        &self,
        source: &str,
        after: i64,
        page_size: u32,
    ) -> Result<JsonText, CoreError> {
        let rows = self.store.query(
            &format!(
                "SELECT settlement_id, {COLUMNS} FROM settlements LEFT JOIN tasks ON tasks.task_id = settlements.task_id \
                 WHERE settlements.source = ?1 AND settlement_id > ?2 ORDER BY settlement_id LIMIT ?3"
            ),
            &[source.into(), after.into(), page_size.into()],
        )?;
        let (mut settlements, mut next) = (Vec::with_capacity(rows.len()), after);
        for mut row in rows {
            next = row.integer()?;
            // One that can't be read is stepped over: it holds up no other.
            settlements.extend(read(row).ok());
        }
        let page = serde_json::to_string(&Page { settlements, next })
            .map_err(|_| StoreError::Corrupt { what: "reply" })?;
        Ok(JsonText::from_text(page))
    }

    /// The settlements that are due to be told again, oldest first. Each is postponed, for the case that its source does
    /// not take it now either. One that can't be read any more is set aside, so that it holds up no other.
    pub(super) fn due_settlements(&mut self) -> Result<Vec<OwedSettlement>, CoreError> {
        let now_ms = self.environment.now_ms;
        let rows = self.store.query(
            &format!(
                "SELECT settlement_id, attempts, {COLUMNS} FROM settlements \
                 LEFT JOIN tasks ON tasks.task_id = settlements.task_id \
                 WHERE due_ms <= ?1 ORDER BY due_ms LIMIT ?2"
            ),
            &[now_ms.into(), MAX_BATCH.into()],
        )?;
        let mut due = Vec::with_capacity(rows.len());
        for mut row in rows {
            let (settlement_id, attempts) = (row.integer()?, row.integer()?);
            let Ok(owed) = read(row) else {
                told(self.store, settlement_id)?;
                self.record_about(
                    Kind::Quarantined,
                    None,
                    None,
                    Some("a settlement can't be read"),
                )?;
                self.effects.log.push(
                    LogEvent::new("settlement_quarantined").with("settlement_id", settlement_id),
                );
                continue;
            };
            let shift = u32::try_from(attempts.clamp(0, 9)).unwrap_or(9);
            let pause_ms = RETRY_MS.saturating_mul(1_i64 << shift).min(MAX_RETRY_MS);
            let again_ms = (attempts < MAX_ATTEMPTS).then(|| now_ms.saturating_add(pause_ms));
            self.store.execute(
                "UPDATE settlements SET due_ms = ?2, attempts = attempts + 1 WHERE settlement_id = ?1",
                &[settlement_id.into(), again_ms.into()],
            )?;
            due.push(owed);
        }
        Ok(due)
    }
}

/// The source has taken a settlement, or can't be told.
pub(super) fn told<S: Store>(store: &S, settlement_id: i64) -> Result<(), StoreError> {
    store.execute(
        "UPDATE settlements SET due_ms = NULL WHERE settlement_id = ?1",
        &[settlement_id.into()],
    )
}

fn read(mut row: Row) -> Result<OwedSettlement, StoreError> {
    Ok(OwedSettlement {
        settlement_id: row.integer()?,
        principal: row.text()?,
        source: row.text()?,
        task_id: row.text()?,
        context_id: row.text()?,
        state: state::from_code(row.integer()?)
            .map(|state| state::as_wire(&state))
            .ok_or(StoreError::Corrupt { what: "settlement" })?,
        settled_at: time::format(row.integer()?),
    })
}
