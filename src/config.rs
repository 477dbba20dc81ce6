//! What the deployment sets, read once per instance: bindings do not change while an instance lives.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

use protocol::card::{self, CardError, Identity, Vars};
use protocol::cors::AllowedOrigins;
use protocol::credentials::Credentials;
use protocol::credentials::DEFAULT_RESIDENT;
use protocol::error::A2aError;
use protocol::http::is_outbound_url;
use protocol::ids::is_identifier;
use protocol::push::MIN_SECRET_BYTES;
use protocol::time;

use crate::remotes::Remotes;
use crate::runtime::ai::Ai;
use crate::runtime::clock;
use crate::runtime::dataset::Dataset;
use crate::runtime::env::Env;
use crate::runtime::log;
use crate::runtime::rate_limiter::RateLimiter;
use crate::workflow::Declared;

/// How long a blocking send waits, unless `A2A_BLOCKING_TIMEOUT_MS` says otherwise (seed *A blocking send is bounded*).
const BLOCKING_TIMEOUT_MS: u32 = 60_000;

/// How long an object may take to answer, unless `A2A_OBJECT_TIMEOUT_MS` says otherwise.
const OBJECT_TIMEOUT_MS: u32 = 10_000;

/// The most that `A2A_OBJECT_TIMEOUT_MS` may say. Calls wait up to twice as long, or half a minute longer, and no wait may
/// reach `runtime::promise::SILENCE_MS`.
const MAX_OBJECT_TIMEOUT_MS: u32 = 120_000;

/// How long a turn lives without a sign of life, unless `A2A_LEASE_MS` says otherwise.
const LEASE_MS: u32 = 60_000;

/// How often a stream proves that its client is there, unless `A2A_TICK_MS` says otherwise.
const TICK_MS: u32 = crate::runtime::stream::TICK_MS;

/// The most that `A2A_TICK_MS` may say: a watcher is given up when it has been silent for 90 seconds, and a blocking send
/// waits tick by tick, each of which must stay below `runtime::promise::SILENCE_MS`.
const MAX_TICK_MS: u32 = 60_000;

/// Tasks that are not terminal and that one principal may have at once, unless `A2A_MAX_OPEN_TASKS` says otherwise.
const MAX_OPEN_TASKS: u32 = 10_000;

/// Watchers that one principal may have open at once, unless `A2A_MAX_WATCHERS` says otherwise. The platform's own
/// limit is 32,768 sockets an object.
const MAX_WATCHERS: u32 = 10_000;

/// The deployment's settings.
pub struct Config {
    /// None where the secret is absent or unreadable; why is in the log.
    pub credentials: Option<Credentials>,
    /// None where a var of the card is malformed; which one is in the log.
    pub identity: Option<Identity>,
    /// `A2A_PUBLIC_URL` where it is set. Malformed: what is wrong with it is in the log.
    public_url: Result<Option<String>, CardError>,
    /// When what the public documents say was last changed: when this version was deployed, where the platform tells.
    pub last_modified_ms: i64,
    /// Which web pages may call.
    pub allowed_origins: AllowedOrigins,
    /// How often a principal may call, where that is limited.
    pub rate_limiter: Option<RateLimiter>,
    /// Where each request leaves a data point, where the deployment has such a place.
    pub metrics: Option<Dataset>,
    /// The selected workflow, where one is configured.
    pub declared: Declared,
    /// How long a blocking send waits, in milliseconds.
    pub blocking_timeout_ms: u32,
    /// Tasks that are not terminal and that one principal may have at once.
    pub max_open_tasks: u32,
    /// Watchers that one principal may have open at once.
    pub max_watchers: u32,
    /// Where the resident is told of wakes, where the deployment pushes them.
    pub push: Option<Push>,
    /// The model that is a resident, where one is.
    pub model: Option<Model>,
    /// Whether every request leaves a line in the log (`A2A_REQUEST_LOG`), and every change of a queue's depth, or only
    /// requests that failed here.
    pub logs_requests: bool,
    /// The pause between two comments of a stream, in milliseconds.
    pub tick_ms: u32,
    /// The remote agents that principals may call.
    pub remotes: Remotes,
}

impl Config {
    /// The URL of the interface, for a request that came to this origin.
    ///
    /// # Errors
    /// An internal error where `A2A_PUBLIC_URL` is malformed, which the log told when it was read: a card or a locator
    /// must never be wrong. An invalid request where it is not set and `Host` is no host's name.
    pub fn interface_url(&self, request_origin: &str) -> Result<String, A2aError> {
        match &self.public_url {
            Ok(Some(url)) => Ok(url.clone()),
            Ok(None) => card::interface_url(None, request_origin)
                .map_err(|_| A2aError::field("Host", "must be a host's name or address")),
            Err(_) => Err(A2aError::internal()),
        }
    }
}

/// Where wakes are pushed to (`A2A_PUSH_URL`, and the secret `A2A_PUSH_SECRET`).
pub struct Push {
    /// An https URL, or http on loopback.
    pub url: String,
    /// What the pushes are signed with.
    pub secret: String,
}

/// The model that runs the turns of one resident (`RESIDENT_MODEL` and what goes with it).
pub struct Model {
    /// The resident whose turns it runs (`RESIDENT_MODEL_RESIDENT`).
    pub resident: String,
    /// Its name (`RESIDENT_MODEL_NAME`).
    pub name: String,
    /// Where it is asked.
    pub endpoint: ModelEndpoint,
}

/// Where a model is asked.
pub enum ModelEndpoint {
    /// An OpenAI-compatible chat completions endpoint, with the secret `RESIDENT_MODEL_KEY` as bearer where it is set.
    Url {
        /// An https URL, or http on loopback.
        url: String,
        /// The key.
        key: Option<String>,
    },
    /// The Workers AI binding `AI`.
    WorkersAi(Ai),
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
    whole(
        env,
        "A2A_OBJECT_TIMEOUT_MS",
        OBJECT_TIMEOUT_MS,
        1..=MAX_OBJECT_TIMEOUT_MS,
    )
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
        public_url: public_url(env),
        last_modified_ms: env
            .version_timestamp("CF_VERSION_METADATA")
            .and_then(|timestamp| time::parse(&timestamp))
            .unwrap_or_else(clock::now_ms),
        allowed_origins: allowed_origins(env),
        rate_limiter: env.rate_limiter("RATE_LIMITER"),
        metrics: env.dataset("METRICS"),
        declared: Declared::of(env),
        blocking_timeout_ms: milliseconds(env, "A2A_BLOCKING_TIMEOUT_MS", BLOCKING_TIMEOUT_MS),
        max_open_tasks: whole(env, "A2A_MAX_OPEN_TASKS", MAX_OPEN_TASKS, 1..=1_000_000),
        max_watchers: whole(env, "A2A_MAX_WATCHERS", MAX_WATCHERS, 1..=32_000),
        logs_requests: logs_requests(env),
        push: push(env),
        model: model(env),
        tick_ms: whole(env, "A2A_TICK_MS", TICK_MS, 1..=MAX_TICK_MS),
        remotes: Remotes::of(env),
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

fn public_url(env: &Env) -> Result<Option<String>, CardError> {
    let Some(url) = env
        .var("A2A_PUBLIC_URL")
        .filter(|url| !url.trim().is_empty())
    else {
        return Ok(None);
    };
    card::interface_url(Some(&url), "")
        .map(Some)
        .inspect_err(|error| {
            log::error(
                "agent_card_not_configured",
                &[("reason", &error.to_string())],
            );
        })
}

fn allowed_origins(env: &Env) -> AllowedOrigins {
    AllowedOrigins::parse(env.var(protocol::cors::VAR).as_deref())
        .inspect_err(|error| {
            log::error(
                "allowed_origins_not_configured",
                &[("reason", &error.to_string())],
            );
        })
        .unwrap_or_default()
}

fn logs_requests(env: &Env) -> bool {
    match set(env, "A2A_REQUEST_LOG").as_deref() {
        None | Some("on") => true,
        Some("off") => false,
        Some(_) => {
            log::error(
                "var_malformed",
                &[("var", "A2A_REQUEST_LOG"), ("expected", "on or off")],
            );
            true
        }
    }
}

fn push(env: &Env) -> Option<Push> {
    let url = set(env, "A2A_PUSH_URL")?;
    let secret = env.var("A2A_PUSH_SECRET").unwrap_or_default();
    if !is_outbound_url(&url) {
        return malformed("A2A_PUSH_URL", "an https URL, or http on loopback");
    }
    if secret.len() < MIN_SECRET_BYTES {
        return malformed("A2A_PUSH_SECRET", "a secret of at least 16 bytes");
    }
    Some(Push { url, secret })
}

fn model(env: &Env) -> Option<Model> {
    let endpoint = set(env, "RESIDENT_MODEL")?;
    let Some(name) = set(env, "RESIDENT_MODEL_NAME") else {
        return malformed("RESIDENT_MODEL_NAME", "the model's name");
    };
    let resident =
        set(env, "RESIDENT_MODEL_RESIDENT").unwrap_or_else(|| DEFAULT_RESIDENT.to_owned());
    if !is_identifier(&resident) {
        return malformed("RESIDENT_MODEL_RESIDENT", "the name of a resident");
    }
    let endpoint = if endpoint == "ai" {
        match env.ai("AI") {
            Some(ai) => ModelEndpoint::WorkersAi(ai),
            None => return malformed("RESIDENT_MODEL", "a URL, or `ai` with the binding AI"),
        }
    } else if is_outbound_url(&endpoint) {
        ModelEndpoint::Url {
            url: endpoint,
            key: set(env, "RESIDENT_MODEL_KEY"),
        }
    } else {
        return malformed("RESIDENT_MODEL", "an https URL, http on loopback, or `ai`");
    };
    Some(Model {
        resident,
        name,
        endpoint,
    })
}

fn set(env: &Env, name: &str) -> Option<String> {
    let value = env.var(name)?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn malformed<T>(var: &str, expected: &str) -> Option<T> {
    log::error("var_malformed", &[("var", var), ("expected", expected)]);
    None
}

fn milliseconds(env: &Env, name: &str, default: u32) -> u32 {
    whole(env, name, default, 1..=86_400_000)
}

/// A whole number from a var; the default where it is absent, and, with a line in the log, where it is malformed.
pub(crate) fn whole(env: &Env, name: &str, default: u32, range: RangeInclusive<u32>) -> u32 {
    let Some(value) = env.var(name).filter(|value| !value.trim().is_empty()) else {
        return default;
    };
    match value.trim().parse::<u32>() {
        Ok(value) if range.contains(&value) => value,
        _ => {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            log::error("var_malformed", &[("var", name), ("expected", &expected)]);
            default
        }
    }
}
