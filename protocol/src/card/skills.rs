//! The skills of the card, out of `A2A_AGENT_SKILLS`: `[{"id", "name", "description", "tags"?, "examples"?,
//! "inputModes"?, "outputModes"?}]`.
//!
//! What a skill leaves out gets the factual default: its id as its tag, no examples, the endpoint's media
//! types. Anything else that the specification lets a skill say, security above all, would be a claim that
//! the code does not make true, and is refused.

use a2a::AgentSkill;
use serde_json::{Map, Value};

use super::{
    CardError, INPUT_MODES, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, OUTPUT_MODES, SKILLS, is_text,
};
use crate::configuration;
use crate::field_path::member;

/// Most skills of a card.
pub const MAX_SKILLS: usize = 64;
/// Most tags, examples or media types of a skill.
pub const MAX_TEXTS: usize = 32;

const FIELDS: [&str; 7] = [
    "id",
    "name",
    "description",
    "tags",
    "examples",
    "inputModes",
    "outputModes",
];

/// The skills, in their order. An empty array is allowed and means none configured.
pub(super) fn parse(json: &str) -> Result<Vec<AgentSkill>, CardError> {
    let document = configuration::parse(json)
        .map_err(|problem| CardError::new(SKILLS, format!("must be a JSON array: it {problem}")))?;
    let items = document
        .as_array()
        .filter(|items| items.len() <= MAX_SKILLS)
        .ok_or_else(|| {
            CardError::new(
                SKILLS,
                format!("must be a JSON array of at most {MAX_SKILLS} skills"),
            )
        })?;
    let mut skills: Vec<AgentSkill> = Vec::with_capacity(items.len());
    for (index, value) in items.iter().enumerate() {
        let path = format!("[{index}]");
        let skill = skill(value, &path)?;
        if skills.iter().any(|other| other.id == skill.id) {
            return Err(wrong(&path, "id", "must be another than the skills before"));
        }
        skills.push(skill);
    }
    Ok(skills)
}

fn skill(value: &Value, path: &str) -> Result<AgentSkill, CardError> {
    let fields = value
        .as_object()
        .ok_or_else(|| CardError::at(SKILLS, path.to_owned(), "must be an object"))?;
    if let Some(key) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(wrong(
            path,
            key,
            format!("is not configurable: a skill has {}", FIELDS.join(", ")),
        ));
    }
    let id = required(fields, path, "id", MAX_NAME_CHARS)?;
    let tags = texts(fields, path, "tags", |tag| is_text(tag, MAX_NAME_CHARS))?
        .filter(|tags| !tags.is_empty())
        .unwrap_or_else(|| vec![id.clone()]);
    let examples = texts(fields, path, "examples", |example| {
        is_text(example, MAX_DESCRIPTION_CHARS)
    })?;
    let modes = |key, default: &[&str]| {
        texts(fields, path, key, is_media_type).map(|modes| {
            let configured = modes.filter(|modes| !modes.is_empty());
            configured.unwrap_or_else(|| default.iter().map(|mode| (*mode).to_owned()).collect())
        })
    };
    Ok(AgentSkill {
        name: required(fields, path, "name", MAX_NAME_CHARS)?,
        description: required(fields, path, "description", MAX_DESCRIPTION_CHARS)?,
        id,
        tags,
        examples: Some(examples.unwrap_or_default()),
        input_modes: Some(modes("inputModes", &INPUT_MODES)?),
        output_modes: Some(modes("outputModes", &OUTPUT_MODES)?),
        security_requirements: None,
    })
}

fn required(
    fields: &Map<String, Value>,
    path: &str,
    key: &str,
    max_chars: usize,
) -> Result<String, CardError> {
    fields
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.trim().is_empty() && is_text(text, max_chars))
        .map(str::to_owned)
        .ok_or_else(|| {
            wrong(
                path,
                key,
                format!("must be a string of 1 to {max_chars} characters"),
            )
        })
}

fn texts(
    fields: &Map<String, Value>,
    path: &str,
    key: &str,
    is_right: impl Fn(&str) -> bool,
) -> Result<Option<Vec<String>>, CardError> {
    let Some(value) = fields.get(key) else {
        return Ok(None);
    };
    value
        .as_array()
        .filter(|items| items.len() <= MAX_TEXTS)
        .and_then(|items| {
            items
                .iter()
                .map(|item| {
                    item.as_str()
                        .filter(|text| !text.trim().is_empty() && is_right(text))
                        .map(str::to_owned)
                })
                .collect::<Option<Vec<_>>>()
        })
        .map(Some)
        .ok_or_else(|| {
            let items = if key.ends_with("Modes") {
                "media types, such as text/plain"
            } else {
                "strings that are not empty"
            };
            wrong(
                path,
                key,
                format!("must be an array of at most {MAX_TEXTS} {items}"),
            )
        })
}

/// `type/subtype`, each a token of RFC 9110 section 5.6.2, without parameters.
fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    text.len() <= MAX_NAME_CHARS
        && text
            .split_once('/')
            .is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

fn wrong(path: &str, key: &str, expected: impl Into<String>) -> CardError {
    CardError::at(SKILLS, member(path, key), expected)
}
