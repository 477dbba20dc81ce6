//! The objects: a database, an alarm, and what dies with them.

use durable_objects::effects::{Frame, FrameKind};
use durable_objects::environment::Ids;
use durable_objects::principal::{Done, Snapshot};
use durable_objects::storage::migrations::{PRINCIPAL, WAKE_QUEUE, migrate};
use durable_objects::storage::native::NativeStore;
use serde_json::Value as Json;

/// Ids from a counter, so that a run can be repeated.
#[derive(Debug, Default)]
pub struct Counter(u64);

impl Ids for Counter {
    fn id(&mut self) -> String {
        self.0 += 1;
        format!("id-{}", self.0)
    }

    fn secret(&mut self) -> [u8; 32] {
        self.0 += 1;
        let mut secret = [7; 32];
        secret[..8].copy_from_slice(&self.0.to_be_bytes());
        secret
    }
}

pub struct PrincipalObject {
    pub store: NativeStore,
    pub alarm_ms: Option<i64>,
    /// The queue that serves it.
    pub resident: String,
    /// Counts resets.
    pub life: u32,
    pub watchers: Vec<Watcher>,
    /// Notices that are over, until its alarm.
    pub done: Done,
}

impl PrincipalObject {
    pub fn new(resident: &str) -> Self {
        let store = NativeStore::in_memory().unwrap();
        migrate(&store, PRINCIPAL).unwrap();
        Self {
            store,
            alarm_ms: None,
            resident: resident.to_owned(),
            life: 0,
            watchers: Vec::new(),
            done: Done::default(),
        }
    }

    pub fn set_alarm(&mut self, at_ms: Option<i64>) {
        self.alarm_ms = earlier(self.alarm_ms, at_ms);
    }
}

pub struct QueueObject {
    pub store: NativeStore,
    pub alarm_ms: Option<i64>,
    /// Counts resets.
    pub life: u32,
    pub rings: Vec<String>,
    /// The depth that the log told last.
    pub logged_depth: Option<String>,
}

impl QueueObject {
    pub fn new() -> Self {
        let store = NativeStore::in_memory().unwrap();
        migrate(&store, WAKE_QUEUE).unwrap();
        Self {
            store,
            alarm_ms: None,
            life: 0,
            rings: Vec::new(),
            logged_depth: None,
        }
    }

    pub fn set_alarm(&mut self, at_ms: Option<i64>) {
        self.alarm_ms = earlier(self.alarm_ms, at_ms);
    }
}

fn earlier(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What one watcher of a task has seen.
#[derive(Debug)]
pub struct Watcher {
    pub task_id: String,
    /// The snapshot, then every frame.
    pub frames: Vec<(FrameKind, String)>,
    /// The status and the artifacts, for a watcher that believes what it saw.
    pub believes: (Json, Vec<Json>),
}

impl Watcher {
    pub fn new(task_id: &str, snapshot: Snapshot) -> Self {
        let mut task: Json = serde_json::from_str(&snapshot.json).unwrap();
        let artifacts = match task["task"]["artifacts"].take() {
            Json::Array(artifacts) => artifacts,
            _ => Vec::new(),
        };
        Self {
            task_id: task_id.to_owned(),
            believes: (task["task"]["status"].take(), artifacts),
            frames: vec![(snapshot.kind, snapshot.json)],
        }
    }

    pub fn see(&mut self, frame: &Frame) {
        if frame.task_id != self.task_id {
            return;
        }
        self.frames.push((frame.kind, frame.json.clone()));
        let mut json: Json = serde_json::from_str(&frame.json).unwrap();
        let (status, artifacts) = &mut self.believes;
        if let Some(update) = json.get_mut("statusUpdate") {
            *status = update["status"].take();
        } else if let Some(update) = json.get_mut("artifactUpdate") {
            let appends = update["append"] == true;
            let mut new = update["artifact"].take();
            let same = |old: &&mut Json| old["artifactId"] == new["artifactId"];
            match artifacts.iter_mut().find(same) {
                Some(old) if appends => {
                    let more = new["parts"].as_array_mut().expect("parts");
                    old["parts"].as_array_mut().expect("parts").append(more);
                }
                Some(old) => *old = new,
                None => artifacts.push(new),
            }
        } else {
            panic!("neither a status nor an artifact: {json}");
        }
    }
}
