//! The trusted surface: what native sources and platforms send, checked field by field before an object sees it.
//!
//! Each type is made by `from_value`, which collects every violation, and then crosses to the object as it is. Two
//! things are refused before the rest is looked at, with 403 and the field's name: another `principal` than the
//! credential's, and a `taskId` from a source, which may not say what its event continues (seed *Task and conversation
//! semantics*).

pub mod activation;
pub mod checkpoint;
pub mod delivery;
pub mod evidence;
mod form;
pub mod settlements;
pub mod source;

use crate::error::A2aError;

pub use form::MAX_RESPONSE_ID_BYTES;
pub(crate) use form::Rule;

/// Who hands something over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller<'a> {
    /// The credential's principal.
    pub principal: &'a str,
    /// Whether the credential may say which task an event continues: role `trusted`.
    pub may_name_tasks: bool,
}

/// The name of a source that stands at `field`, outside of a body.
///
/// # Errors
/// [`InvalidRequest`](crate::error::Reason::InvalidRequest) naming the field.
pub fn check_source(field: &'static str, name: String) -> Result<String, A2aError> {
    if (form::SOURCE.accepts)(&name) {
        Ok(name)
    } else {
        Err(A2aError::field(field, form::SOURCE.says))
    }
}

#[cfg(test)]
mod tests;
