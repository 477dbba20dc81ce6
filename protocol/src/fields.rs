//! Reading the fields of a ProtoJSON object: the rules that every message type shares.
//!
//! - A field is found under its camelCase name and under its name in `a2a.proto`; both at once is refused.
//! - `null` is absent. An empty string, list or `false` is the default of its field, and so is absent too.
//! - Unknown fields of A2A's types are ignored (§5.7): nobody takes them out of the object. Requests of this endpoint's
//!   own refuse them ([`Fields::keys`]).
//!
//! Values are moved out of the parsed object, never copied, and a path is written out only once it is part of an error.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

use crate::error::{A2aError, FieldViolation, MAX_VIOLATIONS};
use crate::ids;

/// Where a value stands in the request.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The name of the outermost value; empty for the request itself, whose fields stand alone.
    Root(&'a str),
    Field(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root("") => f.write_str("body"),
            Path::Root(name) => f.write_str(name),
            Path::Field(Path::Root(""), name) => f.write_str(name),
            Path::Field(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// What is wrong with a request, up to [`MAX_VIOLATIONS`].
#[derive(Default)]
pub(crate) struct Violations(Vec<FieldViolation>);

impl Violations {
    pub(crate) fn add(&mut self, path: Path<'_>, description: impl Into<Cow<'static, str>>) {
        if !self.is_full() {
            self.0.push(FieldViolation {
                field: path.to_string(),
                description: description.into(),
            });
        }
    }

    /// Whether looking further would add nothing.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_VIOLATIONS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The value, unless something was found wrong on the way to it.
    pub(crate) fn or<T>(self, value: T) -> Result<T, A2aError> {
        if self.is_empty() {
            Ok(value)
        } else {
            Err(A2aError::invalid(self.0))
        }
    }
}

/// A field's two names: in JSON and in `a2a.proto`.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    pub(crate) json: &'static str,
    pub(crate) proto: &'static str,
}

/// The same name in both.
pub(crate) const fn plain(name: &'static str) -> Name {
    Name {
        json: name,
        proto: name,
    }
}

/// The names of a field of several words.
pub(crate) const fn named(json: &'static str, proto: &'static str) -> Name {
    Name { json, proto }
}

/// The fields of one object that are not yet taken.
pub(crate) struct Fields<'a> {
    members: Map<String, Value>,
    path: &'a Path<'a>,
}

impl<'a> Fields<'a> {
    /// The fields of the value, which must be an object.
    pub(crate) fn of(
        value: Value,
        path: &'a Path<'a>,
        violations: &mut Violations,
    ) -> Option<Self> {
        match value {
            Value::Object(members) => Some(Fields { members, path }),
            _ => {
                violations.add(*path, "must be a JSON object");
                None
            }
        }
    }

    /// The path of a field.
    pub(crate) fn at(&self, name: Name) -> Path<'a> {
        Path::Field(self.path, name.json)
    }

    /// Takes a field out, `null` included.
    pub(crate) fn take_any(&mut self, name: Name, violations: &mut Violations) -> Option<Value> {
        let value = self.members.remove(name.json);
        if name.json == name.proto {
            return value;
        }
        match (value, self.members.remove(name.proto)) {
            (Some(value), None) | (None, Some(value)) => Some(value),
            (Some(value), Some(_)) => {
                violations.add(
                    self.at(name),
                    format!("must not be given again as {}", name.proto),
                );
                Some(value)
            }
            (None, None) => None,
        }
    }

    /// Takes a field out; `null` is absent.
    pub(crate) fn take(&mut self, name: Name, violations: &mut Violations) -> Option<Value> {
        self.take_any(name, violations)
            .filter(|value| !value.is_null())
    }

    /// Takes a string out, empty or not.
    pub(crate) fn text(&mut self, name: Name, violations: &mut Violations) -> Option<String> {
        match self.take(name, violations)? {
            Value::String(text) => Some(text),
            _ => {
                violations.add(self.at(name), "must be a string");
                None
            }
        }
    }

    /// Takes a string of at most `max_bytes` out; the empty string is absent.
    pub(crate) fn short_text(
        &mut self,
        name: Name,
        max_bytes: usize,
        violations: &mut Violations,
    ) -> Option<String> {
        let text = self
            .text(name, violations)
            .filter(|text| !text.is_empty())?;
        if text.len() > max_bytes {
            violations.add(self.at(name), format!("must be at most {max_bytes} bytes"));
            return None;
        }
        Some(text)
    }

    /// Takes an identifier out; the empty string is absent.
    pub(crate) fn identifier(&mut self, name: Name, violations: &mut Violations) -> Option<String> {
        let text = self
            .text(name, violations)
            .filter(|text| !text.is_empty())?;
        if !ids::is_identifier(&text) {
            violations.add(self.at(name), ids::RULE);
            return None;
        }
        Some(text)
    }

    /// Whether a field of one name is still there. `null` and the empty string are absent.
    pub(crate) fn has(&self, name: Name) -> bool {
        match self.members.get(name.json) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        }
    }

    /// The names of the fields that nobody took out.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.members.keys()
    }

    /// Takes an object out (`google.protobuf.Struct`).
    pub(crate) fn object(
        &mut self,
        name: Name,
        violations: &mut Violations,
    ) -> Option<Map<String, Value>> {
        match self.take(name, violations)? {
            Value::Object(members) => Some(members),
            _ => {
                violations.add(self.at(name), "must be a JSON object");
                None
            }
        }
    }

    /// Takes a list out.
    pub(crate) fn list(&mut self, name: Name, violations: &mut Violations) -> Vec<Value> {
        match self.take(name, violations) {
            Some(Value::Array(items)) => items,
            Some(_) => {
                violations.add(self.at(name), "must be a list");
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// Takes a list of at most `max_items` strings out, each of which must be `accepted`.
    pub(crate) fn texts(
        &mut self,
        name: Name,
        max_items: usize,
        accepted: fn(&str) -> bool,
        rule: &'static str,
        violations: &mut Violations,
    ) -> Vec<String> {
        let items = self.list(name, violations);
        let path = self.at(name);
        if items.len() > max_items {
            violations.add(path, format!("must have at most {max_items} entries"));
            return Vec::new();
        }
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match item {
                Value::String(text) if accepted(&text) => texts.push(text),
                _ => violations.add(Path::Index(&path, index), rule),
            }
        }
        texts
    }
}
