//! What an operator sees of a queue: how much waits, and what its turn is doing.

use super::WakeQueue;
use super::turn::Phase;
use crate::commands::wake_queue::{InspectReply, TurnState};
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

impl<S: Store> WakeQueue<'_, S> {
    pub(super) fn look(&self) -> Result<InspectReply, CoreError> {
        let mut counts = self
            .store
            .first(
                "SELECT count(*), coalesce(sum(not_before_ms IS NOT NULL), 0) FROM wakes",
                &[],
            )?
            .ok_or(StoreError::Corrupt { what: "wakes" })?;
        let now_ms = self.environment.now_ms;
        let turn = self.turn()?.map(|turn| TurnState {
            phase: match turn.phase {
                Phase::Reserved => "reserved",
                Phase::Live => "live",
                Phase::Ending => "ending",
            }
            .to_owned(),
            age_ms: now_ms.saturating_sub(turn.reserved_ms).max(0),
            lease_left_ms: match turn.phase {
                Phase::Live => turn.due_ms.saturating_sub(now_ms).max(0),
                Phase::Reserved | Phase::Ending => 0,
            },
            turn_id: turn.turn_id,
            principal: turn.principal,
            task_id: turn.task_id,
            delivery: turn.delivery,
        });
        Ok(InspectReply {
            depth: counts.integer()?,
            delayed: counts.integer()?,
            turn,
        })
    }
}
