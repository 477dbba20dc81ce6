//! The WakeQueueObject's core: one resident's pending wakes and its one turn, serialized.
//!
//! The invariants it keeps, by their numbers in DESIGN:
//!
//! 4. *At most one turn per resident.* `turn` holds at most one row. It is reserved before the principal is asked, and
//!    gone only once the principal has taken the turn's authority back, so no two tasks are ever under a turn at once.
//! 5. *Pending wakes ≤ 128.* [`admission`] refuses more.
//!
//! What takes a call to a principal is two commands with the call between them: the first says what to ask
//! ([`Step`]), the second what the answer was. Everything needed to go on stands in `turn`, so an object that dies in
//! between goes on at its alarm.

mod admission;
mod inspect;
mod push;
mod session;
mod take;
mod turn;

pub use admission::MAX_PENDING;
pub use push::{DuePush, MAX_PUSHES, Push};
pub use take::Step;
pub use turn::{Checked, EndReport, Ending, name as disposition_name};

use crate::commands::principal::{Disposition, GrantReply, Replay, ReplayReply};
use crate::commands::wake_queue::{
    Admission, Assign, Assigned, CallTool, End, Heartbeat, HeartbeatReply, InspectReply, Notify,
    Take, TurnAuthority,
};
use crate::effects::Effects;
use crate::environment::Environment;
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// The tag of sockets that wait for a wake.
pub const WAKE_BELL: &str = "wake";

/// The tag of sockets that wait for the end of a turn.
#[must_use]
pub fn turn_bell(turn_id: &str) -> String {
    format!("turn:{turn_id}")
}

/// One command's run over the store.
pub struct WakeQueue<'a, S> {
    store: &'a S,
    environment: Environment<'a>,
    resident: &'a str,
    lease_ms: i64,
    pushes: bool,
    effects: Effects,
}

/// What a command gave, and what it leaves to do.
pub type Run<T> = Result<(T, Effects), CoreError>;

impl<'a, S: Store> WakeQueue<'a, S> {
    /// A run at this time for the queue of this name. `lease_ms` is how long a turn lives without a heartbeat.
    #[must_use]
    pub fn new(
        store: &'a S,
        environment: Environment<'a>,
        resident: &'a str,
        lease_ms: i64,
    ) -> Self {
        Self {
            store,
            environment,
            resident,
            lease_ms,
            pushes: false,
            effects: Effects::default(),
        }
    }

    /// The same, with wakes pushed to a URL of the resident's.
    #[must_use]
    pub fn pushing(mut self, pushes: bool) -> Self {
        self.pushes = pushes;
        self
    }

    fn run<T>(mut self, work: impl FnOnce(&mut Self) -> Result<T, CoreError>) -> Run<T> {
        let answer = work(&mut self)?;
        if let Some(due_ms) = self.next_due_ms()? {
            self.effects.wake_at(due_ms);
        }
        Ok((answer, self.effects))
    }

    /// The object has started: whoever waited for a principal's grant is gone with its former life, so a reservation
    /// is due now.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn started(self) -> Run<()> {
        self.run(|queue| queue.expire_reservation())
    }

    /// Takes a principal's notices in.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn notify(mut self, command: &Notify) -> Run<Vec<Admission>> {
        // No notice makes anything due earlier: an admitted wake is ready at once, and a withdrawn one takes its timer
        // along. So the alarm need not be looked for.
        let admissions = self.admit_all(&command.notices)?;
        Ok((admissions, self.effects))
    }

    /// A session asks for a turn. While the step is [`Step::Ask`], ask, and go on with [`WakeQueue::granted`].
    ///
    /// # Errors
    /// `SESSION_SUPERSEDED`, or a fault of the store.
    pub fn take(self, command: &Take) -> Run<Step> {
        self.run(|queue| queue.begin_take(&command.session, command.lease_ms))
    }

    /// A session that has just started is told whom it serves.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn assign(self, command: &Assign) -> Run<Assigned> {
        self.run(|queue| {
            queue.take_assignment(&command.session, &command.principals)?;
            Ok(Assigned {})
        })
    }

    /// The queue as it is now. Changes nothing.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn inspect(&self) -> Result<InspectReply, CoreError> {
        self.look()
    }

    /// The principal has answered for the reserved turn: the turn is handed out, or the next wake is tried.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn granted(self, turn_id: &str, session: &str, reply: &GrantReply) -> Run<Step> {
        self.run(|queue| queue.finish_grant(turn_id, session, reply))
    }

    /// The principal could not be asked: the reservation is given up, and its wake waits a little.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn grant_failed(self, turn_id: &str) -> Run<()> {
        self.run(|queue| queue.release(turn_id))
    }

    /// A sign of life for a turn.
    ///
    /// # Errors
    /// `TURN_NOT_LIVE` where the bearer may not speak for the turn, or a fault of the store.
    pub fn heartbeat(self, command: &Heartbeat) -> Run<HeartbeatReply> {
        self.run(|queue| queue.renew(&command.turn_id, &command.authority))
    }

    /// The resident ends its turn: what to report to the principal.
    ///
    /// # Errors
    /// `TURN_NOT_LIVE`, or a fault of the store.
    pub fn end(self, command: &End) -> Run<Ending> {
        self.run(|queue| {
            let task_id = command.task_id.as_deref();
            queue.begin_end(&command.turn_id, task_id, command.outcome.clone())
        })
    }

    /// The principal has judged the end of a turn.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn ended(self, turn_id: &str, disposition: &Disposition) -> Run<()> {
        self.run(|queue| queue.finish_end(turn_id, disposition))
    }

    /// A tool is about to be used: is this its live turn? Renews the lease.
    ///
    /// # Errors
    /// `TURN_NOT_LIVE`, or a fault of the store.
    pub fn check(self, command: &CallTool) -> Run<Checked> {
        self.run(|queue| queue.check_tool(&command.turn_id, &command.task_id, &command.authority))
    }

    /// The alarm went off, or the object started: what is due now. To be repeated until it is [`Due::Nothing`].
    ///
    /// # Errors
    /// A fault of the store.
    pub fn due(self) -> Run<Due> {
        self.run(|queue| queue.next_due())
    }

    /// A principal was asked to replay, or could not be. Where there is more of it, what to ask next.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn replayed(
        self,
        principal: &str,
        replay: &Replay,
        answer: Option<&ReplayReply>,
    ) -> Run<Option<Replay>> {
        self.run(|queue| queue.finish_replay(principal, replay, answer))
    }

    /// A wake was pushed, or could not be.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn pushed(self, push: &Push, delivered: bool) -> Run<()> {
        self.run(|queue| queue.finish_push(push, delivered))
    }

    /// The principal knows that its wake failed: the wake is done.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn wake_failed(self, principal: &str, activation_id: i64) -> Run<()> {
        self.run(|queue| queue.finish_wake_failed(principal, activation_id))
    }

    /// Whether a socket that begins to wait for this bell has already missed its ring.
    ///
    /// # Errors
    /// A fault of the store.
    pub fn rings_already(&self, bell: &str) -> Result<bool, StoreError> {
        self.bell_is_due(bell)
    }

    fn next_due(&mut self) -> Result<Due, CoreError> {
        self.promote_delayed()?;
        if let Some(ending) = self.overdue_turn()? {
            return Ok(Due::End(ending));
        }
        if let Some((principal, replay)) = self.next_replay()? {
            return Ok(Due::Replay { principal, replay });
        }
        if let Some(push) = self.next_push()? {
            return Ok(Due::Push(push));
        }
        Ok(Due::Nothing)
    }

    fn next_due_ms(&self) -> Result<Option<i64>, StoreError> {
        let row = self.store.first(
            "SELECT min(due_ms) FROM (SELECT due_ms FROM turn UNION ALL \
             SELECT min(not_before_ms) FROM wakes WHERE not_before_ms IS NOT NULL UNION ALL \
             SELECT min(replay_due_ms) FROM principals WHERE replay_due_ms IS NOT NULL UNION ALL \
             SELECT min(due_ms) FROM pushes)",
            &[],
        )?;
        row.map_or(Ok(None), |mut row| row.optional_integer())
    }
}

/// What the alarm finds to do.
#[derive(Debug)]
pub enum Due {
    /// Report the end of a turn to its principal, then [`WakeQueue::ended`].
    End(Ending),
    /// Ask a principal to replay, then [`WakeQueue::replayed`].
    Replay {
        /// Whom to ask.
        principal: String,
        /// What.
        replay: Replay,
    },
    /// Push a wake, or say that it can't be pushed.
    Push(DuePush),
    /// Nothing more now.
    Nothing,
}

/// Whether the bearer may speak for the turn whose secret's hash is stored.
fn may_speak(authority: &TurnAuthority, turn_id: &str, secret_sha256: &str) -> bool {
    match authority {
        TurnAuthority::Resident => true,
        TurnAuthority::Token(token) => turn::token_matches(token, turn_id, secret_sha256),
    }
}
