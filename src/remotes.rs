//! What the deployment says of remote agents (`A2A_REMOTE_…`, `A2A_REMOTES_…`), read once per instance.

use protocol::agents::definition::Definition;
use protocol::agents::target::Target;
use protocol::agents::vars::{self, Definitions, Secrets};

use crate::runtime::env::Env;
use crate::runtime::log;

/// How long a remote agent may take to answer one request, unless `A2A_CONNECT_TIMEOUT` says otherwise, in milliseconds.
const CONNECT_TIMEOUT_MS: u32 = 30_000;

/// The most that `A2A_CONNECT_TIMEOUT` may say: no wait may reach `runtime::promise::SILENCE_MS`.
const MAX_CONNECT_TIMEOUT_MS: u32 = 120_000;

/// How long a remote task is followed, unless `A2A_REQUEST_TIMEOUT` says otherwise, in milliseconds.
const REQUEST_TIMEOUT_MS: u32 = 86_400_000;

/// The most that `A2A_REQUEST_TIMEOUT` may say: thirty days.
const MAX_REQUEST_TIMEOUT_MS: u32 = 2_592_000_000;

/// The deployment's word on remote agents.
pub struct Remotes {
    /// Its definitions.
    pub definitions: Definitions,
    /// The secrets that a principal's own definitions may refer to.
    secrets: Secrets,
    /// Agents on this machine may be called: a development machine's setting.
    pub loopback: bool,
    /// The resident may discover, add, enable, disable and remove agents.
    pub managed_by_resident: bool,
    /// How long a remote agent may take to answer one request, in milliseconds.
    pub connect_timeout_ms: u32,
    /// How long a remote task is followed, in milliseconds.
    pub request_timeout_ms: i64,
}

impl Remotes {
    /// Reads the vars. What is malformed is told to the log, and disables what it concerns.
    pub fn of(env: &Env) -> Self {
        let loopback = is_on(env, "A2A_REMOTES_LOOPBACK");
        let found = env.vars_named(vars::PREFIX);
        let named: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let enabled = env.var(vars::ENABLED);
        let definitions = Definitions::from_vars(&named, enabled.as_deref(), loopback);
        for problem in &definitions.problems {
            log::error("remote_agent_malformed", &[("reason", problem)]);
        }
        let secrets =
            vars::secrets(env.var(vars::SECRETS).as_deref(), loopback).unwrap_or_else(|rule| {
                log::error(
                    "var_malformed",
                    &[("var", vars::SECRETS), ("expected", rule)],
                );
                Secrets::new()
            });
        Self {
            definitions,
            secrets,
            loopback,
            managed_by_resident: is_on(env, "A2A_REMOTES_MANAGED_BY_RESIDENT"),
            connect_timeout_ms: crate::config::whole(
                env,
                "A2A_CONNECT_TIMEOUT",
                CONNECT_TIMEOUT_MS,
                1..=MAX_CONNECT_TIMEOUT_MS,
            ),
            request_timeout_ms: i64::from(crate::config::whole(
                env,
                "A2A_REQUEST_TIMEOUT",
                REQUEST_TIMEOUT_MS,
                1..=MAX_REQUEST_TIMEOUT_MS,
            )),
        }
    }

    /// The headers that go with requests to a definition's agent, resolved now, if the request goes to its own origin:
    /// nothing of them goes anywhere else. `is_own` says that the principal added the definition: it gets only those
    /// secrets that the deployment has for that origin.
    ///
    /// # Errors
    /// The name that leads to nothing.
    pub fn headers(
        &self,
        env: &Env,
        definition: &Definition,
        is_own: bool,
        url: &str,
    ) -> Result<Vec<(String, String)>, String> {
        let Target { origin, .. } = &definition.target;
        if protocol::http::origin(url) != Some(origin) {
            return Ok(Vec::new());
        }
        definition.resolve(&|name| {
            let may = !is_own
                || self
                    .secrets
                    .iter()
                    .any(|(secret, origins)| secret == name && origins.contains(origin));
            may.then(|| env.var(name)).flatten()
        })
    }
}

fn is_on(env: &Env, var: &'static str) -> bool {
    match env.var(var).as_deref().map(str::trim) {
        None | Some("" | "off") => false,
        Some("on") => true,
        Some(_) => {
            log::error("var_malformed", &[("var", var), ("expected", "on or off")]);
            false
        }
    }
}
