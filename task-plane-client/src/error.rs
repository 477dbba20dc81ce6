//! Why a call has no usable answer, and why there is no client.

use crate::refusal::Refusal;

/// Why a call has no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No connection was made, so the plane has seen nothing of the request.
    #[error("no connection: {0}")]
    Unreached(String),
    /// The connection broke, or the time was over, before the answer was complete. The plane may have acted.
    #[error("connection lost: {0}")]
    Lost(String),
    /// An answer that is not of this contract: another program's, or a proxy's. Also a request that can't be written.
    #[error("unreadable: {0}")]
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
            Self::Unreached(_) | Self::Lost(_) => true,
            Self::Unreadable(_) => false,
            Self::Refused(refusal) => refusal.is_transient(),
        }
    }

    /// Whether the plane refused it for this reason, such as `TASK_NOT_FOUND`.
    #[must_use]
    pub fn has_reason(&self, reason: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.has_reason(reason))
    }

    /// Whether the plane has done nothing for certain.
    pub(crate) fn is_without_effect(&self) -> bool {
        match self {
            Self::Unreached(_) => true,
            Self::Lost(_) | Self::Unreadable(_) => false,
            Self::Refused(refusal) => refusal.is_turned_away(),
        }
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The source's name breaks the contract.
    #[error(
        "the source must match [A-Za-z0-9][A-Za-z0-9._:-]{{0,127}}, and be neither a2a nor agents"
    )]
    Source,
    /// No HTTP client can be made, say because the machine has no root certificates.
    #[error("no HTTP client: {0}")]
    Http(String),
}
