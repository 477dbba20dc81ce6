//! The family `agents`: which aliases there are, and which of them are enabled (seed *Outbound agents as Worker
//! Functionality*).

use protocol::agents::definition::Definition;
use protocol::agents::object::{Object, array};
use protocol::agents::problem;
use protocol::agents::vars::Definitions;
use protocol::error::{A2aError, Reason};
use serde_json::Value as Json;

use super::preparation;
use crate::commands::JsonText;
use crate::commands::agents::AgentsCommand;
use crate::error::CoreError;
use crate::principal::Principal;
use crate::storage::{Row, Store, StoreError};

/// The definitions that a principal may add.
pub const MAX_ADDED: i64 = 64;

const OF_DEPLOYMENT: i64 = 0;
const OF_PRINCIPAL: i64 = 1;

/// The name under which the definitions of the deployment that stand here are remembered.
const ADOPTED: &str = "agents";

/// An alias as it stands for the principal.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub alias: String,
    pub is_own: bool,
    /// The definition as JSON, or what is wrong with it.
    pub definition: Result<String, String>,
    pub enabled: bool,
}

impl Entry {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let (alias, provenance) = (row.text()?, row.integer()?);
        let (definition, problem) = (row.optional_text()?, row.optional_text()?);
        let (by_default, enabled) = (row.integer()?, row.optional_integer()?);
        let is_own = provenance == OF_PRINCIPAL;
        let definition = match definition {
            // The rules may have become stricter since it was added. The deployment's are read anew with each deployment.
            Some(text) if is_own => {
                read(&text)
                    .map(|_| text)
                    .map_err(|error| match error.violations.first() {
                        Some(wrong) => format!("{} {}", wrong.field, wrong.description),
                        None => error.message.to_string(),
                    })
            }
            Some(text) => Ok(text),
            None => Err(problem.unwrap_or_default()),
        };
        Ok(Self {
            alias,
            is_own,
            enabled: definition.is_ok() && enabled.unwrap_or(by_default) != 0,
            definition,
        })
    }

    /// What stands under an alias: the principal's own where both define it.
    pub fn find<S: Store>(store: &S, alias: &str) -> Result<Option<Self>, StoreError> {
        store
            .first(
                "SELECT alias, provenance, definition, problem, enabled_by_default, enabled FROM agents \
                 WHERE alias = ?1 ORDER BY provenance DESC LIMIT 1",
                &[alias.into()],
            )?
            .map(Self::from_row)
            .transpose()
    }

    /// Every alias, in order.
    pub fn all<S: Store>(store: &S) -> Result<Vec<Self>, StoreError> {
        let rows = store.query(
            "SELECT alias, provenance, definition, problem, enabled_by_default, enabled FROM agents \
             ORDER BY alias, provenance DESC",
            &[],
        )?;
        let mut entries: Vec<Self> = Vec::with_capacity(rows.len());
        for row in rows {
            let entry = Self::from_row(row)?;
            if entries.last().is_none_or(|last| last.alias != entry.alias) {
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    /// The definition, read.
    pub fn read(&self) -> Result<Definition, StoreError> {
        let corrupt = StoreError::Corrupt { what: "definition" };
        let Ok(text) = &self.definition else {
            return Err(corrupt);
        };
        read(text).map_err(|_| corrupt)
    }
}

/// A definition as it is kept. Whether loopback is reached is asked where it would be.
fn read(text: &str) -> Result<Definition, A2aError> {
    let json: Json = serde_json::from_str(text).unwrap_or_default();
    Definition::from_json(&json, true, "")
}

/// Takes the deployment's definitions over, where they are others than before. What the principal enabled and disabled
/// stays.
///
/// # Errors
/// A fault of the store.
pub fn adopt<S: Store>(store: &S, definitions: &Definitions) -> Result<(), StoreError> {
    let fingerprint = fingerprint(definitions);
    let known = store
        .first("SELECT key FROM keys WHERE name = ?1", &[ADOPTED.into()])?
        .map(|mut row| row.text())
        .transpose()?;
    if known.as_deref().unwrap_or_default() == fingerprint {
        return Ok(());
    }
    store.execute(
        "INSERT INTO keys (name, key) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET key = ?2",
        &[ADOPTED.into(), (&fingerprint).into()],
    )?;
    store.execute(
        "UPDATE agents SET definition = NULL, problem = NULL, enabled_by_default = 0 WHERE provenance = ?1",
        &[OF_DEPLOYMENT.into()],
    )?;
    for (alias, read) in &definitions.by_alias {
        let definition = read.as_ref().ok().map(Definition::to_json);
        store.execute(
            "INSERT INTO agents (alias, provenance, definition, problem, enabled_by_default) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (alias, provenance) DO UPDATE SET definition = ?3, problem = ?4, enabled_by_default = ?5",
            &[
                alias.into(),
                OF_DEPLOYMENT.into(),
                definition.as_ref().into(),
                read.as_ref().err().into(),
                i64::from(definitions.enabled.contains(alias)).into(),
            ],
        )?;
    }
    store.execute(
        "DELETE FROM agents WHERE provenance = ?1 AND definition IS NULL AND problem IS NULL",
        &[OF_DEPLOYMENT.into()],
    )
}

/// What tells one set of definitions from another; empty where there are none.
fn fingerprint(definitions: &Definitions) -> String {
    let mut text = String::new();
    for (alias, read) in &definitions.by_alias {
        let told = match read {
            Ok(definition) => definition.to_json(),
            Err(problem) => problem.clone(),
        };
        let enabled = definitions.enabled.contains(alias);
        text.push_str(&format!("{alias} {enabled} {told}\n"));
    }
    text
}

impl<S: Store> Principal<'_, S> {
    /// Carries out a command that fetches nothing. `for_agent` leaves out of the answer what an agent is not shown: where
    /// agents are.
    pub fn manage_agents(
        &mut self,
        command: &AgentsCommand,
        for_agent: bool,
    ) -> Result<JsonText, CoreError> {
        let answer = match command {
            AgentsCommand::List => {
                let entries = Entry::all(self.store)?;
                let mut agents = Vec::with_capacity(entries.len());
                for entry in &entries {
                    agents.push(self.described(entry, for_agent)?);
                }
                Object::default().raw("agents", &array(&agents)).end()
            }
            AgentsCommand::Add { alias, definition } => {
                self.add_agent(alias, definition.get())?;
                self.described_alias(alias, for_agent)?
            }
            AgentsCommand::Enable { alias } => {
                self.set_enabled(alias, true)?;
                self.described_alias(alias, for_agent)?
            }
            AgentsCommand::Disable { alias } => {
                self.set_enabled(alias, false)?;
                self.described_alias(alias, for_agent)?
            }
            AgentsCommand::Remove { alias } => {
                self.remove_agent(alias)?;
                Object::default().end()
            }
            // Carried out where cards are fetched.
            AgentsCommand::Discover(_) => {
                return Err(StoreError::Corrupt { what: "discovery" }.into());
            }
        };
        Ok(JsonText::from_text(answer))
    }

    fn add_agent(&self, alias: &str, definition: &str) -> Result<(), CoreError> {
        let own = Entry::find(self.store, alias)?.is_some_and(|entry| entry.is_own);
        if own {
            return Err(A2aError::new(
                Reason::AlreadyExists,
                "there is an agent of yours under this alias: remove it first",
            )
            .with("alias", alias)
            .into());
        }
        let mut row = self
            .store
            .first(
                "SELECT count(*) FROM agents WHERE provenance = ?1",
                &[OF_PRINCIPAL.into()],
            )?
            .ok_or(StoreError::Corrupt { what: "count" })?;
        if row.integer()? >= MAX_ADDED {
            return Err(A2aError::new(
                Reason::ResourceExhausted,
                "you have as many agents as may be added: remove some",
            )
            .with("max", MAX_ADDED.to_string())
            .into());
        }
        self.store.execute(
            "INSERT INTO agents (alias, provenance, definition, enabled_by_default) VALUES (?1, ?2, ?3, 0)",
            &[alias.into(), OF_PRINCIPAL.into(), definition.into()],
        )?;
        Ok(())
    }

    fn set_enabled(&self, alias: &str, enabled: bool) -> Result<(), CoreError> {
        let entry = self.entry(alias)?;
        if let (true, Err(why)) = (enabled, &entry.definition) {
            return Err(A2aError::new(
                Reason::UnsupportedOperation,
                format!("the definition is malformed: {why}"),
            )
            .with("alias", alias)
            .into());
        }
        let provenance = if entry.is_own {
            OF_PRINCIPAL
        } else {
            OF_DEPLOYMENT
        };
        self.store.execute(
            "UPDATE agents SET enabled = ?3 WHERE alias = ?1 AND provenance = ?2",
            &[alias.into(), provenance.into(), i64::from(enabled).into()],
        )?;
        Ok(())
    }

    fn remove_agent(&self, alias: &str) -> Result<(), CoreError> {
        if !self.entry(alias)?.is_own {
            return Err(A2aError::unsupported_operation(
                "the deployment defines this agent: disable it instead",
            )
            .with("alias", alias)
            .into());
        }
        self.store.execute(
            "DELETE FROM agents WHERE alias = ?1 AND provenance = ?2",
            &[alias.into(), OF_PRINCIPAL.into()],
        )?;
        self.store
            .execute("DELETE FROM agent_cards WHERE alias = ?1", &[alias.into()])?;
        Ok(())
    }

    /// What stands under an alias that must be known, enabled or not.
    fn entry(&self, alias: &str) -> Result<Entry, CoreError> {
        Entry::find(self.store, alias)?.ok_or_else(|| problem::not_configured(alias).into())
    }

    fn described_alias(&self, alias: &str, for_agent: bool) -> Result<String, CoreError> {
        let entry = self.entry(alias)?;
        Ok(self.described(&entry, for_agent)?)
    }

    fn described(&self, entry: &Entry, for_agent: bool) -> Result<String, StoreError> {
        let provenance = if entry.is_own {
            "principal"
        } else {
            "deployment"
        };
        let mut described = Object::default()
            .text("alias", &entry.alias)
            .text("address", &format!("a2a://{}", entry.alias))
            .flag("enabled", entry.enabled)
            .text("provenance", provenance);
        match &entry.definition {
            Err(why) => {
                let problem = Object::default()
                    .text("problem", "definition-malformed")
                    .text("message", why);
                described = described.raw("problem", &problem.end());
            }
            Ok(text) => {
                if !for_agent {
                    described = described.raw("definition", &entry.read()?.shown());
                }
                if let Some(prepared) = preparation::stored(self.store, &entry.alias, text)? {
                    let (name, value) = prepared.described();
                    described = described.raw(name, &value);
                }
            }
        }
        Ok(described.end())
    }
}
