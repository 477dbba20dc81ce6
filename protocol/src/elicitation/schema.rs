//! MCP's flat schema for an answer, as its revision 2025-11-25 defines it: an object whose properties are strings, numbers,
//! integers, booleans, enumerated strings or lists of them, and nothing nested. Every schema of revision 2025-06-18 is one,
//! so that an agent of either may ask.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{FieldViolation, MAX_VIOLATIONS};
use crate::field_path::{item, member, violation};

use super::value::{length, problem};

/// Most properties of a schema.
pub const MAX_PROPERTIES: usize = 64;
/// Most values of an enumeration.
pub const MAX_ENUM: usize = 256;
/// Longest name, title, description or enumerated value, in characters.
pub const MAX_TEXT_CHARS: usize = 1024;

const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// A schema that follows the rules. Serialized as itself; deserializing one checks it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct RequestedSchema(Value);

impl From<RequestedSchema> for Value {
    fn from(schema: RequestedSchema) -> Self {
        schema.0
    }
}

impl TryFrom<Value> for RequestedSchema {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        Self::parse(&value, "requestedSchema").map_err(|violations| {
            violations.first().map_or_else(String::new, |first| {
                format!("{} {}", first.field, first.description)
            })
        })
    }
}

impl RequestedSchema {
    /// Checks a schema that lies at `path`, such as `requestedSchema`.
    ///
    /// Keywords beyond those of the revision are refused: a client that renders a form from the schema
    /// would silently ignore them.
    ///
    /// # Errors
    /// Each field that is wrong, at most [`MAX_VIOLATIONS`] of them.
    pub fn parse(value: &Value, path: &str) -> Result<Self, Vec<FieldViolation>> {
        let mut check = Check(Vec::new());
        check.schema(value, path);
        if check.0.is_empty() {
            Ok(Self(value.clone()))
        } else {
            Err(check.0)
        }
    }

    /// The schema as JSON.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Checks the content of an answer that lies at `path`.
    pub(super) fn check(&self, content: &Map<String, Value>, path: &str) -> Vec<FieldViolation> {
        let properties = self.0.get("properties").and_then(Value::as_object);
        let required = self.0.get("required").and_then(Value::as_array);
        let missing = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !content.contains_key(*name))
            .map(|name| violation(member(path, name), "is required"));
        let wrong = content.iter().filter_map(|(name, value)| {
            let property = properties.and_then(|properties| properties.get(name));
            let problem = match property {
                Some(property) => problem(property, value)?,
                None if is_plain(value) => return None,
                None => "must be a string, a number, a boolean or a list of strings".to_owned(),
            };
            Some(violation(member(path, name), problem))
        });
        missing.chain(wrong).take(MAX_VIOLATIONS).collect()
    }
}

fn is_plain(value: &Value) -> bool {
    value.is_string()
        || value.is_number()
        || value.is_boolean()
        || value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string))
}

struct Check(Vec<FieldViolation>);

impl Check {
    fn fail(&mut self, path: String, description: impl Into<std::borrow::Cow<'static, str>>) {
        if self.0.len() < MAX_VIOLATIONS {
            self.0.push(violation(path, description));
        }
    }

    fn schema(&mut self, value: &Value, path: &str) {
        let Some(fields) = value.as_object() else {
            return self.fail(path.to_owned(), "must be an object");
        };
        if fields.get("type").and_then(Value::as_str) != Some("object") {
            self.fail(member(path, "type"), "must be `object`");
        }
        let empty = Map::new();
        let properties = match fields.get("properties").and_then(Value::as_object) {
            Some(properties) if properties.len() <= MAX_PROPERTIES => properties,
            _ => {
                self.fail(
                    member(path, "properties"),
                    format!("must be an object of at most {MAX_PROPERTIES} properties"),
                );
                &empty
            }
        };
        for (name, property) in properties {
            let at = member(&member(path, "properties"), name);
            if name.is_empty() || name.chars().count() > MAX_TEXT_CHARS {
                self.fail(
                    at.clone(),
                    format!("must have a name of 1 to {MAX_TEXT_CHARS} characters"),
                );
            }
            self.property(property, &at);
        }
        if let Some(required) = fields.get("required") {
            self.required(required, properties, &member(path, "required"));
        }
        if let Some(dialect) = fields.get("$schema") {
            self.text(dialect, member(path, "$schema"));
        }
        for key in fields.keys() {
            if !matches!(key.as_str(), "$schema" | "type" | "properties" | "required") {
                self.fail(
                    member(path, key),
                    "is not allowed: the schema has type, properties, required",
                );
            }
        }
    }

    fn required(&mut self, value: &Value, properties: &Map<String, Value>, path: &str) {
        let Some(names) = value
            .as_array()
            .filter(|names| names.len() <= MAX_PROPERTIES)
        else {
            return self.fail(
                path.to_owned(),
                format!("must be an array of at most {MAX_PROPERTIES} names of properties"),
            );
        };
        for (index, name) in names.iter().enumerate() {
            let known = name
                .as_str()
                .is_some_and(|name| properties.contains_key(name));
            let repeated = names.iter().take(index).any(|other| other == name);
            if !known || repeated {
                self.fail(
                    item(path, index),
                    "must name one of the properties, each at most once",
                );
            }
        }
    }

    fn property(&mut self, value: &Value, path: &str) {
        let Some(fields) = value.as_object() else {
            return self.fail(path.to_owned(), "must be an object");
        };
        let kind = fields.get("type").and_then(Value::as_str);
        let allowed: &[&str] = match kind {
            Some("string") if fields.contains_key("enum") => &["default", "enum", "enumNames"],
            Some("string") if fields.contains_key("oneOf") => &["default", "oneOf"],
            Some("string") => &["default", "minLength", "maxLength", "format"],
            Some("number" | "integer") => &["default", "minimum", "maximum"],
            Some("boolean") => &["default"],
            Some("array") => &["default", "items", "minItems", "maxItems"],
            _ => {
                return self.fail(
                    member(path, "type"),
                    "must be string, number, integer, boolean, or array of enumerated strings: the schema is flat",
                );
            }
        };
        let failed_before = self.0.len();
        if kind == Some("array") {
            self.items(fields.get("items"), &member(path, "items"));
        }
        for (key, value) in fields {
            let at = member(path, key);
            match key.as_str() {
                "type" | "items" | "default" => {}
                "title" | "description" => self.text(value, at),
                key if !allowed.contains(&key) => self.fail(
                    at,
                    format!(
                        "is not allowed here: the property has type, title, description, {}",
                        allowed.join(", ")
                    ),
                ),
                "enum" | "enumNames" => self.values(value, &at),
                "oneOf" => self.titled(value, &at),
                "minLength" | "maxLength" | "minItems" | "maxItems" => {
                    if length(value).is_none() {
                        self.fail(at, "must be a whole number that is not negative");
                    }
                }
                "minimum" | "maximum" => {
                    if !value.is_number() {
                        self.fail(at, "must be a number");
                    }
                }
                _ => {
                    if !value
                        .as_str()
                        .is_some_and(|format| FORMATS.contains(&format))
                    {
                        self.fail(at, "must be email, uri, date or date-time");
                    }
                }
            }
        }
        self.bounds(fields, path);
        // A default is an answer. Whether it follows the rest can be said where the rest is right.
        if self.0.len() == failed_before
            && let Some(problem) = fields
                .get("default")
                .and_then(|default| problem(value, default))
        {
            self.fail(member(path, "default"), problem);
        }
    }

    /// The strings that an array enumerates, with titles or without.
    fn items(&mut self, items: Option<&Value>, path: &str) {
        let fields = items.and_then(Value::as_object);
        let is_string = |fields: &Map<String, Value>| {
            fields.get("type").and_then(Value::as_str) == Some("string")
        };
        match fields.map(|fields| (fields.get("enum"), fields.get("anyOf"), fields)) {
            Some((Some(values), None, fields)) if fields.len() == 2 && is_string(fields) => {
                self.values(values, &member(path, "enum"));
            }
            Some((None, Some(titled), fields)) if fields.len() == 1 => {
                self.titled(titled, &member(path, "anyOf"));
            }
            _ => self.fail(
                path.to_owned(),
                "must be {type: string, enum} or {anyOf}: the strings to choose from",
            ),
        }
    }

    /// Enumerated strings, each with its title.
    fn titled(&mut self, value: &Value, path: &str) {
        let options = self.list(value, path, "{const, title}");
        for (index, option) in options.iter().enumerate() {
            let at = item(path, index);
            match option.as_object().filter(|fields| fields.len() == 2) {
                Some(fields) => {
                    for key in ["const", "title"] {
                        self.text(fields.get(key).unwrap_or(&Value::Null), member(&at, key));
                    }
                }
                None => self.fail(at, "must be {const, title}"),
            }
        }
    }

    fn bounds(&mut self, fields: &Map<String, Value>, path: &str) {
        let pair = |low: &str, high: &str| {
            let low = fields.get(low).and_then(Value::as_f64)?;
            Some((low, fields.get(high).and_then(Value::as_f64)?))
        };
        for (low, high) in [
            ("minLength", "maxLength"),
            ("minimum", "maximum"),
            ("minItems", "maxItems"),
        ] {
            if pair(low, high).is_some_and(|(low, high)| low > high) {
                self.fail(member(path, high), format!("must not be below {low}"));
            }
        }
        let items = |key: &str| fields.get(key).and_then(Value::as_array).map(Vec::len);
        if let (Some(values), Some(names)) = (items("enum"), items("enumNames"))
            && values != names
        {
            self.fail(
                member(path, "enumNames"),
                "must have one name for each value of enum",
            );
        }
    }

    fn values(&mut self, value: &Value, path: &str) {
        let values = self.list(value, path, "strings");
        for (index, value) in values.iter().enumerate() {
            self.text(value, item(path, index));
        }
    }

    fn list<'v>(&mut self, value: &'v Value, path: &str, what: &str) -> &'v [Value] {
        match value.as_array() {
            Some(values) if (1..=MAX_ENUM).contains(&values.len()) => values,
            _ => {
                self.fail(
                    path.to_owned(),
                    format!("must be an array of 1 to {MAX_ENUM} {what}"),
                );
                &[]
            }
        }
    }

    fn text(&mut self, value: &Value, path: String) {
        let valid = value
            .as_str()
            .is_some_and(|text| text.chars().count() <= MAX_TEXT_CHARS);
        if !valid {
            self.fail(
                path,
                format!("must be a string of at most {MAX_TEXT_CHARS} characters"),
            );
        }
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
