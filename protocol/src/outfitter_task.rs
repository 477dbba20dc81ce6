//! The payload of `outfitter-task/v1`: the typed metadata that A2A leaves out. It travels in the metadata
//! of messages, tasks and artifacts under [`OUTFITTER_TASK_KEY`].
//!
//! A client's is validated when it activated the extension ([`validate`]); the server's own are built here.
//! On an artifact the same key holds something else, the workflow output that the artifact is.

use serde_json::{Map, Value, json};

use crate::error::{FieldViolation, MAX_VIOLATIONS};
use crate::extensions::OUTFITTER_TASK_KEY;
use crate::field_path::{item, member, violation};
use crate::http::is_uri;
use crate::version;

/// The one binding that this agent's locators name.
pub const PROTOCOL_BINDING: &str = "HTTP+JSON";
/// Most evidence references one message may name.
pub const MAX_EVIDENCE: usize = 256;
/// Longest text of any field, in bytes.
pub const MAX_TEXT_BYTES: usize = 2048;

const LOCATORS: [&str; 4] = ["task", "parent", "retryOf", "supersedes"];

/// Checks the extension's payload in a metadata object that lies at `path`, such as `message.metadata`.
///
/// The result is empty when the payload is absent or right; otherwise it names at most
/// [`MAX_VIOLATIONS`] fields. Unknown fields are violations: the schema is closed, so that free metadata
/// cannot turn into a wire contract.
#[must_use]
pub fn validate(metadata: &Map<String, Value>, path: &str) -> Vec<FieldViolation> {
    let mut check = Check(Vec::new());
    if let Some(payload) = metadata.get(OUTFITTER_TASK_KEY) {
        check.payload(payload, &member(path, OUTFITTER_TASK_KEY));
    }
    check.0.truncate(MAX_VIOLATIONS);
    check.0
}

struct Check(Vec<FieldViolation>);

impl Check {
    fn fail(&mut self, path: &str, description: impl Into<std::borrow::Cow<'static, str>>) {
        if self.0.len() < MAX_VIOLATIONS {
            self.0.push(violation(path, description));
        }
    }

    fn object<'v>(&mut self, value: &'v Value, path: &str) -> Option<&'v Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.fail(path, "must be an object");
        }
        object
    }

    fn payload(&mut self, payload: &Value, path: &str) {
        let Some(fields) = self.object(payload, path) else {
            return;
        };
        for (key, value) in fields {
            let at = member(path, key);
            match key.as_str() {
                "ticketRunId" => self.text(value, &at),
                "policyDigest" => self.policy_digest(value, &at),
                "evidence" => self.evidence(value, &at),
                "idempotency" => self.idempotency(value, &at),
                locator if LOCATORS.contains(&locator) => self.locator(value, &at),
                _ => self.fail(
                    &at,
                    "is unknown: the fields are ticketRunId, task, parent, retryOf, supersedes, \
                     policyDigest, evidence, idempotency",
                ),
            }
        }
    }

    fn text(&mut self, value: &Value, path: &str) {
        let valid = value
            .as_str()
            .is_some_and(|text| (1..=MAX_TEXT_BYTES).contains(&text.len()));
        if !valid {
            self.fail(
                path,
                format!("must be a string of 1 to {MAX_TEXT_BYTES} bytes"),
            );
        }
    }

    fn policy_digest(&mut self, value: &Value, path: &str) {
        let valid = value
            .as_str()
            .and_then(|text| text.strip_prefix("sha256:"))
            .is_some_and(|hex| {
                hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            });
        if !valid {
            self.fail(
                path,
                "must be `sha256:` and 64 lower-case hexadecimal digits",
            );
        }
    }

    fn evidence(&mut self, value: &Value, path: &str) {
        match value.as_array() {
            Some(items) if items.len() <= MAX_EVIDENCE => {
                for (index, value) in items.iter().enumerate() {
                    self.text(value, &item(path, index));
                }
            }
            _ => self.fail(
                path,
                format!("must be an array of at most {MAX_EVIDENCE} strings"),
            ),
        }
    }

    fn idempotency(&mut self, value: &Value, path: &str) {
        let Some(fields) = self.object(value, path) else {
            return;
        };
        for (key, value) in fields {
            let at = member(path, key);
            match key.as_str() {
                "messageId" | "scope" => self.text(value, &at),
                _ => self.fail(&at, "is unknown: the fields are messageId, scope"),
            }
        }
    }

    fn locator(&mut self, value: &Value, path: &str) {
        let Some(fields) = self.object(value, path) else {
            return;
        };
        for required in [
            "agentInterface",
            "protocolBinding",
            "protocolVersion",
            "taskId",
        ] {
            if !fields.contains_key(required) {
                self.fail(&member(path, required), "is required");
            }
        }
        for (key, value) in fields {
            let at = member(path, key);
            match key.as_str() {
                "agentInterface" => {
                    let valid = value
                        .as_str()
                        .is_some_and(|text| text.len() <= MAX_TEXT_BYTES && is_uri(text));
                    if !valid {
                        self.fail(
                            &at,
                            format!("must be an absolute URI of at most {MAX_TEXT_BYTES} bytes"),
                        );
                    }
                }
                "protocolVersion" => {
                    if !value.as_str().is_some_and(is_major_minor) {
                        self.fail(
                            &at,
                            "must be a version of the form Major.Minor, such as 1.0",
                        );
                    }
                }
                "protocolBinding" | "taskId" => self.text(value, &at),
                "tenant" => {
                    if value
                        .as_str()
                        .is_none_or(|text| text.len() > MAX_TEXT_BYTES)
                    {
                        self.fail(
                            &at,
                            format!("must be a string of at most {MAX_TEXT_BYTES} bytes"),
                        );
                    }
                }
                _ => self.fail(
                    &at,
                    "is unknown: the fields are agentInterface, protocolBinding, protocolVersion, \
                     tenant, taskId",
                ),
            }
        }
    }
}

fn is_major_minor(text: &str) -> bool {
    let digits =
        |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once('.')
        .is_some_and(|(major, minor)| digits(major) && digits(minor))
}

/// The full identity of a task of this agent: two servers may mint the same task id, the locator tells
/// them apart. `agent_interface` is the URL that the card names.
fn task_locator(agent_interface: &str, task_id: &str) -> Value {
    json!({
        "agentInterface": agent_interface,
        "protocolBinding": PROTOCOL_BINDING,
        "protocolVersion": version::SUPPORTED,
        "taskId": task_id,
    })
}

/// What made a task, and within whom its message id is unique. `scope` is the principal's name.
fn idempotency(message_id: &str, scope: &str) -> Value {
    json!({"messageId": message_id, "scope": scope})
}

/// The payload on a task that goes to a client which activated the extension.
#[must_use]
pub fn task_payload(agent_interface: &str, task_id: &str, message_id: &str, scope: &str) -> Value {
    json!({
        "task": task_locator(agent_interface, task_id),
        "idempotency": idempotency(message_id, scope),
    })
}

/// The payload on an artifact that is a declared workflow output: its name, the type that the workflow
/// gives it, and the object itself.
#[must_use]
pub fn output_payload(output: &str, output_type: &str, value: &Map<String, Value>) -> Value {
    json!({"output": output, "type": output_type, "value": value})
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AT: &str = "message.metadata[\"outfitter-task/v1\"]";

    fn fields(payload: Value) -> Vec<String> {
        let metadata = json!({OUTFITTER_TASK_KEY: payload, "other": {"free": [1]}});
        validate(metadata.as_object().unwrap(), "message.metadata")
            .into_iter()
            .map(|violation| violation.field)
            .collect()
    }

    fn locator() -> Value {
        task_locator("https://agent.example/a2a", "task-1")
    }

    #[test]
    fn metadata_without_the_key_and_an_empty_payload_are_right() {
        assert!(validate(&Map::new(), "message.metadata").is_empty());
        assert!(fields(json!({})).is_empty());
    }

    #[test]
    fn a_payload_with_every_field_is_right() {
        let mut with_tenant = locator();
        with_tenant["tenant"] = json!("");
        assert!(
            fields(json!({
                "ticketRunId": "run-1",
                "task": locator(),
                "parent": with_tenant,
                "retryOf": locator(),
                "supersedes": locator(),
                "policyDigest": format!("sha256:{}", "0a".repeat(32)),
                "evidence": ["sha256:abc", "x"],
                "idempotency": {"messageId": "m-1", "scope": "alice"},
            }))
            .is_empty()
        );
    }

    #[test]
    fn what_the_server_builds_is_right() {
        let payload = task_payload("http://127.0.0.1:8787", "t", "m", "alice");
        assert!(fields(payload.clone()).is_empty());
        assert_eq!(
            payload["task"],
            json!({
                "agentInterface": "http://127.0.0.1:8787",
                "protocolBinding": "HTTP+JSON",
                "protocolVersion": "1.0",
                "taskId": "t",
            })
        );
        assert_eq!(
            payload["idempotency"],
            json!({"messageId": "m", "scope": "alice"})
        );
    }

    #[test]
    fn an_output_payload_holds_name_type_and_value() {
        let value = json!({"url": "https://example.com/pr/1"});
        assert_eq!(
            output_payload("report", "document", value.as_object().unwrap()),
            json!({"output": "report", "type": "document", "value": {"url": "https://example.com/pr/1"}})
        );
    }

    #[test]
    fn each_wrong_field_is_named_by_its_full_path() {
        let with = |key: &str, value: Value| {
            let mut locator = locator();
            locator[key] = value;
            json!({"task": locator})
        };
        let table = [
            (json!("text"), ""),
            (json!(null), ""),
            (json!({"ticketRunId": ""}), ".ticketRunId"),
            (json!({"ticketRunId": 1}), ".ticketRunId"),
            (
                json!({"ticketRunId": "x".repeat(MAX_TEXT_BYTES + 1)}),
                ".ticketRunId",
            ),
            (
                json!({"policyDigest": format!("sha256:{}", "A".repeat(64))}),
                ".policyDigest",
            ),
            (json!({"policyDigest": "sha256:00"}), ".policyDigest"),
            (json!({"evidence": {}}), ".evidence"),
            (json!({"evidence": ["x", ""]}), ".evidence[1]"),
            (
                json!({"evidence": vec!["x"; MAX_EVIDENCE + 1]}),
                ".evidence",
            ),
            (json!({"idempotency": []}), ".idempotency"),
            (
                json!({"idempotency": {"messageId": ""}}),
                ".idempotency.messageId",
            ),
            (json!({"idempotency": {"scope": 5}}), ".idempotency.scope"),
            (json!({"idempotency": {"key": "x"}}), ".idempotency.key"),
            (json!({"task": "t-1"}), ".task"),
            (json!({"retryOf": null}), ".retryOf"),
            (with("protocolVersion", json!("1")), ".task.protocolVersion"),
            (
                with("protocolVersion", json!("1.0.1")),
                ".task.protocolVersion",
            ),
            (with("protocolVersion", json!(1.0)), ".task.protocolVersion"),
            (
                with("agentInterface", json!("not a uri")),
                ".task.agentInterface",
            ),
            (
                with("agentInterface", json!("/relative")),
                ".task.agentInterface",
            ),
            (with("protocolBinding", json!("")), ".task.protocolBinding"),
            (with("taskId", json!("")), ".task.taskId"),
            (with("tenant", json!(null)), ".task.tenant"),
            (with("extra", json!(1)), ".task.extra"),
            (json!({"output": "x"}), ".output"),
            (json!({"a key": 1}), "[\"a key\"]"),
        ];
        for (payload, path) in table {
            assert_eq!(
                fields(payload.clone()),
                [format!("{AT}{path}")],
                "{payload}"
            );
        }
    }

    #[test]
    fn a_locator_without_its_fields_names_each_of_them() {
        assert_eq!(
            fields(json!({"parent": {}})),
            [
                "agentInterface",
                "protocolBinding",
                "protocolVersion",
                "taskId"
            ]
            .map(|field| format!("{AT}.parent.{field}"))
        );
    }

    #[test]
    fn violations_are_bounded() {
        let wrong = vec![json!(0); MAX_EVIDENCE];
        assert_eq!(fields(json!({"evidence": wrong})).len(), MAX_VIOLATIONS);
    }

    proptest! {
        #[test]
        fn any_locator_fields_are_accepted_or_named(uri in "\\PC{0,30}", version in "[0-9.]{0,6}") {
            let payload = json!({"task": {
                "agentInterface": uri, "protocolBinding": "HTTP+JSON", "protocolVersion": version, "taskId": "t",
            }});
            for field in fields(payload) {
                prop_assert!(field.starts_with(AT));
            }
        }
    }
}
