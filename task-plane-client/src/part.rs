//! The parts of an event: A2A Parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// An A2A Part, as JSON. The digest of an activation is over exactly this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part(Map<String, Value>);

impl Part {
    fn of(content: Value) -> Self {
        match content {
            Value::Object(fields) => Self(fields),
            _ => Self(Map::new()),
        }
    }

    /// Text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(json!({ "text": text.into() }))
    }

    /// Structured data.
    #[must_use]
    pub fn data(data: Value) -> Self {
        Self::of(json!({ "data": data }))
    }

    /// A file's bytes.
    #[must_use]
    pub fn raw(bytes: &[u8]) -> Self {
        Self::of(json!({ "raw": STANDARD.encode(bytes) }))
    }

    /// A file that is somewhere else.
    #[must_use]
    pub fn url(url: impl Into<String>) -> Self {
        Self::of(json!({ "url": url.into() }))
    }

    /// With a media type, such as `text/csv`.
    #[must_use]
    pub fn media_type(self, media_type: impl Into<String>) -> Self {
        self.with("mediaType", Value::String(media_type.into()))
    }

    /// With a file name.
    #[must_use]
    pub fn filename(self, filename: impl Into<String>) -> Self {
        self.with("filename", Value::String(filename.into()))
    }

    /// With metadata.
    #[must_use]
    pub fn metadata(self, metadata: Map<String, Value>) -> Self {
        self.with("metadata", Value::Object(metadata))
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.0.insert(field.to_owned(), value);
        self
    }
}

impl From<Part> for Value {
    fn from(Part(fields): Part) -> Self {
        Value::Object(fields)
    }
}
