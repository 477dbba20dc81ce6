//! A request to a remote agent and what comes of it, as the object carries it out.

use protocol::agents::address::encode;

/// One request. The object adds the headers of the agent's definition, resolved, where the request goes to that
/// definition's origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Where.
    pub url: String,
    /// The body, JSON.
    pub body: Option<String>,
    /// Validators of a card that is held: `If-None-Match` and `If-Modified-Since`.
    pub validators: Vec<(&'static str, String)>,
}

/// An answer, whatever its status. A redirect is one: it is not followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The body, at most as long as was asked for.
    pub body: Vec<u8>,
    /// `Cache-Control`.
    pub cache_control: Option<String>,
    /// `Age`.
    pub age: Option<String>,
    /// `Expires`.
    pub expires: Option<String>,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// An answer.
    Answered(Response),
    /// None in time.
    TimedOut,
    /// No connection, or it broke.
    Unreachable,
    /// More than is read.
    TooLarge,
    /// It was not sent: the definition refers to this name, which leads to nothing.
    Unresolved(String),
    /// It was not sent: the agent is not to be reached any more under this alias, or elsewhere.
    Withdrawn,
}

impl Exchange {
    /// Fetches a card.
    #[must_use]
    pub fn card(url: String, validators: Vec<(&'static str, String)>) -> Self {
        Self {
            method: "GET",
            url,
            body: None,
            validators,
        }
    }

    /// Sends a message, and wants to know at once what becomes of it.
    pub(super) fn send(interface: &str, message: &str) -> Self {
        const CONFIGURATION: &str = "{\"returnImmediately\":true,\"historyLength\":0}";
        Self::post(
            format!("{interface}/message:send"),
            format!("{{\"message\":{message},\"configuration\":{CONFIGURATION}}}"),
        )
    }

    /// Reads a task, without its history.
    pub(super) fn poll(interface: &str, remote_task_id: &str) -> Self {
        let id = encode(remote_task_id);
        Self::card(
            format!("{interface}/tasks/{id}?historyLength=0"),
            Vec::new(),
        )
    }

    /// Asks that a task be canceled.
    pub(super) fn cancel(interface: &str, remote_task_id: &str) -> Self {
        let id = encode(remote_task_id);
        Self::post(format!("{interface}/tasks/{id}:cancel"), "{}".to_owned())
    }

    /// Opens a stream of a task's events.
    pub(super) fn subscribe(interface: &str, remote_task_id: &str) -> Self {
        let id = encode(remote_task_id);
        Self::card(format!("{interface}/tasks/{id}:subscribe"), Vec::new())
    }

    fn post(url: String, body: String) -> Self {
        Self {
            method: "POST",
            url,
            body: Some(body),
            validators: Vec::new(),
        }
    }
}

impl Outcome {
    /// What an agent that asked is told of a failure: nothing of where the remote agent is.
    pub(super) fn complaint(&self) -> String {
        match self {
            Self::Answered(response) if (300..400).contains(&response.status) => {
                "it redirects, which is not followed".to_owned()
            }
            Self::Answered(response) => {
                let reason = protocol::agents::answer::refusal_reason(&response.body);
                match reason {
                    Some(reason) => format!("it answered {} {reason}", response.status),
                    None => format!("it answered {}", response.status),
                }
            }
            Self::TimedOut => "it did not answer in time".to_owned(),
            Self::Unreachable => "it could not be reached".to_owned(),
            Self::TooLarge => "its answer is too large".to_owned(),
            Self::Unresolved(name) => {
                format!(
                    "the definition refers to {name}, which this deployment has not for this agent"
                )
            }
            Self::Withdrawn => {
                "it is not enabled under this alias any more, or it has moved".to_owned()
            }
        }
    }

    /// Whether the same request may succeed later.
    pub(super) const fn is_transient(&self) -> bool {
        match self {
            Self::Answered(response) => {
                response.status >= 500 || matches!(response.status, 408 | 425 | 429)
            }
            Self::TimedOut | Self::Unreachable => true,
            Self::TooLarge | Self::Unresolved(_) | Self::Withdrawn => false,
        }
    }

    /// The body of a success.
    pub(super) fn success(&self) -> Option<&[u8]> {
        match self {
            Self::Answered(response) if (200..300).contains(&response.status) => {
                Some(&response.body)
            }
            _ => None,
        }
    }
}
