//! One provider event, as a source hands it over (seed *Task and conversation semantics*).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Caller, SOURCE, TASK_ID, denied, fields_of, identifier, response_id, source, texts_by_id,
};
use crate::error::A2aError;
use crate::fields::{Fields, Name, Violations, plain};
use crate::part::read_parts;
use crate::{canonical, http, time};

/// Largest parts of an event, in bytes of the JSON that is stored.
pub const MAX_PARTS_BYTES: usize = 256 * 1024;
/// Most fields of a native locator.
pub const MAX_LOCATOR_FIELDS: usize = 32;
/// Longest value of a native locator's field, in characters.
pub const MAX_LOCATOR_CHARS: usize = 4096;
/// Longest `displayUrl`, in bytes.
pub const MAX_DISPLAY_URL_BYTES: usize = 2048;
/// Longest `evidenceLocator`, in bytes.
pub const MAX_EVIDENCE_LOCATOR_BYTES: usize = 4096;
/// How far `receivedAt` may lie in the future, in milliseconds: clocks differ.
pub const MAX_CLOCK_SKEW_MS: i64 = 5 * 60 * 1000;

const PROVIDER_EVENT_ID: Name = plain("providerEventId");
const DEDUPE_KEY: Name = plain("dedupeKey");
const CONVERSATION_KEY: Name = plain("conversationKey");
pub(super) const NATIVE_LOCATOR: Name = plain("nativeLocator");
const RECEIVED_AT: Name = plain("receivedAt");
const PARTS: Name = plain("parts");
const CONTENT_DIGEST: Name = plain("contentDigest");
const DISPLAY_URL: Name = plain("displayUrl");
const EVIDENCE_LOCATOR: Name = plain("evidenceLocator");
const REPLY_TO: Name = plain("replyTo");
const CONTEXT_ID: Name = plain("contextId");

/// An event to accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activation {
    /// Where it comes from. Neither `a2a` nor `agents`, which are this endpoint's own.
    pub source: String,
    /// The provider's id of the event.
    pub provider_event_id: String,
    /// What makes a redelivery the same event: unique within (principal, source).
    pub dedupe_key: String,
    /// The conversation; events of one share a context.
    pub conversation_key: Option<String>,
    /// The provider's object, by its fields: opaque values.
    pub native_locator: BTreeMap<String, String>,
    /// When the source received it, in Unix milliseconds.
    pub received_ms: i64,
    /// The validated parts, a JSON array.
    pub parts: String,
    /// `sha256:` and the digest of the parts.
    pub content_digest: String,
    /// Where a person can look at it.
    pub display_url: Option<String>,
    /// Where its evidence is kept.
    pub evidence_locator: Option<String>,
    /// The provider's id of the response that the event directly replies to.
    pub reply_to: Option<String>,
    /// The task to continue. Only a credential with role `trusted` may name one.
    pub task_id: Option<String>,
    /// The context in which to create the task.
    pub context_id: Option<String>,
}

impl Activation {
    /// Checks an event against the contract. `contentDigest` must be the digest ([`canonical::digest`]) of `parts` as
    /// they were sent; what is kept of them are the fields that a message's parts have.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) with every field at fault;
    /// [`PermissionDenied`](crate::error::Reason::PermissionDenied) naming `principal` or `taskId`;
    /// [`PayloadTooLarge`](crate::error::Reason::PayloadTooLarge) naming `parts`.
    pub fn from_value(body: Value, caller: &Caller<'_>, now_ms: i64) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let mut fields = fields_of(body, caller, &mut violations)?;
        if fields.has(TASK_ID) && !caller.may_name_tasks {
            return Err(denied(
                TASK_ID.json,
                "must be absent: a source may not name a task",
            ));
        }
        let activation = Self::read(&mut fields, now_ms, &mut violations);
        fields.refuse_others(&mut violations);
        let activation = violations.or(activation)?;
        if activation.parts.len() > MAX_PARTS_BYTES {
            return Err(A2aError::too_large(PARTS.json, MAX_PARTS_BYTES));
        }
        Ok(activation)
    }

    fn read(fields: &mut Fields<'_>, now_ms: i64, violations: &mut Violations) -> Self {
        fields.require(
            &[
                SOURCE,
                PROVIDER_EVENT_ID,
                DEDUPE_KEY,
                NATIVE_LOCATOR,
                RECEIVED_AT,
                PARTS,
                CONTENT_DIGEST,
            ],
            violations,
        );
        let (parts, content_digest) = parts_and_digest(fields, violations);
        let activation = Activation {
            source: source(fields, violations),
            provider_event_id: identifier(fields, PROVIDER_EVENT_ID, violations),
            dedupe_key: identifier(fields, DEDUPE_KEY, violations),
            conversation_key: fields.identifier(CONVERSATION_KEY, violations),
            native_locator: native_locator(fields, violations),
            received_ms: received_ms(fields, now_ms, violations),
            parts,
            content_digest,
            display_url: fields.text_that(
                DISPLAY_URL,
                is_display_url,
                "must be an http or https URL of at most 2048 bytes",
                violations,
            ),
            evidence_locator: fields.short_text(
                EVIDENCE_LOCATOR,
                MAX_EVIDENCE_LOCATOR_BYTES,
                violations,
            ),
            reply_to: response_id(fields, REPLY_TO, violations),
            task_id: fields.identifier(TASK_ID, violations),
            context_id: fields.identifier(CONTEXT_ID, violations),
        };
        if activation.conversation_key.is_some() && activation.context_id.is_some() {
            violations.add(
                fields.at(CONTEXT_ID),
                "must be absent where there is a conversationKey",
            );
        }
        if activation.task_id.is_some() && activation.reply_to.is_some() {
            violations.add(
                fields.at(REPLY_TO),
                "must be absent where there is a taskId",
            );
        }
        activation
    }
}

/// Takes the fields of a provider's object out.
pub(super) fn native_locator(
    fields: &mut Fields<'_>,
    violations: &mut Violations,
) -> BTreeMap<String, String> {
    let is_there = fields.has(NATIVE_LOCATOR);
    let before = violations.len();
    let locator = texts_by_id(
        fields,
        NATIVE_LOCATOR,
        MAX_LOCATOR_FIELDS,
        MAX_LOCATOR_CHARS,
        violations,
    );
    if is_there && locator.is_empty() && violations.len() == before {
        violations.add(fields.at(NATIVE_LOCATOR), "must have 1 to 32 fields");
    }
    locator
}

fn received_ms(fields: &mut Fields<'_>, now_ms: i64, violations: &mut Violations) -> i64 {
    let text = fields
        .text(RECEIVED_AT, violations)
        .filter(|text| !text.is_empty());
    let Some(text) = text else {
        return 0;
    };
    let received_ms = time::parse(&text);
    if received_ms.is_none() {
        violations.add(
            fields.at(RECEIVED_AT),
            "must be an RFC 3339 timestamp, such as 2025-10-28T10:30:00.000Z",
        );
    }
    let received_ms = received_ms.unwrap_or_default();
    if received_ms > now_ms.saturating_add(MAX_CLOCK_SKEW_MS) {
        violations.add(
            fields.at(RECEIVED_AT),
            "must not lie more than five minutes in the future",
        );
    }
    received_ms
}

/// Takes the parts out, as they are stored, and the digest, which is compared with that of the parts as they were sent.
fn parts_and_digest(fields: &mut Fields<'_>, violations: &mut Violations) -> (String, String) {
    let stated = fields.text_that(
        CONTENT_DIGEST,
        canonical::is_digest,
        canonical::DIGEST_RULE,
        violations,
    );
    let sent = match fields.take(PARTS, violations) {
        Some(sent @ Value::Array(_)) => sent,
        Some(_) => {
            violations.add(fields.at(PARTS), "must be a list of parts");
            return Default::default();
        }
        None => return Default::default(),
    };
    if let Some(stated) = &stated {
        let digest = canonical::digest(&sent);
        if digest != *stated {
            violations.add(
                fields.at(CONTENT_DIGEST),
                format!("must be {digest}, the SHA-256 of these parts in the form of RFC 8785"),
            );
        }
    }
    let parts = match sent {
        Value::Array(items) => read_parts(items, &fields.at(PARTS), violations),
        _ => Vec::new(),
    };
    (Value::Array(parts).to_string(), stated.unwrap_or_default())
}

fn is_display_url(text: &str) -> bool {
    (text.starts_with("https://") || text.starts_with("http://"))
        && text.len() <= MAX_DISPLAY_URL_BYTES
        && http::origin(text).is_some()
        && http::is_uri(text)
}
