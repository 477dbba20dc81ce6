//! `resident agent`: a client of any A2A 1.0 agent over HTTP+JSON, whether it stands on this task plane or not.
//!
//! It finds the agent by its card and prints what the agent answers as JSON, one value a line. What the agent says is
//! somebody else's text.

use std::time::Duration;

use connection::{
    CallError, Endpoint, MAX_ANSWER_BYTES, Refusal, Token, http_client, quoted, transport,
};
use protocol::agents::target::Target;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::cli::{Agent, AgentCommand, AgentMessage};
use crate::client::USER_AGENT;
use crate::error::Failure;
use crate::shown::shown;
use crate::tools::{print, text_argument};

/// Where a card is, unless the command line says otherwise.
const CARD_PATH: &str = "/.well-known/agent-card.json";

/// The longest event of a stream, in bytes.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// The longest card, in bytes.
const MAX_CARD_BYTES: usize = 256 * 1024;

/// Runs one command.
///
/// # Errors
/// [`Failure::Usage`] before anything is sent, [`Failure::Refused`] by the agent, [`Failure::NoConnection`].
pub fn run(runtime: &Runtime, arguments: Agent) -> Result<(), Failure> {
    let endpoint = Endpoint::parse_with(&arguments.url, arguments.insecure)?;
    let token = arguments
        .token
        .map(Token::new)
        .transpose()
        .map_err(|wrong| Failure::Usage(wrong.to_string()))?;
    let client = Client::new(endpoint, token, arguments.insecure)?;
    let timeout = Duration::from_millis(arguments.timeout_ms);
    let card_path = arguments.card_path.as_deref().unwrap_or(CARD_PATH);
    if !card_path.starts_with('/') {
        return Err(Failure::Usage(
            "--card-path must begin with a slash".to_owned(),
        ));
    }
    runtime.block_on(async move {
        let card = client.card(card_path, timeout).await?;
        if matches!(arguments.command, AgentCommand::Card) {
            return tell(&card);
        }
        let base = client.interface(&card)?;
        let answer = match arguments.command {
            AgentCommand::Card => return Ok(()),
            AgentCommand::Send(message) => {
                let url = base.at("/message:send");
                client.post(&url, &sending(message)?, timeout).await?
            }
            AgentCommand::Stream(message) => {
                let url = base.at("/message:stream");
                return client.stream(&url, &sending(message)?, timeout).await;
            }
            AgentCommand::Get {
                task,
                history_length,
            } => {
                let query = history_length.map(|length| format!("?historyLength={length}"));
                let path = format!("/tasks/{}{}", segment(&task)?, query.unwrap_or_default());
                client.get(&base.at(&path), timeout).await?
            }
            AgentCommand::List { context, page_size } => {
                let mut query: Vec<String> = Vec::new();
                if let Some(context) = context {
                    query.push(format!("contextId={}", segment(&context)?));
                }
                if let Some(page_size) = page_size {
                    query.push(format!("pageSize={page_size}"));
                }
                let url = base.at(&format!("/tasks?{}", query.join("&")));
                client.get(url.trim_end_matches('?'), timeout).await?
            }
            AgentCommand::Cancel { task } => {
                let url = base.at(&format!("/tasks/{}:cancel", segment(&task)?));
                client.post(&url, &json!({}), timeout).await?
            }
        };
        tell(&answer)
    })
}

/// Prints what the agent said: every command does it here.
fn tell(answer: &Value) -> Result<(), Failure> {
    print(&shown(answer))
}

/// The body of a message.
fn sending(message: AgentMessage) -> Result<Value, Failure> {
    let text = text_argument("TEXT", message.text)?;
    let mut fields = Map::new();
    let id = message
        .message_id
        .unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    fields.insert("messageId".to_owned(), id.into());
    fields.insert("role".to_owned(), "ROLE_USER".into());
    fields.insert("parts".to_owned(), json!([{ "text": text }]));
    for (name, value) in [("taskId", message.task), ("contextId", message.context)] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value.into());
        }
    }
    let mut body = json!({ "message": fields });
    if message.no_wait
        && let Some(body) = body.as_object_mut()
    {
        body.insert(
            "configuration".to_owned(),
            json!({ "returnImmediately": true }),
        );
    }
    Ok(body)
}

/// An id as one segment of a path, or one value of a query.
fn segment(id: &str) -> Result<String, Failure> {
    if id.is_empty() || id.bytes().all(|byte| byte == b'.') {
        return Err(Failure::Usage(
            "an id must not be empty, nor dots alone".to_owned(),
        ));
    }
    let mut escaped = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(escaped)
}

struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    token: Option<Token>,
    insecure: bool,
}

impl Client {
    fn new(endpoint: Endpoint, token: Option<Token>, insecure: bool) -> Result<Self, Failure> {
        Ok(Self {
            http: http_client(&endpoint, USER_AGENT)
                .map_err(|cause| Failure::Broken(format!("no HTTP client: {cause}")))?,
            endpoint,
            token,
            insecure,
        })
    }

    /// The agent's card. The token is not sent for it.
    async fn card(&self, path: &str, timeout: Duration) -> Result<Value, Failure> {
        let request = self.http.get(self.endpoint.at(path)).timeout(timeout);
        let answer = whole(request, MAX_CARD_BYTES).await?;
        Ok(read(&answer)?)
    }

    /// The interface to use: the first that is HTTP+JSON at version 1.0, at the card's own origin where there is a token.
    fn interface(&self, card: &Value) -> Result<Endpoint, Failure> {
        let interfaces = card.get("supportedInterfaces").and_then(Value::as_array);
        let text = |interface: &Value, name: &str| {
            interface
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut found = Vec::new();
        for interface in interfaces.into_iter().flatten() {
            let kind = (
                text(interface, "protocolBinding"),
                text(interface, "protocolVersion"),
            );
            found.push(format!("{} {}", kind.0, kind.1));
            if kind != ("HTTP+JSON".to_owned(), "1.0".to_owned()) {
                continue;
            }
            let mut url = text(interface, "url");
            let tenant = text(interface, "tenant");
            if !tenant.is_empty() {
                url = format!("{}/{}", url.trim_end_matches('/'), segment(&tenant)?);
            }
            let Ok(base) = Endpoint::parse_with(&url, self.insecure) else {
                continue;
            };
            self.check_reach(&base)?;
            if self.token.is_some() && !base.is_of_origin(&self.endpoint) {
                return Err(Failure::Usage(
                    "the card leads to another origin, where the token is not sent; give that origin's URL"
                        .to_owned(),
                ));
            }
            return Ok(base);
        }
        Err(Failure::Usage(format!(
            "the agent's card offers no HTTP+JSON 1.0 interface; it offers: {}",
            quoted(&found.join(", "))
        )))
    }

    /// Checks that a card leads nowhere that only its reader can reach: a public agent's card must not turn this program
    /// into a client of what stands behind the reader's firewall.
    fn check_reach(&self, base: &Endpoint) -> Result<(), Failure> {
        if self.endpoint.is_loopback() || base.is_of_origin(&self.endpoint) {
            return Ok(());
        }
        // Whether it may be http is said by `--insecure`.
        let url = base.at("");
        let url = match url.strip_prefix("http://") {
            Some(rest) => format!("https://{rest}"),
            None => url,
        };
        Target::parse(&url, false).map(drop).map_err(|rule| {
            Failure::Usage(format!(
                "the card leads to another origin that is refused: its URL {rule}; give that URL itself if it is meant"
            ))
        })
    }

    async fn get(&self, url: &str, timeout: Duration) -> Result<Value, Failure> {
        let request = self.authorized(self.http.get(url)).timeout(timeout);
        Ok(read(&whole(request, MAX_ANSWER_BYTES).await?)?)
    }

    async fn post(&self, url: &str, body: &Value, timeout: Duration) -> Result<Value, Failure> {
        let request = self.posting(url, body).timeout(timeout);
        Ok(read(&whole(request, MAX_ANSWER_BYTES).await?)?)
    }

    /// Prints each event of a stream, until it ends. `timeout` is for each wait.
    async fn stream(&self, url: &str, body: &Value, timeout: Duration) -> Result<(), Failure> {
        let request = self
            .posting(url, body)
            .header("accept", "text/event-stream");
        let mut response = within(timeout, request.send()).await?;
        let status = response.status().as_u16();
        let is_stream = response
            .headers()
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.to_ascii_lowercase().starts_with("text/event-stream"));
        if status != 200 || !is_stream {
            let answer = body_of(&mut response, MAX_ANSWER_BYTES).await?;
            return Err(match status {
                200 => CallError::Unreadable("it is no event stream").into(),
                _ => CallError::Refused(Box::new(Refusal::read(status, &answer))).into(),
            });
        }
        let mut events = Events::default();
        while let Some(chunk) = within(timeout, response.chunk()).await? {
            for data in events.take(&chunk)? {
                tell(&read(data.as_bytes())?)?;
            }
        }
        Ok(())
    }

    fn posting(&self, url: &str, body: &Value) -> reqwest::RequestBuilder {
        self.authorized(self.http.post(url))
            .header("content-type", "application/a2a+json")
            .body(body.to_string())
    }

    fn authorized(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        let request = request.header("a2a-version", "1.0");
        match &self.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        }
    }
}

async fn within<T>(
    timeout: Duration,
    work: impl Future<Output = reqwest::Result<T>>,
) -> Result<T, CallError> {
    match tokio::time::timeout(timeout, work).await {
        Ok(done) => done.map_err(transport),
        Err(_) => Err(CallError::Lost("no answer in time".to_owned())),
    }
}

async fn whole(request: reqwest::RequestBuilder, max_bytes: usize) -> Result<Vec<u8>, CallError> {
    let mut response = request.send().await.map_err(transport)?;
    let answer = body_of(&mut response, max_bytes).await?;
    match response.status().as_u16() {
        200..=299 => Ok(answer),
        status => Err(CallError::Refused(Box::new(Refusal::read(status, &answer)))),
    }
}

async fn body_of(response: &mut reqwest::Response, max_bytes: usize) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(transport)? {
        if body.len().saturating_add(chunk.len()) > max_bytes {
            return Err(CallError::Unreadable("it is longer than is read"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn read(answer: &[u8]) -> Result<Value, CallError> {
    serde_json::from_slice(answer).map_err(|_| CallError::Unreadable("it is not JSON"))
}

/// The data of server-sent events, as the chunks of a body bring them.
#[derive(Default)]
struct Events {
    /// The line that has begun. It holds no line's end.
    rest: Vec<u8>,
    data: String,
}

impl Events {
    /// The events that are whole now. Line breaks within one become blanks: it is JSON.
    fn take(&mut self, chunk: &[u8]) -> Result<Vec<String>, CallError> {
        let mut whole = Vec::new();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if !piece.ends_with(b"\n") {
                break;
            }
            let line = String::from_utf8_lossy(&self.rest);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() && !self.data.is_empty() {
                whole.push(std::mem::take(&mut self.data));
            } else if let Some(value) = line.strip_prefix("data:") {
                if !self.data.is_empty() {
                    self.data.push(' ');
                }
                self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
            }
            self.rest.clear();
        }
        if self.rest.len().saturating_add(self.data.len()) > MAX_EVENT_BYTES {
            return Err(CallError::Unreadable("an event is longer than is read"));
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_whatever_the_chunks() {
        let stream =
            b": comment\n\ndata: {\"a\":1}\n\nevent: x\r\ndata:{\ndata: \"b\":2}\r\n\r\ndata: cut";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let mut found = Vec::new();
            for chunk in stream.chunks(size) {
                found.extend(events.take(chunk).unwrap());
            }
            assert_eq!(found, ["{\"a\":1}", "{ \"b\":2}"], "{size}");
        }
    }

    #[test]
    fn an_event_is_bounded() {
        let mut events = Events::default();
        assert!(events.take(&vec![b'a'; MAX_EVENT_BYTES + 1]).is_err());
    }

    #[test]
    fn an_id_is_one_segment() {
        assert_eq!(segment("a/b c").unwrap(), "a%2Fb%20c");
        assert!(segment("..").is_err());
        assert!(segment("").is_err());
    }

    #[test]
    fn the_interface_is_http_json_1_0_where_the_token_may_go() {
        let client = |token: Option<&str>| {
            let endpoint = Endpoint::parse("https://agent.example").unwrap();
            let token = token.map(|token| Token::new(token.to_owned()).unwrap());
            Client::new(endpoint, token, false).unwrap()
        };
        let card = |url: &str, binding: &str| {
            json!({"supportedInterfaces": [
                {"url": "https://agent.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
                {"url": url, "protocolBinding": binding, "protocolVersion": "1.0", "tenant": "a b"},
            ]})
        };
        let found = client(Some("t")).interface(&card("https://agent.example/a2a/", "HTTP+JSON"));
        assert_eq!(
            found.unwrap().at("/tasks"),
            "https://agent.example/a2a/a%20b/tasks"
        );
        let elsewhere = card("https://api.example/a2a", "HTTP+JSON");
        assert!(client(Some("t")).interface(&elsewhere).is_err());
        assert!(client(None).interface(&elsewhere).is_ok());
        let none = client(None)
            .interface(&card("https://agent.example", "GRPC"))
            .unwrap_err();
        assert!(none.to_string().contains("JSONRPC 1.0, GRPC 1.0"), "{none}");
    }

    #[test]
    fn a_public_card_leads_to_no_private_address() {
        let found = |from: &str, to: &str| {
            let endpoint = Endpoint::parse_with(from, true).unwrap();
            let card = json!({"supportedInterfaces": [
                {"url": to, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            ]});
            Client::new(endpoint, None, true).unwrap().interface(&card)
        };
        for private in [
            "http://127.0.0.1:8080/a2a",
            "http://localhost/",
            "http://x.localhost/",
            "http://localhost./",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://2130706433/",
            "https://0x7f.1/",
            "http://10.0.0.1/",
            "https://192.168.0.1/",
            "http://169.254.169.254/latest",
            "http://metadata.google.internal/",
            "https://printer.local/",
        ] {
            let refused = found("https://agent.example", private).unwrap_err();
            assert!(matches!(refused, Failure::Usage(_)), "{private}");
            assert!(found("http://10.0.0.2", private).is_err(), "{private}");
            assert!(found("http://127.0.0.1:8787", private).is_ok(), "{private}");
        }
        assert!(found("https://agent.example", "https://api.example/a2a").is_ok());
        assert!(found("https://agent.example", "http://api.example/a2a").is_ok());
        assert!(found("http://10.0.0.1", "http://10.0.0.1/a2a").is_ok());
    }

    #[test]
    fn an_endless_line_in_tiny_chunks_is_read_in_linear_time() {
        let began = std::time::Instant::now();
        let mut events = Events::default();
        for _ in 0..MAX_EVENT_BYTES {
            events.take(b"x").unwrap();
        }
        assert!(events.take(b"x").is_err());
        // Searching it anew for each chunk would take minutes.
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
