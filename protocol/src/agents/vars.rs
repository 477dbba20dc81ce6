//! The deployment's own definitions, from its vars (seed *POSIX configuration projection*).

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
    /// Each alias, with its definition or with what is wrong with its vars, in order.
    pub by_alias: Vec<(String, Result<Definition, String>)>,
    /// The aliases enabled by default.
    pub enabled: Vec<String>,
    /// What is wrong, for the log: of definitions, and of [`ENABLED`]. No value is in it.
    pub problems: Vec<String>,
}

/// One var of a definition.
struct Var<'a> {
    alias: String,
    /// Which of [`COMPANIONS`] it is; none where it is the URL.
    companion: Option<usize>,
    name: &'a str,
    value: &'a str,
}

impl Definitions {
    /// Reads every var that begins with [`PREFIX`], given by name and value, and what [`ENABLED`] says. Others are ignored.
    /// `loopback` permits agents on this machine.
    #[must_use]
    pub fn from_vars(vars: &[(&str, &str)], enabled: Option<&str>, loopback: bool) -> Self {
        let mut found: Vec<Var<'_>> = Vec::new();
        let mut definitions = Self::default();
        for (name, value) in vars.iter().copied() {
            let Some(rest) = strip_prefix(name, PREFIX) else {
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
            match alias::canonical(companion.map_or(rest, |(_, base)| base)) {
                Some(alias) => found.push(Var {
                    alias,
                    companion: companion.map(|(at, _)| at),
                    name,
                    value,
                }),
                None => definitions
                    .problems
                    .push(format!("{name} names no alias: an alias {}", alias::RULE)),
            }
        }
        found.sort_by(|one, other| one.alias.cmp(&other.alias));
        for vars in found.chunk_by(|one, other| one.alias == other.alias) {
            let alias = vars.first().map_or("", |var| &var.alias);
            let read = if definitions.by_alias.len() < MAX_DEFINITIONS {
                read(alias, vars, loopback)
            } else {
                Err(format!(
                    "{PREFIX}*: at most {MAX_DEFINITIONS} definitions are read"
                ))
            };
            if let Err(problem) = &read {
                definitions.problems.push(problem.clone());
            }
            definitions.by_alias.push((alias.to_owned(), read));
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
            match name.filter(|name| self.by_alias.iter().any(|(alias, _)| alias == name)) {
                Some(name) => {
                    self.enabled.push(name);
                }
                None => self.problems.push(format!(
                    "{ENABLED}[{index}] must be the alias of a definition"
                )),
            }
        }
    }
}

/// The definition of these vars, which are all of one alias.
fn read(alias: &str, vars: &[Var<'_>], loopback: bool) -> Result<Definition, String> {
    let find = |companion: Option<usize>| {
        let mut same = vars.iter().filter(|var| var.companion == companion);
        match (same.next(), same.next()) {
            (Some(first), Some(second)) => Err(format!(
                "{} and {} collide: names compare in any case",
                first.name, second.name
            )),
            (first, _) => Ok(first),
        }
    };
    let url = find(None)?;
    let (card_path, headers, bearer) = (find(Some(0))?, find(Some(1))?, find(Some(2))?);
    let base = url.map_or_else(
        || format!("{PREFIX}{}", alias.to_ascii_uppercase()),
        |var| var.name.to_owned(),
    );
    let companions = [card_path, headers, bearer];
    for var in companions.into_iter().flatten() {
        if var.value.starts_with("https://") || var.value.starts_with("http://") {
            return Err(format!(
                "{} and {base} collide: an alias must not end like a companion of another",
                var.name
            ));
        }
    }
    let Some(url) = url else {
        let companion = companions.into_iter().flatten().next();
        let name = companion.map_or("", |var| var.name);
        return Err(format!("{name} is set, but {base} is not"));
    };
    let wrong = |var: &Var<'_>, rule: &str| format!("{} {rule}", var.name);
    let target = Target::parse(url.value, loopback).map_err(|rule| wrong(url, rule))?;
    if let Some(var) = card_path.filter(|var| !is_card_path(var.value)) {
        return Err(wrong(var, CARD_PATH_RULE));
    }
    let headers = match headers {
        None => Vec::new(),
        Some(var) => match serde_json::from_str(var.value) {
            Ok(Value::Object(fields)) => {
                headers::read(&fields).map_err(|rule| wrong(var, &rule))?
            }
            _ => return Err(wrong(var, "must be a JSON object of headers")),
        },
    };
    let bearer = match bearer {
        None => None,
        Some(var) => Some(reference::only(var.value).ok_or_else(|| wrong(var, BEARER_RULE))?),
    };
    Ok(Definition {
        name: alias.to_owned(),
        target,
        card_path: card_path.map(|var| var.value.to_owned()),
        headers,
        bearer: bearer.map(str::to_owned),
    })
}

/// The var that says which secrets a principal's own definitions may refer to, and where each may be sent: a JSON object of
/// names and origins, such as `{"PARTNER_TOKEN": ["https://partner.example"]}`.
pub const SECRETS: &str = "A2A_REMOTES_SECRETS";

/// Which secrets a principal's own definitions may refer to, by name: the origins that each may be sent to.
pub type Secrets = Vec<(String, Vec<String>)>;

/// Reads [`SECRETS`].
///
/// # Errors
/// What it must be. Nothing of it is repeated.
pub fn secrets(text: Option<&str>, loopback: bool) -> Result<Secrets, &'static str> {
    const RULE: &str = "must be a JSON object of names, each with a list of https origins";
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(Secrets::new());
    };
    let fields = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        _ => return Err(RULE),
    };
    let mut secrets = Secrets::new();
    for (name, origins) in fields {
        let origins = origins
            .as_array()
            .ok_or(RULE)?
            .iter()
            .map(|origin| {
                let target = Target::parse(origin.as_str().unwrap_or_default(), loopback).ok()?;
                target.path.is_empty().then_some(target.origin)
            })
            .collect::<Option<Vec<_>>>()
            .ok_or(RULE)?;
        secrets.push((name, origins));
    }
    Ok(secrets)
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

    fn definitions_of(vars: &[(&str, &str)]) -> Definitions {
        let enabled = vars.iter().find(|(name, _)| *name == ENABLED);
        Definitions::from_vars(vars, enabled.map(|(_, value)| *value), false)
    }

    fn found(definitions: &Definitions, alias: &str) -> Result<Definition, String> {
        let found = definitions.by_alias.iter().find(|(name, _)| name == alias);
        found.unwrap().1.clone()
    }

    fn problem(definitions: &Definitions, alias: &str) -> String {
        found(definitions, alias).unwrap_err()
    }

    #[test]
    fn an_alias_and_its_companions_are_one_definition() {
        let definitions = definitions_of(&[
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
        let research = found(&definitions, "research").unwrap();
        assert_eq!(research.bearer.as_deref(), Some("TOKEN"));
        assert_eq!(
            research.headers,
            [("x-tenant".to_owned(), "${TENANT}".to_owned())]
        );
        assert_eq!(research.card_url(), "https://agent.example/card.json");
        assert!(found(&definitions, "team_b").is_ok());
        assert_eq!(definitions.by_alias.len(), 2);
        assert!(definitions.enabled == ["research"]);
        assert_eq!(definitions.problems, [""; 0]);
    }

    #[test]
    fn a_collision_names_both_vars_and_breaks_no_other_alias() {
        let definitions = definitions_of(&[
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
        assert!(found(&definitions, "ok").is_ok());
        assert_eq!(definitions.problems.len(), 2);
    }

    #[test]
    fn a_companion_of_nothing_names_what_it_lacks() {
        let definitions = definitions_of(&[
            ("A2A_REMOTE_FOO", "https://a.example"),
            ("A2A_REMOTE_FOO_BEARER", "${A}"),
            ("A2A_REMOTE_FOO_BEARER_BEARER", "${B}"),
        ]);
        assert!(found(&definitions, "foo").is_ok());
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
            let definitions = definitions_of(&vars);
            let problem = problem(&definitions, "x");
            assert!(problem.starts_with(&format!("{name} ")), "{problem}");
            assert!(!problem.contains("secret"), "{problem}");
            assert!(found(&definitions, "ok").is_ok());
        }
    }

    #[test]
    fn a_secret_is_bound_to_origins() {
        let read = secrets(
            Some(r#"{"T": ["https://a.example:443/", "https://b.example"]}"#),
            false,
        );
        assert_eq!(
            read.unwrap()[0].1,
            ["https://a.example", "https://b.example"]
        );
        assert_eq!(secrets(None, false), Ok(Secrets::new()));
        for text in [
            "x",
            "[]",
            r#"{"T": "https://a.example"}"#,
            r#"{"T": ["https://a.example/x"]}"#,
            r#"{"T": ["http://127.0.0.1"]}"#,
            r#"{"T": [1]}"#,
        ] {
            assert!(secrets(Some(text), false).is_err(), "{text}");
        }
    }

    #[test]
    fn only_defined_aliases_are_enabled() {
        let definitions = definitions_of(&[
            ("A2A_REMOTE_A", "https://a.example"),
            (ENABLED, r#"["a", "b", 1]"#),
        ]);
        assert_eq!(definitions.enabled.len(), 1);
        assert_eq!(definitions.problems.len(), 2);
        let malformed = definitions_of(&[("A2A_REMOTE_A", "https://a.example"), (ENABLED, "a")]);
        assert_eq!(
            malformed.problems,
            ["A2A_REMOTES_ENABLED must be a JSON array of aliases"]
        );
    }
}
