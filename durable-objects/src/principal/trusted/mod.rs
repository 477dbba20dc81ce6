//! Native intake: what sources and trusted platforms ask (seed *Task and conversation semantics*).
//!
//! A source turns provider events into tasks and carries answers back. What it may say is narrow: it names events,
//! conversations and responses of its provider, never a task to continue.

mod accept;
mod anchors;
mod begin;
mod deliveries;
mod evidence;
mod origin;
mod sources;

pub use deliveries::HOLD_MS;
pub(super) use origin::Origin;

use serde::Serialize;

use super::Principal;
use crate::commands::JsonText;
use crate::commands::trusted::TrustedCommand;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

impl<S: Store> Principal<'_, S> {
    pub(super) fn trusted(&mut self, command: &TrustedCommand) -> Result<JsonText, CoreError> {
        match command {
            TrustedCommand::Accept {
                activation,
                max_open_tasks,
            } => self.accept_activation(activation, *max_open_tasks),
            TrustedCommand::Declare(declaration) => self.declare(declaration),
            TrustedCommand::ReadSource { source } => self.read_source(source),
            TrustedCommand::Advance(checkpoint) => self.advance(checkpoint),
            TrustedCommand::Locate(locate) => self.locate(locate),
            TrustedCommand::ReadTask {
                task_id,
                any_source,
            } => self.read_native_task(task_id, *any_source),
            TrustedCommand::Begin(begin) => self.begin_delivery(begin),
            TrustedCommand::Settle(settle) => self.settle_delivery(settle),
            TrustedCommand::Reconcile(reconcile) => self.reconcile_delivery(reconcile),
            TrustedCommand::RecordAnchor(anchor) => self.record_anchor(anchor),
            TrustedCommand::RecordEvidence(evidence) => self.record_source_evidence(evidence),
            TrustedCommand::Settlements {
                source,
                after,
                page_size,
            } => self.list_settlements(source, *after, *page_size),
            TrustedCommand::Evidence(query) => self.list_evidence(query),
        }
    }
}

/// An answer of this surface.
fn answer(reply: &impl Serialize) -> Result<JsonText, CoreError> {
    serde_json::to_string(reply)
        .map(JsonText::from_text)
        .map_err(|_| StoreError::Corrupt { what: "reply" }.into())
}

/// Stored JSON, spliced into an answer as it is.
fn stored_json(text: String) -> Result<Box<serde_json::value::RawValue>, StoreError> {
    serde_json::value::RawValue::from_string(text).map_err(|_| StoreError::Corrupt { what: "JSON" })
}
