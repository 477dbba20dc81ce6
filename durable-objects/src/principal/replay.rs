//! What a new resident session is offered again: the newest accepted activation of each task that is not terminal and
//! does not wait for its caller (seed *Wake recovery follows durable Task state*).
//!
//! A principal may have very many, so a queue asks for them batch by batch. It asks again where it heard no answer, and a
//! call may come late or twice: what moves a principal or gives parked activations their attempts anew is done once for
//! each startup ([`Principal::is_news`]).

use super::Principal;
use super::turn::WakeState;
use crate::commands::principal::{Replay, ReplayReply};
use crate::commands::wake_queue::Notice;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// Tasks looked at in one call: what a queue has room for.
const BATCH: i64 = 128;

impl<S: Store> Principal<'_, S> {
    pub(super) fn replay(&mut self, command: &Replay) -> Result<ReplayReply, CoreError> {
        let is_news = self.is_news(command)?;
        // Further on nothing is assigned: a principal that moved in between would leave what stood before behind.
        if command.assigned && is_news && command.after == 0 {
            self.store.execute(
                "UPDATE task_counts SET resident = ?1 WHERE resident IS NOT ?1",
                &[self.scope.resident.into()],
            )?;
        }
        if !self.is_served_here()? {
            return Ok(ReplayReply {
                offered: 0,
                next: None,
                moved: true,
            });
        }
        self.offer_batch(command.after, is_news)
    }

    /// Whether the queue asks this for the first time: for a newer startup than ever, or further on in the newest. It is
    /// kept beside the principal's keys.
    fn is_news(&self, command: &Replay) -> Result<bool, StoreError> {
        let name = format!("startup:{}", self.scope.resident);
        let asked = (command.startup, command.after);
        let before: Option<(i64, i64)> = self
            .store
            .first("SELECT key FROM keys WHERE name = ?1", &[(&name).into()])?
            .map(|mut row| {
                serde_json::from_str(&row.text()?)
                    .map_err(|_| StoreError::Corrupt { what: "startup" })
            })
            .transpose()?;
        if before.is_some_and(|before| before >= asked) {
            return Ok(false);
        }
        let asked =
            serde_json::to_string(&asked).map_err(|_| StoreError::Corrupt { what: "startup" })?;
        self.store.execute(
            "INSERT INTO keys (name, key) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET key = ?2",
            &[(&name).into(), (&asked).into()],
        )?;
        Ok(true)
    }

    /// Owes the serving queue a wake for everything that is not settled, of the next [`BATCH`] tasks.
    fn offer_batch(&mut self, after: i64, is_news: bool) -> Result<ReplayReply, CoreError> {
        // Failed for good stays so. Whatever was parked gets its attempts anew: the resident connected anew.
        let rows = self.store.query(
            "SELECT tasks.task_id, tasks.activation_id, claims.wake_state FROM tasks \
             JOIN claims ON claims.activation_id = tasks.activation_id \
             WHERE tasks.state IN (1, 2) AND tasks.activation_id > ?1 ORDER BY tasks.activation_id LIMIT ?2",
            &[after.into(), BATCH.into()],
        )?;
        let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows == BATCH);
        let mut reply = ReplayReply {
            offered: 0,
            next: None,
            moved: false,
        };
        for mut row in rows {
            let (task_id, activation_id, wake_state) =
                (row.text()?, row.integer()?, row.integer()?);
            if is_full {
                reply.next = Some(activation_id);
            }
            // Done, though its task is not settled: an executor is at work on it. One that waits for a remote
            // agent is offered by that agent's settlement.
            let is_open = [WakeState::Queued, WakeState::Woken, WakeState::Parked]
                .iter()
                .any(|open| open.code() == wake_state);
            if !is_open {
                continue;
            }
            if wake_state == WakeState::Parked.code() {
                if !is_news {
                    continue;
                }
                self.store.execute(
                    "UPDATE claims SET wake_state = ?2, failures = 0 WHERE activation_id = ?1",
                    &[activation_id.into(), WakeState::Queued.code().into()],
                )?;
            }
            let resident = self.scope.resident.to_owned();
            let principal = self.scope.principal.to_owned();
            self.owe(
                &resident,
                Notice::Wake {
                    principal,
                    activation_id,
                    task_id,
                },
            )?;
            reply.offered = reply.offered.saturating_add(1);
        }
        Ok(reply)
    }
}
