//! DESIGN's invariants 1 to 6, read off the databases and the watchers after each step.

use std::collections::{BTreeMap, BTreeSet};

use durable_objects::commands::principal::View;
use durable_objects::principal::{MAX_DELIVERIES, MAX_FAILURES, watch};
use durable_objects::storage::Store;
use durable_objects::wake_queue::MAX_PENDING;
use protocol::state;
use serde_json::Value as Json;

use super::World;
use super::peek::{integer, texts};

/// The messages kept of one task's history.
const MAX_HISTORY: i64 = 200;

/// What is remembered between steps.
#[derive(Debug, Default)]
pub struct Invariants {
    /// What was acknowledged: (principal, message id) and the task, or the direct message, that was answered.
    pub acknowledged: BTreeMap<(String, String), String>,
    seen: BTreeMap<(String, String), Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    state: i64,
    status_ms: i64,
    next_ordinal: i64,
}

impl Invariants {
    /// What reads everything there is, and shows no less if it is asked only now and then.
    pub fn check_records(&self, world: &World) -> Result<(), String> {
        self.acknowledged_is_kept(world)?;
        one_key_one_outcome(world)
    }

    /// The state and status time in which a task was seen last, by number and in Unix milliseconds.
    pub fn last_seen(&self, principal: &str, task_id: &str) -> Option<(i64, i64)> {
        let seen = self.seen.get(&(principal.to_owned(), task_id.to_owned()))?;
        Some((seen.state, seen.status_ms))
    }

    /// The first invariant that does not hold, as a sentence that begins with its number.
    pub fn check(&mut self, world: &World) -> Result<(), String> {
        self.history_goes_on(world)?;
        one_turn_per_resident(world)?;
        bounds(world)?;
        watchers_agree(world)
    }

    fn acknowledged_is_kept(&self, world: &World) -> Result<(), String> {
        let mut kept = BTreeMap::new();
        for (principal, object) in &world.principals {
            let rows = object
                .store
                .query(
                    "SELECT dedupe_key, tasks.task_id FROM claims JOIN tasks ON tasks.task_id = claims.task_id \
                     UNION ALL SELECT dedupe_key, json_extract(outcome_message, '$.messageId') FROM claims \
                     WHERE outcome_message IS NOT NULL",
                    &[],
                )
                .unwrap();
            for mut row in rows {
                let key = (principal.clone(), row.text().unwrap());
                kept.insert(key, row.text().unwrap());
            }
        }
        for (key, task_id) in &self.acknowledged {
            if kept.get(key) != Some(task_id) {
                return Err(format!(
                    "1: {key:?} was acknowledged as {task_id}, and is {:?}",
                    kept.get(key)
                ));
            }
        }
        Ok(())
    }

    fn history_goes_on(&mut self, world: &World) -> Result<(), String> {
        for (principal, object) in &world.principals {
            let rows = object
                .store
                .query(
                    "SELECT task_id, state, status_ms, next_ordinal, \
                     (SELECT count(*) FROM messages WHERE messages.task_id = tasks.task_id) FROM tasks",
                    &[],
                )
                .unwrap();
            for mut row in rows {
                let task_id = row.text().unwrap();
                let now = Seen {
                    state: row.integer().unwrap(),
                    status_ms: row.integer().unwrap(),
                    next_ordinal: row.integer().unwrap(),
                };
                let kept = row.integer().unwrap();
                if kept != now.next_ordinal.min(MAX_HISTORY) {
                    return Err(format!(
                        "3: {task_id} keeps {kept} messages of {}",
                        now.next_ordinal
                    ));
                }
                let before = self.seen.insert((principal.clone(), task_id.clone()), now);
                let Some(before) = before else { continue };
                let was = state::from_code(before.state).unwrap();
                if state::is_terminal(&was) && now.state != before.state {
                    return Err(format!(
                        "3: {task_id} was {} and is {}",
                        before.state, now.state
                    ));
                }
                if now.status_ms < before.status_ms || now.next_ordinal < before.next_ordinal {
                    return Err(format!(
                        "3: {task_id} went back: {before:?} and then {now:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn one_key_one_outcome(world: &World) -> Result<(), String> {
    for (principal, object) in &world.principals {
        let twice = texts(
            &object.store,
            "SELECT json_extract(message, '$.messageId') AS id FROM messages GROUP BY id HAVING count(*) > 1",
            &[],
        );
        if !twice.is_empty() {
            return Err(format!("2: {principal} keeps {twice:?} twice"));
        }
        let unclaimed = integer(
            &object.store,
            "SELECT count(*) FROM tasks WHERE NOT EXISTS (SELECT 1 FROM claims WHERE claims.task_id = tasks.task_id)",
            &[],
        );
        if unclaimed != 0 {
            return Err(format!("2: {principal} has {unclaimed} tasks of no claim"));
        }
    }
    Ok(())
}

/// Of the turns that reached a resident, at most one has authority.
fn one_turn_per_resident(world: &World) -> Result<(), String> {
    if let Some(stray) = world.strays.first() {
        return Err(format!("4: {stray}"));
    }
    let mut in_authority: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for object in world.principals.values() {
        for turn_id in texts(
            &object.store,
            "SELECT turn_id FROM tasks WHERE turn_id IS NOT NULL",
            &[],
        ) {
            if let Some((resident, _)) = world.handed_out.get(&turn_id) {
                in_authority.entry(resident).or_default().insert(turn_id);
            }
        }
    }
    for (resident, turns) in in_authority {
        if turns.len() > 1 {
            return Err(format!("4: {turns:?} have authority, all of {resident}"));
        }
    }
    Ok(())
}

fn bounds(world: &World) -> Result<(), String> {
    for (resident, queue) in &world.queues {
        // The wake that is offered next is not one that waits behind it.
        let offered = i64::from(queue.turn().is_none());
        if queue.pending() > MAX_PENDING + offered {
            return Err(format!("5: {} wakes wait for {resident}", queue.pending()));
        }
    }
    for (principal, object) in &world.principals {
        let over = integer(
            &object.store,
            "SELECT count(*) FROM claims WHERE deliveries > ?1 OR failures > ?2 OR deliveries < 0",
            &[MAX_DELIVERIES.into(), MAX_FAILURES.into()],
        );
        if over != 0 {
            return Err(format!(
                "5: {principal} has {over} claims over their bounds"
            ));
        }
    }
    Ok(())
}

/// Whoever believes a snapshot and the frames after it has the task as it is; so all of them agree.
fn watchers_agree(world: &World) -> Result<(), String> {
    for object in world.principals.values() {
        let mut tasks: BTreeMap<&str, Json> = BTreeMap::new();
        for watcher in &object.watchers {
            let task_id = watcher.task_id.as_str();
            let task = tasks.entry(task_id).or_insert_with(|| {
                let snapshot = watch(&object.store, task_id, &View::default(), false).unwrap();
                serde_json::from_str(&snapshot.json).unwrap()
            });
            let (status, artifacts) = &watcher.believes;
            let kept = task["task"]["artifacts"]
                .as_array()
                .map_or(&[][..], Vec::as_slice);
            if *status != task["task"]["status"] || artifacts != kept {
                return Err(format!(
                    "6: a watcher of {task_id} believes {status}, and it is {}",
                    task["task"]["status"]
                ));
            }
        }
    }
    Ok(())
}
