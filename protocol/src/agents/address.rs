//! The addresses under which an agent sees remote agents and what it had from them: `a2a://<alias>`, and below it
//! `/messages/<id>`, `/tasks/<id>` and `/tasks/<id>/artifacts/<id>` (seed *Outbound resources*).
//!
//! A remote agent's ids are its own choice. In an address they are percent-encoded, so that they stay one word.

use std::fmt;

use super::alias;
use crate::http;

/// The longest id of a remote agent that is taken, in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// What an address must be, for an error to say.
pub const RULE: &str = "must be a2a://<alias>, or an address that a tool gave below it";

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The agent, in canonical spelling.
    pub alias: String,
    /// What of it.
    pub resource: Resource,
}

/// What of an agent is addressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// The agent itself; its card, where it is read.
    Agent,
    /// A message that it answered with.
    Message(String),
    /// A task of it.
    Task(String),
    /// An artifact of a task.
    Artifact {
        /// The task.
        task_id: String,
        /// The artifact.
        artifact_id: String,
    },
}

impl Address {
    /// Reads an address; `None` where it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("a2a://")?;
        let mut segments = rest.trim_end_matches('/').split('/');
        let alias = alias::canonical(segments.next()?)?;
        let id = |text: Option<&str>| {
            let id = http::decode_segment(text?)?.into_owned();
            is_id(&id).then_some(id)
        };
        let resource = match segments.next() {
            None => Resource::Agent,
            Some("messages") => Resource::Message(id(segments.next())?),
            Some("tasks") => {
                let task_id = id(segments.next())?;
                match segments.next() {
                    None => Resource::Task(task_id),
                    Some("artifacts") => Resource::Artifact {
                        task_id,
                        artifact_id: id(segments.next())?,
                    },
                    Some(_) => return None,
                }
            }
            Some(_) => return None,
        };
        segments
            .next()
            .is_none()
            .then_some(Self { alias, resource })
    }

    /// The address of a task.
    #[must_use]
    pub fn of_task(alias: &str, task_id: &str) -> Self {
        Self {
            alias: alias.to_owned(),
            resource: Resource::Task(task_id.to_owned()),
        }
    }

    /// The address of a message.
    #[must_use]
    pub fn of_message(alias: &str, message_id: &str) -> Self {
        Self {
            alias: alias.to_owned(),
            resource: Resource::Message(message_id.to_owned()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a2a://{}", self.alias)?;
        match &self.resource {
            Resource::Agent => Ok(()),
            Resource::Message(id) => write!(formatter, "/messages/{}", encode(id)),
            Resource::Task(id) => write!(formatter, "/tasks/{}", encode(id)),
            Resource::Artifact {
                task_id,
                artifact_id,
            } => write!(
                formatter,
                "/tasks/{}/artifacts/{}",
                encode(task_id),
                encode(artifact_id)
            ),
        }
    }
}

/// Whether a remote agent's id is taken.
#[must_use]
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_ID_BYTES
}

/// An id as one segment of a path. Dots alone would be steps in it.
#[must_use]
pub fn encode(id: &str) -> String {
    let only_dots = id.bytes().all(|byte| byte == b'.');
    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) && !only_dots;
        if plain {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_names_an_agent_or_something_of_it() {
        for (text, resource) in [
            ("a2a://research", Resource::Agent),
            ("a2a://research/", Resource::Agent),
            (
                "a2a://research/messages/m",
                Resource::Message("m".to_owned()),
            ),
            (
                "a2a://research/tasks/a%2Fb",
                Resource::Task("a/b".to_owned()),
            ),
            (
                "a2a://research/tasks/t/artifacts/a",
                Resource::Artifact {
                    task_id: "t".to_owned(),
                    artifact_id: "a".to_owned(),
                },
            ),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.alias, "research");
            assert_eq!(address.resource, resource, "{text}");
        }
        assert_eq!(Address::parse("a2a://ReSearch").unwrap().alias, "research");
    }

    #[test]
    fn anything_else_is_no_address() {
        for text in [
            "",
            "research",
            "https://research",
            "a2a://",
            "a2a:///tasks/t",
            "a2a://re search",
            "a2a://research/tasks",
            "a2a://research/tasks//",
            "a2a://research/card",
            "a2a://research/tasks/t/artifacts",
            "a2a://research/tasks/t/history/1",
            "a2a://research/tasks/t/artifacts/a/b",
            "a2a://research/tasks/%ff",
        ] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_id_survives_its_address(id in "\\PC{1,40}") {
            let address = Address::of_task("a", &id);
            let text = address.to_string();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(Address::parse(&text), Some(address));
        }
    }
}
