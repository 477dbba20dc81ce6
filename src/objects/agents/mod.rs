//! Calling other agents for a principal: every request to one is made here, under bounds, and what comes of it is the
//! core's to judge.
//!
//! The platform lets an invocation have six connections open at once. They are shared out: two for messages, which may take
//! long to be answered, two for everything that is answered at once, and two for streams. What finds none free waits in
//! memory, by its number alone.

mod command;
mod follow;
mod slots;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use durable_objects::error::CoreError;
use durable_objects::principal::agents::{
    Connect, Connection, Exchange, Outcome, Response, connect, prepared,
};
use durable_objects::principal::{self, Principal};
use durable_objects::storage::{StoreError, Transactional};
use protocol::agents::definition::Definition;

pub(super) use command::Answered;
use slots::Slots;

use super::at_work::AtWork;
use super::principal::Inner;
use super::with_environment;
use crate::config;
use crate::remotes::Remotes;
use crate::runtime::clock;
use crate::runtime::env::Env;
use crate::runtime::remote::{self, ExchangeError};
use crate::runtime::sql::Database;

/// What is open at once: messages, everything else that is answered, streams.
const MESSAGES: u32 = 2;
const LOOKS: u32 = 2;
const STREAMS: usize = 2;

/// What the object holds of calls in memory: numbers, and what is open.
pub(super) struct Agents {
    env: Env,
    config: Rc<config::Config>,
    messages: Slots,
    looks: Slots,
    /// The calls whose streams are open.
    streams: RefCell<BTreeSet<i64>>,
    /// The calls that are due and wait for their turn.
    queue: RefCell<VecDeque<i64>>,
    runners: Cell<u32>,
    preparing: AtWork,
    /// How long a tool may wait for an agent, in milliseconds: less than its own caller waits.
    patience_ms: u32,
}

impl Agents {
    pub fn of(env: &Env) -> Self {
        Self {
            env: env.clone(),
            config: config::of(env),
            messages: Slots::new(MESSAGES),
            looks: Slots::new(LOOKS),
            streams: RefCell::default(),
            queue: RefCell::default(),
            runners: Cell::new(0),
            preparing: AtWork::default(),
            patience_ms: config::object_timeout_ms(env)
                .saturating_mul(6)
                .checked_div(10)
                .unwrap_or_default(),
        }
    }

    pub fn remotes(&self) -> &Remotes {
        &self.config.remotes
    }

    /// Makes one request, under the definition of its agent.
    async fn exchange(
        &self,
        exchange: &Exchange,
        definition: Option<&Definition>,
        is_own: bool,
        slots: &Slots,
        (max_bytes, deadline_ms): (u32, u32),
    ) -> Outcome {
        let headers = match self.headers(exchange, definition, is_own) {
            Ok(headers) => headers,
            Err(outcome) => return *outcome,
        };
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let _slot = slots.take().await;
        let answer = remote::exchange(
            exchange.method,
            &exchange.url,
            &headers,
            exchange.body.as_deref(),
            max_bytes,
            deadline_ms,
        )
        .await;
        match answer {
            Ok(answer) => {
                let [cache_control, age, expires, etag, last_modified] = answer.validity;
                Outcome::Answered(Response {
                    status: answer.status,
                    body: answer.body,
                    cache_control,
                    age,
                    expires,
                    etag,
                    last_modified,
                })
            }
            Err(ExchangeError::Deadline) => Outcome::TimedOut,
            Err(ExchangeError::TooLarge) => Outcome::TooLarge,
            Err(ExchangeError::Failed) => Outcome::Unreachable,
        }
    }

    /// All headers of a request.
    fn headers(
        &self,
        exchange: &Exchange,
        definition: Option<&Definition>,
        is_own: bool,
    ) -> Result<Vec<(String, String)>, Box<Outcome>> {
        let remotes = self.remotes();
        let definition = definition
            .filter(|definition| remotes.loopback || !definition.target.is_loopback)
            .ok_or_else(|| Box::new(Outcome::Withdrawn))?;
        let mut headers = remotes
            .headers(&self.env, definition, is_own, &exchange.url)
            .map_err(|name| Box::new(Outcome::Unresolved(name)))?;
        let mut say = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        say("a2a-version", "1.0");
        say(
            "accept",
            "application/a2a+json, application/json, text/event-stream",
        );
        if exchange.body.is_some() {
            say("content-type", "application/a2a+json");
        }
        for (name, value) in &exchange.validators {
            say(name, value);
        }
        Ok(headers)
    }

    /// Fetches a card, within `deadline_ms` and the connect timeout.
    async fn fetch_card(
        &self,
        connection: &Connection,
        exchange: &Exchange,
        deadline_ms: u32,
    ) -> Outcome {
        self.exchange(
            exchange,
            Some(&connection.definition),
            connection.is_own,
            &self.looks,
            (
                protocol::agents::card::MAX_CARD_BYTES,
                deadline_ms.min(self.remotes().connect_timeout_ms),
            ),
        )
        .await
    }
}

impl Inner {
    /// How the agent of an alias is reached; its card is fetched first where it must be.
    async fn connection(&self, alias: &str, deadline_ms: u32) -> Result<Connection, CoreError> {
        match connect(&self.database, clock::now_ms(), alias)? {
            Connect::Ready(connection) => Ok(connection),
            Connect::Fetch {
                connection,
                exchange,
            } => {
                let outcome = self
                    .agents
                    .fetch_card(&connection, &exchange, deadline_ms)
                    .await;
                let prepared = self.database.transaction(|database| {
                    prepared(database, clock::now_ms(), connection, &outcome)
                })?;
                prepared.map_err(CoreError::from)
            }
        }
    }

    /// Runs a step of the core in a transaction, for the principal that a call names, and carries out its effects.
    fn step<T>(
        this: &Rc<Self>,
        scope: (&str, &str),
        work: impl FnOnce(&mut Principal<'_, Database>) -> Result<T, CoreError>,
    ) -> Result<T, CoreError> {
        let (mut work, mut answer) = (Some(work), None);
        Self::run_step(this, scope, &mut |principal| {
            if let Some(work) = work.take() {
                answer = Some(work(principal)?);
            }
            Ok(())
        })?;
        answer.ok_or(CoreError::Store(StoreError::Corrupt { what: "step" }))
    }

    /// What every step has in common, compiled once.
    fn run_step(
        this: &Rc<Self>,
        scope: (&str, &str),
        work: &mut dyn FnMut(&mut Principal<'_, Database>) -> Result<(), CoreError>,
    ) -> Result<(), CoreError> {
        let ((), effects) = this.database.transaction(|database| {
            with_environment(|environment| principal::run(database, environment, scope, work))
        })?;
        Self::carry_out(this, effects)
            .map_err(|_| CoreError::Store(StoreError::Corrupt { what: "effects" }))
    }
}
