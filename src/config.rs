//! What the deployment sets, read once per instance: bindings do not change while an instance lives.

use std::cell::RefCell;
use std::rc::Rc;

use protocol::card::{Identity, Vars};
use protocol::credentials::Credentials;
use protocol::manifest::{self, Workflow};

use crate::runtime::env::Env;
use crate::runtime::log;

/// How long a blocking send waits, unless `A2A_BLOCKING_TIMEOUT_MS` says otherwise (seed *A blocking send is bounded*).
const BLOCKING_TIMEOUT_MS: u32 = 60_000;

/// How long an object may take to answer, unless `A2A_OBJECT_TIMEOUT_MS` says otherwise.
const OBJECT_TIMEOUT_MS: u32 = 10_000;

/// How long a turn lives without a sign of life, unless `A2A_LEASE_MS` says otherwise.
const LEASE_MS: u32 = 60_000;

/// How often a stream proves that its client is there, unless `A2A_TICK_MS` says otherwise.
const TICK_MS: u32 = crate::runtime::stream::TICK_MS;

/// The deployment's settings.
pub struct Config {
    /// None where the secret is absent or unreadable; why is in the log.
    pub credentials: Option<Credentials>,
    /// None where a var of the card is malformed; which one is in the log.
    pub identity: Option<Identity>,
    /// `A2A_PUBLIC_URL` as set.
    pub public_url: Option<String>,
    /// The selected workflow, where one is configured.
    pub workflow: Option<Workflow>,
    /// How long a blocking send waits, in milliseconds.
    pub blocking_timeout_ms: u32,
    /// The pause between two comments of a stream, in milliseconds.
    pub tick_ms: u32,
}

thread_local! {
    static CONFIG: RefCell<Option<Rc<Config>>> = const { RefCell::new(None) };
}

/// The settings, read and logged about at the first call.
pub fn of(env: &Env) -> Rc<Config> {
    CONFIG.with_borrow_mut(|config| Rc::clone(config.get_or_insert_with(|| Rc::new(read(env)))))
}

/// How long a turn lives without a sign of life, in milliseconds.
pub fn lease_ms(env: &Env) -> i64 {
    i64::from(milliseconds(env, "A2A_LEASE_MS", LEASE_MS))
}

/// How long an object may take to answer, in milliseconds.
pub fn object_timeout_ms(env: &Env) -> u32 {
    milliseconds(env, "A2A_OBJECT_TIMEOUT_MS", OBJECT_TIMEOUT_MS)
}

fn read(env: &Env) -> Config {
    let credentials = Credentials::parse(&env.var("A2A_CREDENTIALS").unwrap_or_default())
        .inspect_err(|error| {
            log::error(
                "credentials_not_configured",
                &[("reason", &error.to_string())],
            );
        })
        .ok();
    Config {
        credentials,
        identity: identity(env),
        public_url: env.var("A2A_PUBLIC_URL"),
        workflow: workflow(env),
        blocking_timeout_ms: milliseconds(env, "A2A_BLOCKING_TIMEOUT_MS", BLOCKING_TIMEOUT_MS),
        tick_ms: milliseconds(env, "A2A_TICK_MS", TICK_MS),
    }
}

fn identity(env: &Env) -> Option<Identity> {
    let var = |name: &str| env.var(name);
    let name = var("A2A_AGENT_NAME");
    let description = var("A2A_AGENT_DESCRIPTION");
    let version = var("A2A_AGENT_VERSION");
    let provider_organization = var("A2A_AGENT_PROVIDER_ORGANIZATION");
    let provider_url = var("A2A_AGENT_PROVIDER_URL");
    let documentation_url = var("A2A_AGENT_DOCUMENTATION_URL");
    let icon_url = var("A2A_AGENT_ICON_URL");
    let skills = var("A2A_AGENT_SKILLS");
    Identity::from_vars(&Vars {
        name: name.as_deref(),
        description: description.as_deref(),
        version: version.as_deref(),
        provider_organization: provider_organization.as_deref(),
        provider_url: provider_url.as_deref(),
        documentation_url: documentation_url.as_deref(),
        icon_url: icon_url.as_deref(),
        skills: skills.as_deref(),
    })
    .inspect_err(|error| {
        log::error(
            "agent_card_not_configured",
            &[("reason", &error.to_string())],
        )
    })
    .ok()
}

fn workflow(env: &Env) -> Option<Workflow> {
    let manifest = env
        .var("A2A_WORKFLOW_MANIFEST")
        .filter(|manifest| !manifest.trim().is_empty())?;
    manifest::load(&manifest, env.var("A2A_WORKFLOW").as_deref())
        .inspect_err(|error| {
            log::error(
                manifest::LOAD_FAILED_EVENT,
                &[("reason", &error.to_string())],
            )
        })
        .ok()
}

fn milliseconds(env: &Env, name: &str, default: u32) -> u32 {
    let Some(value) = env.var(name).filter(|value| !value.trim().is_empty()) else {
        return default;
    };
    match value.trim().parse::<u32>() {
        Ok(value) if (1..=86_400_000).contains(&value) => value,
        _ => {
            log::error(
                "var_malformed",
                &[
                    ("var", name),
                    ("expected", "whole milliseconds from 1 to 86400000"),
                ],
            );
            default
        }
    }
}
