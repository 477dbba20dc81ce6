//! What is believed of a remote agent's card, and which of its interfaces is used (seed *HTTP+JSON discovery*).

use serde_json::{Map, Value};

use super::address::{Address, Resource, encode};
use super::alias;
use super::target::Target;
use crate::json;

/// The largest card read, in bytes.
pub const MAX_CARD_BYTES: u32 = 256 * 1024;

const MAX_NAME_CHARS: usize = 80;
const MAX_VERSION_CHARS: usize = 32;
const MAX_DESCRIPTION_CHARS: usize = 240;
const MAX_SKILLS: usize = 32;
const MAX_INTERFACES: usize = 32;

/// What is kept of a card beside its text. The strings are one line each, bounded, and still somebody else's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// `name`.
    pub name: String,
    /// `version`.
    pub version: String,
    /// `description`.
    pub description: String,
    /// The ids of its skills, at most 32.
    pub skills: Vec<String>,
    /// Whether it offers streams.
    pub streaming: bool,
    /// The chosen interface's URL, without a trailing slash, its tenant included.
    pub interface: String,
}

/// Why a card is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// It is no Agent Card, and why: `card-unreachable`.
    Invalid(&'static str),
    /// It offers no interface that may be used, and what it offers: `interface-unsupported`.
    Unsupported(String),
}

/// Reads the card found at `from`. With `has_credentials`, only an interface at that origin may be used, since the
/// credentials are for that origin alone.
///
/// # Errors
/// [`Unusable`].
pub fn read(body: &[u8], from: &Target, has_credentials: bool) -> Result<Card, Unusable> {
    let card = json::parse(body).map_err(|_| Unusable::Invalid("it is not JSON"))?;
    if !card.is_object() {
        return Err(Unusable::Invalid("it is no JSON object"));
    }
    let text = |name: &str, max_chars: usize| {
        card.get(name)
            .and_then(Value::as_str)
            .map(|text| one_line(text, max_chars))
            .filter(|text| !text.is_empty())
    };
    let name = text("name", MAX_NAME_CHARS).ok_or(Unusable::Invalid("it has no name"))?;
    let interface = interface(&card, from, has_credentials)?;
    if let Some(extension) = required_extension(&card) {
        return Err(Unusable::Unsupported(format!(
            "only interfaces that require the extension {extension}"
        )));
    }
    let skills = card.get("skills").and_then(Value::as_array);
    Ok(Card {
        name,
        version: text("version", MAX_VERSION_CHARS)
            .ok_or(Unusable::Invalid("it has no version"))?,
        description: text("description", MAX_DESCRIPTION_CHARS)
            .ok_or(Unusable::Invalid("it has no description"))?,
        skills: skills
            .into_iter()
            .flatten()
            .filter_map(|skill| Some(one_line(skill.get("id")?.as_str()?, MAX_NAME_CHARS)))
            .take(MAX_SKILLS)
            .collect(),
        streaming: card
            .pointer("/capabilities/streaming")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        interface,
    })
}

/// The first interface of the card that may be used; otherwise what stands there instead.
fn interface(card: &Value, from: &Target, has_credentials: bool) -> Result<String, Unusable> {
    let Some(interfaces) = card.get("supportedInterfaces").and_then(Value::as_array) else {
        // Cards of version 0.3 have `url` and `preferredTransport` in its place.
        return Err(match card.get("url").and_then(Value::as_str) {
            Some(_) => Unusable::Unsupported(described(
                card.get("preferredTransport"),
                card.get("protocolVersion"),
                "",
            )),
            None => Unusable::Invalid("it has no supportedInterfaces"),
        });
    };
    let mut found = Vec::new();
    for interface in interfaces.iter().take(MAX_INTERFACES) {
        let (binding, version) = (
            interface.get("protocolBinding"),
            interface.get("protocolVersion"),
        );
        let speaks = binding.and_then(Value::as_str) == Some("HTTP+JSON")
            && version.and_then(Value::as_str) == Some("1.0");
        let why = if speaks {
            match usable(interface, from, has_credentials) {
                Ok(url) => return Ok(url),
                Err(why) => why,
            }
        } else {
            ""
        };
        let described = described(binding, version, why);
        if !found.contains(&described) {
            found.push(described);
        }
    }
    Err(Unusable::Unsupported(if found.is_empty() {
        "none".to_owned()
    } else {
        found.truncate(8);
        found.join(", ")
    }))
}

fn usable(interface: &Value, from: &Target, has_credentials: bool) -> Result<String, &'static str> {
    let url = interface
        .get("url")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // A card of another machine can't lead to this one.
    let target = Target::parse(url, from.is_loopback)?;
    if target.is_loopback != from.is_loopback {
        return Err("must not lead from this machine to another");
    }
    if has_credentials && target.origin != from.origin {
        return Err("is at another origin than the one the credentials are for");
    }
    match interface.get("tenant").and_then(Value::as_str) {
        None | Some("") => Ok(target.url()),
        Some(tenant) => Ok(format!("{}/{}", target.url(), encode(tenant))),
    }
}

fn described(binding: Option<&Value>, version: Option<&Value>, why: &str) -> String {
    let text = |value: Option<&Value>, unsaid: &str| {
        let text = value.and_then(Value::as_str).unwrap_or_default();
        match one_line(text, MAX_VERSION_CHARS) {
            text if text.is_empty() => unsaid.to_owned(),
            text => text,
        }
    };
    let mut described = format!(
        "{} {}",
        text(binding, "an unnamed binding"),
        text(version, "of no version")
    );
    if !why.is_empty() {
        described.push_str(&format!(" (its URL {why})"));
    }
    described
}

fn required_extension(card: &Value) -> Option<String> {
    let extensions = card.pointer("/capabilities/extensions")?.as_array()?;
    let required = extensions
        .iter()
        .find(|extension| extension.get("required").and_then(Value::as_bool) == Some(true))?;
    let uri = required
        .get("uri")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Some(one_line(uri, MAX_DESCRIPTION_CHARS))
}

impl Card {
    /// The line of the catalog: `a2a://<alias> — <card name> v<version>: <description>`.
    #[must_use]
    pub fn line(&self, alias: &str) -> String {
        let address = Address {
            alias: alias.to_owned(),
            resource: Resource::Agent,
        };
        format!(
            "{address} — {} v{}: {}",
            self.name, self.version, self.description
        )
    }

    /// The alias that the name suggests.
    #[must_use]
    pub fn slug(&self) -> String {
        alias::slug(&self.name)
    }
}

/// Somebody else's text as one line of at most `max_chars` characters: no line breaks, no control characters, nothing that
/// is not seen or that turns the direction of reading. What is left out at the end is marked.
#[must_use]
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut chars = 0_usize;
    for character in text.chars() {
        if is_hidden(character) {
            continue;
        }
        let blank = character.is_whitespace() || character.is_control();
        if blank && (line.is_empty() || line.ends_with(' ')) {
            continue;
        }
        if chars >= max_chars {
            line.truncate(line.trim_end().len());
            line.push('…');
            return line;
        }
        line.push(if blank { ' ' } else { character });
        chars = chars.saturating_add(1);
    }
    line.truncate(line.trim_end().len());
    line
}

/// What Unicode says may be left out in showing a text (Default_Ignorable_Code_Point), and its annotations. A text can hide
/// another in them.
#[must_use]
pub const fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A card without anything that is not known to say what the agent is: where it is, is not another agent's to know.
#[must_use]
pub fn shown(card: &Value) -> Value {
    const WHAT: &[&str] = &[
        "name",
        "description",
        "version",
        "defaultInputModes",
        "defaultOutputModes",
    ];
    const CAPABILITIES: &[&str] = &["streaming", "pushNotifications", "extendedAgentCard"];
    const SKILL: &[&str] = &[
        "id",
        "name",
        "description",
        "tags",
        "examples",
        "inputModes",
        "outputModes",
    ];
    let mut shown = only(card, WHAT);
    let capabilities = card.get("capabilities");
    let skills = card.get("skills").and_then(Value::as_array);
    let skills = skills.into_iter().flatten();
    shown.insert(
        "capabilities".to_owned(),
        only(capabilities.unwrap_or(&Value::Null), CAPABILITIES).into(),
    );
    shown.insert(
        "skills".to_owned(),
        skills
            .map(|skill| Value::Object(only(skill, SKILL)))
            .collect(),
    );
    shown.into()
}

/// Those fields of an object that are texts, flags, or lists of texts.
fn only(holder: &Value, names: &[&str]) -> Map<String, Value> {
    let is_plain = |value: &Value| match value {
        Value::String(_) | Value::Bool(_) => true,
        Value::Array(items) => items.iter().all(Value::is_string),
        _ => false,
    };
    let mut fields = Map::new();
    for name in names {
        if let Some(value) = holder.get(*name).filter(|value| is_plain(value)) {
            fields.insert((*name).to_owned(), value.clone());
        }
    }
    fields
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
