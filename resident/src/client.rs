//! The resident surface, typed: one method per route, each with what it may answer.

use std::time::Duration;

use connection::{Answer, CallError, Connection, Endpoint, Method, Request, Token};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::Failure;

/// How this program names itself to the server.
pub const USER_AGENT: &str = concat!("a2a-task-plane-resident/", env!("CARGO_PKG_VERSION"));
/// The longest reason that ends a turn, in characters.
const MAX_REASON_CHARACTERS: usize = 1000;

/// A granted turn, as it was handed out.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The turn, which every tool call names.
    pub turn_id: String,
    /// The one task that the turn is for.
    pub task_id: String,
    /// The task's context.
    pub context_id: String,
    /// 1 for the first time that this activation is offered.
    pub delivery: u32,
    /// How long the turn lives without a sign of life, in milliseconds.
    pub lease_ms: u64,
    /// The token for this turn's tools.
    pub token: Token,
}

/// What a heartbeat learned.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pulse {
    /// Whether the turn still has its authority.
    pub live: bool,
    /// The renewed lease, in milliseconds.
    #[serde(default)]
    pub lease_ms: Option<u64>,
    /// Why the turn is over: `canceled`, `expired`, `ended` or `superseded`.
    #[serde(default)]
    pub reason: Option<String>,
}

/// How a turn is reported to have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End<'a> {
    /// The command did what it could.
    Ended,
    /// The command failed, for this reason.
    Failed(&'a str),
}

/// A call of one of the tools, without the turn and task that every call names.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ToolCall {
    /// `a2a_read_task`
    Read {
        /// `text` or `json`.
        format: &'static str,
    },
    /// `a2a_complete_task`, completed
    Complete {
        /// The answer for the caller; none where it was appended before.
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<String>,
        /// A2A Parts beside the answer.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        parts: Vec<serde_json::Value>,
        /// Declared outputs to record first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<DeclaredOutput>,
    },
    /// `a2a_complete_task`, rejected
    Reject {
        /// Always `rejected`.
        outcome: &'static str,
        /// Why, for the caller.
        reason: String,
    },
    /// `a2a_record_output`
    Record(DeclaredOutput),
    /// `a2a_require_input`
    Ask {
        /// The question in plain words.
        question: String,
        /// The form of the answer.
        #[serde(rename = "requestedSchema", skip_serializing_if = "Option::is_none")]
        requested_schema: Option<Box<RawValue>>,
        /// Whether the caller is to authenticate.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        auth: bool,
    },
    /// `a2a_append_response`
    Append {
        /// The chunk.
        text: String,
        /// Whether it continues what is there.
        append: bool,
        /// Whether nothing follows.
        #[serde(rename = "lastChunk")]
        last_chunk: bool,
    },
    /// `a2a_report_progress`
    Progress {
        /// What is being done.
        note: String,
    },
    /// One of the tools that concern other agents.
    Remote {
        /// Which.
        #[serde(skip)]
        tool: &'static str,
        /// Its arguments.
        #[serde(flatten)]
        arguments: serde_json::Map<String, serde_json::Value>,
    },
}

/// A value under a name that the workflow declares.
#[derive(Debug, Serialize)]
pub struct DeclaredOutput {
    /// The declared name.
    pub output: String,
    /// A JSON object, kept as it was written.
    pub value: Box<RawValue>,
}

impl ToolCall {
    /// The tool's name in the route.
    pub fn tool(&self) -> &'static str {
        match self {
            ToolCall::Read { .. } => "a2a_read_task",
            ToolCall::Complete { .. } | ToolCall::Reject { .. } => "a2a_complete_task",
            ToolCall::Record(_) => "a2a_record_output",
            ToolCall::Ask { .. } => "a2a_require_input",
            ToolCall::Append { .. } => "a2a_append_response",
            ToolCall::Progress { .. } => "a2a_report_progress",
            ToolCall::Remote { tool, .. } => tool,
        }
    }
}

/// A client of the resident surface, with one token.
#[derive(Debug, Clone)]
pub struct Client(Connection);

impl Client {
    /// A client that sends `token` to `endpoint`, and nowhere else: redirects are not followed.
    ///
    /// # Errors
    /// [`Failure::Broken`] when no HTTP client can be made, say because the machine has no root certificates.
    pub fn new(endpoint: Endpoint, token: Token) -> Result<Self, Failure> {
        Connection::new(endpoint, token, USER_AGENT)
            .map(Self)
            .map_err(|cause| Failure::Broken(format!("no HTTP client: {cause}")))
    }

    /// The same client with the turn's token.
    pub fn for_turn(&self, turn: &Turn) -> Self {
        Self(self.0.with_token(turn.token.clone()))
    }

    /// Where this client calls.
    pub fn endpoint(&self) -> &Endpoint {
        self.0.endpoint()
    }

    /// The token this client sends.
    pub fn token(&self) -> &Token {
        self.0.token()
    }

    /// Waits up to `wait_ms` for a turn; `None` when there was no wake in time.
    ///
    /// # Errors
    /// `SESSION_SUPERSEDED` when a newer session took over.
    pub async fn take(&self, session: &str, wait_ms: u64) -> Result<Option<Turn>, CallError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            session: &'a str,
            wait_ms: u64,
        }
        #[derive(Deserialize)]
        struct Taken {
            turn: Turn,
        }
        let body = Body { session, wait_ms };
        let answer = self.post("/resident/v1/wakes:take", &body, wait_ms).await?;
        if answer.status == 204 {
            return Ok(None);
        }
        let Taken { turn } = answer.read()?;
        for id in [&turn.turn_id, &turn.task_id, &turn.context_id] {
            if !is_identifier(id) {
                return Err(CallError::Unreadable("the turn's ids are not identifiers"));
            }
        }
        Ok(Some(turn))
    }

    /// Renews the lease. With `wait_ms` the answer comes then, or as soon as the turn is over.
    pub async fn heartbeat(&self, turn_id: &str, wait_ms: u64) -> Result<Pulse, CallError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body {
            wait_ms: u64,
        }
        let path = format!("/resident/v1/turns/{turn_id}:heartbeat");
        self.post(&path, &Body { wait_ms }, wait_ms).await?.read()
    }

    /// Ends the turn, and tells what became of it, such as `settled`. A reason is cut at 1000 characters.
    ///
    /// # Errors
    /// `TURN_NOT_LIVE` when it was over before.
    pub async fn end(&self, turn_id: &str, end: End<'_>) -> Result<String, CallError> {
        #[derive(Serialize)]
        struct Body {
            outcome: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<String>,
        }
        #[derive(Deserialize)]
        struct Ended {
            disposition: String,
        }
        let body = match end {
            End::Ended => Body {
                outcome: "ended",
                reason: None,
            },
            End::Failed(reason) => Body {
                outcome: "failed",
                reason: Some(reason.chars().take(MAX_REASON_CHARACTERS).collect()),
            },
        };
        let path = format!("/resident/v1/turns/{turn_id}:end");
        let Ended { disposition } = self.post(&path, &body, 0).await?.read()?;
        Ok(disposition)
    }

    /// The task as text, between the markers for untrusted content.
    pub async fn read_text(&self, turn_id: &str, task_id: &str) -> Result<String, CallError> {
        #[derive(Deserialize)]
        struct Text {
            text: String,
        }
        let Text { text } = self
            .answer_of(turn_id, task_id, &ToolCall::Read { format: "text" })
            .await?
            .read()?;
        Ok(text)
    }

    /// Calls a tool for this turn and task, and gives the answer's bytes, which are JSON.
    ///
    /// # Errors
    /// `TURN_NOT_LIVE` outside the live turn of that task; nothing has changed then.
    pub async fn call(
        &self,
        turn_id: &str,
        task_id: &str,
        call: &ToolCall,
    ) -> Result<Vec<u8>, CallError> {
        let answer = self.answer_of(turn_id, task_id, call).await?;
        Ok(answer.body)
    }

    async fn answer_of(
        &self,
        turn_id: &str,
        task_id: &str,
        call: &ToolCall,
    ) -> Result<Answer, CallError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            turn_id: &'a str,
            task_id: &'a str,
            #[serde(flatten)]
            call: &'a ToolCall,
        }
        let path = format!("/resident/v1/tools/{}", call.tool());
        let body = Body {
            turn_id,
            task_id,
            call,
        };
        self.post(&path, &body, 0).await
    }

    async fn post(
        &self,
        path: &str,
        body: &impl Serialize,
        wait_ms: u64,
    ) -> Result<Answer, CallError> {
        let request = Request::with_body(Method::POST, path, body)?;
        self.0
            .call(request.waiting(Duration::from_millis(wait_ms)))
            .await
    }
}

/// Whether `id` is `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`, and so needs no escaping in a path or a log line.
pub fn is_identifier(id: &str) -> bool {
    id.len() <= 128
        && id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::is_identifier;

    #[test]
    fn identifiers_need_no_escaping_in_a_path() {
        for id in ["a", "0-9.A_z:1", &"x".repeat(128)] {
            assert!(is_identifier(id), "{id}");
        }
        for id in ["", "-a", "a/b", "a b", "ä", "a\n", &"x".repeat(129)] {
            assert!(!is_identifier(id), "{id}");
        }
    }
}
