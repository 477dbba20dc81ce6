//! What keeps a remote agent from being called: the seed's exact problems, as errors of this endpoint.
//!
//! Each has the seed's name in `metadata.problem`, beside the reason in this endpoint's spelling. None repeats a URL, a
//! header's value or a secret, since an agent reads them.

use crate::error::{A2aError, Reason};

/// A problem of this name.
fn named(reason: Reason, name: &'static str, message: String) -> A2aError {
    A2aError::new(reason, message).with("problem", name)
}

/// 404 `agent-not-configured`: no such alias, or a disabled one. Both are answered alike.
#[must_use]
pub fn not_configured(alias: &str) -> A2aError {
    named(
        Reason::AgentNotConfigured,
        "agent-not-configured",
        "no agent is enabled under this alias".to_owned(),
    )
    .with("alias", alias)
}

/// 501 `registry-not-configured`: there is nowhere to search.
#[must_use]
pub fn registry_not_configured() -> A2aError {
    named(
        Reason::RegistryNotConfigured,
        "registry-not-configured",
        "no registry of agents is configured: discover by source or by configuration".to_owned(),
    )
}

/// `authorization-unresolved`: a reference of the definition leads to nothing, or may not be sent to this agent.
#[must_use]
pub fn authorization_unresolved(alias: &str, name: &str) -> A2aError {
    named(
        Reason::AuthorizationUnresolved,
        "authorization-unresolved",
        format!("the definition refers to {name}, which this deployment has not for this agent"),
    )
    .with("alias", alias)
}

/// `card-unreachable`: no valid Agent Card was had, and why.
#[must_use]
pub fn card_unreachable(alias: &str, why: &str) -> A2aError {
    named(
        Reason::CardUnreachable,
        "card-unreachable",
        format!("the agent's card could not be had: {why}"),
    )
    .with("alias", alias)
}

/// `interface-unsupported`: the card offers no interface that can be used, and what it offers.
#[must_use]
pub fn interface_unsupported(alias: &str, found: &str) -> A2aError {
    named(
        Reason::InterfaceUnsupported,
        "interface-unsupported",
        format!(
            "the agent's card offers no HTTP+JSON 1.0 interface that may be used; it offers {found}"
        ),
    )
    .with("alias", alias)
}

/// `remote-failed`: the agent did not answer, or not as an A2A agent does, and why.
#[must_use]
pub fn remote_failed(alias: &str, why: &str) -> A2aError {
    named(
        Reason::RemoteFailed,
        "remote-failed",
        format!("the agent failed: {why}"),
    )
    .with("alias", alias)
}

/// A problem as it is kept beside its alias: its name and its message, a line each.
#[must_use]
pub fn to_text(problem: &A2aError) -> String {
    let name = problem.metadata.get("problem").map_or("", String::as_str);
    format!("{name}\n{}", problem.message)
}

/// The problem that [`to_text`] wrote.
#[must_use]
pub fn from_text(alias: &str, text: &str) -> Option<A2aError> {
    let (name, message) = text.split_once('\n')?;
    let (name, reason) = PREPARATION.iter().find(|(known, _)| *known == name)?;
    Some(named(*reason, name, message.to_owned()).with("alias", alias))
}

/// The problems that a preparation may have.
const PREPARATION: [(&str, Reason); 3] = [
    ("authorization-unresolved", Reason::AuthorizationUnresolved),
    ("card-unreachable", Reason::CardUnreachable),
    ("interface-unsupported", Reason::InterfaceUnsupported),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_kept_as_it_is() {
        for problem in [
            authorization_unresolved("a", "TOKEN"),
            card_unreachable("a", "it answered 404"),
            interface_unsupported("a", "JSONRPC 1.0"),
        ] {
            assert_eq!(from_text("a", &to_text(&problem)), Some(problem));
        }
        assert_eq!(from_text("a", "unknown\nx"), None);
    }
}
