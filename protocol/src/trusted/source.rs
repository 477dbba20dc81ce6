//! What a source says about itself, and what it asks about its tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::activation::{NATIVE_LOCATOR, native_locator};
use super::{
    Caller, PROVIDER_RESPONSE_ID, SOURCE, TASK_ID, fields_of, identifier, response_id, source,
};
use crate::error::A2aError;
use crate::fields::{Name, Violations, plain};

const CONTINUATION: Name = plain("continuation");
const REPLY_ANCHOR: &str = "REPLY_ANCHOR";
const BY_TASK_ID: &str = "TASK_ID";

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
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        fields.require(&[CONTINUATION], &mut violations);
        let methods = fields.texts(
            CONTINUATION,
            2,
            |method| [REPLY_ANCHOR, BY_TASK_ID].contains(&method),
            "must be REPLY_ANCHOR or TASK_ID",
            &mut violations,
        );
        fields.refuse_others(&mut violations);
        let has = |method: &str| methods.iter().any(|named| named == method);
        violations.or(Declaration {
            source,
            reply_anchor: has(REPLY_ANCHOR),
            task_id: has(BY_TASK_ID),
        })
    }
}

impl Locate {
    /// Checks a question for the task behind a locator.
    ///
    /// # Errors
    /// As [`Declaration::from_value`].
    pub fn from_value(body: Value, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        fields.require(&[SOURCE, NATIVE_LOCATOR], &mut violations);
        let locate = Locate {
            source: source(&mut fields, &mut violations),
            native_locator: native_locator(&mut fields, &mut violations),
        };
        fields.refuse_others(&mut violations);
        violations.or(locate)
    }
}

impl Anchor {
    /// Checks a response to record.
    ///
    /// # Errors
    /// As [`Declaration::from_value`].
    pub fn from_value(body: Value, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        fields.require(&[SOURCE, PROVIDER_RESPONSE_ID, TASK_ID], &mut violations);
        let anchor = Anchor {
            source: source(&mut fields, &mut violations),
            provider_response_id: response_id(&mut fields, PROVIDER_RESPONSE_ID, &mut violations)
                .unwrap_or_default(),
            task_id: identifier(&mut fields, TASK_ID, &mut violations),
        };
        fields.refuse_others(&mut violations);
        violations.or(anchor)
    }
}
