//! Reading the bodies of the resident surface: each field named where it is wrong.

use durable_objects::commands::principal::TurnOutcome;
use protocol::error::A2aError;
use protocol::http::check_content_type;
use protocol::{ids, json};
use serde_json::{Map, Value};

use crate::router::Exchange;

/// The longest reason for a failed turn, in bytes.
const MAX_REASON_BYTES: usize = 4_000;

/// A body's fields. What is not asked for is ignored.
pub struct Body(Map<String, Value>);

impl From<Map<String, Value>> for Body {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields)
    }
}

impl Body {
    /// Reads the request's body; an absent one is an empty object.
    ///
    /// # Errors
    /// A body that is too large, of another media type, or no JSON object.
    pub async fn of(exchange: &Exchange<'_>) -> Result<Self, A2aError> {
        let body = exchange.body().await?;
        check_content_type(
            exchange.request.header("content-type").as_deref(),
            body.is_empty(),
        )?;
        if body.is_empty() {
            return Ok(Self(Map::new()));
        }
        match json::parse(&body)? {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(A2aError::field("body", "must be a JSON object")),
        }
    }

    /// How a turn ended: `outcome`, and the `reason` of one that failed. One that ended leaves no evidence that a reason
    /// could stand in.
    ///
    /// # Errors
    /// The field that is wrong.
    pub fn outcome(&mut self) -> Result<TurnOutcome, A2aError> {
        match self.take("outcome") {
            Some(Value::String(outcome)) if outcome == "ended" => {
                self.absent("reason", "must be absent unless outcome is failed")?;
                Ok(TurnOutcome::Ended)
            }
            Some(Value::String(outcome)) if outcome == "failed" => Ok(TurnOutcome::Failed(
                self.text("reason", MAX_REASON_BYTES)?
                    .unwrap_or_else(|| "no reason given".to_owned()),
            )),
            _ => Err(A2aError::field("outcome", "must be ended or failed")),
        }
    }

    /// Takes a field; null is absent.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// Whether a choice of two words is the second; the first where it is absent.
    ///
    /// # Errors
    /// The field, neither word. Empty text is neither.
    pub fn is_second(&mut self, name: &str, [first, second]: [&str; 2]) -> Result<bool, A2aError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::String(word)) if word == first => Ok(false),
            Some(Value::String(word)) if word == second => Ok(true),
            Some(_) => Err(A2aError::field(
                name,
                format!("must be {first} or {second}"),
            )),
        }
    }

    /// Refuses a field that would be left unread, rather than to lose what it says. Empty, it says nothing.
    ///
    /// # Errors
    /// The field, as `rule` has it.
    pub fn absent(&mut self, name: &str, rule: &'static str) -> Result<(), A2aError> {
        match self.take(name) {
            None => Ok(()),
            Some(Value::String(text)) if text.is_empty() => Ok(()),
            Some(Value::Array(items)) if items.is_empty() => Ok(()),
            Some(_) => Err(A2aError::field(name, rule)),
        }
    }

    /// An identifier that must be there.
    ///
    /// # Errors
    /// The field, absent or no identifier.
    pub fn identifier(&mut self, name: &str) -> Result<String, A2aError> {
        let text = self
            .text(name, usize::MAX)?
            .ok_or_else(|| A2aError::field(name, "is required"))?;
        ids::check(name, &text)?;
        Ok(text)
    }

    /// Text of at most `max_bytes`, if it is there. Empty text is absent.
    ///
    /// # Errors
    /// The field, no text or too long.
    pub fn text(&mut self, name: &str, max_bytes: usize) -> Result<Option<String>, A2aError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) if text.len() <= max_bytes => Ok(Some(text)),
            Some(Value::String(_)) => Err(A2aError::too_large(name, max_bytes)),
            Some(_) => Err(A2aError::field(name, "must be a string")),
        }
    }

    /// A whole number from 0 to `max`, or `default` where it is absent.
    ///
    /// # Errors
    /// The field, anything else.
    pub fn number(&mut self, name: &str, max: u32, default: u32) -> Result<u32, A2aError> {
        match self.take(name) {
            None => Ok(default),
            Some(value) => value
                .as_u64()
                .and_then(|number| u32::try_from(number).ok())
                .filter(|number| *number <= max)
                .ok_or_else(|| {
                    A2aError::field(name, format!("must be a whole number from 0 to {max}"))
                }),
        }
    }

    /// A boolean, false where it is absent.
    ///
    /// # Errors
    /// The field, anything else.
    pub fn flag(&mut self, name: &str) -> Result<bool, A2aError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(A2aError::field(name, "must be true or false")),
        }
    }
}
