//! A newer version takes over what an older release has stored: `tests/fixtures/` holds what the objects of each had.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use durable_objects::commands::principal::{PrincipalCommand, Send, SendReply};
use durable_objects::storage::Store;
use durable_objects::storage::migrations::{PRINCIPAL, WAKE_QUEUE, migrate};
use durable_objects::storage::native::NativeStore;
use protocol::digest::message_digest;
use protocol::send::SendRequest;
use serde_json::{Value as Json, json};

use crate::support::ask::{complete, message};
use crate::support::objects::{PrincipalObject, QueueObject};
use crate::support::peek::{integer, texts};
use crate::support::{World, decode};

const RESIDENT: &str = "default";

/// A release's fixture, brought to today's schema.
struct Fixture {
    world: World,
    /// What callers were answered: `caller`, `content`, `state`, and the `answer` as it was then.
    found: Vec<Json>,
}

fn folder(release: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/fixtures")
        .join(release)
}

/// A database of SQL text. Each statement ends with a semicolon at the end of a line.
fn database(sql: &str) -> NativeStore {
    let store = NativeStore::in_memory().unwrap();
    for statement in sql.split(";\n").filter(|sql| !sql.trim().is_empty()) {
        store.execute(statement, &[]).unwrap();
    }
    store
}

/// The databases of an object class, by what a principal's messages begin with: its name is in none of its own tables.
fn databases(release: &str, class: &str) -> Vec<NativeStore> {
    let mut files: Vec<_> = fs::read_dir(folder(release).join(class))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("metadata.sql"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| database(&fs::read_to_string(path).unwrap()))
        .collect()
}

impl Fixture {
    fn of(release: &str) -> Self {
        let found = fs::read_to_string(folder(release).join("found.json")).unwrap();
        let found: Json = serde_json::from_str(&found).unwrap();
        let mut world = World::of(&[]);
        world.now_ms = found["storedMs"].as_i64().unwrap();
        let found = found["found"].as_array().unwrap().clone();
        let callers: BTreeMap<&str, &str> = found
            .iter()
            .map(|found| (message_id(found), found["caller"].as_str().unwrap()))
            .collect();
        for store in databases(release, "main-PrincipalObject") {
            let keys = texts(&store, "SELECT dedupe_key FROM claims", &[]);
            let caller = keys
                .iter()
                .find_map(|key| callers.get(key.as_str()))
                .expect("a caller");
            let mut object = PrincipalObject::new(RESIDENT);
            object.store = store;
            // As the alarm that the platform kept: what was due then is due now.
            object.alarm_ms = Some(world.now_ms);
            migrate(&object.store, PRINCIPAL).unwrap();
            world.principals.insert((*caller).to_owned(), object);
        }
        let mut queues = databases(release, "main-WakeQueueObject").into_iter();
        let mut queue = QueueObject::new();
        queue.store = queues.next().expect("a queue");
        queue.alarm_ms = Some(world.now_ms);
        assert!(queues.next().is_none());
        migrate(&queue.store, WAKE_QUEUE).unwrap();
        world.queues.insert(RESIDENT.to_owned(), queue);
        Self { world, found }
    }

    fn claims(&self) -> i64 {
        self.world
            .principals
            .values()
            .map(|object| integer(&object.store, "SELECT count(*) FROM claims", &[]))
            .sum()
    }
}

fn message_id(found: &Json) -> &str {
    found["content"]["messageId"].as_str().unwrap()
}

/// The same message once more, as the Worker would pass it on.
fn again(found: &Json) -> Send {
    let body = json!({ "message": found["content"] }).to_string();
    let request = SendRequest::parse(body.as_bytes()).unwrap();
    Send {
        digest: message_digest(&request.message),
        task_id: request.message.task_id,
        ..message(message_id(found), "")
    }
}

#[test]
fn the_first_releases_tasks_are_all_there_and_unchanged() {
    let mut fixture = Fixture::of("first-release");
    let mut states = Vec::new();
    for found in fixture.found.clone() {
        let task = &found["answer"]["task"];
        let Some(task_id) = task["id"].as_str() else {
            continue;
        };
        let caller = found["caller"].as_str().unwrap();
        assert_eq!(&fixture.world.get(caller, task_id), task);
        states.push(task["status"]["state"].as_str().unwrap().to_owned());
    }
    states.sort();
    states.dedup();
    assert_eq!(states.len(), 8, "a task in every state: {states:?}");
}

#[test]
fn what_the_first_release_accepted_is_accepted_no_second_time() {
    let mut fixture = Fixture::of("first-release");
    let claims = fixture.claims();
    for found in fixture.found.clone() {
        let caller = found["caller"].as_str().unwrap();
        let command = PrincipalCommand::Send(again(&found));
        let reply = fixture.world.command(caller, None, command).unwrap();
        let answer: Json = match decode::<SendReply>(&reply) {
            SendReply::Task(task) => {
                json!({ "task": serde_json::from_str::<Json>(task.task.get()).unwrap() })
            }
            SendReply::Message(message) => {
                json!({ "message": serde_json::from_str::<Json>(message.get()).unwrap() })
            }
        };
        assert_eq!(answer, found["answer"]);
    }
    assert_eq!(fixture.claims(), claims);
    assert!(fixture.world.in_flight.is_empty());
}

#[test]
fn the_work_of_the_first_release_goes_on_to_its_end() {
    let Fixture { mut world, found } = Fixture::of("first-release");
    // The turn that was live ends with its lease, the executor that was at work at its deadline.
    world.pass(600_000);
    while let Some(turn) = world.try_take_at(RESIDENT, "the next").unwrap() {
        world.tool(&turn, complete("done"));
        world.end(&turn);
        world.pass(1_000);
    }
    for found in &found {
        let Some(task_id) = found["answer"]["task"]["id"].as_str() else {
            continue;
        };
        let caller = found["caller"].as_str().unwrap();
        let executing = found["content"]["parts"][0]["text"] == "go on";
        let expected = match found["state"].as_str().unwrap() {
            "TASK_STATE_WORKING" if executing => "TASK_STATE_FAILED",
            "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING" => "TASK_STATE_COMPLETED",
            settled_or_waiting => settled_or_waiting,
        };
        assert_eq!(world.state(caller, task_id), expected, "{found}");
    }
    for name in world.names() {
        assert_eq!(world.count(&name, "outbox"), 0);
        assert_eq!(world.count(&name, "executions"), 0);
    }
    assert_eq!(world.queues[RESIDENT].pending(), 0);
}
