//! Why a call has no usable answer.

use crate::refusal::Refusal;

/// Why a call has no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The request can't be made as it is, and nothing was sent.
    #[error("not sent: {0}")]
    Unsendable(&'static str),
    /// No connection was made, so the plane has seen nothing of the request.
    #[error("no connection: {0}")]
    Unreached(String),
    /// The connection broke, or the time was over, before the answer was complete. The plane may have acted.
    #[error("connection lost: {0}")]
    Lost(String),
    /// An answer that is not of this contract: another program's, or a proxy's.
    #[error("unreadable answer: {0}")]
    Unreadable(&'static str),
    /// The plane's own answer, which says no.
    #[error("{0}")]
    Refused(Box<Refusal>),
}

impl CallError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unsendable(_) => false,
            Self::Unreached(_) | Self::Lost(_) | Self::Unreadable(_) => true,
            Self::Refused(refusal) => refusal.is_transient(),
        }
    }

    /// Whether the plane refused it for this reason, such as `TASK_NOT_FOUND`.
    #[must_use]
    pub fn has_reason(&self, reason: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.has_reason(reason))
    }

    /// Whether the plane has done nothing for certain.
    #[must_use]
    pub fn is_without_effect(&self) -> bool {
        match self {
            Self::Unsendable(_) | Self::Unreached(_) => true,
            Self::Lost(_) | Self::Unreadable(_) => false,
            Self::Refused(refusal) => refusal.is_turned_away(),
        }
    }
}
