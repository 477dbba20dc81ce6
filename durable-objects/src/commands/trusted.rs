//! What native sources and trusted platforms may ask of a principal's object.
//!
//! Everything here has been validated against the contract by the Worker (`protocol::trusted`). The answers are JSON as
//! the surface gives them, so that nothing is read again on the way.

use protocol::trusted::activation::Activation;
use protocol::trusted::checkpoint::Checkpoint;
use protocol::trusted::delivery::{Begin, Reconcile, Settle};
use protocol::trusted::evidence::{EvidenceQuery, SourceEvidence};
use protocol::trusted::source::{Anchor, Declaration, Locate};
use serde::{Deserialize, Serialize};

use super::principal::PrincipalCommand;
use super::{Call, JsonText};

/// A command of the trusted surface.
#[derive(Debug, Serialize, Deserialize)]
pub enum TrustedCommand {
    /// Accept, continue, or create in a context. Answers `{activationId, taskId, contextId, disposition}`.
    Accept {
        /// The event.
        activation: Activation,
        /// Tasks that are not terminal and that the principal may have at once.
        max_open_tasks: u32,
    },
    /// Say how a source's tasks may be continued. Answers the source.
    Declare(Declaration),
    /// Read a source: `{source, continuation, checkpoint?, version, updatedAt?}`.
    ReadSource {
        /// Its name.
        source: String,
    },
    /// Advance a source's checkpoint. Answers the source.
    Advance(Checkpoint),
    /// The task that is being worked on for an exact locator: `{taskId, contextId}`.
    Locate(Locate),
    /// Read a native task: `{task, terminal, source, origin}`.
    ReadTask {
        /// Which.
        task_id: String,
        /// Also tasks of the A2A binding, as a credential with role `trusted` may.
        any_source: bool,
    },
    /// Begin a delivery: `{deliveryId, disposition, attempt?, heldBy?, retryAfterMs?, providerResponseId?}`.
    Begin(Begin),
    /// Settle a delivery: `{deliveryId, state}` and, where it is to be sent now, `disposition` and `attempt`.
    Settle(Settle),
    /// Resolve a delivery by hand: `{deliveryId, state}`.
    Reconcile(Reconcile),
    /// Record a reply anchor: `{source, providerResponseId, taskId}`.
    RecordAnchor(Anchor),
    /// Record evidence of a source's own: `{evidenceId, occurrences?}`.
    RecordEvidence(SourceEvidence),
    /// The settled tasks of a source, oldest first: `{settlements, next}`.
    Settlements {
        /// The source.
        source: String,
        /// Only those after this one.
        after: i64,
        /// At most so many, 1 to 100.
        page_size: u32,
    },
    /// What was recorded, newest first, for an operator: `{evidence, nextPageToken}`.
    Evidence(EvidenceQuery),
}

impl Call for TrustedCommand {
    type Object = PrincipalCommand;
    type Reply = JsonText;
    fn into_object(self) -> PrincipalCommand {
        PrincipalCommand::Trusted(self)
    }
}
