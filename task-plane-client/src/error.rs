//! Why there is no client.

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
