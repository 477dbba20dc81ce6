//! Reading the body of one request of the trusted surface: its fields, and all that is wrong with them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Caller;
use crate::canonical;
use crate::error::{A2aError, Reason};
use crate::fields::{Fields, Path, Violations, plain};
use crate::part::read_parts;
use crate::{field_path, ids, time};

/// Longest id of a provider's response, in bytes (which are characters here).
pub const MAX_RESPONSE_ID_BYTES: usize = 512;

/// The sources that are this endpoint's own: the A2A binding, and remote agents.
const RESERVED_SOURCES: [&str; 2] = ["a2a", "agents"];

/// What a text must be: how it is told, and how it is said.
pub(crate) struct Rule {
    pub(crate) accepts: fn(&str) -> bool,
    pub(crate) says: &'static str,
}

pub(crate) static IDENTIFIER: Rule = Rule {
    accepts: ids::is_identifier,
    says: ids::RULE,
};

pub(crate) static SOURCE: Rule = Rule {
    accepts: |text| ids::is_identifier(text) && !RESERVED_SOURCES.contains(&text),
    says: "must be an identifier, and neither a2a nor agents",
};

pub(super) static DIGEST: Rule = Rule {
    accepts: canonical::is_digest,
    says: "must be sha256: and 64 lower-case hexadecimal digits",
};

pub(super) static RESPONSE_ID: Rule = Rule {
    accepts: |text| {
        text.len() <= MAX_RESPONSE_ID_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
    },
    says: "must be 1 to 512 visible ASCII characters",
};

pub(crate) static TIME: Rule = Rule {
    accepts: |text| time::parse(text).is_some(),
    says: "must be an RFC 3339 timestamp, such as 2025-10-28T10:30:00.000Z",
};

/// Any text at all.
static ANY: Rule = Rule {
    accepts: |_| true,
    says: "",
};

/// A body that is being read. A field is absent where it is missing, `null` or the empty string.
pub(super) struct Form {
    fields: Fields<'static>,
    violations: Violations,
}

impl Form {
    /// The body of a request of this caller.
    ///
    /// # Errors
    /// A body that is no object; `PERMISSION_DENIED` where it speaks for another principal.
    pub(super) fn open(body: Value, caller: &Caller<'_>) -> Result<Self, A2aError> {
        let mut violations = Violations::default();
        let Some(fields) = Fields::of(body, &Path::Root(""), &mut violations) else {
            return Err(A2aError::field("body", "must be a JSON object"));
        };
        let mut form = Form { fields, violations };
        match form.optional("principal", &IDENTIFIER) {
            Some(named) if named != caller.principal => Err(denied(
                "principal",
                "must be the credential's own principal, or absent",
            )),
            _ => Ok(form),
        }
    }

    /// All of it has been read: refuses it where anything in it was wrong, or a field was not asked for.
    ///
    /// # Errors
    /// `INVALID_REQUEST` with every field at fault.
    pub(super) fn close(mut self) -> Result<(), A2aError> {
        for key in self.fields.keys() {
            let member = field_path::member("", key);
            let path = member.strip_prefix('.').unwrap_or(&member);
            self.violations
                .add(Path::Root(path), "is no field of this request");
        }
        self.violations.or(())
    }

    /// Whether the field is there.
    pub(super) fn has(&self, name: &'static str) -> bool {
        self.fields.has(plain(name))
    }

    /// What is wrong with a field.
    pub(super) fn violate(&mut self, name: &'static str, rule: impl Into<String>) {
        self.violations.add(at(name), rule.into());
    }

    /// What is wrong with a value inside a field.
    pub(super) fn violate_at(&mut self, path: &str, rule: &'static str) {
        self.violations.add(Path::Root(path), rule);
    }

    /// A text that must be there.
    pub(super) fn required(&mut self, name: &'static str, rule: &'static Rule) -> String {
        self.require(name);
        self.optional(name, rule).unwrap_or_default()
    }

    /// A text that may be there.
    pub(super) fn optional(&mut self, name: &'static str, rule: &'static Rule) -> Option<String> {
        let text = self
            .fields
            .text(plain(name), &mut self.violations)
            .filter(|text| !text.is_empty())?;
        if !(rule.accepts)(&text) {
            self.violations.add(at(name), rule.says);
        }
        Some(text)
    }

    /// A field that must be there, whatever it is.
    pub(super) fn required_value(&mut self, name: &'static str) -> Option<Value> {
        self.require(name);
        self.value(name)
    }

    /// A field that must be there, whatever it is: `null` and the empty string are values, too.
    pub(super) fn any_value(&mut self, name: &'static str) -> Option<Value> {
        let value = self.fields.take_any(plain(name), &mut self.violations);
        if value.is_none() {
            self.violations.add(at(name), "is required");
        }
        value
    }

    /// A field that may be there, whatever it is.
    pub(super) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.fields.take(plain(name), &mut self.violations)
    }

    /// A text that must be one of these: the place of the one that it is.
    pub(super) fn choice(&mut self, name: &'static str, choices: &[&'static str]) -> usize {
        self.require(name);
        self.optional_choice(name, choices).unwrap_or_default()
    }

    /// The same of a field that may be absent.
    pub(super) fn optional_choice(
        &mut self,
        name: &'static str,
        choices: &[&'static str],
    ) -> Option<usize> {
        let text = self.optional(name, &ANY)?;
        let place = choices.iter().position(|choice| *choice == text);
        if place.is_none() {
            self.violate(name, format!("must be {}", choices.join(" or ")));
        }
        place
    }

    /// A list of at most `max_items` texts that must be there.
    pub(super) fn texts(
        &mut self,
        name: &'static str,
        max_items: usize,
        rule: &'static Rule,
    ) -> Vec<String> {
        self.require(name);
        self.fields.texts(
            plain(name),
            max_items,
            rule.accepts,
            rule.says,
            &mut self.violations,
        )
    }

    /// The value as an object of at most `max_fields` texts, each of at most `max_chars` characters and under an identifier.
    pub(super) fn texts_by_id(
        &mut self,
        name: &'static str,
        value: Value,
        max_fields: usize,
        max_chars: usize,
    ) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        let Value::Object(members) = value else {
            self.violate(name, "must be a JSON object");
            return texts;
        };
        if members.len() > max_fields {
            self.violate(name, format!("must have at most {max_fields} fields"));
            return texts;
        }
        for (key, value) in members {
            match value {
                Value::String(text)
                    if ids::is_identifier(&key)
                        && (1..=max_chars).contains(&text.chars().count()) =>
                {
                    texts.insert(key, text);
                }
                _ => self.violations.add(
                    Path::Root(&field_path::member(name, &key)),
                    format!(
                        "must be a string of 1 to {max_chars} characters under a name of 1 to 128 letters, digits, \
                         '.', '_', ':' or '-'"
                    ),
                ),
            }
        }
        texts
    }

    /// The value as the parts of a message.
    pub(super) fn parts(&mut self, name: &'static str, value: Value) -> Vec<Value> {
        match value {
            Value::Array(items) => read_parts(items, &at(name), &mut self.violations),
            _ => {
                self.violate(name, "must be a list of parts");
                Vec::new()
            }
        }
    }

    fn require(&mut self, name: &'static str) {
        if !self.has(name) {
            self.violations.add(at(name), "is required");
        }
    }
}

fn at(name: &'static str) -> Path<'static> {
    Path::Root(name)
}

/// What the credential may not do, by the field that asks for it.
pub(super) fn denied(field: &'static str, rule: &'static str) -> A2aError {
    A2aError::new(Reason::PermissionDenied, format!("{field} {rule}")).violating(field, rule)
}
