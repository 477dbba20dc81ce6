//! Why a command failed: ours apart from the caller's.

use protocol::error::A2aError;
use thiserror::Error;

use crate::storage::StoreError;

/// A command that was not carried out. Nothing of it is stored.
#[derive(Debug, Error)]
pub enum CoreError {
    /// The caller's: sent back as it is.
    #[error("refused: {0}")]
    Refused(#[from] A2aError),
    /// Ours: logged, and a bare internal error for the caller.
    #[error(transparent)]
    Store(#[from] StoreError),
}
