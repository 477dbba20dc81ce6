//! Calls that are due, and streams of those that go on.

use std::cell::Cell;
use std::rc::Rc;

use durable_objects::error::CoreError;
use durable_objects::principal::agents::{
    Kind, Outcome, StreamStep, Subscription, lease_due, reached_by, scope_of, stream_opened,
};
use durable_objects::storage::Transactional;
use protocol::agents::answer::{MAX_ANSWER_BYTES, MAX_EVENT_BYTES};
use wasm_bindgen::JsValue;

use super::{Inner, STREAMS};
use crate::runtime::clock;
use crate::runtime::log;
use crate::runtime::promise::promise;
use crate::runtime::remote::{Event, Events};

/// The most calls taken up at one alarm.
const MAX_DUE: i64 = 256;

/// The calls carried on at once: as many as may have a connection.
const RUNNERS: u32 = super::MESSAGES + super::LOOKS;

/// How long a stream is waited for at a time, in milliseconds. One without any sign of life for as long is left.
const STREAM_WAIT_MS: u32 = 60_000;

/// The turn whose tool waits for an exchange, as long as it does.
#[derive(Default)]
pub(super) struct Waiting {
    pub turn_id: String,
    pub gone: Cell<bool>,
}

/// Frees a place in a set of calls when it goes.
struct Opened(Rc<Inner>, i64);

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.agents.streams.borrow_mut().remove(&self.1);
    }
}

/// Counts a runner out when it goes.
struct Runner(Rc<Inner>);

impl Drop for Runner {
    fn drop(&mut self) {
        let runners = &self.0.agents.runners;
        runners.set(runners.get().saturating_sub(1));
    }
}

impl Inner {
    /// Takes up the calls that are due.
    pub(in crate::objects) fn follow_due(this: &Rc<Self>) -> Result<(), CoreError> {
        let due = this
            .database
            .transaction(|database| lease_due(database, clock::now_ms(), MAX_DUE))?;
        this.agents.queue.borrow_mut().extend(due);
        for _ in 0..RUNNERS {
            let runners = &this.agents.runners;
            if runners.get() >= RUNNERS || this.agents.queue.borrow().is_empty() {
                break;
            }
            runners.set(runners.get().saturating_add(1));
            Self::keep(this, Self::work_off(Runner(Rc::clone(this))));
        }
        Ok(())
    }

    /// Runs work that outlives the call that began it.
    pub(super) fn keep(this: &Rc<Self>, work: impl Future<Output = ()> + 'static) {
        let work = promise(async move {
            work.await;
            Ok(JsValue::UNDEFINED)
        });
        if let Err(error) = this.state().wait_until(&work) {
            log::error("following_not_kept", &[("reason", &error.to_string())]);
        }
    }

    async fn work_off(runner: Runner) {
        let this = &runner.0;
        loop {
            let next = this.agents.queue.borrow_mut().pop_front();
            let Some(call_id) = next else { return };
            Self::carry_on(this, call_id, None).await;
        }
    }

    /// Takes the next step of a call, and follows its task by a stream where one is to be had.
    pub(super) async fn carry_on(this: &Rc<Self>, call_id: i64, waiting: Option<&Waiting>) {
        if let Err(error) = Self::try_carry_on(this, call_id, waiting).await {
            log::error("following_failed", &[("reason", &error.to_string())]);
        }
        Self::follow_by_stream(this, call_id);
    }

    async fn try_carry_on(
        this: &Rc<Self>,
        call_id: i64,
        waiting: Option<&Waiting>,
    ) -> Result<(), CoreError> {
        let Some(scope) = scope_of(&this.database, call_id)? else {
            return Ok(());
        };
        let scope = (scope.0.as_str(), scope.1.as_str());
        let Some(step) = Self::step(this, scope, |principal| principal.next_call_step(call_id))?
        else {
            return Ok(());
        };
        let slots = match step.kind {
            Kind::Send => &this.agents.messages,
            Kind::Poll | Kind::Cancel => &this.agents.looks,
        };
        let bounds = (MAX_ANSWER_BYTES, this.agents.remotes().connect_timeout_ms);
        let outcome = this
            .agents
            .exchange(
                &step.exchange,
                step.definition.as_ref(),
                step.is_own,
                slots,
                bounds,
            )
            .await;
        if !matches!(&outcome, Outcome::Answered(response) if response.status < 400) {
            log::info(
                "remote_agent_unanswered",
                &[("call_id", &call_id.to_string())],
            );
        }
        let told = waiting
            .filter(|waiting| !waiting.gone.get())
            .map(|waiting| waiting.turn_id.as_str());
        Self::step(this, scope, |principal| {
            principal.absorb_outcome(call_id, step.kind, &outcome, told)
        })
    }

    /// Opens a stream of a call's task, if its agent offers streams and one more may be open. An open one goes on.
    fn follow_by_stream(this: &Rc<Self>, call_id: i64) {
        let is_open = this.agents.streams.borrow().contains(&call_id);
        if !is_open && this.agents.streams.borrow().len() >= STREAMS {
            return;
        }
        let opened = stream_opened(&this.database, clock::now_ms(), call_id);
        let (Ok(Some(mut subscription)), false) = (opened, is_open) else {
            return;
        };
        this.agents.streams.borrow_mut().insert(call_id);
        let opened = Opened(Rc::clone(this), call_id);
        Self::keep(this, async move {
            let this = Rc::clone(&opened.0);
            let last = Self::read_stream(&this, call_id, &mut subscription).await;
            drop(opened);
            let ended = Self::step(&this, ("", ""), |principal| {
                principal.end_stream(call_id, last)
            });
            if let Err(error) = ended {
                log::error("following_failed", &[("reason", &error.to_string())]);
            }
            if last == StreamStep::Look {
                Self::carry_on_boxed(&this, call_id).await;
            }
        });
    }

    /// The same as [`Inner::carry_on`], which it is part of.
    fn carry_on_boxed<'a>(
        this: &'a Rc<Self>,
        call_id: i64,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(Self::carry_on(this, call_id, None))
    }

    /// Reads a stream to its last step.
    async fn read_stream(
        this: &Rc<Self>,
        call_id: i64,
        subscription: &mut Subscription,
    ) -> StreamStep {
        let Subscription { exchange, heard } = subscription;
        let scope = match scope_of(&this.database, call_id) {
            Ok(Some(scope)) => scope,
            _ => return StreamStep::Stop,
        };
        let Ok(Some((definition, is_own))) = reached_by(&this.database, call_id) else {
            return StreamStep::Stop;
        };
        let Ok(headers) = this.agents.headers(exchange, Some(&definition), is_own) else {
            return StreamStep::Stop;
        };
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let timeout_ms = this.agents.remotes().connect_timeout_ms;
        let events = match Events::open(&exchange.url, &headers, MAX_EVENT_BYTES, timeout_ms).await
        {
            Ok(events) => events,
            Err(300..500) => return StreamStep::Refused,
            Err(_) => return StreamStep::Stop,
        };
        loop {
            let data = match events.next(STREAM_WAIT_MS).await {
                Event::Data(data) => data,
                // Whether its call is still followed is worth a look.
                Event::Alive => String::new(),
                Event::Over => return StreamStep::Stop,
            };
            let Some(news) = heard.news(clock::now_ms(), &data) else {
                continue;
            };
            let step = Self::step(this, (&scope.0, &scope.1), |principal| {
                principal.take_event(call_id, heard, news)
            });
            match step {
                Ok(StreamStep::ReadOn) => {}
                Ok(last) => return last,
                Err(error) => {
                    log::error("following_failed", &[("reason", &error.to_string())]);
                    return StreamStep::Stop;
                }
            }
        }
    }
}
