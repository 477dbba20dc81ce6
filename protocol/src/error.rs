//! The caller's errors: what went wrong, in which field, and what would be right.
//!
//! One shape serves every surface (A2A §11.6): `{"error": {"code", "status", "message", "details"}}`, with a
//! `google.rpc.ErrorInfo` always and a `google.rpc.BadRequest` when fields are named. Errors of ours (a storage
//! failure, a bug) are logged where they arise and reach a caller as [`Reason::Internal`] and nothing more.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use serde_json::json;

/// The `domain` of every `ErrorInfo` (§11.6).
pub const DOMAIN: &str = "a2a-protocol.org";

/// The media type of every error body (§11.6).
pub const CONTENT_TYPE: &str = "application/a2a+json";

/// Most field violations that one error carries.
pub const MAX_VIOLATIONS: usize = 16;

/// Declares [`Reason`] with, for each variant, its stable name, its HTTP status and its `google.rpc.Code` name.
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $http:literal, $status:literal;)*) => {
        /// Why a request was refused: stable across versions, safe to match on and to count.
        ///
        /// The name travels as `ErrorInfo.reason`. The first nine are the A2A error types of §3.3.2 with the statuses
        /// of §5.4; the others are this endpoint's own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Reason {
            /// Every reason, in the order of declaration.
            pub const ALL: &[Reason] = &[$(Reason::$variant,)*];

            /// The name on the wire, UPPER_SNAKE without an "Error" suffix (§11.6).
            pub const fn as_str(self) -> &'static str {
                match self { $(Reason::$variant => $name,)* }
            }

            /// The HTTP status that the reason is answered with.
            pub const fn http_status(self) -> u16 {
                match self { $(Reason::$variant => $http,)* }
            }

            /// The `google.rpc.Code` name that travels as `error.status`.
            pub const fn rpc_status(self) -> &'static str {
                match self { $(Reason::$variant => $status,)* }
            }
        }
    };
}

reasons! {
    /// No such task for this principal; a foreign task gets the same answer.
    TaskNotFound = "TASK_NOT_FOUND", 404, "NOT_FOUND";
    /// The task is terminal, so there is nothing left to cancel.
    TaskNotCancelable = "TASK_NOT_CANCELABLE", 400, "FAILED_PRECONDITION";
    /// Push notifications are off. 501 rather than §5.4's 400: the card declares them absent on every verb.
    PushNotificationNotSupported = "PUSH_NOTIFICATION_NOT_SUPPORTED", 501, "UNIMPLEMENTED";
    /// The operation does not apply to the task in its state.
    UnsupportedOperation = "UNSUPPORTED_OPERATION", 400, "FAILED_PRECONDITION";
    /// The request's media type, or a part's, cannot be processed.
    ContentTypeNotSupported = "CONTENT_TYPE_NOT_SUPPORTED", 400, "INVALID_ARGUMENT";
    /// The agent behind this endpoint answered with something that is not A2A.
    InvalidAgentResponse = "INVALID_AGENT_RESPONSE", 500, "INTERNAL";
    /// The requested protocol version is not 1.0.
    VersionNotSupported = "VERSION_NOT_SUPPORTED", 400, "FAILED_PRECONDITION";
    /// The card requires an extension that the request did not activate.
    ExtensionSupportRequired = "EXTENSION_SUPPORT_REQUIRED", 400, "FAILED_PRECONDITION";
    /// The card declares no extended card.
    ExtendedAgentCardNotConfigured = "EXTENDED_AGENT_CARD_NOT_CONFIGURED", 400, "FAILED_PRECONDITION";

    /// The request breaks the contract; the violations name the fields.
    InvalidRequest = "INVALID_REQUEST", 400, "INVALID_ARGUMENT";
    /// No credential, or one that is not known.
    Unauthenticated = "UNAUTHENTICATED", 401, "UNAUTHENTICATED";
    /// A known credential whose role does not open this route.
    PermissionDenied = "PERMISSION_DENIED", 403, "PERMISSION_DENIED";
    /// No such route.
    NotFound = "NOT_FOUND", 404, "NOT_FOUND";
    /// The route exists, with other methods: the `Allow` header lists them.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405, "UNIMPLEMENTED";
    /// The `messageId` was accepted before with another payload.
    DuplicateMessageId = "DUPLICATE_MESSAGE_ID", 409, "ALREADY_EXISTS";
    /// The live turn of that task is not the one named: nothing changed.
    TurnNotLive = "TURN_NOT_LIVE", 409, "ABORTED";
    /// A newer session of this resident has taken over.
    SessionSuperseded = "SESSION_SUPERSEDED", 409, "ABORTED";
    /// The task's source declares no way for its caller to answer, so a question would strand it.
    NoContinuation = "NO_CONTINUATION", 409, "ABORTED";
    /// The output's name is not among those that the workflow declares.
    OutputNotDeclared = "OUTPUT_NOT_DECLARED", 400, "INVALID_ARGUMENT";
    /// No workflow is configured, so no output can be recorded.
    WorkflowNotConfigured = "WORKFLOW_NOT_CONFIGURED", 400, "FAILED_PRECONDITION";
    /// There is one of that name already.
    AlreadyExists = "ALREADY_EXISTS", 409, "ALREADY_EXISTS";
    /// No agent is enabled under this alias.
    AgentNotConfigured = "AGENT_NOT_CONFIGURED", 404, "NOT_FOUND";
    /// There is no registry in which agents could be searched for.
    RegistryNotConfigured = "REGISTRY_NOT_CONFIGURED", 501, "UNIMPLEMENTED";
    /// An agent's definition refers to a secret that is not there, or not for that agent.
    AuthorizationUnresolved = "AUTHORIZATION_UNRESOLVED", 400, "FAILED_PRECONDITION";
    /// No valid card was had of a remote agent.
    CardUnreachable = "CARD_UNREACHABLE", 502, "UNAVAILABLE";
    /// A remote agent's card offers no interface that can be used.
    InterfaceUnsupported = "INTERFACE_UNSUPPORTED", 400, "FAILED_PRECONDITION";
    /// A remote agent did not answer, or not as an A2A agent does.
    RemoteFailed = "REMOTE_FAILED", 502, "UNAVAILABLE";
    /// A body, a message or an artifact over its cap. Not a quota: the same request will never pass.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413, "INVALID_ARGUMENT";
    /// Too much at once, or a quota is used up; the same request may pass later.
    ResourceExhausted = "RESOURCE_EXHAUSTED", 429, "RESOURCE_EXHAUSTED";
    /// Our fault. The log says more, the caller is told nothing internal.
    Internal = "INTERNAL", 500, "INTERNAL";
    /// The deployment has no readable credentials; only the card is served.
    CredentialsNotConfigured = "CREDENTIALS_NOT_CONFIGURED", 503, "UNAVAILABLE";
    /// A part of the endpoint cannot be reached now; retrying is safe.
    Unavailable = "UNAVAILABLE", 503, "UNAVAILABLE";
    /// An object did not answer in time; the outcome is unknown and retrying with the same ids is safe.
    DeadlineExceeded = "DEADLINE_EXCEEDED", 504, "DEADLINE_EXCEEDED";
    /// No such context for this principal; a foreign one gets the same answer.
    ContextNotFound = "CONTEXT_NOT_FOUND", 404, "NOT_FOUND";
    /// No task of that exact locator is being worked on.
    LocatorNotActive = "LOCATOR_NOT_ACTIVE", 404, "NOT_FOUND";
    /// The checkpoint passes an event that was not accepted.
    CheckpointAhead = "CHECKPOINT_AHEAD", 409, "FAILED_PRECONDITION";
    /// Somebody else advanced the checkpoint meanwhile.
    CheckpointMoved = "CHECKPOINT_MOVED", 409, "ABORTED";
    /// The provider's response is another task's: an anchor never moves.
    AnchorTaken = "ANCHOR_TAKEN", 409, "ALREADY_EXISTS";
    /// The operation is bound to another payload.
    DeliveryConflict = "DELIVERY_CONFLICT", 409, "ALREADY_EXISTS";
    /// The delivery was settled before, with another outcome.
    DeliverySettled = "DELIVERY_SETTLED", 409, "ABORTED";
    /// The attempt is not the one that is under way.
    DeliveryNotHeld = "DELIVERY_NOT_HELD", 409, "ABORTED";
    /// No such delivery for this principal.
    DeliveryNotFound = "DELIVERY_NOT_FOUND", 404, "NOT_FOUND";
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One field of the request that breaks the contract (`google.rpc.BadRequest.FieldViolation`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldViolation {
    /// Full path of the field as the caller wrote it, such as `message.parts[0].raw`.
    pub field: String,
    /// What would be right, such as "must be a string".
    pub description: Cow<'static, str>,
}

/// A refusal that the caller is told about.
///
/// It crosses the boundary between the Worker and its objects as JSON (`Serialize`), and leaves the Worker as
/// [`A2aError::to_json`].
///
/// One word, since most of the served code returns it or passes it on; what it says is behind [`Deref`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {}", .0.reason, .0.message)]
#[serde(transparent)]
pub struct A2aError(Box<Refusal>);

/// What an [`A2aError`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Why; decides the HTTP status.
    pub reason: Reason,
    /// For a person to read; may change between versions.
    pub message: Cow<'static, str>,
    /// Context that helps to diagnose, such as `taskId`. Never a secret, never another principal's id.
    pub metadata: BTreeMap<Cow<'static, str>, String>,
    /// The fields at fault, at most [`MAX_VIOLATIONS`].
    pub violations: Vec<FieldViolation>,
}

impl Deref for A2aError {
    type Target = Refusal;

    fn deref(&self) -> &Refusal {
        &self.0
    }
}

impl DerefMut for A2aError {
    fn deref_mut(&mut self) -> &mut Refusal {
        &mut self.0
    }
}

impl A2aError {
    /// An error of this reason, with a message for people.
    pub fn new(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        A2aError(Box::new(Refusal {
            reason,
            message: message.into(),
            metadata: BTreeMap::new(),
            violations: Vec::new(),
        }))
    }

    /// Adds a metadata entry to the `ErrorInfo`.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.metadata.insert(Cow::Borrowed(key), value.into());
        self
    }

    /// Adds a field violation, unless there are [`MAX_VIOLATIONS`] already.
    #[must_use]
    pub fn violating(
        mut self,
        field: impl Into<String>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(FieldViolation {
                field: field.into(),
                description: description.into(),
            });
        }
        self
    }

    /// One field breaks the contract: [`Reason::InvalidRequest`], 400.
    pub fn field(field: impl Into<String>, description: impl Into<Cow<'static, str>>) -> Self {
        A2aError::invalid(vec![FieldViolation {
            field: field.into(),
            description: description.into(),
        }])
    }

    /// Fields that break the contract: [`Reason::InvalidRequest`], 400. The message is that of the first.
    pub fn invalid(mut violations: Vec<FieldViolation>) -> Self {
        violations.truncate(MAX_VIOLATIONS);
        let message = match violations.first() {
            Some(first) => Cow::Owned(format!("{} {}", first.field, first.description)),
            None => Cow::Borrowed("the request is not valid"),
        };
        let mut error = A2aError::new(Reason::InvalidRequest, message);
        error.violations = violations;
        error
    }

    /// No such task for this principal. The answer holds nothing but what the caller sent, so that a foreign id and
    /// an unknown id cannot be told apart.
    pub fn task_not_found(task_id: &str) -> Self {
        A2aError::new(
            Reason::TaskNotFound,
            "there is no task of yours with this id",
        )
        .with("taskId", task_id)
    }

    /// The task is terminal and cannot be canceled.
    pub fn task_not_cancelable(task_id: &str) -> Self {
        A2aError::new(
            Reason::TaskNotCancelable,
            "the task has reached a terminal state",
        )
        .with("taskId", task_id)
    }

    /// The operation does not apply, and why.
    pub fn unsupported_operation(message: impl Into<Cow<'static, str>>) -> Self {
        A2aError::new(Reason::UnsupportedOperation, message)
    }

    /// Push notifications are off.
    pub fn push_notification_not_supported() -> Self {
        A2aError::new(
            Reason::PushNotificationNotSupported,
            "this agent sends no push notifications: poll the task or subscribe to it",
        )
    }

    /// The `messageId` was accepted before with another payload.
    pub fn duplicate_message_id(message_id: &str) -> Self {
        A2aError::new(
            Reason::DuplicateMessageId,
            "this messageId was accepted before with another payload: send new work under a new messageId",
        )
        .with("messageId", message_id)
    }

    /// A field or body larger than its cap.
    pub fn too_large(field: impl Into<String>, max_bytes: usize) -> Self {
        let field = field.into();
        A2aError::new(
            Reason::PayloadTooLarge,
            format!("{field} must be at most {max_bytes} bytes"),
        )
        .with("maxBytes", max_bytes.to_string())
        .violating(field, format!("must be at most {max_bytes} bytes"))
    }

    /// The named turn is not the live turn of that task.
    pub fn turn_not_live() -> Self {
        A2aError::new(
            Reason::TurnNotLive,
            "this turn is not the live turn of this task: nothing was changed",
        )
    }

    /// Our fault, without detail. Log the cause before making one.
    pub fn internal() -> Self {
        A2aError::new(Reason::Internal, "the request failed on our side")
    }

    /// The HTTP status of the answer.
    pub fn http_status(&self) -> u16 {
        self.reason.http_status()
    }

    /// Its message alone.
    pub fn into_message(self) -> Cow<'static, str> {
        self.0.message
    }

    /// The body of the answer (§11.6), in [`CONTENT_TYPE`].
    pub fn to_json(&self) -> String {
        let mut info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.reason.as_str(),
            "domain": DOMAIN,
        });
        if let (Some(info), false) = (info.as_object_mut(), self.metadata.is_empty()) {
            info.insert("metadata".to_owned(), json!(self.metadata));
        }
        let mut details = vec![info];
        if !self.violations.is_empty() {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": self.violations,
            }));
        }
        json!({
            "error": {
                "code": self.http_status(),
                "status": self.reason.rpc_status(),
                "message": self.message,
                "details": details,
            }
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn body(error: &A2aError) -> Value {
        serde_json::from_str(&error.to_json()).unwrap()
    }

    #[test]
    fn an_error_body_has_code_status_message_and_error_info() {
        let body = body(&A2aError::task_not_found("t-1"));
        assert_eq!(body["error"]["code"], 404);
        assert_eq!(body["error"]["status"], "NOT_FOUND");
        assert_eq!(
            body["error"]["message"],
            "there is no task of yours with this id"
        );
        assert_eq!(
            body["error"]["details"],
            json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org",
                "metadata": {"taskId": "t-1"},
            }])
        );
    }

    #[test]
    fn a_validation_error_adds_a_bad_request_naming_each_field() {
        let error = A2aError::field(
            "message.parts[0]",
            "must have exactly one of text, raw, url, data",
        )
        .violating("message.role", "must be ROLE_USER");
        assert_eq!(error.http_status(), 400);
        assert_eq!(
            error.message,
            "message.parts[0] must have exactly one of text, raw, url, data"
        );
        let body = body(&error);
        assert_eq!(
            body["error"]["details"][1],
            json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [
                    {"field": "message.parts[0]", "description": "must have exactly one of text, raw, url, data"},
                    {"field": "message.role", "description": "must be ROLE_USER"},
                ],
            })
        );
        assert_eq!(body["error"]["details"][0]["metadata"], Value::Null);
    }

    #[test]
    fn violations_are_bounded() {
        let mut error = A2aError::field("f", "d");
        for i in 0..100 {
            error = error.violating(format!("f{i}"), "d");
        }
        assert_eq!(error.violations.len(), MAX_VIOLATIONS);
        assert_eq!(
            A2aError::invalid(vec![error.violations[0].clone(); 99])
                .violations
                .len(),
            MAX_VIOLATIONS
        );
    }

    #[test]
    fn an_error_survives_the_boundary_between_worker_and_object() {
        let error = A2aError::too_large("message", 262_144).with("hint", "split it");
        let text = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<A2aError>(&text).unwrap(), error);
        let bare = A2aError::turn_not_live();
        let text = serde_json::to_string(&bare).unwrap();
        assert_eq!(serde_json::from_str::<A2aError>(&text).unwrap(), bare);
    }

    #[test]
    fn every_reason_is_upper_snake_and_an_error_status() {
        let mut names = std::collections::BTreeSet::new();
        for reason in Reason::ALL {
            let name = reason.as_str();
            assert!(names.insert(name), "{name} twice");
            assert!(
                name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'),
                "{name}"
            );
            assert!((400..600).contains(&reason.http_status()), "{name}");
            assert_eq!(serde_json::to_value(reason).unwrap(), name);
        }
    }

    #[test]
    fn the_nine_a2a_reasons_have_the_statuses_of_the_specification() {
        let expected = [
            ("TASK_NOT_FOUND", 404, "NOT_FOUND"),
            ("TASK_NOT_CANCELABLE", 400, "FAILED_PRECONDITION"),
            ("PUSH_NOTIFICATION_NOT_SUPPORTED", 501, "UNIMPLEMENTED"),
            ("UNSUPPORTED_OPERATION", 400, "FAILED_PRECONDITION"),
            ("CONTENT_TYPE_NOT_SUPPORTED", 400, "INVALID_ARGUMENT"),
            ("INVALID_AGENT_RESPONSE", 500, "INTERNAL"),
            ("VERSION_NOT_SUPPORTED", 400, "FAILED_PRECONDITION"),
            ("EXTENSION_SUPPORT_REQUIRED", 400, "FAILED_PRECONDITION"),
            (
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
                400,
                "FAILED_PRECONDITION",
            ),
        ];
        let actual: Vec<_> = Reason::ALL
            .iter()
            .take(9)
            .map(|r| (r.as_str(), r.http_status(), r.rpc_status()))
            .collect();
        assert_eq!(actual, expected);
    }
}
