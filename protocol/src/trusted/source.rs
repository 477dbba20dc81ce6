//! What a source says about itself, and what it asks about its tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Caller;
use super::activation::native_locator;
use super::form::{Form, IDENTIFIER, RESPONSE_ID, Rule, SOURCE};
use crate::error::A2aError;

const REPLY_ANCHOR: &str = "REPLY_ANCHOR";
const TASK_ID: &str = "TASK_ID";

static CONTINUATION: Rule = Rule {
    accepts: |text| text == REPLY_ANCHOR || text == TASK_ID,
    says: "must be REPLY_ANCHOR or TASK_ID",
};

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

impl Declaration {
    /// Checks what the source of this name says of itself.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) with every field at fault;
    /// [`PermissionDenied`](crate::error::Reason::PermissionDenied) naming `principal`.
    pub fn from_value(body: Value, source: String, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut form = Form::open(body, caller)?;
        let methods = form.texts("continuation", 2, &CONTINUATION);
        form.close()?;
        let has = |method: &str| methods.iter().any(|named| named == method);
        Ok(Declaration {
            source,
            reply_anchor: has(REPLY_ANCHOR),
            task_id: has(TASK_ID),
        })
    }
}

impl Locate {
    /// Checks a question for the task behind a locator.
    ///
    /// # Errors
    /// As [`Declaration::from_value`].
    pub fn from_value(body: Value, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut form = Form::open(body, caller)?;
        let source = form.required("source", &SOURCE);
        let native_locator = native_locator(&mut form);
        form.close()?;
        Ok(Locate {
            source,
            native_locator,
        })
    }
}

impl Anchor {
    /// Checks a response to record.
    ///
    /// # Errors
    /// As [`Declaration::from_value`].
    pub fn from_value(body: Value, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut form = Form::open(body, caller)?;
        let source = form.required("source", &SOURCE);
        let provider_response_id = form.required("providerResponseId", &RESPONSE_ID);
        let task_id = form.required("taskId", &IDENTIFIER);
        form.close()?;
        Ok(Anchor {
            source,
            provider_response_id,
            task_id,
        })
    }
}
