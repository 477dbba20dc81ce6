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
pub mod settlements;
pub mod source;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::{A2aError, Reason};
use crate::fields::{Fields, Name, Path, Violations, plain};
use crate::{field_path, ids};

/// Longest id of a provider's response, in bytes (which are characters here).
pub const MAX_RESPONSE_ID_BYTES: usize = 512;

const PRINCIPAL: Name = plain("principal");
const SOURCE: Name = plain("source");
const TASK_ID: Name = plain("taskId");
const PROVIDER_RESPONSE_ID: Name = plain("providerResponseId");

/// The sources that are this endpoint's own: the A2A binding, and remote agents.
const RESERVED_SOURCES: [&str; 2] = ["a2a", "agents"];

const SOURCE_RULE: &str = "must be an identifier, and neither a2a nor agents";

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
/// [`Reason::InvalidRequest`] naming the field.
pub fn check_source(field: &'static str, name: &str) -> Result<String, A2aError> {
    if is_source(name) {
        Ok(name.to_owned())
    } else {
        Err(A2aError::field(field, SOURCE_RULE))
    }
}

fn is_source(name: &str) -> bool {
    ids::is_identifier(name) && !RESERVED_SOURCES.contains(&name)
}

/// Whether a provider may have given this id: visible ASCII of at most [`MAX_RESPONSE_ID_BYTES`].
fn is_response_id(text: &str) -> bool {
    text.len() <= MAX_RESPONSE_ID_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
}

const RESPONSE_ID_RULE: &str = "must be 1 to 512 visible ASCII characters";

/// The fields of a body that speaks for the caller's principal.
fn fields_of(
    body: Value,
    caller: &Caller<'_>,
    violations: &mut Violations,
) -> Result<Fields<'static>, A2aError> {
    let Some(mut fields) = Fields::of(body, &Path::Root(""), violations) else {
        return Err(A2aError::field("body", "must be a JSON object"));
    };
    match fields.text(PRINCIPAL, violations) {
        Some(named) if !named.is_empty() && named != caller.principal => Err(denied(
            PRINCIPAL.json,
            "must be the credential's own principal, or absent",
        )),
        _ => Ok(fields),
    }
}

fn denied(field: &'static str, rule: &'static str) -> A2aError {
    A2aError::new(Reason::PermissionDenied, format!("{field} {rule}")).violating(field, rule)
}

/// Takes an identifier out that [`Fields::require`] has asked for.
fn identifier(fields: &mut Fields<'_>, name: Name, violations: &mut Violations) -> String {
    fields.identifier(name, violations).unwrap_or_default()
}

/// Takes the name of a source out.
fn source(fields: &mut Fields<'_>, violations: &mut Violations) -> String {
    fields
        .text_that(SOURCE, is_source, SOURCE_RULE, violations)
        .unwrap_or_default()
}

/// Takes a provider's id of a response out.
fn response_id(fields: &mut Fields<'_>, name: Name, violations: &mut Violations) -> Option<String> {
    fields.text_that(name, is_response_id, RESPONSE_ID_RULE, violations)
}

/// Takes an object of at most `max_fields` texts out, each of at most `max_chars` characters and under an identifier.
fn texts_by_id(
    fields: &mut Fields<'_>,
    name: Name,
    max_fields: usize,
    max_chars: usize,
    violations: &mut Violations,
) -> BTreeMap<String, String> {
    let members = fields.object(name, violations).unwrap_or_default();
    if members.len() > max_fields {
        violations.add(
            fields.at(name),
            format!("must have at most {max_fields} fields"),
        );
        return BTreeMap::new();
    }
    let mut texts = BTreeMap::new();
    for (key, value) in members {
        let problem = match value {
            _ if !ids::is_identifier(&key) => format!("must have a name that {}", ids::RULE),
            Value::String(text) if (1..=max_chars).contains(&text.chars().count()) => {
                texts.insert(key, text);
                continue;
            }
            _ => format!("must be a string of 1 to {max_chars} characters"),
        };
        violations.add(Path::Root(&field_path::member(name.json, &key)), problem);
    }
    texts
}
