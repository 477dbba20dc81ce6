//! One provider event, handed over.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::part::Part;

/// The provider's object, by its fields; opaque to the plane. 1 to 32 fields, values of 1 to 4096 characters.
pub type NativeLocator = BTreeMap<String, String>;

/// An event to accept. Identifiers match `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`; the plane names each field that breaks its
/// contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Activation {
    /// The provider's id of the event.
    pub provider_event_id: String,
    /// What makes a redelivery the same event.
    pub dedupe_key: String,
    /// The conversation: its events share a context.
    pub conversation_key: Option<String>,
    /// The provider's object.
    pub native_locator: NativeLocator,
    /// When the source received it.
    pub received_at: SystemTime,
    /// What it says.
    pub parts: Vec<Part>,
    /// Where a person can look at it, an http or https URL.
    pub display_url: Option<String>,
    /// Where its evidence is kept.
    pub evidence_locator: Option<String>,
    /// The provider's id of the response that it directly replies to. What only tells a thread is none.
    pub reply_to: Option<String>,
    /// The task to continue, for a credential with role `trusted`. A source can't name one.
    pub task_id: Option<String>,
    /// The context to create the task in.
    pub context_id: Option<String>,
}

impl Activation {
    /// An event whose id at the provider also tells a redelivery.
    #[must_use]
    pub fn new(provider_event_id: &str, received_at: SystemTime, parts: Vec<Part>) -> Self {
        Self {
            provider_event_id: provider_event_id.to_owned(),
            dedupe_key: provider_event_id.to_owned(),
            conversation_key: None,
            native_locator: NativeLocator::new(),
            received_at,
            parts,
            display_url: None,
            evidence_locator: None,
            reply_to: None,
            task_id: None,
            context_id: None,
        }
    }

    /// With a field of the locator.
    #[must_use]
    pub fn locator(mut self, field: &str, value: &str) -> Self {
        self.native_locator
            .insert(field.to_owned(), value.to_owned());
        self
    }

    /// In a conversation.
    #[must_use]
    pub fn conversation(mut self, key: &str) -> Self {
        self.conversation_key = Some(key.to_owned());
        self
    }

    /// As the direct reply to a response.
    #[must_use]
    pub fn reply_to(mut self, provider_response_id: &str) -> Self {
        self.reply_to = Some(provider_response_id.to_owned());
        self
    }
}

/// An activation on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wire<'a> {
    pub source: &'a str,
    pub provider_event_id: &'a str,
    pub dedupe_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_key: Option<&'a str>,
    pub native_locator: &'a NativeLocator,
    pub received_at: String,
    pub parts: &'a [Part],
    pub content_digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_locator: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<&'a str>,
}

/// What became of an event. It is durable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Of the claim.
    pub activation_id: String,
    /// The event's task.
    pub task_id: String,
    /// The task's context.
    pub context_id: String,
    /// How the event came to its task.
    pub disposition: Disposition,
}

/// How an event came to its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Disposition {
    /// It made the task.
    Created,
    /// It answered what the task had asked.
    Continued,
    /// It had been accepted before.
    Duplicate,
}
