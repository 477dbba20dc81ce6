//! The request of `message:send` and `message:stream` (§3.2.1, §3.2.2).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::A2aError;
use crate::fields::{Fields, Name, Path, Violations, named, plain};
use crate::json;
use crate::message::{MAX_MESSAGE_BYTES, Message, read_client_message};
use crate::part::{MEDIA_TYPE_RULE, is_media_type};

/// Most entries of `acceptedOutputModes`.
pub const MAX_OUTPUT_MODES: usize = 64;
/// Largest `metadata` of a request, in bytes of its canonical JSON.
pub const MAX_METADATA_BYTES: usize = 64 * 1024;

const TENANT: Name = plain("tenant");
const MESSAGE: Name = plain("message");
const CONFIGURATION: Name = plain("configuration");
const METADATA: Name = plain("metadata");
const ACCEPTED_OUTPUT_MODES: Name = named("acceptedOutputModes", "accepted_output_modes");
const PUSH_CONFIG: Name = named(
    "taskPushNotificationConfig",
    "task_push_notification_config",
);
const HISTORY_LENGTH: Name = named("historyLength", "history_length");
const RETURN_IMMEDIATELY: Name = named("returnImmediately", "return_immediately");

/// A message to accept and how the client wants to be answered, within the contract's limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SendRequest {
    /// What to accept.
    pub message: Message,
    /// How to answer.
    pub configuration: Configuration,
    /// The client's own fields of the request, which are not part of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// How a client wants to be answered (`SendMessageConfiguration`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// Media types that the client can take; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
    /// Most messages of history in the answer: `None` all, 0 none (§3.2.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    /// Answer once the task is durable, rather than once it is settled.
    #[serde(default)]
    pub return_immediately: bool,
}

impl SendRequest {
    /// Reads a request body.
    ///
    /// # Errors
    /// As [`json::parse`] and [`SendRequest::from_value`].
    pub fn parse(body: &[u8]) -> Result<Self, A2aError> {
        SendRequest::from_value(json::parse(body)?)
    }

    /// Checks a request against the contract.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) with every field at fault;
    /// [`PayloadTooLarge`](crate::error::Reason::PayloadTooLarge) naming `message` or `metadata`;
    /// [`PushNotificationNotSupported`](crate::error::Reason::PushNotificationNotSupported) when the request is sound
    /// but asks for notifications.
    pub fn from_value(request: Value) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let root = Path::Root("");
        let Some(mut fields) = Fields::of(request, &root, &mut violations) else {
            return violations.or(()).and(Err(A2aError::internal()));
        };
        if fields
            .text(TENANT, &mut violations)
            .is_some_and(|tenant| !tenant.is_empty())
        {
            violations.add(
                fields.at(TENANT),
                "must be absent: this agent has no tenants",
            );
        }
        let message = match fields.take(MESSAGE, &mut violations) {
            Some(value) => read_client_message(value, &fields.at(MESSAGE), &mut violations),
            None => {
                violations.add(fields.at(MESSAGE), "is required");
                None
            }
        };
        let (configuration, wants_push) = match fields.take(CONFIGURATION, &mut violations) {
            Some(value) => read_configuration(value, &fields.at(CONFIGURATION), &mut violations),
            None => (Configuration::default(), false),
        };
        let metadata = fields.object(METADATA, &mut violations);

        let Some(message) = violations.or(message)? else {
            // Unreachable: a message is withheld only with a violation.
            return Err(A2aError::internal());
        };
        if json::canonical_len(&message) > MAX_MESSAGE_BYTES {
            return Err(A2aError::too_large("message", MAX_MESSAGE_BYTES));
        }
        if metadata
            .as_ref()
            .is_some_and(|metadata| json::canonical_len(metadata) > MAX_METADATA_BYTES)
        {
            return Err(A2aError::too_large("metadata", MAX_METADATA_BYTES));
        }
        if wants_push {
            return Err(A2aError::push_notification_not_supported());
        }
        Ok(SendRequest {
            message,
            configuration,
            metadata,
        })
    }
}

/// The configuration, and whether it asks for push notifications.
fn read_configuration(
    value: Value,
    path: &Path<'_>,
    violations: &mut Violations,
) -> (Configuration, bool) {
    let Some(mut fields) = Fields::of(value, path, violations) else {
        return (Configuration::default(), false);
    };
    let accepted_output_modes = fields.texts(
        ACCEPTED_OUTPUT_MODES,
        MAX_OUTPUT_MODES,
        is_media_type,
        MEDIA_TYPE_RULE,
        violations,
    );
    let history_length = match fields.take(HISTORY_LENGTH, violations) {
        Some(value) => {
            let length = as_count(&value);
            if length.is_none() {
                violations.add(
                    fields.at(HISTORY_LENGTH),
                    "must be an integer from 0 to 2147483647",
                );
            }
            length
        }
        None => None,
    };
    let return_immediately = match fields.take(RETURN_IMMEDIATELY, violations) {
        Some(Value::Bool(value)) => value,
        Some(_) => {
            violations.add(fields.at(RETURN_IMMEDIATELY), "must be true or false");
            false
        }
        None => false,
    };
    let wants_push = fields.take(PUSH_CONFIG, violations).is_some();
    (
        Configuration {
            accepted_output_modes,
            history_length,
            return_immediately,
        },
        wants_push,
    )
}

/// A JSON number that is a non-negative `int32`, as ProtoJSON reads one: `2.0` is 2.
fn as_count(value: &Value) -> Option<u32> {
    let number = value.as_f64()?;
    let is_count = number.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number in the range of int32"
    )]
    is_count.then_some(number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;
    use proptest::prelude::*;
    use serde_json::json;

    fn request() -> Value {
        json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}})
    }

    fn configured(configuration: Value) -> Value {
        let mut request = request();
        request["configuration"] = configuration;
        request
    }

    fn refused(request: Value) -> Vec<String> {
        let error = SendRequest::from_value(request).unwrap_err();
        assert_eq!(error.reason, Reason::InvalidRequest);
        error
            .violations
            .iter()
            .map(|violation| violation.field.clone())
            .collect()
    }

    #[test]
    fn a_message_alone_is_a_request() {
        let read = SendRequest::parse(request().to_string().as_bytes()).unwrap();
        assert_eq!(read.message.message_id, "m-1");
        assert_eq!(read.configuration, Configuration::default());
        assert_eq!(read.metadata, None);
    }

    #[test]
    fn the_configuration_is_read() {
        let mut request = configured(json!({
            "acceptedOutputModes": ["text/plain", "application/json"],
            "historyLength": 3,
            "returnImmediately": true,
            "blocking": true,
        }));
        request["metadata"] = json!({"trace": "x"});
        let read = SendRequest::from_value(request).unwrap();
        assert_eq!(
            read.configuration,
            Configuration {
                accepted_output_modes: vec!["text/plain".into(), "application/json".into()],
                history_length: Some(3),
                return_immediately: true,
            }
        );
        assert_eq!(read.metadata, json!({"trace": "x"}).as_object().cloned());
    }

    #[test]
    fn an_accepted_output_mode_is_printable_ascii_on_one_line() {
        for mode in ["", "text/plain\n", "text/\u{e4}", "a\u{0}b", "\r"] {
            let request = configured(json!({"acceptedOutputModes": ["text/plain", mode]}));
            assert_eq!(
                refused(request),
                ["configuration.acceptedOutputModes[1]"],
                "{mode:?}"
            );
        }
    }

    #[test]
    fn null_and_default_values_are_absent() {
        let request = json!({
            "tenant": "", "message": request()["message"], "metadata": null,
            "configuration": {
                "acceptedOutputModes": null, "historyLength": null, "returnImmediately": null,
                "taskPushNotificationConfig": null,
            },
        });
        assert_eq!(
            SendRequest::from_value(request).unwrap().configuration,
            Configuration::default()
        );
    }

    #[test]
    fn a_history_length_is_a_non_negative_integer() {
        for (value, expected) in [
            (json!(0), 0),
            (json!(2.0), 2),
            (json!(i32::MAX), 2_147_483_647),
        ] {
            let read =
                SendRequest::from_value(configured(json!({"historyLength": value}))).unwrap();
            assert_eq!(read.configuration.history_length, Some(expected));
        }
        for value in [
            json!(-1),
            json!(1.5),
            json!("1"),
            json!(true),
            json!(2_147_483_648_u64),
            json!(1e300),
        ] {
            assert_eq!(
                refused(configured(json!({"historyLength": value}))),
                ["configuration.historyLength"]
            );
        }
    }

    #[test]
    fn fields_of_another_type_are_refused_by_path() {
        assert_eq!(refused(json!([])), ["body"]);
        assert_eq!(refused(json!({})), ["message"]);
        assert_eq!(refused(json!({"message": "hi"})), ["message"]);
        assert_eq!(refused(configured(json!(1))), ["configuration"]);
        assert_eq!(
            refused(configured(
                json!({"returnImmediately": "yes", "acceptedOutputModes": ["", 1]})
            )),
            [
                "configuration.acceptedOutputModes[0]",
                "configuration.acceptedOutputModes[1]",
                "configuration.returnImmediately"
            ]
        );
        assert_eq!(
            refused(json!({"message": request()["message"], "metadata": []})),
            ["metadata"]
        );
    }

    #[test]
    fn all_that_is_wrong_is_reported_at_once_up_to_sixteen() {
        let request = json!({
            "tenant": "t",
            "message": {"messageId": "m 1", "role": "ROLE_AGENT", "parts": [{"text": 1}]},
            "configuration": {"historyLength": -1},
        });
        assert_eq!(
            refused(request),
            [
                "tenant",
                "message.messageId",
                "message.role",
                "message.parts[0].text",
                "configuration.historyLength"
            ]
        );
        let many = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": vec![json!({}); 100]}});
        assert_eq!(refused(many).len(), 16);
    }

    #[test]
    fn a_push_notification_config_is_not_supported() {
        let request =
            configured(json!({"taskPushNotificationConfig": {"url": "https://example.com"}}));
        let error = SendRequest::from_value(request).unwrap_err();
        assert_eq!(error.reason, Reason::PushNotificationNotSupported);
    }

    #[test]
    fn a_message_is_at_most_256_kib() {
        let sized = |bytes: usize| {
            let mut request = request();
            let without_text =
                json::canonical_len(&SendRequest::from_value(request.clone()).unwrap().message) - 5;
            request["message"]["parts"][0]["text"] = Value::from("x".repeat(bytes - without_text));
            SendRequest::from_value(request)
        };
        assert!(sized(MAX_MESSAGE_BYTES).is_ok());
        let error = sized(MAX_MESSAGE_BYTES + 1).unwrap_err();
        assert_eq!(
            (error.reason, error.http_status()),
            (Reason::PayloadTooLarge, 413)
        );
        assert_eq!(error.violations[0].field, "message");
    }

    #[test]
    fn request_metadata_is_at_most_64_kib() {
        let mut request = request();
        request["metadata"] = json!({"k": "x".repeat(MAX_METADATA_BYTES)});
        let error = SendRequest::from_value(request).unwrap_err();
        assert_eq!(
            (error.reason, error.violations[0].field.as_str()),
            (Reason::PayloadTooLarge, "metadata")
        );
    }

    /// Requests near the contract: each field is absent, right, or of some other shape.
    fn any_request() -> impl Strategy<Value = Value> {
        let value = || {
            prop_oneof![
                Just(json!(null)),
                Just(json!("")),
                Just(json!("m-1")),
                Just(json!("a b")),
                Just(json!(1)),
                Just(json!(-1)),
                Just(json!(true)),
                Just(json!([])),
                Just(json!({})),
                Just(json!("ROLE_USER")),
                Just(json!([{"text": "a"}])),
                Just(json!([{"data": null}, {"raw": "aGk"}])),
                Just(json!(["urn:a"])),
                Just(json!([{"text": "a", "url": "b"}])),
                ".{0,8}".prop_map(Value::from),
            ]
        };
        let object = |names: &'static [&'static str]| {
            prop::collection::btree_map(prop::sample::select(names), value(), 0..=names.len())
                .prop_map(|map| {
                    Value::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
                })
        };
        let message = object(&[
            "messageId",
            "message_id",
            "contextId",
            "taskId",
            "role",
            "parts",
            "metadata",
            "extensions",
            "referenceTaskIds",
            "future",
        ]);
        let configuration = object(&[
            "acceptedOutputModes",
            "historyLength",
            "returnImmediately",
            "taskPushNotificationConfig",
        ]);
        (any::<bool>(), message, configuration, value()).prop_map(
            |(sound, mut message, configuration, other)| {
                if sound {
                    message["messageId"] = json!("m-1");
                    message["role"] = json!("ROLE_USER");
                    message["parts"] = json!([{"text": "hello"}]);
                }
                json!({"message": message, "configuration": configuration, "metadata": other})
            },
        )
    }

    proptest! {
        #[test]
        fn a_request_is_refused_by_field_or_round_trips(request in any_request()) {
            match SendRequest::parse(request.to_string().as_bytes()) {
                Ok(read) => {
                    let again = json!({
                        "message": read.message, "configuration": read.configuration, "metadata": read.metadata,
                    });
                    prop_assert_eq!(SendRequest::from_value(again).unwrap(), read.clone());
                    let boundary = serde_json::to_string(&read).unwrap();
                    prop_assert_eq!(serde_json::from_str::<SendRequest>(&boundary).unwrap(), read);
                }
                Err(error) if error.reason == Reason::PushNotificationNotSupported => {}
                Err(error) => {
                    prop_assert_eq!(error.http_status(), 400);
                    prop_assert!(!error.violations.is_empty());
                    prop_assert!(error.violations.iter().all(|violation| !violation.field.is_empty()));
                }
            }
        }
    }
}
