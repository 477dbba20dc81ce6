//! `${NAME}`: how a definition speaks of a secret without holding it (seed *POSIX configuration projection*).

/// The longest name, in bytes.
pub const MAX_NAME_BYTES: usize = 128;

/// This deployment's own secrets: no agent is ever sent one of them, whatever a definition says.
const OWN: &[&str] = &["A2A_CREDENTIALS", "A2A_PUSH_SECRET", "RESIDENT_MODEL_KEY"];

/// The name in a text that is one reference and nothing else.
#[must_use]
pub fn only(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The text with its references replaced by what `lookup` knows them as.
///
/// # Errors
/// The name that is not there, or is no name, or is one of this deployment's own secrets. Empty counts as absent.
pub fn resolve(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        resolved.push_str(before);
        let (name, after) = after.split_once('}').ok_or_else(|| "${".to_owned())?;
        let value = (is_name(name) && !OWN.contains(&name))
            .then(|| lookup(name))
            .flatten()
            .filter(|value| !value.trim().is_empty());
        match value {
            Some(value) => resolved.push_str(value.trim()),
            None => return Err(name.chars().take(MAX_NAME_BYTES).collect()),
        }
        rest = after;
    }
    resolved.push_str(rest);
    Ok(resolved)
}

/// Whether every `${` in the text begins a reference.
#[must_use]
pub fn is_well_formed(text: &str) -> bool {
    text.split("${")
        .skip(1)
        .all(|after| after.split_once('}').is_some_and(|(name, _)| is_name(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some(" secret\n".to_owned()),
            "EMPTY" => Some(" ".to_owned()),
            "A2A_CREDENTIALS" => Some("ours".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_bearer_is_one_reference_and_nothing_else() {
        assert_eq!(only("${TOKEN}"), Some("TOKEN"));
        for text in [
            "", "TOKEN", "$TOKEN", "${}", "${1A}", "${A B}", "x${A}", "${A}${B}",
        ] {
            assert_eq!(only(text), None, "{text}");
        }
    }

    #[test]
    fn references_are_replaced_wherever_they_stand() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${TOKEN}", "secret"),
            ("a ${TOKEN} b ${TOKEN}", "a secret b secret"),
            ("$TOKEN", "$TOKEN"),
        ] {
            assert_eq!(resolve(text, &lookup).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_begins_like_a_reference_is_one() {
        for text in ["", "plain", "$x {y}", "${A}", "a ${A} b ${_B1}", "$${A}"] {
            assert!(is_well_formed(text), "{text}");
        }
        for text in ["${", "${}", "${A", "${a b}", "${1}", "${A}${", "${A${B}}"] {
            assert!(!is_well_formed(text), "{text}");
        }
    }

    #[test]
    fn a_value_is_never_read_as_another_reference() {
        let nested = resolve("${A}", &|_| Some("${TOKEN}".to_owned()));
        assert_eq!(nested.as_deref(), Ok("${TOKEN}"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        assert_eq!(resolve("${GONE}", &lookup), Err("GONE".to_owned()));
        assert_eq!(resolve("${EMPTY}", &lookup), Err("EMPTY".to_owned()));
        assert!(resolve("${TOKEN", &lookup).is_err());
        assert!(resolve("${a b}", &lookup).is_err());
    }

    #[test]
    fn this_deployments_own_secrets_are_not_there() {
        assert!(resolve("${A2A_CREDENTIALS}", &lookup).is_err());
    }
}
