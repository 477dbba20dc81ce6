//! The counterpart of these tests: one queue, its sessions, its turn with a lease, its tasks, over HTTP/1.1.

mod surface;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The resident's own token.
pub const RESIDENT_TOKEN: &str = "resident-token-3f9a1c";

/// No test waits longer than this for anything.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection closes; nothing was done.
    HangUp,
    /// It was done, but the connection closes before the answer.
    HangUpAfter,
    /// An error page of this status, as a proxy makes it.
    Page(u16),
    /// An A2A error of this status.
    Refuse(u16, &'static str),
}

#[derive(Debug, Clone)]
pub struct Task {
    pub history: Vec<Value>,
    pub state: &'static str,
    /// What `a2a_complete_task` was called with.
    pub completion: Option<Value>,
    pub outputs: Vec<Value>,
    pub questions: Vec<Value>,
    /// What `a2a_append_response` was called with since the response began.
    pub chunks: Vec<Value>,
    pub notes: Vec<Value>,
    pub deliveries: u32,
}

#[derive(Debug, Clone)]
pub struct Turn {
    pub turn_id: String,
    pub task_id: String,
    pub token: String,
    expires: Instant,
}

/// A request as it was answered.
#[derive(Debug, Clone)]
pub struct Seen {
    pub path: String,
    /// `resident`, `turn` or `nobody`.
    pub authority: &'static str,
    pub body: Value,
    /// None where the connection was closed instead.
    pub status: Option<u16>,
}

#[derive(Debug)]
pub struct State {
    pub tasks: BTreeMap<String, Task>,
    pub turn: Option<Turn>,
    /// How each turn was reported to end.
    pub ends: Vec<Value>,
    pub seen: Vec<Seen>,
    pub lease: Duration,
    sessions: Vec<String>,
    waiting: VecDeque<String>,
    over: BTreeMap<String, &'static str>,
    faults: Vec<(String, Fault)>,
    made: u32,
}

impl State {
    /// The answered requests of a route.
    pub fn seen_of<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a Seen> {
        self.seen
            .iter()
            .filter(move |seen| seen.path.ends_with(ending))
    }

    /// Whether a session has asked for a turn.
    pub fn knows_a_session(&self) -> bool {
        !self.sessions.is_empty()
    }

    fn end_turn(&mut self, reason: &'static str) {
        if let Some(turn) = self.turn.take() {
            self.over.insert(turn.turn_id, reason);
        }
    }

    fn expire(&mut self) {
        if self
            .turn
            .as_ref()
            .is_some_and(|turn| turn.expires <= Instant::now())
        {
            let task_id = self.turn.as_ref().unwrap().task_id.clone();
            self.end_turn("expired");
            self.waiting.push_back(task_id);
        }
    }

    fn live(&self, turn_id: &str) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| turn.turn_id == turn_id)
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

pub struct Standin {
    pub url: String,
    shared: Arc<Shared>,
}

impl Standin {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                tasks: BTreeMap::new(),
                turn: None,
                ends: Vec::new(),
                seen: Vec::new(),
                lease: Duration::from_secs(60),
                sessions: Vec::new(),
                waiting: VecDeque::new(),
                over: BTreeMap::new(),
                faults: Vec::new(),
                made: 0,
            }),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || wire::serve(connection, &shared));
            }
        });
        Standin { url, shared }
    }

    pub fn with_lease(lease: Duration) -> Self {
        let standin = Self::start();
        standin.state().lease = lease;
        standin
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }

    /// Accepts a message of a caller as a new task, and wakes the resident.
    pub fn send(&self, text: &str) -> String {
        let mut state = self.state();
        let task_id = format!("task-{}", state.tasks.len() + 1);
        state.tasks.insert(
            task_id.clone(),
            Task {
                history: vec![user_message(text)],
                state: "TASK_STATE_SUBMITTED",
                completion: None,
                outputs: Vec::new(),
                questions: Vec::new(),
                chunks: Vec::new(),
                notes: Vec::new(),
                deliveries: 0,
            },
        );
        state.waiting.push_back(task_id.clone());
        self.shared.changed.notify_all();
        task_id
    }

    /// The caller answers the task's question.
    pub fn answer(&self, task_id: &str, text: &str) {
        let mut state = self.state();
        let task = state.tasks.get_mut(task_id).unwrap();
        assert_eq!(task.state, "TASK_STATE_INPUT_REQUIRED");
        task.state = "TASK_STATE_SUBMITTED";
        task.history.push(user_message(text));
        task.deliveries = 0;
        state.waiting.push_back(task_id.to_owned());
        self.shared.changed.notify_all();
    }

    /// The caller cancels the task, which ends its turn.
    pub fn cancel(&self, task_id: &str) {
        let mut state = self.state();
        state.tasks.get_mut(task_id).unwrap().state = "TASK_STATE_CANCELED";
        state.end_turn("canceled");
        self.shared.changed.notify_all();
    }

    /// Another process takes over with a session of its own.
    pub fn supersede(&self) {
        let mut state = self.state();
        state.sessions.push("newer-session".to_owned());
        state.end_turn("superseded");
        self.shared.changed.notify_all();
    }

    /// The next request to a path with this ending goes wrong. May be called several times.
    pub fn fail_next(&self, ending: &str, fault: Fault) {
        self.state().faults.push((ending.to_owned(), fault));
    }

    /// Grants the turn of the next waiting task, as a resident's take would.
    pub fn grant(&self) -> Turn {
        let mut state = self.state();
        surface::grant(&mut state).unwrap();
        state.turn.clone().unwrap()
    }

    /// Waits until `found` finds something, and gives it.
    pub fn until<T>(&self, what: &str, mut found: impl FnMut(&State) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state();
        loop {
            if let Some(it) = found(&state) {
                return it;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain until {what}: {state:#?}");
            state = self.shared.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits until the task is in this state.
    pub fn until_state(&self, task_id: &str, wanted: &str) -> Task {
        self.until(&format!("{task_id} is {wanted}"), |state| {
            state
                .tasks
                .get(task_id)
                .filter(|task| task.state == wanted)
                .cloned()
        })
    }
}

fn user_message(text: &str) -> Value {
    json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]})
}
