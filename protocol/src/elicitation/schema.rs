//! MCP's flat schema for an answer, as its revision 2025-06-18 defines it: an object whose properties are
//! strings, numbers, integers, booleans or enumerated strings, and nothing nested.

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
                None if value.is_string() || value.is_number() || value.is_boolean() => {
                    return None;
                }
                None => "must be a string, a number or a boolean".to_owned(),
            };
            Some(violation(member(path, name), problem))
        });
        missing.chain(wrong).take(MAX_VIOLATIONS).collect()
    }
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
        for key in fields.keys() {
            if !matches!(key.as_str(), "type" | "properties" | "required") {
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
            Some("string") if fields.contains_key("enum") => &["enum", "enumNames"],
            Some("string") => &["minLength", "maxLength", "format"],
            Some("number" | "integer") => &["minimum", "maximum"],
            Some("boolean") => &["default"],
            _ => {
                return self.fail(
                    member(path, "type"),
                    "must be string, number, integer or boolean: the schema is flat",
                );
            }
        };
        for (key, value) in fields {
            let at = member(path, key);
            match key.as_str() {
                "type" => {}
                "title" | "description" => self.text(value, at),
                key if !allowed.contains(&key) => self.fail(
                    at,
                    format!(
                        "is not allowed here: the property has type, title, description, {}",
                        allowed.join(", ")
                    ),
                ),
                "enum" | "enumNames" => self.values(value, &at),
                "minLength" | "maxLength" => {
                    if length(value).is_none() {
                        self.fail(at, "must be a whole number that is not negative");
                    }
                }
                "minimum" | "maximum" => {
                    if !value.is_number() {
                        self.fail(at, "must be a number");
                    }
                }
                "format" => {
                    if !value
                        .as_str()
                        .is_some_and(|format| FORMATS.contains(&format))
                    {
                        self.fail(at, "must be email, uri, date or date-time");
                    }
                }
                _ => {
                    if !value.is_boolean() {
                        self.fail(at, "must be a boolean");
                    }
                }
            }
        }
        self.bounds(fields, path);
    }

    fn bounds(&mut self, fields: &Map<String, Value>, path: &str) {
        let pair = |low: &str, high: &str| {
            let low = fields.get(low).and_then(Value::as_f64)?;
            Some((low, fields.get(high).and_then(Value::as_f64)?))
        };
        for (low, high) in [("minLength", "maxLength"), ("minimum", "maximum")] {
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
        let Some(values) = value
            .as_array()
            .filter(|values| (1..=MAX_ENUM).contains(&values.len()))
        else {
            return self.fail(
                path.to_owned(),
                format!("must be an array of 1 to {MAX_ENUM} strings"),
            );
        };
        for (index, value) in values.iter().enumerate() {
            self.text(value, item(path, index));
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn parse(schema: &Value) -> Result<RequestedSchema, Vec<FieldViolation>> {
        RequestedSchema::parse(schema, "requestedSchema")
    }

    fn fields(schema: Value) -> Vec<String> {
        match parse(&schema) {
            Ok(_) => panic!("accepted: {schema}"),
            Err(violations) => violations.into_iter().map(|v| v.field).collect(),
        }
    }

    fn with_property(property: Value) -> Value {
        json!({"type": "object", "properties": {"p": property}})
    }

    #[test]
    fn every_kind_of_property_of_the_revision_is_accepted() {
        for property in [
            json!({"type": "string"}),
            json!({"type": "string", "title": "T", "description": "D", "minLength": 0, "maxLength": 9}),
            json!({"type": "string", "format": "email"}),
            json!({"type": "string", "format": "uri"}),
            json!({"type": "string", "format": "date"}),
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
            json!({"type": "number", "minimum": -1.5, "maximum": 1.5}),
            json!({"type": "integer", "minimum": 1, "maximum": 1}),
            json!({"type": "boolean", "default": true}),
        ] {
            assert!(
                parse(&with_property(property.clone())).is_ok(),
                "{property}"
            );
        }
        assert!(parse(&json!({"type": "object", "properties": {}})).is_ok());
        assert!(
            parse(&json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}))
                .is_ok()
        );
    }

    #[test]
    fn a_schema_that_is_not_flat_or_not_of_the_revision_names_the_field() {
        let p = |suffix: &str| format!("requestedSchema.properties.p{suffix}");
        let table = [
            (json!({"type": "object", "properties": {}}), p(".type")),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                p(".type"),
            ),
            (json!({"type": ["string", "null"]}), p(".type")),
            (json!({}), p(".type")),
            (json!("string"), p("")),
            (json!({"type": "string", "pattern": "a"}), p(".pattern")),
            (json!({"type": "string", "minimum": 1}), p(".minimum")),
            (json!({"type": "string", "format": "ipv4"}), p(".format")),
            (json!({"type": "string", "minLength": -1}), p(".minLength")),
            (json!({"type": "string", "minLength": 1.5}), p(".minLength")),
            (
                json!({"type": "string", "minLength": 2, "maxLength": 1}),
                p(".maxLength"),
            ),
            (json!({"type": "string", "enum": []}), p(".enum")),
            (json!({"type": "string", "enum": ["a", 1]}), p(".enum[1]")),
            (
                json!({"type": "string", "enum": ["a"], "enumNames": []}),
                p(".enumNames"),
            ),
            (
                json!({"type": "string", "enumNames": ["A"]}),
                p(".enumNames"),
            ),
            (json!({"type": "number", "minimum": "1"}), p(".minimum")),
            (
                json!({"type": "integer", "minimum": 2, "maximum": 1}),
                p(".maximum"),
            ),
            (json!({"type": "integer", "enum": [1]}), p(".enum")),
            (json!({"type": "boolean", "default": 1}), p(".default")),
            (json!({"type": "boolean", "title": 1}), p(".title")),
            (
                json!({"type": "boolean", "description": "d".repeat(MAX_TEXT_CHARS + 1)}),
                p(".description"),
            ),
        ];
        for (property, field) in table {
            let found = fields(with_property(property.clone()));
            assert!(found.contains(&field), "{property}: {found:?}");
        }
    }

    #[test]
    fn a_schema_of_another_shape_names_the_field() {
        let table = [
            (json!(null), ""),
            (json!({"properties": {}}), ".type"),
            (json!({"type": "string", "properties": {}}), ".type"),
            (json!({"type": "object"}), ".properties"),
            (json!({"type": "object", "properties": []}), ".properties"),
            (
                json!({"type": "object", "properties": {}, "required": "a"}),
                ".required",
            ),
            (
                json!({"type": "object", "properties": {}, "required": ["a"]}),
                ".required[0]",
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a", "a"]}),
                ".required[1]",
            ),
            (
                json!({"type": "object", "properties": {}, "$defs": {}}),
                "[\"$defs\"]",
            ),
            (
                json!({"type": "object", "properties": {"": {"type": "boolean"}}}),
                ".properties[\"\"]",
            ),
        ];
        for (schema, path) in table {
            assert_eq!(
                fields(schema.clone()),
                [format!("requestedSchema{path}")],
                "{schema}"
            );
        }
    }

    #[test]
    fn sizes_are_bounded() {
        let properties: Map<String, Value> = (0..=MAX_PROPERTIES)
            .map(|n| (format!("p{n}"), json!({"type": "boolean"})))
            .collect();
        assert_eq!(
            fields(json!({"type": "object", "properties": properties})),
            ["requestedSchema.properties"]
        );
        let values = vec!["x"; MAX_ENUM + 1];
        assert_eq!(
            fields(with_property(json!({"type": "string", "enum": values}))),
            ["requestedSchema.properties.p.enum"]
        );
        let wrong: Map<String, Value> = (0..MAX_PROPERTIES)
            .map(|n| (format!("p{n}"), json!(0)))
            .collect();
        assert_eq!(
            fields(json!({"type": "object", "properties": wrong})).len(),
            MAX_VIOLATIONS
        );
    }

    #[test]
    fn a_schema_is_stored_as_itself_and_checked_when_it_is_read() {
        let schema = with_property(json!({"type": "boolean"}));
        let parsed = parse(&schema).unwrap();
        assert_eq!(serde_json::to_value(&parsed).unwrap(), schema);
        assert_eq!(
            serde_json::from_value::<RequestedSchema>(schema).unwrap(),
            parsed
        );
        let error =
            serde_json::from_value::<RequestedSchema>(json!({"type": "object"})).unwrap_err();
        assert!(error.to_string().starts_with("requestedSchema.properties"));
    }

    proptest! {
        #[test]
        fn any_property_is_accepted_or_named(kind in "string|number|integer|boolean|object|\\PC{0,5}", key in "title|minLength|minimum|enum|format|default|\\PC{0,5}", value in prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!(1.5)), Just(json!("x")), Just(json!(["x"])), Just(json!({}))]) {
            let mut property = json!({"type": kind});
            property[key] = value;
            if let Err(violations) = parse(&with_property(property)) {
                prop_assert!(!violations.is_empty());
                prop_assert!(violations.iter().all(|v| v.field.starts_with("requestedSchema.properties.p")));
            }
        }
    }
}
