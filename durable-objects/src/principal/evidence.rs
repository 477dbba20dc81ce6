//! The append-only record of what was accepted, woken and failed.

use super::Principal;
use crate::storage::{Store, StoreError};

/// What a record is about. The names are stored and read by operators: they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An activation was accepted.
    Accepted,
    /// A turn on it was granted; the resident is about to be told.
    Woken,
    /// Its wake will not be delivered: the queue was full, or five deliveries left it unsettled.
    WakeFailed,
    /// A turn on it ended without a sign of life.
    TurnExpired,
    /// A newer session of its resident ended a turn on it.
    TurnSuperseded,
    /// A turn on it failed.
    TurnFailed,
    /// Its turns failed three times.
    Unhealthy,
    /// Its caller canceled the task.
    Canceled,
    /// A provider made an outbound mutation.
    Delivered,
    /// A provider refused one: it may be tried again.
    DeliveryFailed,
    /// What was stored of it can't be read any more: it is set aside.
    Quarantined,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "ACCEPTED",
            Self::Woken => "WOKEN",
            Self::WakeFailed => "WAKE_FAILED",
            Self::TurnExpired => "TURN_EXPIRED",
            Self::TurnSuperseded => "TURN_SUPERSEDED",
            Self::TurnFailed => "TURN_FAILED",
            Self::Unhealthy => "UNHEALTHY",
            Self::Canceled => "CANCELED",
            Self::Delivered => "DELIVERED",
            Self::DeliveryFailed => "DELIVERY_FAILED",
            Self::Quarantined => "QUARANTINED",
        }
    }
}

impl<S: Store> Principal<'_, S> {
    pub(super) fn record(
        &self,
        kind: Kind,
        task_id: Option<&str>,
        activation_id: i64,
        detail: Option<&str>,
    ) -> Result<(), StoreError> {
        self.record_about(kind, task_id, Some(activation_id), detail)
    }

    /// The same, for what no single activation is behind.
    pub(super) fn record_about(
        &self,
        kind: Kind,
        task_id: Option<&str>,
        activation_id: Option<i64>,
        detail: Option<&str>,
    ) -> Result<(), StoreError> {
        self.store.execute(
            "INSERT INTO evidence (at_ms, kind, task_id, activation_id, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
            &[
                self.environment.now_ms.into(),
                kind.name().into(),
                task_id.into(),
                activation_id.into(),
                detail.into(),
            ],
        )
    }
}
