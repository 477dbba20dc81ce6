//! The trusted surface: one method per route.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use connection::{CallError, Connection, Endpoint, Method, Request, Token};
use protocol::ids::is_identifier;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::activation::{self, Accepted, Activation, NativeLocator};
use crate::delivery::{Begin, Begun, Found, Settle, Settled};
use crate::digest::content_digest;
use crate::error::SetUpError;
use crate::evidence::{self, EvidencePage, EvidenceQuery, RecordedEvidence, SourceEvidence};
use crate::retry::{Repeat, Retry};
use crate::source::{Checkpoint, Continuation, Source};
use crate::task::{Located, NativeTask, SettlementPage};

/// How this library names itself to the plane.
const USER_AGENT: &str = concat!("a2a-task-plane-client/", env!("CARGO_PKG_VERSION"));

/// How long a delivery that another attempt holds is waited for: longer than it can be held.
const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// Names that are the endpoint's own, and no source's.
const RESERVED_SOURCES: [&str; 2] = ["a2a", "agents"];

/// The task plane, as one source of the principal whose credential it calls with.
#[derive(Debug, Clone)]
pub struct TaskPlane {
    connection: Connection,
    source: String,
    retry: Retry,
    longest_wait: Duration,
}

impl TaskPlane {
    /// A client that sends `token` to `endpoint` and nowhere else.
    ///
    /// # Errors
    /// A `source` that breaks the contract, and what keeps a machine from making HTTP calls.
    pub fn new(endpoint: Endpoint, token: Token, source: &str) -> Result<Self, SetUpError> {
        if !is_identifier(source) || RESERVED_SOURCES.contains(&source) {
            return Err(SetUpError::Source);
        }
        Ok(Self {
            connection: Connection::new(endpoint, token, USER_AGENT).map_err(SetUpError::Http)?,
            source: source.to_owned(),
            retry: Retry::default(),
            longest_wait: LONGEST_WAIT,
        })
    }

    /// The same client with other repetitions.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// The same client with another bound on how long [`TaskPlane::deliver`] waits for a delivery that another attempt holds.
    /// An attempt is held for at most 60 seconds; without this the bound is 90.
    #[must_use]
    pub fn with_longest_wait(mut self, longest_wait: Duration) -> Self {
        self.longest_wait = longest_wait;
        self
    }

    pub(crate) fn longest_wait(&self) -> Duration {
        self.longest_wait
    }

    /// The source's name.
    #[must_use]
    pub fn source_name(&self) -> &str {
        &self.source
    }

    /// Hands an event over. Once this returns, the plane has it for good: only now may it be acknowledged at the provider.
    ///
    /// # Errors
    /// `DUPLICATE_MESSAGE_ID` where the dedupe key was accepted with other content, or with the same described otherwise:
    /// then the refusal's `contentDigest` is that of these parts, and the event is there; `TASK_NOT_FOUND`,
    /// `UNSUPPORTED_OPERATION` and `CONTEXT_NOT_FOUND` for what it names; `RESOURCE_EXHAUSTED` while the principal has too
    /// many open tasks; `PAYLOAD_TOO_LARGE`.
    pub async fn accept(&self, activation: &Activation) -> Result<Accepted, CallError> {
        let body = activation::Wire {
            source: &self.source,
            provider_event_id: &activation.provider_event_id,
            dedupe_key: &activation.dedupe_key,
            conversation_key: activation.conversation_key.as_deref(),
            native_locator: &activation.native_locator,
            received_at: written_time(activation.received_at),
            parts: &activation.parts,
            content_digest: content_digest(&activation.parts),
            display_url: activation.display_url.as_deref(),
            evidence_locator: activation.evidence_locator.as_deref(),
            reply_to: activation.reply_to.as_deref(),
            task_id: activation.task_id.as_deref(),
            context_id: activation.context_id.as_deref(),
        };
        self.post("activations", &body).await
    }

    /// Says how the source's tasks may be continued.
    ///
    /// # Errors
    /// As any call.
    pub async fn declare(&self, continuation: &[Continuation]) -> Result<Source, CallError> {
        #[derive(Serialize)]
        struct Body<'a> {
            continuation: &'a [Continuation],
        }
        let path = format!("sources/{}", self.source);
        self.send(Method::PUT, &path, &Body { continuation }, Repeat::Safe)
            .await
    }

    /// The source as the plane keeps it, with its checkpoint.
    ///
    /// # Errors
    /// As any call.
    pub async fn source(&self) -> Result<Source, CallError> {
        self.get(&format!("sources/{}", self.source)).await
    }

    /// Keeps a checkpoint. With a version it is not repeated where its answer was lost, since it may have been kept.
    ///
    /// # Errors
    /// `CHECKPOINT_AHEAD` naming the event that was not accepted; `CHECKPOINT_MOVED` where another version stands;
    /// `PAYLOAD_TOO_LARGE`.
    pub async fn advance(&self, checkpoint: &Checkpoint) -> Result<Source, CallError> {
        let repeat = if checkpoint.version.is_some() {
            Repeat::Unsafe
        } else {
            Repeat::Safe
        };
        let path = format!("sources/{}/checkpoint", self.source);
        self.send(Method::PUT, &path, checkpoint, repeat).await
    }

    /// The task that is being worked on for exactly this locator; `None` while no turn of such a task is live.
    ///
    /// # Errors
    /// As any call.
    pub async fn locate(&self, locator: &NativeLocator) -> Result<Option<Located>, CallError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            source: &'a str,
            native_locator: &'a NativeLocator,
        }
        let body = Body {
            source: &self.source,
            native_locator: locator,
        };
        match self.post("locators:resolve", &body).await {
            Err(error) if error.has_reason("LOCATOR_NOT_ACTIVE") => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// A task, with where it came from.
    ///
    /// # Errors
    /// `TASK_NOT_FOUND`, also for a task that no native source made, unless the credential's role is `trusted`.
    pub async fn task(&self, task_id: &str) -> Result<NativeTask, CallError> {
        self.get(&format!("tasks/{}", segment(task_id)?)).await
    }

    /// Records that this response was sent for this task, so that a direct reply to it continues the task. A delivery that
    /// is delivered does that by itself.
    ///
    /// # Errors
    /// `ANCHOR_TAKEN` where it belongs to another task; `NO_CONTINUATION` where the source has not declared
    /// [`Continuation::ReplyAnchor`]; `TASK_NOT_FOUND`.
    pub async fn record_anchor(
        &self,
        provider_response_id: &str,
        task_id: &str,
    ) -> Result<(), CallError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            source: &'a str,
            provider_response_id: &'a str,
            task_id: &'a str,
        }
        #[derive(Deserialize)]
        struct Recorded {}
        let body = Body {
            source: &self.source,
            provider_response_id,
            task_id,
        };
        self.post::<Recorded>("anchors", &body).await.map(drop)
    }

    /// Begins a delivery. [`TaskPlane::deliver`] does that and all that follows.
    ///
    /// Each call is an attempt of its own. What is repeated within it, because an answer was lost, is the same attempt.
    ///
    /// `can_reconcile` says that the caller can look the mutation up; without, what a crash left in sending becomes
    /// ambiguous.
    ///
    /// # Errors
    /// `DELIVERY_CONFLICT` where the operation is bound to another payload; `TASK_NOT_FOUND`.
    pub async fn begin(&self, begin: &Begin, can_reconcile: bool) -> Result<Begun, CallError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            source: &'a str,
            #[serde(flatten)]
            begin: &'a Begin,
            can_reconcile: bool,
            attempt: String,
        }
        let body = Body {
            source: &self.source,
            begin,
            can_reconcile,
            attempt: format!("attempt-{:032x}", fastrand::u128(..)),
        };
        self.post("deliveries", &body).await
    }

    /// Settles an attempt of a delivery. The same outcome said again is answered the same.
    ///
    /// # Errors
    /// `DELIVERY_SETTLED` where it was settled otherwise; `DELIVERY_NOT_HELD` where another attempt has taken over;
    /// `DELIVERY_NOT_FOUND`.
    pub async fn settle(
        &self,
        delivery_id: &str,
        attempt: &str,
        settle: &Settle,
    ) -> Result<Settled, CallError> {
        #[derive(Serialize)]
        struct Body<'a> {
            attempt: &'a str,
            #[serde(flatten)]
            settle: &'a Settle,
        }
        let path = format!("deliveries/{}:settle", segment(delivery_id)?);
        self.post(&path, &Body { attempt, settle }).await
    }

    /// Says what a person found out about an ambiguous delivery.
    ///
    /// # Errors
    /// `DELIVERY_SETTLED` where it is known to have gone otherwise; `DELIVERY_NOT_HELD` while an attempt is under way;
    /// `DELIVERY_NOT_FOUND`.
    pub async fn reconcile(&self, delivery_id: &str, found: &Found) -> Result<Settled, CallError> {
        let path = format!("deliveries/{}:reconcile", segment(delivery_id)?);
        self.post(&path, found).await
    }

    /// Records evidence, once under its id.
    ///
    /// # Errors
    /// As any call.
    pub async fn record(&self, evidence: &SourceEvidence) -> Result<RecordedEvidence, CallError> {
        self.record_as(evidence, None, Repeat::Safe).await
    }

    /// Counts evidence in place, under its id. It is not repeated where its answer was lost, since it may have been counted.
    ///
    /// # Errors
    /// As any call.
    pub async fn count(&self, evidence: &SourceEvidence) -> Result<RecordedEvidence, CallError> {
        self.record_as(evidence, Some("COUNTER"), Repeat::Unsafe)
            .await
    }

    async fn record_as(
        &self,
        evidence: &SourceEvidence,
        aggregation: Option<&'static str>,
        repeat: Repeat,
    ) -> Result<RecordedEvidence, CallError> {
        let body = evidence::Wire {
            source: &self.source,
            evidence_id: &evidence.evidence_id,
            kind: &evidence.kind,
            detail: &evidence.detail,
            aggregation,
        };
        self.send(Method::POST, "evidence", &body, repeat).await
    }

    /// The settlements of the source's tasks after a point, oldest first: at most `page_size` of them, 1 to 100.
    ///
    /// # Errors
    /// As any call.
    pub async fn settlements(
        &self,
        after: u64,
        page_size: u32,
    ) -> Result<SettlementPage, CallError> {
        let source = &self.source;
        self.get(&format!(
            "settlements?source={source}&after={after}&pageSize={page_size}"
        ))
        .await
    }

    /// What was recorded of a principal, newest first. The credential's role must be `operator`.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` for another role.
    pub async fn evidence(
        &self,
        principal: &str,
        query: &EvidenceQuery,
    ) -> Result<EvidencePage, CallError> {
        let page_size = query.page_size.map(|size| size.to_string());
        let parameters = [
            ("principal", Some(principal)),
            ("taskId", query.task_id.as_deref()),
            ("kind", query.kind.as_deref()),
            ("from", query.from.as_deref()),
            ("before", query.before.as_deref()),
            ("pageSize", page_size.as_deref()),
            ("pageToken", query.page_token.as_deref()),
        ];
        let query: Vec<String> = parameters
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", percent_encoded(value?))))
            .collect();
        self.get_at(&format!("/operator/v1/evidence?{}", query.join("&")))
            .await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CallError> {
        self.get_at(&format!("/trusted/v1/{path}")).await
    }

    async fn get_at<T: DeserializeOwned>(&self, path: &str) -> Result<T, CallError> {
        self.retry
            .run(Repeat::Safe, async || {
                self.connection.call(Request::get(path)).await?.read()
            })
            .await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CallError> {
        self.send(Method::POST, path, body, Repeat::Safe).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        repeat: Repeat,
    ) -> Result<T, CallError> {
        let path = format!("/trusted/v1/{path}");
        self.retry
            .run(repeat, async || {
                let request = Request::with_body(method.clone(), &path, body)?;
                self.connection.call(request).await?.read()
            })
            .await
    }
}

/// An id as a segment of a path. What is no identifier names nothing, and could name another route.
fn segment(id: &str) -> Result<&str, CallError> {
    if is_identifier(id) {
        Ok(id)
    } else {
        Err(CallError::Unsendable("the id is not an identifier"))
    }
}

/// A time as the contract writes it. What is before 1970 is its beginning.
fn written_time(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    protocol::time::format(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A query's value: everything but RFC 3986's unreserved characters is escaped.
fn percent_encoded(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push_str(&protocol::digest::hex(&[byte]).to_ascii_uppercase());
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use connection::{Endpoint, Token};

    use super::{TaskPlane, percent_encoded, segment, written_time};
    use crate::error::SetUpError;

    fn plane(source: &str) -> Result<TaskPlane, SetUpError> {
        let endpoint = Endpoint::parse("http://127.0.0.1:1").unwrap();
        let token = Token::new("secret-0123".to_owned()).unwrap();
        TaskPlane::new(endpoint, token, source)
    }

    #[test]
    fn a_source_that_breaks_the_contract_has_no_client() {
        for source in ["", "a b", "a/b", "a2a", "agents", "-a"] {
            assert!(plane(source).is_err(), "{source}");
        }
        assert!(plane("chat").is_ok());
    }

    #[test]
    fn the_token_is_in_no_debug_output() {
        let shown = format!("{:?}", plane("chat").unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn an_id_can_not_lead_to_another_route() {
        assert!(segment("delivery.0a:1").is_ok());
        for id in ["", "..", "a/../b", "a?b", "a%2Fb"] {
            assert!(segment(id).is_err(), "{id}");
        }
    }

    #[test]
    fn times_are_written_with_milliseconds_in_utc() {
        let time = UNIX_EPOCH + Duration::from_millis(1_764_547_200_007);
        assert_eq!(written_time(time), "2025-12-01T00:00:00.007Z");
    }

    #[test]
    fn a_query_keeps_what_its_values_say() {
        assert_eq!(
            percent_encoded("2026-12-01T00:00:00+01:00 ä&b"),
            "2026-12-01T00%3A00%3A00%2B01%3A00%20%C3%A4%26b"
        );
    }
}
