//! One provider event, as a source hands it over (seed *Task and conversation semantics*).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Caller;
use super::form::{DIGEST, Form, IDENTIFIER, RESPONSE_ID, Rule, SOURCE, TIME, denied};
use crate::error::A2aError;
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

/// It is shown to the agent, and to whoever reads the task: what a URL's user says is no address but a secret.
static DISPLAY_URL: Rule = Rule {
    accepts: |text| {
        (text.starts_with("https://") || text.starts_with("http://"))
            && text.len() <= MAX_DISPLAY_URL_BYTES
            && http::origin(text).is_some_and(|origin| !origin.contains('@'))
            && http::is_uri(text)
    },
    says: "must be an http or https URL of at most 2048 bytes, without a user or password in it",
};

static EVIDENCE_LOCATOR: Rule = Rule {
    accepts: |text| text.len() <= MAX_EVIDENCE_LOCATOR_BYTES,
    says: "must be at most 4096 bytes",
};

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
        let mut form = Form::open(body, caller)?;
        if form.has("taskId") && !caller.may_name_tasks {
            return Err(denied(
                "taskId",
                "must be absent: a source may not name a task",
            ));
        }
        let source = form.required("source", &SOURCE);
        let provider_event_id = form.required("providerEventId", &IDENTIFIER);
        let dedupe_key = form.required("dedupeKey", &IDENTIFIER);
        let conversation_key = form.optional("conversationKey", &IDENTIFIER);
        let native_locator = native_locator(&mut form);
        let received_ms = received_ms(&mut form, now_ms);
        let (parts, content_digest) = parts_and_digest(&mut form);
        let display_url = form.optional("displayUrl", &DISPLAY_URL);
        let evidence_locator = form.optional("evidenceLocator", &EVIDENCE_LOCATOR);
        let reply_to = form.optional("replyTo", &RESPONSE_ID);
        let task_id = form.optional("taskId", &IDENTIFIER);
        let context_id = form.optional("contextId", &IDENTIFIER);
        if conversation_key.is_some() && context_id.is_some() {
            form.violate(
                "contextId",
                "must be absent where there is a conversationKey",
            );
        }
        if task_id.is_some() && reply_to.is_some() {
            form.violate("replyTo", "must be absent where there is a taskId");
        }
        form.close()?;
        if parts.len() > MAX_PARTS_BYTES {
            return Err(A2aError::too_large("parts", MAX_PARTS_BYTES));
        }
        Ok(Activation {
            source,
            provider_event_id,
            dedupe_key,
            conversation_key,
            native_locator,
            received_ms,
            parts,
            content_digest,
            display_url,
            evidence_locator,
            reply_to,
            task_id,
            context_id,
        })
    }
}

/// The fields of a provider's object.
pub(super) fn native_locator(form: &mut Form) -> BTreeMap<String, String> {
    let name = "nativeLocator";
    match form.required_value(name) {
        Some(Value::Object(members)) if members.is_empty() => {
            form.violate(name, "must have 1 to 32 fields");
            BTreeMap::new()
        }
        Some(value) => form.texts_by_id(name, value, MAX_LOCATOR_FIELDS, MAX_LOCATOR_CHARS),
        None => BTreeMap::new(),
    }
}

fn received_ms(form: &mut Form, now_ms: i64) -> i64 {
    let name = "receivedAt";
    let text = form.required(name, &TIME);
    let received_ms = time::parse(&text).unwrap_or_default();
    if received_ms > now_ms.saturating_add(MAX_CLOCK_SKEW_MS) {
        form.violate(name, "must not lie more than five minutes in the future");
    }
    received_ms
}

/// The parts as they are stored, and the digest, which is compared with that of the parts as they were sent.
fn parts_and_digest(form: &mut Form) -> (String, String) {
    let stated = form.required("contentDigest", &DIGEST);
    let Some(sent) = form.required_value("parts") else {
        return (String::new(), stated);
    };
    let digest = canonical::digest(&sent);
    if sent.is_array() && digest != stated && canonical::is_digest(&stated) {
        form.violate(
            "contentDigest",
            format!("must be {digest}, the SHA-256 of these parts in the form of RFC 8785"),
        );
    }
    let parts = form.parts("parts", sent);
    (Value::Array(parts).to_string(), stated)
}
