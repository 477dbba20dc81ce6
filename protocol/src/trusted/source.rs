//! What a source says about itself, and what it asks about its tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a source's tasks may be continued. A source that never declared has no way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// Its name.
    pub source: String,
    /// A verified direct reply to a response of ours: `REPLY_ANCHOR`.
    pub reply_anchor: bool,
    /// An explicit task id from a trusted caller: `TASK_ID`.
    pub task_id: bool,
}

/// An exact locator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locate {
    /// The source.
    pub source: String,
    /// All fields of the locator, as the activation had them.
    pub native_locator: BTreeMap<String, String>,
}

/// A response that was sent for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The source.
    pub source: String,
    /// The provider's id of the response.
    pub provider_response_id: String,
    /// The task.
    pub task_id: String,
}
