//! Resident sessions. A session that was never seen before is a startup: it ends the turn of the one before, and every
//! principal is asked what it still has to be done.

use super::WakeQueue;
use crate::effects::LogEvent;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};
use protocol::error::{A2aError, Reason};

/// Sessions remembered, so that one that was superseded is told so instead of starting up again.
const MAX_SESSIONS: i64 = 64;

/// The pause between two tries to ask a principal, in milliseconds, doubled each time up to a minute.
const REPLAY_RETRY_MS: i64 = 2_000;

impl<S: Store> WakeQueue<'_, S> {
    /// Makes `session` the one that may take wakes.
    pub(super) fn enter(&mut self, session: &str) -> Result<(), CoreError> {
        let newest = self
            .store
            .first(
                "SELECT session, ordinal FROM sessions ORDER BY ordinal DESC LIMIT 1",
                &[],
            )?
            .map(|mut row| Ok::<_, StoreError>((row.text()?, row.integer()?)))
            .transpose()?;
        let ordinal = match newest {
            Some((newest, _)) if newest == session => return Ok(()),
            Some((_, ordinal)) => ordinal.saturating_add(1),
            None => 0,
        };
        let known = self
            .store
            .first(
                "SELECT 1 FROM sessions WHERE session = ?1",
                &[session.into()],
            )?
            .is_some();
        if known {
            return Err(A2aError::new(
                Reason::SessionSuperseded,
                "a newer session has taken over this resident's queue",
            )
            .into());
        }
        self.store.execute(
            "INSERT INTO sessions (session, ordinal) VALUES (?1, ?2)",
            &[session.into(), ordinal.into()],
        )?;
        self.store.execute(
            "DELETE FROM sessions WHERE ordinal <= ?1",
            &[ordinal.saturating_sub(MAX_SESSIONS).into()],
        )?;
        self.store.execute(
            "UPDATE principals SET replay_due_ms = ?1, attempts = 0",
            &[self.environment.now_ms.into()],
        )?;
        self.supersede()?;
        self.effects
            .log
            .push(LogEvent::new("resident_startup").with("resident", self.resident));
        Ok(())
    }

    pub(super) fn next_replay(&mut self) -> Result<Option<String>, StoreError> {
        let row = self.store.first(
            "SELECT principal, attempts FROM principals WHERE replay_due_ms <= ?1 ORDER BY replay_due_ms LIMIT 1",
            &[self.environment.now_ms.into()],
        )?;
        let Some(mut row) = row else { return Ok(None) };
        let (principal, attempts) = (row.text()?, row.integer()?);
        let shift = u32::try_from(attempts.clamp(0, 5)).unwrap_or(5);
        let retry_ms = self
            .environment
            .now_ms
            .saturating_add(REPLAY_RETRY_MS.saturating_mul(1_i64 << shift));
        self.store.execute(
            "UPDATE principals SET replay_due_ms = ?2, attempts = attempts + 1 WHERE principal = ?1",
            &[(&principal).into(), retry_ms.into()],
        )?;
        Ok(Some(principal))
    }

    pub(super) fn finish_replay(
        &mut self,
        principal: &str,
        answered: bool,
    ) -> Result<(), CoreError> {
        if answered {
            self.store.execute(
                "UPDATE principals SET replay_due_ms = NULL, attempts = 0 WHERE principal = ?1",
                &[principal.into()],
            )?;
        }
        Ok(())
    }
}
