//! What is known of a remote agent before it is asked anything.

use serde_json::Value;

use super::object::{Object, array, quote};
use super::target::{self, Target};
use super::{alias, headers, reference};
use crate::error::A2aError;
use crate::http;

/// Where an agent's card is, unless its definition says otherwise (A2A section 8.2).
pub const CARD_PATH: &str = "/.well-known/agent-card.json";

/// A definition: the seed's `A2aAgentDefinition`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The alias, in its canonical spelling.
    pub name: String,
    /// Where the agent is.
    pub target: Target,
    /// Where its card is, from the origin on, where that is not [`CARD_PATH`].
    pub card_path: Option<String>,
    /// Headers for every request, with their references unresolved.
    pub headers: Vec<(String, String)>,
    /// The name that the bearer token is found under.
    pub bearer: Option<String>,
}

impl Definition {
    /// Reads `{name, url, cardPath?, headers?, authorization?}`, whose fields an error names behind `path`.
    ///
    /// # Errors
    /// The field that is wrong. No value is repeated.
    pub fn from_json(value: &Value, loopback: bool, path: &str) -> Result<Self, A2aError> {
        let field = |name: &str| format!("{path}{name}");
        let fields = value
            .as_object()
            .ok_or_else(|| A2aError::field(path.trim_end_matches('.'), "must be an object"))?;
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(A2aError::field(field(name), "must be a string")),
        };
        let name = text("name")?
            .and_then(alias::canonical)
            .ok_or_else(|| A2aError::field(field("name"), alias::RULE))?;
        let url = text("url")?.unwrap_or_default();
        let target =
            Target::parse(url, loopback).map_err(|rule| A2aError::field(field("url"), rule))?;
        let card_path = text("cardPath")?.map(str::to_owned);
        if card_path.as_deref().is_some_and(|path| !is_card_path(path)) {
            return Err(A2aError::field(field("cardPath"), CARD_PATH_RULE));
        }
        let headers = match fields.get("headers") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(fields)) => {
                headers::read(fields).map_err(|rule| A2aError::field(field("headers"), rule))?
            }
            Some(_) => return Err(A2aError::field(field("headers"), "must be an object")),
        };
        let bearer = match text("authorization")? {
            None => None,
            Some(text) => Some(
                reference::only(text)
                    .ok_or_else(|| A2aError::field(field("authorization"), BEARER_RULE))?
                    .to_owned(),
            ),
        };
        Ok(Self {
            name,
            target,
            card_path,
            headers,
            bearer,
        })
    }

    /// What a discovery by source looks at: the agent at a URL, or, where the URL ends with `.json`, the agent whose card
    /// that is. It has no credentials, and a name that stands for none.
    ///
    /// # Errors
    /// What the source must be, to stand behind its field's name.
    pub fn from_source(source: &str, loopback: bool) -> Result<Self, &'static str> {
        let (url, card_path) = match http::origin(source) {
            Some(origin) if source.ends_with(".json") => (origin, source.strip_prefix(origin)),
            _ => (source, None),
        };
        let target = Target::parse(url, loopback)?;
        if card_path.is_some_and(|path| !is_card_path(path)) {
            return Err(target::RULE);
        }
        Ok(Self {
            name: "source".to_owned(),
            target,
            card_path: card_path.map(str::to_owned),
            headers: Vec::new(),
            bearer: None,
        })
    }

    /// The definition as it is kept, JSON with its references symbolic. Also what tells one definition from another.
    #[must_use]
    pub fn to_json(&self) -> String {
        let headers = self
            .headers
            .iter()
            .fold(Object::default(), |object, (name, value)| {
                object.text(name, value)
            });
        self.json_with(&headers.end())
    }

    /// The definition as its principal is shown it: of headers, whose values may be anything, the names alone.
    #[must_use]
    pub fn shown(&self) -> String {
        let names: Vec<String> = self.headers.iter().map(|(name, _)| quote(name)).collect();
        self.json_with(&array(&names))
    }

    fn json_with(&self, headers: &str) -> String {
        let mut object = Object::default();
        if let Some(bearer) = &self.bearer {
            object = object.text("authorization", &format!("${{{bearer}}}"));
        }
        object = object.maybe("cardPath", self.card_path.as_deref());
        if !self.headers.is_empty() {
            object = object.raw("headers", headers);
        }
        object
            .text("name", &self.name)
            .text("url", &self.target.url())
            .end()
    }

    /// The URL of the agent's card.
    #[must_use]
    pub fn card_url(&self) -> String {
        match &self.card_path {
            Some(path) => format!("{}{path}", self.target.origin),
            None => format!("{}{CARD_PATH}", self.target.url()),
        }
    }

    /// Whether anything goes with its requests that only its own origin may see.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        self.bearer.is_some() || !self.headers.is_empty()
    }

    /// The headers of its requests, resolved.
    ///
    /// # Errors
    /// The name that `lookup` knows nothing under, or whose value can't stand in a header.
    pub fn resolve(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<(String, String)>, String> {
        let mut resolved = Vec::with_capacity(self.headers.len().saturating_add(1));
        for (name, value) in &self.headers {
            let value = reference::resolve(value, lookup)?;
            if !headers::is_value(&value) {
                return Err(name.clone());
            }
            resolved.push((name.clone(), value));
        }
        if let Some(bearer) = &self.bearer {
            let token = reference::resolve(&format!("${{{bearer}}}"), lookup)?;
            if !headers::is_value(&token) || token.contains(' ') {
                return Err(bearer.clone());
            }
            resolved.push(("authorization".to_owned(), format!("Bearer {token}")));
        }
        Ok(resolved)
    }
}

/// What a card's path must be.
pub(super) const CARD_PATH_RULE: &str = "must be a path that begins with a slash, without query";

/// What a bearer must be.
pub(super) const BEARER_RULE: &str = "must be a reference ${NAME}, never a token";

pub(super) fn is_card_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && path.len() <= target::MAX_URL_BYTES
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"?#\\\"<>^`{|}@".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Definition, A2aError> {
        Definition::from_json(&value, false, "definition.")
    }

    fn whole() -> Value {
        json!({
            "name": "research",
            "url": "https://agent.example/a2a",
            "cardPath": "/card.json",
            "headers": {"x-tenant": "${TENANT}"},
            "authorization": "${TOKEN}",
        })
    }

    #[test]
    fn a_definition_is_kept_as_it_was_said() {
        let definition = read(whole()).unwrap();
        assert_eq!(definition.to_json(), whole().to_string());
        assert_eq!(definition.card_url(), "https://agent.example/card.json");
        let plain = read(json!({"name": "A", "url": "https://agent.example/a2a/"})).unwrap();
        assert_eq!(plain.name, "a");
        assert_eq!(
            plain.card_url(),
            "https://agent.example/a2a/.well-known/agent-card.json"
        );
        assert!(!plain.has_credentials());
    }

    #[test]
    fn a_source_is_an_agent_or_its_card() {
        let agent = Definition::from_source("https://agent.example/a2a/", false).unwrap();
        assert_eq!(
            agent.card_url(),
            "https://agent.example/a2a/.well-known/agent-card.json"
        );
        let card = Definition::from_source("https://Agent.example/x/card.json", false).unwrap();
        assert_eq!(card.card_url(), "https://agent.example/x/card.json");
        assert!(!card.has_credentials());
    }

    #[test]
    fn a_source_that_is_taken_is_a_definition_and_any_other_is_refused() {
        let long = format!("https://agent.example/{}.json", "x".repeat(4000));
        for source in [
            "https://agent.example/x?y=.json",
            "https://agent.example?y=.json",
            "https://agent.example/#.json",
            "https://agent.example//evil.example/x.json",
            "https://agent.example/a b.json",
            "https://agent.example/\\x.json",
            "https://user@agent.example/x.json",
            "https://10.0.0.1/x.json",
            "http://agent.example/x.json",
            "/x.json",
            ".json",
            "https://",
            "",
            long.as_str(),
        ] {
            assert!(Definition::from_source(source, true).is_err(), "{source}");
        }
        for source in ["https://agent.example/%2e%2e/x.json", "http://[::1]:1/x"] {
            let taken = Definition::from_source(source, true).unwrap();
            let json = serde_json::from_str(&taken.to_json()).unwrap();
            assert_eq!(Definition::from_json(&json, true, ""), Ok(taken));
        }
    }

    #[test]
    fn a_principal_is_shown_no_headers_value() {
        assert_eq!(
            serde_json::from_str::<Value>(&read(whole()).unwrap().shown()).unwrap()["headers"],
            json!(["x-tenant"])
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (field, value) in [
            ("name", json!("no alias!")),
            ("url", json!("http://agent.example")),
            ("url", json!(1)),
            ("cardPath", json!("card.json")),
            ("cardPath", json!("//evil.example/card.json")),
            ("cardPath", json!("/card?x")),
            ("headers", json!({"cookie": "x"})),
            ("headers", json!([])),
            ("headers", json!({"x-a": "${secret-token}"})),
            ("headers", json!({"x-a": "${A}${secret-token"})),
            ("authorization", json!("secret-token")),
            ("authorization", json!("Bearer ${TOKEN}")),
        ] {
            let mut definition = whole();
            definition[field] = value.clone();
            let error = read(definition).unwrap_err();
            assert_eq!(
                error.violations[0].field,
                format!("definition.{field}"),
                "{value}"
            );
            assert!(!error.to_json().contains("secret-token"));
        }
        assert_eq!(
            read(json!(1)).unwrap_err().violations[0].field,
            "definition"
        );
    }

    #[test]
    fn references_are_resolved_at_connection_and_not_before() {
        let definition = read(whole()).unwrap();
        let resolved = definition
            .resolve(&|name| Some(format!("value-of-{name}")))
            .unwrap();
        assert_eq!(
            resolved,
            [
                ("x-tenant".to_owned(), "value-of-TENANT".to_owned()),
                (
                    "authorization".to_owned(),
                    "Bearer value-of-TOKEN".to_owned()
                ),
            ]
        );
        assert_eq!(definition.resolve(&|_| None), Err("TENANT".to_owned()));
        let broken = definition.resolve(&|_| Some("a\nb: c".to_owned()));
        assert_eq!(broken, Err("x-tenant".to_owned()));
    }
}
