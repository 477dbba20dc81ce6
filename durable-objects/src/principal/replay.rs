//! What a new resident session is offered again: the newest accepted activation of each task that is not terminal and
//! does not wait for its caller (seed *Wake recovery follows durable Task state*).

use super::Principal;
use super::turn::WakeState;
use crate::commands::principal::{Replay, ReplayReply};
use crate::commands::wake_queue::Notice;
use crate::error::CoreError;
use crate::storage::Store;

impl<S: Store> Principal<'_, S> {
    pub(super) fn replay(&mut self, command: &Replay) -> Result<ReplayReply, CoreError> {
        if !self.serves(command.assigned)? {
            return Ok(ReplayReply {
                offered: 0,
                moved: true,
            });
        }
        let offered = self.offer_all()?;
        Ok(ReplayReply {
            offered,
            moved: false,
        })
    }

    /// Whether the asking queue serves this principal: it does where no other does, or where the deployment says so now.
    fn serves(&mut self, assigned: bool) -> Result<bool, CoreError> {
        let resident = self.scope.resident;
        if assigned {
            self.store.execute(
                "UPDATE task_counts SET resident = ?1 WHERE resident IS NOT ?1",
                &[resident.into()],
            )?;
            return Ok(true);
        }
        Ok(self.is_served_here()?)
    }

    /// Owes the serving queue a wake for everything that is not settled, and gives how many.
    pub(super) fn offer_all(&mut self) -> Result<u32, CoreError> {
        // Failed for good stays so. Whatever was parked gets its attempts anew: the resident connected anew.
        let rows = self.store.query(
            "SELECT tasks.task_id, tasks.activation_id, claims.wake_state FROM tasks \
             JOIN claims ON claims.activation_id = tasks.activation_id \
             WHERE tasks.state IN (1, 2) ORDER BY tasks.activation_id",
            &[],
        )?;
        let mut offered = 0_u32;
        for mut row in rows {
            let (task_id, activation_id, wake_state) =
                (row.text()?, row.integer()?, row.integer()?);
            // Done, though its task is not settled: an executor is at work on it.
            let is_open = [WakeState::Queued, WakeState::Woken, WakeState::Parked]
                .iter()
                .any(|open| open.code() == wake_state);
            if !is_open {
                continue;
            }
            if wake_state == WakeState::Parked.code() {
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
            offered = offered.saturating_add(1);
        }
        Ok(offered)
    }
}
