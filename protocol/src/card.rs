//! The public Agent Card, sections 4.4 and 8.
//!
//! Identity comes from vars ([`Vars`], [`Identity`]); every claim about the protocol comes from the code,
//! and there is no var that could make one. A var that is wrong yields a [`CardError`], never a card that
//! is wrong. Making a card touches no object.

mod skills;

use std::collections::HashMap;

use a2a::{
    AgentCapabilities, AgentCard, AgentInterface, AgentProvider, AgentSkill,
    HttpAuthSecurityScheme, SecurityScheme, TRANSPORT_PROTOCOL_HTTP_JSON,
};

use crate::entity_tag;
use crate::extensions;
use crate::http;
use crate::version;

pub use skills::{MAX_SKILLS, MAX_TEXTS};

/// Longest name, version or organization, in characters.
pub const MAX_NAME_CHARS: usize = 256;
/// Longest description, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 4096;
/// Longest URL, in bytes.
pub const MAX_URL_BYTES: usize = 2048;

const NAME: &str = "A2A_AGENT_NAME";
const DESCRIPTION: &str = "A2A_AGENT_DESCRIPTION";
const VERSION: &str = "A2A_AGENT_VERSION";
const PROVIDER_ORGANIZATION: &str = "A2A_AGENT_PROVIDER_ORGANIZATION";
const PROVIDER_URL: &str = "A2A_AGENT_PROVIDER_URL";
const DOCUMENTATION_URL: &str = "A2A_AGENT_DOCUMENTATION_URL";
const ICON_URL: &str = "A2A_AGENT_ICON_URL";
const SKILLS: &str = "A2A_AGENT_SKILLS";
const PUBLIC_URL: &str = "A2A_PUBLIC_URL";

const DEFAULT_NAME: &str = "A2A agent";
const DEFAULT_DESCRIPTION: &str =
    "Takes messages as durable tasks and hands each to an agent, one at a time.";

/// The media types that this endpoint itself reads: text parts and data parts.
const INPUT_MODES: [&str; 2] = ["text/plain", "application/json"];
/// The media types that it writes: the response as text, declared outputs and questions as data.
const OUTPUT_MODES: [&str; 2] = ["text/plain", "application/json"];

/// The vars as they are set. A blank one counts as not set.
#[derive(Debug, Clone, Copy, Default)]
pub struct Vars<'a> {
    /// `A2A_AGENT_NAME`
    pub name: Option<&'a str>,
    /// `A2A_AGENT_DESCRIPTION`
    pub description: Option<&'a str>,
    /// `A2A_AGENT_VERSION`, the agent's own version, not the protocol's.
    pub version: Option<&'a str>,
    /// `A2A_AGENT_PROVIDER_ORGANIZATION`, only together with the provider's URL.
    pub provider_organization: Option<&'a str>,
    /// `A2A_AGENT_PROVIDER_URL`, only together with the organization.
    pub provider_url: Option<&'a str>,
    /// `A2A_AGENT_DOCUMENTATION_URL`
    pub documentation_url: Option<&'a str>,
    /// `A2A_AGENT_ICON_URL`
    pub icon_url: Option<&'a str>,
    /// `A2A_AGENT_SKILLS`, a JSON array.
    pub skills: Option<&'a str>,
}

/// A var that is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{var}{path} {expected}")]
pub struct CardError {
    /// The var.
    pub var: &'static str,
    /// The place inside its JSON, such as `[0].id`; empty for the whole.
    pub path: String,
    /// What would be right, such as "must be an absolute http or https URL".
    pub expected: String,
}

impl CardError {
    fn new(var: &'static str, expected: impl Into<String>) -> Self {
        Self::at(var, String::new(), expected)
    }

    fn at(var: &'static str, path: String, expected: impl Into<String>) -> Self {
        Self {
            var,
            path,
            expected: expected.into(),
        }
    }
}

/// Who the agent says it is, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    name: String,
    description: String,
    version: String,
    provider: Option<AgentProvider>,
    documentation_url: Option<String>,
    icon_url: Option<String>,
    skills: Vec<AgentSkill>,
}

/// A card ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedCard {
    /// The body.
    pub json: String,
    /// Its strong entity tag, quotes included.
    pub etag: String,
}

impl Identity {
    /// Checks the vars. What is not set gets a default that is true of any deployment.
    ///
    /// # Errors
    /// The first var that is wrong.
    pub fn from_vars(vars: &Vars<'_>) -> Result<Self, CardError> {
        let name = text(NAME, vars.name, MAX_NAME_CHARS)?.unwrap_or(DEFAULT_NAME);
        let description = text(DESCRIPTION, vars.description, MAX_DESCRIPTION_CHARS)?
            .unwrap_or(DEFAULT_DESCRIPTION);
        let version =
            text(VERSION, vars.version, MAX_NAME_CHARS)?.unwrap_or(env!("CARGO_PKG_VERSION"));
        let organization = text(
            PROVIDER_ORGANIZATION,
            vars.provider_organization,
            MAX_NAME_CHARS,
        )?;
        let provider = match (organization, url(PROVIDER_URL, vars.provider_url)?) {
            (Some(organization), Some(url)) => Some(AgentProvider {
                organization: organization.to_owned(),
                url,
            }),
            (None, None) => None,
            (Some(_), None) => {
                return Err(CardError::new(
                    PROVIDER_URL,
                    format!("must be set when {PROVIDER_ORGANIZATION} is"),
                ));
            }
            (None, Some(_)) => {
                return Err(CardError::new(
                    PROVIDER_ORGANIZATION,
                    format!("must be set when {PROVIDER_URL} is"),
                ));
            }
        };
        Ok(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            version: version.to_owned(),
            provider,
            documentation_url: url(DOCUMENTATION_URL, vars.documentation_url)?,
            icon_url: url(ICON_URL, vars.icon_url)?,
            skills: match set(vars.skills) {
                Some(json) => skills::parse(json)?,
                None => Vec::new(),
            },
        })
    }

    /// The card of this agent at an interface URL, which [`interface_url`] makes.
    #[must_use]
    pub fn card(&self, interface_url: &str) -> AgentCard {
        let bearer = SecurityScheme::HttpAuth(HttpAuthSecurityScheme {
            scheme: "Bearer".to_owned(),
            description: Some("A token that stands for one principal.".to_owned()),
            bearer_format: None,
        });
        let mut interface = AgentInterface::new(interface_url, TRANSPORT_PROTOCOL_HTTP_JSON);
        interface.protocol_version = version::SUPPORTED.to_owned();
        AgentCard {
            name: self.name.clone(),
            description: self.description.clone(),
            version: self.version.clone(),
            supported_interfaces: vec![interface],
            capabilities: AgentCapabilities {
                streaming: Some(true),
                push_notifications: Some(false),
                extensions: Some(extensions::declarations()),
                extended_agent_card: Some(false),
            },
            default_input_modes: INPUT_MODES.map(str::to_owned).to_vec(),
            default_output_modes: OUTPUT_MODES.map(str::to_owned).to_vec(),
            skills: if self.skills.is_empty() {
                vec![self.default_skill()]
            } else {
                self.skills.clone()
            },
            provider: self.provider.clone(),
            documentation_url: self.documentation_url.clone(),
            icon_url: self.icon_url.clone(),
            security_schemes: Some(HashMap::from([("bearer".to_owned(), bearer)])),
            security_requirements: Some(vec![HashMap::from([("bearer".to_owned(), Vec::new())])]),
            signatures: None,
        }
    }

    /// The card as it is sent. The same identity and URL give the same bytes.
    #[must_use]
    pub fn render(&self, interface_url: &str) -> RenderedCard {
        // Through a value, whose keys are sorted, since the model keeps maps without an order. The
        // model has string keys only and always serializes.
        let json = serde_json::to_value(self.card(interface_url))
            .map(|value| value.to_string())
            .unwrap_or_default();
        RenderedCard {
            etag: entity_tag::of(json.as_bytes()),
            json,
        }
    }

    /// A card must name a skill; with none configured it is that of taking a task.
    fn default_skill(&self) -> AgentSkill {
        AgentSkill {
            id: "task".to_owned(),
            name: self.name.clone(),
            description: self.description.clone(),
            tags: vec!["task".to_owned()],
            examples: Some(Vec::new()),
            input_modes: Some(INPUT_MODES.map(str::to_owned).to_vec()),
            output_modes: Some(OUTPUT_MODES.map(str::to_owned).to_vec()),
            security_requirements: None,
        }
    }
}

/// The URL of the interface, without a trailing slash: `A2A_PUBLIC_URL` when set, otherwise the origin that
/// the request came to ([`http::origin`]).
///
/// # Errors
/// The var is no absolute http or https URL, or has user, query or fragment.
pub fn interface_url(public_url: Option<&str>, request_origin: &str) -> Result<String, CardError> {
    let configured = set(public_url);
    let url = configured.unwrap_or(request_origin);
    if url.contains(['?', '#']) || !is_http_url(url) {
        return Err(CardError::new(
            PUBLIC_URL,
            "must be an absolute http or https URL without user, query and fragment, such as \
             https://agent.example",
        ));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn set(var: Option<&str>) -> Option<&str> {
    var.map(str::trim).filter(|value| !value.is_empty())
}

fn text<'a>(
    var: &'static str,
    value: Option<&'a str>,
    max_chars: usize,
) -> Result<Option<&'a str>, CardError> {
    match set(value) {
        Some(text) if !is_text(text, max_chars) => Err(CardError::new(
            var,
            format!(
                "must have at most {max_chars} characters and no control characters but line breaks"
            ),
        )),
        value => Ok(value),
    }
}

fn is_text(text: &str, max_chars: usize) -> bool {
    text.chars().count() <= max_chars && !text.chars().any(|c| c.is_control() && c != '\n')
}

fn url(var: &'static str, value: Option<&str>) -> Result<Option<String>, CardError> {
    match set(value) {
        Some(url) if !is_http_url(url) => {
            Err(CardError::new(var, "must be an absolute http or https URL"))
        }
        value => Ok(value.map(str::to_owned)),
    }
}

/// An absolute http or https URL with a host and, if any, a port, and without user.
fn is_http_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let host_is_right = match host.strip_prefix('[') {
        Some(address) => address
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok()),
        None => {
            host.starts_with(|c: char| c.is_ascii_alphanumeric())
                && host
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
        }
    };
    let port_is_right = port.is_none_or(|port| {
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    matches!(scheme, "http" | "https")
        && url.len() <= MAX_URL_BYTES
        && http::is_uri(url)
        && host_is_right
        && port_is_right
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
