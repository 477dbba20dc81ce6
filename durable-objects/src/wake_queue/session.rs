//! Resident sessions. A session that was never seen before is a startup: it ends the turn of the one before, and every
//! principal is asked what it still has to be done.

use super::WakeQueue;
use crate::commands::principal::{Replay, ReplayReply};
use crate::effects::LogEvent;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};
use protocol::error::{A2aError, Reason};

/// Sessions remembered, so that one that was superseded is told so instead of starting up again.
const MAX_SESSIONS: i64 = 64;

/// The pause between two tries to ask a principal, in milliseconds, doubled each time up to a minute.
const REPLAY_RETRY_MS: i64 = 2_000;

impl<S: Store> WakeQueue<'_, S> {
    /// Makes `session` the one that may take wakes, and tells whether it still has to be told whom it serves.
    pub(super) fn enter(&mut self, session: &str) -> Result<bool, CoreError> {
        let newest = self
            .store
            .first(
                "SELECT session, ordinal, assigned FROM sessions ORDER BY ordinal DESC LIMIT 1",
                &[],
            )?
            .map(|mut row| Ok::<_, StoreError>((row.text()?, row.integer()?, row.integer()? != 0)))
            .transpose()?;
        let ordinal = match newest {
            Some((newest, _, assigned)) if newest == session => return Ok(!assigned),
            Some((_, ordinal, _)) => ordinal.saturating_add(1),
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
            "INSERT INTO sessions (session, assigned, ordinal) VALUES (?1, 0, ?2)",
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
        Ok(true)
    }

    /// Whom the deployment has this resident serve: each is asked what it has open, also one that was served by another
    /// resident before.
    pub(super) fn take_assignment(
        &mut self,
        session: &str,
        principals: &[String],
    ) -> Result<(), CoreError> {
        self.store
            .execute("UPDATE principals SET assigned = 0 WHERE assigned = 1", &[])?;
        for principal in principals {
            self.store.execute(
                "INSERT INTO principals (principal, assigned, replay_due_ms, attempts) VALUES (?1, 1, ?2, 0) \
                 ON CONFLICT (principal) DO UPDATE SET assigned = 1, replay_due_ms = ?2, attempts = 0",
                &[principal.into(), self.environment.now_ms.into()],
            )?;
        }
        self.store.execute(
            "UPDATE sessions SET assigned = 1 WHERE session = ?1",
            &[session.into()],
        )?;
        Ok(())
    }

    /// A principal is to be asked at the alarm, which is due now.
    pub(super) fn expect_replay(&mut self, principal: &str) -> Result<(), StoreError> {
        let now_ms = self.environment.now_ms;
        self.store.execute(
            "INSERT INTO principals (principal, assigned, replay_due_ms, attempts) VALUES (?1, 0, ?2, 0) \
             ON CONFLICT (principal) DO UPDATE SET replay_due_ms = ?2, attempts = 0",
            &[principal.into(), now_ms.into()],
        )?;
        self.effects.wake_at(now_ms);
        Ok(())
    }

    /// The principal that is to be asked next, and what.
    pub(super) fn next_replay(&mut self) -> Result<Option<(String, Replay)>, StoreError> {
        let row = self.store.first(
            "SELECT principal, assigned, attempts, (SELECT coalesce(max(ordinal), -1) FROM sessions) \
             FROM principals WHERE replay_due_ms <= ?1 ORDER BY replay_due_ms LIMIT 1",
            &[self.environment.now_ms.into()],
        )?;
        let Some(mut row) = row else { return Ok(None) };
        let (principal, assigned, attempts) = (row.text()?, row.integer()? != 0, row.integer()?);
        let startup = row.integer()?;
        let shift = u32::try_from(attempts.clamp(0, 5)).unwrap_or(5);
        let retry_ms = self
            .environment
            .now_ms
            .saturating_add(REPLAY_RETRY_MS.saturating_mul(1_i64 << shift));
        self.store.execute(
            "UPDATE principals SET replay_due_ms = ?2, attempts = attempts + 1 WHERE principal = ?1",
            &[(&principal).into(), retry_ms.into()],
        )?;
        let replay = Replay {
            assigned,
            startup,
            after: 0,
        };
        Ok(Some((principal, replay)))
    }

    /// What to ask the principal next. What was not answered is asked again from its beginning, at the alarm.
    pub(super) fn finish_replay(
        &mut self,
        principal: &str,
        replay: &Replay,
        answer: Option<&ReplayReply>,
    ) -> Result<Option<Replay>, CoreError> {
        match answer {
            None => {}
            Some(ReplayReply {
                next: Some(after), ..
            }) => {
                return Ok(Some(Replay {
                    after: *after,
                    ..replay.clone()
                }));
            }
            // Another resident serves it now: what it sends there is no concern of this queue.
            Some(ReplayReply { moved: true, .. }) => self.store.execute(
                "DELETE FROM principals WHERE principal = ?1",
                &[principal.into()],
            )?,
            Some(_) => self.store.execute(
                "UPDATE principals SET replay_due_ms = NULL, attempts = 0 WHERE principal = ?1",
                &[principal.into()],
            )?,
        }
        Ok(None)
    }
}
