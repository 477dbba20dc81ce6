//! The deployment's own definitions, from its vars (seed *POSIX configuration projection*).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::definition::{BEARER_RULE, CARD_PATH_RULE, Definition, is_card_path};
use super::target::Target;
use super::{alias, headers, reference};

/// What the name of every var of a definition begins with.
pub const PREFIX: &str = "A2A_REMOTE_";

/// The var that names the aliases enabled by default, a JSON array.
pub const ENABLED: &str = "A2A_REMOTES_ENABLED";

/// The most definitions of one deployment.
pub const MAX_DEFINITIONS: usize = 64;

const COMPANIONS: [&str; 3] = ["_CARD_PATH", "_HEADERS", "_BEARER"];

/// The deployment's definitions, by alias. What is malformed is there, too, as what is wrong with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definitions {
    /// Each alias, with its definition or with what is wrong with its vars.
    pub by_alias: BTreeMap<String, Result<Definition, String>>,
    /// The aliases enabled by default.
    pub enabled: BTreeSet<String>,
    /// What is wrong, for the log: of definitions, and of [`ENABLED`]. No value is in it.
    pub problems: Vec<String>,
}

/// The vars of one alias, by their names.
#[derive(Default)]
struct Vars<'a> {
    url: Vec<(&'a str, &'a str)>,
    companions: [Vec<(&'a str, &'a str)>; COMPANIONS.len()],
}

impl Definitions {
    /// Reads every var that begins with [`PREFIX`], given by name and value, and what [`ENABLED`] says. Others are ignored.
    /// `loopback` permits agents on this machine.
    #[must_use]
    pub fn from_vars<'a>(
        vars: impl IntoIterator<Item = (&'a str, &'a str)>,
        enabled: Option<&str>,
        loopback: bool,
    ) -> Self {
        let mut grouped: BTreeMap<String, Vars<'a>> = BTreeMap::new();
        let mut definitions = Self::default();
        for (var, value) in vars {
            let Some(rest) = strip_prefix(var, PREFIX) else {
                continue;
            };
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            let companion = COMPANIONS
                .iter()
                .enumerate()
                .find_map(|(at, suffix)| Some((at, strip_suffix(rest, suffix)?)));
            let name = companion.map_or(rest, |(_, base)| base);
            let Some(name) = alias::canonical(name) else {
                definitions
                    .problems
                    .push(format!("{var} names no alias: an alias {}", alias::RULE));
                continue;
            };
            let group = grouped.entry(name).or_default();
            match companion.and_then(|(at, _)| group.companions.get_mut(at)) {
                Some(companions) => companions.push((var, value)),
                None => group.url.push((var, value)),
            }
        }
        for (name, vars) in grouped {
            let read = if definitions.by_alias.len() < MAX_DEFINITIONS {
                vars.read(&name, loopback)
            } else {
                Err(format!(
                    "{PREFIX}*: at most {MAX_DEFINITIONS} definitions are read"
                ))
            };
            if let Err(problem) = &read {
                definitions.problems.push(problem.clone());
            }
            definitions.by_alias.insert(name, read);
        }
        definitions.read_enabled(enabled);
        definitions
    }

    fn read_enabled(&mut self, enabled: Option<&str>) {
        let Some(enabled) = enabled.map(str::trim).filter(|text| !text.is_empty()) else {
            return;
        };
        let listed = match serde_json::from_str(enabled) {
            Ok(Value::Array(listed)) => listed,
            _ => {
                self.problems
                    .push(format!("{ENABLED} must be a JSON array of aliases"));
                return;
            }
        };
        for (index, item) in listed.iter().enumerate() {
            let name = item.as_str().and_then(alias::canonical);
            match name.filter(|name| self.by_alias.contains_key(name)) {
                Some(name) => {
                    self.enabled.insert(name);
                }
                None => self.problems.push(format!(
                    "{ENABLED}[{index}] must be the alias of a definition"
                )),
            }
        }
    }
}

impl Vars<'_> {
    fn read(&self, name: &str, loopback: bool) -> Result<Definition, String> {
        for same in std::iter::once(&self.url).chain(&self.companions) {
            if let [(first, _), (second, _), ..] = same.as_slice() {
                return Err(format!(
                    "{first} and {second} collide: names compare in any case"
                ));
            }
        }
        let url = self.url.first();
        let base = url.map_or_else(
            || format!("{PREFIX}{}", name.to_ascii_uppercase()),
            |(var, _)| (*var).to_owned(),
        );
        let companions = self.companions.iter().flatten();
        for (var, value) in companions.clone() {
            if value.starts_with("https://") || value.starts_with("http://") {
                return Err(format!(
                    "{var} and {base} collide: an alias must not end like a companion of another"
                ));
            }
        }
        let Some((var, url)) = url else {
            let companion = companions.map(|(var, _)| *var).next().unwrap_or_default();
            return Err(format!("{companion} is set, but {base} is not"));
        };
        let target = Target::parse(url, loopback).map_err(|rule| format!("{var} {rule}"))?;
        let [card_path, headers, bearer] = &self.companions;
        let card_path = match card_path.first() {
            None => None,
            Some((_, path)) if is_card_path(path) => Some((*path).to_owned()),
            Some((var, _)) => return Err(format!("{var} {CARD_PATH_RULE}")),
        };
        let headers = match headers.first() {
            None => Vec::new(),
            Some((var, text)) => match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => {
                    headers::read(&fields).map_err(|rule| format!("{var} {rule}"))?
                }
                _ => return Err(format!("{var} must be a JSON object of headers")),
            },
        };
        let bearer = match bearer.first() {
            None => None,
            Some((var, text)) => Some(
                reference::only(text)
                    .ok_or_else(|| format!("{var} {BEARER_RULE}"))?
                    .to_owned(),
            ),
        };
        Ok(Definition {
            name: name.to_owned(),
            target,
            card_path,
            headers,
            bearer,
        })
    }
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn strip_suffix<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let (rest, tail) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    tail.eq_ignore_ascii_case(suffix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vars: &[(&str, &str)]) -> Definitions {
        let enabled = vars.iter().find(|(name, _)| *name == ENABLED);
        Definitions::from_vars(
            vars.iter().copied(),
            enabled.map(|(_, value)| *value),
            false,
        )
    }

    fn problem(definitions: &Definitions, alias: &str) -> String {
        definitions.by_alias[alias].clone().unwrap_err()
    }

    #[test]
    fn an_alias_and_its_companions_are_one_definition() {
        let definitions = read(&[
            ("A2A_REMOTE_RESEARCH", "https://agent.example"),
            ("A2A_REMOTE_RESEARCH_CARD_PATH", "/card.json"),
            ("A2A_REMOTE_RESEARCH_BEARER", "${TOKEN}"),
            (
                "A2A_REMOTE_RESEARCH_HEADERS",
                r#"{"X-Tenant": "${TENANT}"}"#,
            ),
            ("A2A_REMOTE_TEAM_B", "https://b.example"),
            ("A2A_REMOTES_ENABLED", r#"["Research"]"#),
            ("A2A_AGENT_NAME", "not a definition"),
        ]);
        let research = definitions.by_alias["research"].clone().unwrap();
        assert_eq!(research.bearer.as_deref(), Some("TOKEN"));
        assert_eq!(
            research.headers,
            [("x-tenant".to_owned(), "${TENANT}".to_owned())]
        );
        assert_eq!(research.card_url(), "https://agent.example/card.json");
        assert!(definitions.by_alias["team_b"].is_ok());
        assert_eq!(definitions.by_alias.len(), 2);
        assert!(definitions.enabled.contains("research") && definitions.enabled.len() == 1);
        assert_eq!(definitions.problems, [""; 0]);
    }

    #[test]
    fn a_collision_names_both_vars_and_breaks_no_other_alias() {
        let definitions = read(&[
            ("A2A_REMOTE_FOO", "https://a.example"),
            ("A2A_REMOTE_Foo", "https://b.example"),
            ("A2A_REMOTE_BAR", "https://c.example"),
            ("A2A_REMOTE_BAR_BEARER", "https://d.example"),
            ("A2A_REMOTE_OK", "https://e.example"),
        ]);
        let foo = problem(&definitions, "foo");
        assert!(foo.contains("A2A_REMOTE_FOO and A2A_REMOTE_Foo"), "{foo}");
        let bar = problem(&definitions, "bar");
        assert!(
            bar.contains("A2A_REMOTE_BAR_BEARER and A2A_REMOTE_BAR "),
            "{bar}"
        );
        assert!(definitions.by_alias["ok"].is_ok());
        assert_eq!(definitions.problems.len(), 2);
    }

    #[test]
    fn a_companion_of_nothing_names_what_it_lacks() {
        let definitions = read(&[
            ("A2A_REMOTE_FOO", "https://a.example"),
            ("A2A_REMOTE_FOO_BEARER", "${A}"),
            ("A2A_REMOTE_FOO_BEARER_BEARER", "${B}"),
        ]);
        assert!(definitions.by_alias["foo"].is_ok());
        assert_eq!(
            problem(&definitions, "foo_bearer"),
            "A2A_REMOTE_FOO_BEARER_BEARER is set, but A2A_REMOTE_FOO_BEARER is not"
        );
    }

    #[test]
    fn what_is_malformed_is_named_without_its_value() {
        for (suffix, value) in [
            ("", "http://agent.example/secret"),
            ("", "https://10.0.0.1/secret"),
            ("_BEARER", "secret"),
            ("_HEADERS", "secret"),
            ("_HEADERS", r#"{"cookie": "secret"}"#),
            ("_CARD_PATH", "secret"),
        ] {
            let name = format!("A2A_REMOTE_X{suffix}");
            let mut vars = vec![
                ("A2A_REMOTE_OK", "https://ok.example"),
                (name.as_str(), value),
            ];
            if !suffix.is_empty() {
                vars.push(("A2A_REMOTE_X", "https://x.example"));
            }
            let definitions = read(&vars);
            let problem = problem(&definitions, "x");
            assert!(problem.starts_with(&format!("{name} ")), "{problem}");
            assert!(!problem.contains("secret"), "{problem}");
            assert!(definitions.by_alias["ok"].is_ok());
        }
    }

    #[test]
    fn only_defined_aliases_are_enabled() {
        let definitions = read(&[
            ("A2A_REMOTE_A", "https://a.example"),
            (ENABLED, r#"["a", "b", 1]"#),
        ]);
        assert_eq!(definitions.enabled.len(), 1);
        assert_eq!(definitions.problems.len(), 2);
        let malformed = read(&[("A2A_REMOTE_A", "https://a.example"), (ENABLED, "a")]);
        assert_eq!(
            malformed.problems,
            ["A2A_REMOTES_ENABLED must be a JSON array of aliases"]
        );
    }
}
