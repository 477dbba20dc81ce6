//! How the program fails: one variant per exit code.

use std::process::ExitCode;

use connection::{CallError, EndpointError, Refusal};

/// How the program ends when it does not end well.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Exit code 1: the server said no.
    #[error("refused: {0}")]
    Refused(Box<Refusal>),
    /// Exit code 2: the command line, the environment or an input is wrong, and nothing was sent.
    #[error("{0}")]
    Usage(String),
    /// Exit code 3: the server could not be reached, or did not answer as one.
    #[error("{0}")]
    NoConnection(CallError),
    /// Exit code 4: another process took this resident's name with a newer session.
    #[error("superseded: a newer session of this resident is running, so this one stops")]
    Superseded,
    /// Exit code 5: the one turn of `run --once` failed.
    #[error("the turn failed: {0}")]
    TurnFailed(String),
    /// Exit code 70: something on this machine failed.
    #[error("{0}")]
    Broken(String),
}

impl Failure {
    /// The exit code that tells this failure from the others.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Refused(_) => 1,
            Failure::Usage(_) => 2,
            Failure::NoConnection(_) => 3,
            Failure::Superseded => 4,
            Failure::TurnFailed(_) => 5,
            Failure::Broken(_) => 70,
        })
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(refusal) => refusal.into(),
            other => Failure::NoConnection(other),
        }
    }
}

impl From<Box<Refusal>> for Failure {
    fn from(refusal: Box<Refusal>) -> Self {
        if refusal.has_reason("SESSION_SUPERSEDED") {
            Failure::Superseded
        } else {
            Failure::Refused(refusal)
        }
    }
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        Failure::Usage(match error {
            EndpointError::Insecure => {
                format!("{error}, or --insecure if that network is yours")
            }
            EndpointError::Malformed(_) => error.to_string(),
        })
    }
}
