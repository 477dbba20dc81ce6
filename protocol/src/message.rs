//! Messages: one unit of communication (§4.1.4), validated, and as it is stored.

use a2a::Role;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fields::{Fields, Name, Path, Violations, named, plain};
use crate::ids;
use crate::part::read_parts;

/// Largest message, in bytes of its canonical JSON.
pub const MAX_MESSAGE_BYTES: usize = 256 * 1024;
/// Most entries of `extensions`.
pub const MAX_EXTENSIONS: usize = 32;
/// Longest extension URI, in bytes.
pub const MAX_URI_BYTES: usize = 2048;
/// Most entries of `referenceTaskIds`.
pub const MAX_REFERENCES: usize = 32;

const MESSAGE_ID: Name = named("messageId", "message_id");
const CONTEXT_ID: Name = named("contextId", "context_id");
const TASK_ID: Name = named("taskId", "task_id");
const ROLE: Name = plain("role");
const PARTS: Name = plain("parts");
const METADATA: Name = plain("metadata");
const EXTENSIONS: Name = plain("extensions");
const REFERENCE_TASK_IDS: Name = named("referenceTaskIds", "reference_task_ids");

/// A message within the contract's limits.
///
/// Serialized without the ids that its author named, it is the ProtoJSON text that is stored and shown; the object that
/// accepts it puts the ids of its context and task in front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Made by the message's author; the client's half of the idempotency key.
    pub message_id: String,
    /// The context that the author named, which need not be the one that the message ends up in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The task that the author named in order to continue it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Who wrote it.
    pub role: Role,
    /// 1 to 100 parts as [`crate::part::validate_parts`] leaves them.
    pub parts: Vec<Value>,
    /// The author's own fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// URIs of extensions that contributed to the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Tasks that the message refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
}

/// Reads a message that a client sends; `None` once something in it was refused.
pub(crate) fn read_client_message(
    value: Value,
    path: &Path<'_>,
    violations: &mut Violations,
) -> Option<Message> {
    let mut fields = Fields::of(value, path, violations)?;
    let message_id = read_message_id(&mut fields, violations);
    let role = read_client_role(&mut fields, violations);
    let context_id = fields.identifier(CONTEXT_ID, violations);
    let task_id = fields.identifier(TASK_ID, violations);
    let parts = match fields.take(PARTS, violations) {
        Some(Value::Array(items)) => read_parts(items, &fields.at(PARTS), violations),
        Some(_) => {
            violations.add(fields.at(PARTS), "must be a list of parts");
            Vec::new()
        }
        None => {
            violations.add(fields.at(PARTS), "is required");
            Vec::new()
        }
    };
    let metadata = fields.object(METADATA, violations);
    let extensions = fields.texts(
        EXTENSIONS,
        MAX_EXTENSIONS,
        is_uri,
        "must be a URI of at most 2048 bytes",
        violations,
    );
    let reference_task_ids = fields.texts(
        REFERENCE_TASK_IDS,
        MAX_REFERENCES,
        ids::is_identifier,
        ids::RULE,
        violations,
    );
    Some(Message {
        message_id: message_id?,
        context_id,
        task_id,
        role: role?,
        parts,
        metadata,
        extensions,
        reference_task_ids,
    })
}

fn read_message_id(fields: &mut Fields<'_>, violations: &mut Violations) -> Option<String> {
    match fields.take(MESSAGE_ID, violations) {
        Some(Value::String(text)) if ids::is_identifier(&text) => return Some(text),
        Some(Value::String(text)) if !text.is_empty() => {
            violations.add(fields.at(MESSAGE_ID), ids::RULE)
        }
        Some(Value::String(_)) | None => violations.add(fields.at(MESSAGE_ID), "is required"),
        Some(_) => violations.add(fields.at(MESSAGE_ID), "must be a string"),
    }
    None
}

/// A client speaks as the user; the agent's role is the server's to give.
fn read_client_role(fields: &mut Fields<'_>, violations: &mut Violations) -> Option<Role> {
    match fields.take(ROLE, violations) {
        Some(Value::String(name)) if name == "ROLE_USER" => return Some(Role::User),
        Some(_) => violations.add(fields.at(ROLE), "must be ROLE_USER"),
        None => violations.add(fields.at(ROLE), "is required and must be ROLE_USER"),
    }
    None
}

/// Whether the text has the form of an absolute URI (RFC 3986): a scheme, a colon, and only characters of a URI.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let starts_well = scheme
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic());
    starts_well
        && text.len() <= MAX_URI_BYTES
        && !rest.is_empty()
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Message, Vec<String>> {
        let mut violations = Violations::default();
        let message = read_client_message(value, &Path::Root("message"), &mut violations);
        match violations.or(message) {
            Ok(message) => Ok(message.unwrap()),
            Err(error) => Err(error
                .violations
                .iter()
                .map(|violation| violation.field.clone())
                .collect()),
        }
    }

    fn hello() -> Value {
        json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]})
    }

    fn hello_with(field: &str, value: Value) -> Value {
        let mut message = hello();
        message[field] = value;
        message
    }

    #[test]
    fn a_message_is_stored_as_its_author_meant_it() {
        let mut message = read(json!({
            "messageId": "m-1",
            "contextId": "wished",
            "role": "ROLE_USER",
            "parts": [{"text": "hi\n\u{2028}"}, {"data": {"b": 1, "a": 2}}],
            "metadata": {"k": null},
            "extensions": ["https://example.com/x/v1"],
            "referenceTaskIds": ["t-0"],
        }))
        .unwrap();
        assert_eq!(message.context_id.take().as_deref(), Some("wished"));
        let wire: Value = serde_json::from_str(&serde_json::to_string(&message).unwrap()).unwrap();
        assert_eq!(
            wire,
            json!({
                "messageId": "m-1",
                "role": "ROLE_USER",
                "parts": [{"text": "hi\n\u{2028}"}, {"data": {"b": 1, "a": 2}}],
                "metadata": {"k": null},
                "extensions": ["https://example.com/x/v1"],
                "referenceTaskIds": ["t-0"],
            })
        );
    }

    #[test]
    fn absent_fields_are_left_out_of_the_stored_message() {
        assert_eq!(
            serde_json::to_string(&read(hello()).unwrap()).unwrap(),
            r#"{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hello"}]}"#
        );
    }

    #[test]
    fn null_and_default_values_are_absent() {
        let mut message = hello();
        for (field, value) in [
            ("contextId", json!("")),
            ("taskId", json!(null)),
            ("metadata", json!(null)),
            ("extensions", json!([])),
            ("referenceTaskIds", json!(null)),
            ("kind", json!("message")),
        ] {
            message[field] = value;
        }
        assert_eq!(read(message), read(hello()));
    }

    #[test]
    fn a_message_needs_an_id_a_role_and_parts() {
        assert_eq!(
            read(json!({})),
            Err(vec![
                "message.messageId".into(),
                "message.role".into(),
                "message.parts".into()
            ])
        );
        assert_eq!(read(json!([])), Err(vec!["message".into()]));
        for value in [json!(null), json!(""), json!(7), json!("a b"), json!("-m")] {
            assert_eq!(
                read(hello_with("messageId", value)),
                Err(vec!["message.messageId".into()])
            );
        }
        for value in [json!(null), json!([]), json!({}), json!("text")] {
            assert_eq!(
                read(hello_with("parts", value)),
                Err(vec!["message.parts".into()])
            );
        }
    }

    #[test]
    fn a_client_speaks_only_as_the_user() {
        for role in ["ROLE_AGENT", "ROLE_UNSPECIFIED", "user", "ROLE_USER ", ""] {
            assert_eq!(
                read(hello_with("role", json!(role))),
                Err(vec!["message.role".into()]),
                "{role}"
            );
        }
        assert_eq!(
            read(hello_with("role", json!(1))),
            Err(vec!["message.role".into()])
        );
    }

    #[test]
    fn ids_outside_the_alphabet_are_refused_by_field() {
        for field in ["contextId", "taskId"] {
            for value in [json!("a/b"), json!(" "), json!(1), json!("x".repeat(129))] {
                assert_eq!(
                    read(hello_with(field, value)),
                    Err(vec![format!("message.{field}")])
                );
            }
        }
        assert_eq!(
            read(hello_with("referenceTaskIds", json!(["ok", "", 1]))),
            Err(vec![
                "message.referenceTaskIds[1]".into(),
                "message.referenceTaskIds[2]".into()
            ])
        );
        assert_eq!(
            read(hello_with("referenceTaskIds", json!(vec!["t"; 33]))),
            Err(vec!["message.referenceTaskIds".into()])
        );
    }

    #[test]
    fn extensions_are_bounded_uris() {
        assert!(
            read(hello_with(
                "extensions",
                json!(["urn:a:b", "https://example.com/v1?x=%20#y"])
            ))
            .is_ok()
        );
        for uri in [
            "",
            "no scheme",
            "1a:b",
            ":b",
            "a:",
            "a:b c",
            "a:b\n",
            "https://ä.example",
            "a:<b>",
        ] {
            assert_eq!(
                read(hello_with("extensions", json!([uri]))),
                Err(vec!["message.extensions[0]".into()]),
                "{uri}"
            );
        }
        let long = format!("urn:{}", "x".repeat(MAX_URI_BYTES));
        assert!(read(hello_with("extensions", json!([long]))).is_err());
        assert!(
            read(hello_with(
                "extensions",
                json!(vec!["urn:a"; MAX_EXTENSIONS + 1])
            ))
            .is_err()
        );
    }

    #[test]
    fn the_names_in_the_proto_are_accepted_but_not_both_names() {
        let snake = json!({
            "message_id": "m-1", "context_id": "c", "task_id": "t", "role": "ROLE_USER",
            "parts": [{"text": "hello"}], "reference_task_ids": ["r"],
        });
        let camel = json!({
            "messageId": "m-1", "contextId": "c", "taskId": "t", "role": "ROLE_USER",
            "parts": [{"text": "hello"}], "referenceTaskIds": ["r"],
        });
        assert_eq!(read(snake), read(camel.clone()));
        let mut both = camel;
        both["task_id"] = json!("t");
        assert_eq!(read(both), Err(vec!["message.taskId".into()]));
    }

    #[test]
    fn a_message_survives_the_boundary_between_worker_and_object() {
        let message = read(hello_with("metadata", json!({"a": [1]}))).unwrap();
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}
