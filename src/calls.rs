//! Calls to objects, typed: which binding, which object, what is asked and what is answered, each written once.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durable_objects::commands::principal::{PrincipalCall, PrincipalCommand, Watch};
use durable_objects::commands::wake_queue::{Admission, Notify, WakeQueueCommand};
use durable_objects::commands::{self, Call, Unreadable};
use durable_objects::wake_queue::{WAKE_BELL, turn_bell};
use protocol::error::A2aError;
use protocol::ids::is_identifier;
use serde::de::DeserializeOwned;

use crate::config;
use crate::objects::EXECUTOR_TIMEOUT_MS;
use crate::runtime::env::{Env, Namespace};
use crate::runtime::frames::{self, OpenError};
use crate::runtime::object_call::{Answer, CallError, NO_DEADLINE, Rows, invoke};
use crate::runtime::response::JsText;
use crate::runtime::sockets::WebSocket;

const WATCH: &str = "/watch/";
const BELL: &str = "/bell/";

thread_local! {
    static BINDINGS: RefCell<Option<Rc<Bindings>>> = const { RefCell::new(None) };
}

/// Calls to objects on behalf of one request, or of one object.
pub struct Objects {
    bindings: Rc<Bindings>,
    rows: Cell<Rows>,
}

/// Both object namespaces, and how long a call to one may take.
struct Bindings {
    principals: Option<Namespace>,
    wake_queues: Option<Namespace>,
    deadline_ms: u32,
    /// The same for a message, which an executor may be asked about first.
    send_deadline_ms: u32,
}

impl Objects {
    /// The deployment's, whose bindings are read once per instance.
    pub fn of(env: &Env) -> Self {
        let bindings = BINDINGS.with_borrow_mut(|bindings| {
            Rc::clone(bindings.get_or_insert_with(|| {
                let deadline_ms = config::object_timeout_ms(env);
                let decision_ms = match env.service("EXECUTOR") {
                    Some(_) => EXECUTOR_TIMEOUT_MS,
                    None => 0,
                };
                Rc::new(Bindings {
                    principals: env.namespace("PRINCIPAL"),
                    wake_queues: env.namespace("WAKE_QUEUE"),
                    deadline_ms,
                    send_deadline_ms: deadline_ms.saturating_add(decision_ms),
                })
            }))
        });
        Self {
            bindings,
            rows: Cell::default(),
        }
    }

    /// The rows that the calls so far have read and written before they answered.
    pub fn rows(&self) -> Rows {
        self.rows.get()
    }

    async fn invoke(
        &self,
        objects: &Namespace,
        name: &str,
        command: &[u8],
        deadline_ms: u32,
    ) -> Result<Answer, CallError> {
        let (answer, rows) = invoke(objects, name, command, deadline_ms).await?;
        self.rows.set(self.rows.get().and(rows));
        Ok(answer)
    }

    /// Asks a principal's object.
    ///
    /// # Errors
    /// [`CallError`] where it gave no answer; inside, what it refused.
    pub async fn principal<C>(
        &self,
        principal: &str,
        resident: &str,
        command: C,
    ) -> Result<Result<C::Reply, A2aError>, CallError>
    where
        C: Call<Object = PrincipalCommand>,
    {
        decode(&self.principal_answer(principal, resident, command).await?)
    }

    /// Asks a principal's object for what it answers as a response's body: `durable_objects::principal::answer` has which.
    ///
    /// # Errors
    /// [`CallError`] where it gave no answer; inside, what it refused.
    pub async fn principal_text<C>(
        &self,
        principal: &str,
        resident: &str,
        command: C,
    ) -> Result<Result<JsText, A2aError>, CallError>
    where
        C: Call<Object = PrincipalCommand>,
    {
        match self.ask(principal, resident, command.into_object()).await? {
            Answer::Text(text) => Ok(Ok(text)),
            Answer::Bytes(refusal) => match decode::<()>(&refusal)? {
                Err(error) => Ok(Err(error)),
                Ok(()) => Err(CallError::unusable("bytes came in place of a text")),
            },
        }
    }

    /// Asks a principal's object, and gives the bytes of its answer unread.
    ///
    /// # Errors
    /// [`CallError`] where it gave none.
    pub async fn principal_answer<C>(
        &self,
        principal: &str,
        resident: &str,
        command: C,
    ) -> Result<Vec<u8>, CallError>
    where
        C: Call<Object = PrincipalCommand>,
    {
        bytes(self.ask(principal, resident, command.into_object()).await?)
    }

    async fn ask(
        &self,
        principal: &str,
        resident: &str,
        command: PrincipalCommand,
    ) -> Result<Answer, CallError> {
        let objects = self
            .bindings
            .principals
            .as_ref()
            .ok_or_else(|| missing("PRINCIPAL"))?;
        let deadline_ms = match command {
            PrincipalCommand::Send(_) => self.bindings.send_deadline_ms,
            _ => self.bindings.deadline_ms,
        };
        let call = commands::encode(&PrincipalCall {
            principal: principal.to_owned(),
            resident: resident.to_owned(),
            command,
        })
        .map_err(unusable)?;
        self.invoke(objects, principal, &call, deadline_ms).await
    }

    /// Asks a resident's queue.
    ///
    /// # Errors
    /// As [`Objects::principal`].
    pub async fn wake_queue<C>(
        &self,
        resident: &str,
        command: C,
    ) -> Result<Result<C::Reply, A2aError>, CallError>
    where
        C: Call<Object = WakeQueueCommand>,
    {
        let deadline_ms = self.queue_deadline_ms();
        self.ask_queue(resident, command.into_object(), deadline_ms)
            .await
    }

    /// Tells a resident's queue of wakes, without a deadline: who calls sees to [`Objects::queue_deadline_ms`] itself.
    ///
    /// # Errors
    /// As [`Objects::principal`].
    pub async fn notify(
        &self,
        resident: &str,
        notify: Notify,
    ) -> Result<Result<Vec<Admission>, A2aError>, CallError> {
        self.ask_queue(resident, notify.into_object(), NO_DEADLINE)
            .await
    }

    /// How long a queue may take, in milliseconds. It may have to ask a principal first, which has a deadline of its own.
    pub fn queue_deadline_ms(&self) -> u32 {
        self.bindings.deadline_ms.saturating_mul(2)
    }

    async fn ask_queue<T: DeserializeOwned>(
        &self,
        resident: &str,
        command: WakeQueueCommand,
        deadline_ms: u32,
    ) -> Result<Result<T, A2aError>, CallError> {
        let objects = self
            .bindings
            .wake_queues
            .as_ref()
            .ok_or_else(|| missing("WAKE_QUEUE"))?;
        let command = commands::encode(&command).map_err(unusable)?;
        let answer = self
            .invoke(objects, resident, &command, deadline_ms)
            .await?;
        decode(&bytes(answer)?)
    }

    /// Opens a watch on a task of the principal.
    ///
    /// # Errors
    /// [`OpenError`]; where it was refused, [`refusal`] reads why.
    pub async fn watch(&self, principal: &str, watch: &Watch) -> Result<WebSocket, OpenError> {
        let objects = self
            .bindings
            .principals
            .as_ref()
            .ok_or_else(|| missing("PRINCIPAL"))?;
        let watch = commands::encode(watch).map_err(unusable)?;
        let path = format!("{WATCH}{}", URL_SAFE_NO_PAD.encode(watch));
        frames::open(objects, principal, &path, self.bindings.deadline_ms).await
    }

    /// Waits at a resident's doorbell for a wake, or for the end of a turn.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn bell(&self, resident: &str, bell: &str) -> Result<WebSocket, OpenError> {
        let objects = self
            .bindings
            .wake_queues
            .as_ref()
            .ok_or_else(|| missing("WAKE_QUEUE"))?;
        frames::open(
            objects,
            resident,
            &format!("{BELL}{bell}"),
            self.bindings.deadline_ms,
        )
        .await
    }
}

/// What a watch's upgrade asks.
pub fn watch_from_path(path: &str) -> Option<Watch> {
    let watch = URL_SAFE_NO_PAD.decode(path.strip_prefix(WATCH)?).ok()?;
    commands::decode(&watch).ok()
}

/// The bell that an upgrade waits at.
pub fn bell_from_path(path: &str) -> Option<&str> {
    let bell = path.strip_prefix(BELL)?;
    let known = bell == WAKE_BELL
        || bell
            .strip_prefix("turn:")
            .is_some_and(|turn_id| is_identifier(turn_id) && turn_bell(turn_id) == bell);
    known.then_some(bell)
}

/// The body with which an object refuses an upgrade.
pub fn refusal_text(error: &A2aError) -> String {
    commands::encode(error)
        .map(|error| URL_SAFE_NO_PAD.encode(error))
        .unwrap_or_default()
}

/// Why an object refused an upgrade.
pub fn refusal(text: &str) -> Option<A2aError> {
    let error = URL_SAFE_NO_PAD.decode(text).ok()?;
    commands::decode(&error).ok()
}

fn decode<T: DeserializeOwned>(answer: &[u8]) -> Result<Result<T, A2aError>, CallError> {
    commands::answer(answer).map_err(unusable)
}

fn bytes(answer: Answer) -> Result<Vec<u8>, CallError> {
    match answer {
        Answer::Bytes(bytes) => Ok(bytes),
        Answer::Text(_) => Err(CallError::unusable("a text came in place of bytes")),
    }
}

fn unusable(error: Unreadable) -> CallError {
    CallError::unusable(&error.to_string())
}

fn missing(binding: &str) -> CallError {
    CallError::unusable(&format!("the binding {binding} is missing"))
}
