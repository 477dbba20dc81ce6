//! The typed calls between the Worker and the two object classes, and between the objects.
//!
//! A call is one JSON text, and so is its answer: `Result<Reply, A2aError>`. Each call names its reply type once, here,
//! so that a caller can't expect what the object does not answer. Parts that are passed through unread (messages,
//! tasks) travel as raw JSON and are never parsed on the way.

pub mod principal;
pub mod wake_queue;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A call to an object of class `Object`, and what it answers.
pub trait Call: Sized {
    /// Everything that may be asked of that class.
    type Object: Serialize + DeserializeOwned;
    /// What this call answers.
    type Reply: Serialize + DeserializeOwned;
    /// This call among the others.
    fn into_object(self) -> Self::Object;
}
