//! A mutation at a provider, made once: begun, sent, settled.

use std::error::Error;
use std::time::Duration;

use tokio::time::Instant;

use crate::delivery::{Begin, Begun, DeliveryState, Settle, Settled};
use crate::plane::TaskPlane;
use connection::CallError;

/// The shortest pause before a held delivery is asked for again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// The longest reason that the plane keeps, in bytes.
const MAX_REASON_BYTES: usize = 1000;

/// How a send at the provider failed.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The provider refused it for certain, and nothing was made: a 4xx and its like.
    #[error("refused: {0}")]
    Refused(String),
    /// Nobody knows whether it was made: a lost connection, a time-out, a 5xx.
    #[error("unknown: {0}")]
    Unknown(String),
}

/// How a delivery stands when [`TaskPlane::deliver`] is done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The provider has made it, now or before.
    Delivered {
        /// The delivery.
        delivery_id: String,
        /// The provider's id of what was made, if it is known.
        provider_response_id: Option<String>,
    },
    /// The provider refused it. It may be begun again.
    Refused {
        /// The delivery.
        delivery_id: String,
        /// What the provider said.
        reason: String,
    },
    /// Nobody knows, and whoever begins it next looks it up, or sends it again where that is the same.
    Unknown {
        /// The delivery.
        delivery_id: String,
    },
    /// Nobody knows, and a person must find out: the plane has recorded it as unhealthy.
    Ambiguous {
        /// The delivery.
        delivery_id: String,
    },
    /// Another attempt has held it all the while.
    Held {
        /// The delivery.
        delivery_id: String,
        /// Who holds it, if that was said.
        held_by: Option<String>,
        /// When to begin it again.
        retry_after: Duration,
    },
}

/// Why a delivery could not be carried out. It may be begun again: the plane knows how far it came.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The plane did not answer, or refused.
    #[error(transparent)]
    Plane(#[from] CallError),
    /// The provider could not be asked what an earlier attempt made.
    #[error("the provider could not be asked: {0}")]
    LookUp(#[source] Box<dyn Error + Send + Sync>),
}

impl TaskPlane {
    /// Makes a mutation once: begins it, sends it if the plane says so, and settles it. While another attempt holds it, it
    /// is asked for again, for up to 90 seconds ([`TaskPlane::with_longest_wait`]).
    ///
    /// `send` is given the delivery's id, which serves as idempotency key or as marker, and gives the provider's id of what
    /// it made. With [`Recovery::Lookup`](crate::Recovery::Lookup) use [`TaskPlane::deliver_or_find`]: this one can't look
    /// up what a crash left behind.
    ///
    /// # Errors
    /// What the plane refuses, and its silence. The provider's failures are outcomes.
    pub async fn deliver(
        &self,
        begin: &Begin,
        send: impl AsyncFnOnce(&str) -> Result<Option<String>, SendError>,
    ) -> Result<Outcome, DeliverError> {
        match self.begin_unheld(begin, false).await? {
            Begun::Send {
                delivery_id,
                attempt,
            } => self.send_now(&delivery_id, &attempt, send).await,
            other => Ok(settled_before(other)),
        }
    }

    /// Like [`TaskPlane::deliver`], where the provider can be asked for what an earlier attempt made.
    ///
    /// `look_up` gives the provider's id of exactly this delivery's mutation, and `None` only where the provider has not
    /// made it.
    ///
    /// # Errors
    /// As [`TaskPlane::deliver`], and a failure of `look_up`: nothing is sent then.
    pub async fn deliver_or_find<E: Into<Box<dyn Error + Send + Sync>>>(
        &self,
        begin: &Begin,
        send: impl AsyncFnOnce(&str) -> Result<Option<String>, SendError>,
        look_up: impl AsyncFnOnce(&str) -> Result<Option<String>, E>,
    ) -> Result<Outcome, DeliverError> {
        match self.begin_unheld(begin, true).await? {
            Begun::Send {
                delivery_id,
                attempt,
            } => self.send_now(&delivery_id, &attempt, send).await,
            Begun::Reconcile {
                delivery_id,
                attempt,
            } => {
                let found = look_up(&delivery_id)
                    .await
                    .map_err(|error| DeliverError::LookUp(error.into()))?;
                if let Some(provider_response_id) = found {
                    return self
                        .settle_delivered(delivery_id, &attempt, Some(provider_response_id))
                        .await;
                }
                self.settle(&delivery_id, &attempt, &Settle::Absent).await?;
                self.send_now(&delivery_id, &attempt, send).await
            }
            other => Ok(settled_before(other)),
        }
    }

    /// Begins, and waits while another attempt holds it.
    async fn begin_unheld(&self, begin: &Begin, can_reconcile: bool) -> Result<Begun, CallError> {
        let deadline = Instant::now()
            .checked_add(self.longest_wait())
            .unwrap_or_else(Instant::now);
        loop {
            let begun = self.begin(begin, can_reconcile).await?;
            let Begun::Held { retry_after_ms, .. } = &begun else {
                return Ok(begun);
            };
            let pause = Duration::from_millis(*retry_after_ms).max(SHORTEST_PAUSE);
            if Instant::now()
                .checked_add(pause)
                .is_none_or(|then| then > deadline)
            {
                return Ok(begun);
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn send_now(
        &self,
        delivery_id: &str,
        attempt: &str,
        send: impl AsyncFnOnce(&str) -> Result<Option<String>, SendError>,
    ) -> Result<Outcome, DeliverError> {
        let delivery_id = delivery_id.to_owned();
        let (settle, refusal) = match send(&delivery_id).await {
            Ok(provider_response_id) => {
                return self
                    .settle_delivered(delivery_id, attempt, provider_response_id)
                    .await;
            }
            Err(SendError::Refused(reason)) => (
                Settle::Refused {
                    reason: bounded(&reason),
                },
                Some(reason),
            ),
            Err(SendError::Unknown(reason)) => (
                Settle::Indeterminate {
                    reason: bounded(&reason),
                },
                None,
            ),
        };
        let Settled { state, .. } = self.settle(&delivery_id, attempt, &settle).await?;
        Ok(match (refusal, state) {
            (Some(reason), _) => Outcome::Refused {
                delivery_id,
                reason,
            },
            (None, DeliveryState::Ambiguous) => Outcome::Ambiguous { delivery_id },
            (None, _) => Outcome::Unknown { delivery_id },
        })
    }

    async fn settle_delivered(
        &self,
        delivery_id: String,
        attempt: &str,
        provider_response_id: Option<String>,
    ) -> Result<Outcome, DeliverError> {
        let settle = Settle::Delivered {
            provider_response_id: provider_response_id.clone(),
        };
        self.settle(&delivery_id, attempt, &settle).await?;
        Ok(Outcome::Delivered {
            delivery_id,
            provider_response_id,
        })
    }
}

/// What is not to be sent. A lookup that this caller can't make is left to one that can.
fn settled_before(begun: Begun) -> Outcome {
    match begun {
        Begun::Delivered {
            delivery_id,
            provider_response_id,
        } => Outcome::Delivered {
            delivery_id,
            provider_response_id,
        },
        Begun::Ambiguous { delivery_id } => Outcome::Ambiguous { delivery_id },
        Begun::Held {
            delivery_id,
            held_by,
            retry_after_ms,
        } => Outcome::Held {
            delivery_id,
            held_by,
            retry_after: Duration::from_millis(retry_after_ms),
        },
        Begun::Send { delivery_id, .. } | Begun::Reconcile { delivery_id, .. } => {
            Outcome::Unknown { delivery_id }
        }
    }
}

/// The reason's beginning that the plane keeps, in whole characters.
fn bounded(reason: &str) -> String {
    let mut kept = String::new();
    for character in reason.chars() {
        if kept.len().saturating_add(character.len_utf8()) > MAX_REASON_BYTES {
            break;
        }
        kept.push(character);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::bounded;

    #[test]
    fn a_reason_is_cut_between_characters() {
        assert_eq!(bounded("short"), "short");
        assert_eq!(bounded(&"ä".repeat(600)), "ä".repeat(500));
        assert_eq!(bounded(&format!("a{}", "ä".repeat(600))).len(), 999);
    }
}
