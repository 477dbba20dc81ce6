//! Preparing an agent: its card, and the interface that is used (seed *Preparation*).

use protocol::agents::card::{self, Unusable, one_line};
use protocol::agents::definition::Definition;
use protocol::agents::object::{Object, array, quote};
use protocol::agents::{freshness, problem};
use protocol::error::A2aError;
use serde_json::Value as Json;

use super::exchange::{Exchange, Outcome};
use super::family::Entry;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// For how long a problem is believed before the card is asked for again, in milliseconds.
pub const PROBLEM_LIFE_MS: i64 = 30_000;

/// How an agent is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its alias.
    pub alias: String,
    /// Its definition, with symbolic references.
    pub definition: Definition,
    /// The principal added the definition; the deployment did not.
    pub is_own: bool,
    /// The chosen interface.
    pub interface: String,
    /// Whether it offers streams.
    pub streaming: bool,
}

/// Whether an agent is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connect {
    /// It is.
    Ready(Connection),
    /// Its card is to be fetched first; [`prepared`] takes what comes.
    Fetch {
        /// How: the connection, without an interface yet.
        connection: Connection,
        /// The request.
        exchange: Exchange,
    },
}

/// What stands in storage about an agent's card.
#[derive(Debug, Clone)]
pub struct Card {
    interface: Option<String>,
    /// The card as JSON.
    pub(super) card: Option<String>,
    streaming: bool,
    etag: Option<String>,
    last_modified: Option<String>,
    fresh_until_ms: i64,
    problem: Option<A2aError>,
}

impl Card {
    /// Whether it is none, but what is wrong.
    pub(super) const fn has_problem(&self) -> bool {
        self.problem.is_some()
    }

    /// What the family tells of it: its name, and its value as JSON.
    pub(super) fn described(&self) -> (&'static str, String) {
        if let Some(error) = &self.problem {
            let told = Object::default()
                .maybe("problem", error.metadata.get("problem").map(String::as_str))
                .text("reason", error.reason.as_str())
                .text("message", &error.message);
            return ("problem", told.end());
        }
        let card = self.card.as_deref().unwrap_or_default();
        ("card", described(card, self.streaming))
    }
}

/// The outcome of a preparation: name, version, description, skill ids, streaming. `card` is one that was read before.
fn described(card: &str, streaming: bool) -> String {
    let card: Json = serde_json::from_str(card).unwrap_or_default();
    let text = |holder: &Json, name: &str| {
        one_line(
            holder.get(name).and_then(Json::as_str).unwrap_or_default(),
            240,
        )
    };
    let skills = card.get("skills").and_then(Json::as_array);
    let skills: Vec<String> = skills
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(|skill| text(skill, "id"))
        .filter(|id| !id.is_empty())
        .take(32)
        .map(|id| quote(&id))
        .collect();
    Object::default()
        .text("name", &text(&card, "name"))
        .text("version", &text(&card, "version"))
        .text("description", &text(&card, "description"))
        .raw("skills", &array(&skills))
        .flag("streaming", streaming)
        .end()
}

/// What is stored of an alias's card under this definition.
pub(super) fn stored<S: Store>(
    store: &S,
    alias: &str,
    definition: &str,
) -> Result<Option<Card>, StoreError> {
    let row = store.first(
        "SELECT interface, card, streaming, etag, last_modified, fresh_until_ms, problem FROM agent_cards \
         WHERE alias = ?1 AND definition = ?2",
        &[alias.into(), definition.into()],
    )?;
    row.map(|mut row| {
        Ok(Card {
            interface: row.optional_text()?,
            card: row.optional_text()?,
            streaming: row.integer()? != 0,
            etag: row.optional_text()?,
            last_modified: row.optional_text()?,
            fresh_until_ms: row.integer()?,
            problem: match row.optional_text()? {
                None => None,
                Some(text) => Some(
                    problem::from_text(alias, &text)
                        .ok_or(StoreError::Corrupt { what: "problem" })?,
                ),
            },
        })
    })
    .transpose()
}

/// How the agent of an alias is reached, if it is enabled. An unchanged connection is used again while its card is fresh.
///
/// # Errors
/// `agent-not-configured`, or the one problem that its preparation had a short while ago; a fault of the store.
pub fn connect<S: Store>(store: &S, now_ms: i64, alias: &str) -> Result<Connect, CoreError> {
    let entry = Entry::find(store, alias)?.filter(|entry| entry.enabled);
    let Some(entry) = entry else {
        return Err(problem::not_configured(alias).into());
    };
    let definition = entry.read()?;
    let text = entry.definition.as_deref().unwrap_or_default();
    let stored = stored(store, alias, text)?;
    let mut connection = Connection {
        alias: entry.alias.clone(),
        is_own: entry.is_own,
        interface: String::new(),
        streaming: false,
        definition,
    };
    let mut validators = Vec::new();
    if let Some(stored) = stored {
        let is_fresh = now_ms < stored.fresh_until_ms;
        match (stored.problem, stored.interface) {
            (Some(problem), _) if is_fresh => return Err(problem.into()),
            (None, Some(interface)) => {
                connection.interface = interface;
                connection.streaming = stored.streaming;
                if is_fresh {
                    return Ok(Connect::Ready(connection));
                }
                validators.extend(stored.etag.map(|etag| ("if-none-match", etag)));
                validators.extend(stored.last_modified.map(|date| ("if-modified-since", date)));
            }
            _ => {}
        }
    }
    Ok(Connect::Fetch {
        exchange: Exchange::card(connection.definition.card_url(), validators),
        connection,
    })
}

/// Takes in what came of fetching a card.
///
/// # Errors
/// The agent's one problem: `authorization-unresolved`, `card-unreachable` or `interface-unsupported`; a fault of the
/// store.
pub fn prepared<S: Store>(
    store: &S,
    now_ms: i64,
    connection: Connection,
    outcome: &Outcome,
) -> Result<Result<Connection, A2aError>, StoreError> {
    let read = read(&connection, outcome);
    let definition = connection.definition.to_json();
    let fresh_until_ms = match outcome {
        Outcome::Answered(response) => now_ms.saturating_add(freshness::lifetime_ms(
            response.cache_control.as_deref(),
            response.age.as_deref(),
            response.expires.as_deref(),
            now_ms,
        )),
        _ => now_ms,
    };
    // A card of another definition is not this one's to keep.
    let still = Entry::find(store, &connection.alias)?
        .is_some_and(|entry| entry.definition.as_deref() == Ok(definition.as_str()));
    match read {
        Ok(None) => {
            store.execute(
                "UPDATE agent_cards SET fresh_until_ms = ?3 WHERE alias = ?1 AND definition = ?2",
                &[
                    (&connection.alias).into(),
                    (&definition).into(),
                    fresh_until_ms.into(),
                ],
            )?;
            Ok(Ok(connection))
        }
        Ok(Some((card, text))) => {
            let connection = Connection {
                interface: card.interface.clone(),
                streaming: card.streaming,
                ..connection
            };
            let (etag, last_modified) = match outcome {
                Outcome::Answered(response) => (&response.etag, &response.last_modified),
                _ => (&None, &None),
            };
            if still {
                store.execute(
                    "INSERT OR REPLACE INTO agent_cards (alias, definition, card, line, interface, streaming, etag, \
                     last_modified, fresh_until_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    &[
                        (&connection.alias).into(),
                        (&definition).into(),
                        (&text).into(),
                        (&card.line(&connection.alias)).into(),
                        (&connection.interface).into(),
                        i64::from(connection.streaming).into(),
                        etag.as_ref().into(),
                        last_modified.as_ref().into(),
                        fresh_until_ms.into(),
                    ],
                )?;
            }
            Ok(Ok(connection))
        }
        Err(problem) => {
            let text = problem::to_text(&problem);
            if still {
                store.execute(
                    "INSERT OR REPLACE INTO agent_cards (alias, definition, streaming, fresh_until_ms, problem) \
                     VALUES (?1, ?2, 0, ?3, ?4)",
                    &[
                        (&connection.alias).into(),
                        (&definition).into(),
                        now_ms.saturating_add(PROBLEM_LIFE_MS).into(),
                        (&text).into(),
                    ],
                )?;
            }
            Ok(Err(problem))
        }
    }
}

/// The card that was fetched and its text; none where the held one still stands.
fn read(
    connection: &Connection,
    outcome: &Outcome,
) -> Result<Option<(card::Card, String)>, A2aError> {
    let alias = &connection.alias;
    let response = match outcome {
        Outcome::Answered(response) => response,
        Outcome::Unresolved(name) => return Err(problem::authorization_unresolved(alias, name)),
        other => return Err(problem::card_unreachable(alias, &other.complaint())),
    };
    if response.status == 304 && !connection.interface.is_empty() {
        return Ok(None);
    }
    if response.status != 200 {
        return Err(problem::card_unreachable(alias, &outcome.complaint()));
    }
    let definition = &connection.definition;
    card::read(
        &response.body,
        &definition.target,
        definition.has_credentials(),
    )
    .map(|card| {
        let text = String::from_utf8_lossy(&response.body).into_owned();
        Some((card, text))
    })
    .map_err(|unusable| match unusable {
        Unusable::Invalid(why) => problem::card_unreachable(alias, why),
        Unusable::Unsupported(found) => problem::interface_unsupported(alias, &found),
    })
}

/// The candidate that a discovery gives: an alias, where it came from, a definition and what its card says. Nothing is
/// stored.
///
/// # Errors
/// `card-unreachable` or `interface-unsupported`.
pub fn candidate(connection: &Connection, outcome: &Outcome) -> Result<String, A2aError> {
    let Some((card, text)) = read(connection, outcome)? else {
        return Err(problem::card_unreachable(
            &connection.alias,
            "it answered 304",
        ));
    };
    let alias = card.slug();
    let definition = Definition {
        name: alias.clone(),
        ..connection.definition.clone()
    };
    let candidate = Object::default()
        .text("alias", &alias)
        .text("provenance", "agent-card")
        .raw("definition", &definition.to_json())
        .raw("card", &described(&text, card.streaming));
    Ok(Object::default()
        .raw("candidates", &array(&[candidate.end()]))
        .end())
}

/// A connection to an agent that is only looked at.
#[must_use]
pub fn to_discover(definition: Definition) -> (Connection, Exchange) {
    let exchange = Exchange::card(definition.card_url(), Vec::new());
    let connection = Connection {
        alias: definition.name.clone(),
        is_own: true,
        interface: String::new(),
        streaming: false,
        definition,
    };
    (connection, exchange)
}
