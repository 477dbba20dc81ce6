//! The typed calls between the Worker and the two object classes, and between the objects.
//!
//! A call is bytes in postcard's format, and so is its answer: `Result<Reply, A2aError>`. Both ends are one build, so the
//! format needs no names, and decoding it takes a fraction of the code and time that JSON would. Each call names its
//! reply type once, here, so that a caller can't expect what the object does not answer. Parts that are passed through
//! unread (messages, tasks) travel as [`JsonText`] and are never parsed on the way.

pub mod agents;
pub mod principal;
pub mod trusted;
pub mod wake_queue;

use protocol::error::A2aError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// JSON text that is passed on as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonText(String);

impl JsonText {
    /// Text that its maker knows to be JSON.
    #[must_use]
    pub fn from_text(text: String) -> Self {
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }

    /// The text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

/// `{"<field>": <json>}`.
#[must_use]
pub fn wrapped(field: &str, json: &str) -> String {
    let mut body = String::with_capacity(json.len().saturating_add(16));
    body.push_str("{\"");
    body.push_str(field);
    body.push_str("\":");
    body.push_str(json);
    body.push('}');
    body
}

/// A call or an answer that is not what this build makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a call or its answer can't be read")]
pub struct Unreadable;

/// The bytes of a call.
///
/// # Errors
/// None that is known: values of these types are always written.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, Unreadable> {
    postcard::to_allocvec(value).map_err(|_| Unreadable)
}

/// What the bytes of a call say.
///
/// # Errors
/// [`Unreadable`] where another build wrote them.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    postcard::from_bytes(bytes).map_err(|_| Unreadable)
}

/// The bytes of an answer that carries a reply.
///
/// # Errors
/// As [`encode`].
pub fn accepted(reply: &impl Serialize) -> Result<Vec<u8>, Unreadable> {
    encode(&Ok::<_, A2aError>(reply))
}

/// The bytes of an answer that refuses.
///
/// # Errors
/// As [`encode`].
pub fn refused(error: &A2aError) -> Result<Vec<u8>, Unreadable> {
    encode(&Err::<(), _>(error))
}

/// What the bytes of an answer say.
///
/// # Errors
/// As [`decode`].
pub fn answer<T: DeserializeOwned>(bytes: &[u8]) -> Result<Result<T, A2aError>, Unreadable> {
    decode(bytes)
}

/// A call to an object of class `Object`, and what it answers.
pub trait Call: Sized {
    /// Everything that may be asked of that class.
    type Object: Serialize + DeserializeOwned;
    /// What this call answers.
    type Reply: Serialize + DeserializeOwned;
    /// This call among the others.
    fn into_object(self) -> Self::Object;
}
