//! Evidence, as sources record it and operators read it.

use std::collections::BTreeMap;

use durable_objects::commands::trusted::TrustedCommand;
use protocol::trusted::evidence::{EvidenceQuery, SourceEvidence};
use serde_json::Value as Json;

use super::event::{SOURCE, event};
use crate::support::World;

fn record(world: &mut World, id: &str, counted: bool) -> Json {
    world.trusted(
        "ann",
        TrustedCommand::RecordEvidence(SourceEvidence {
            source: SOURCE.to_owned(),
            evidence_id: id.to_owned(),
            kind: "NOT_WORK".to_owned(),
            detail: BTreeMap::from([("channel".to_owned(), "general".to_owned())]),
            counted,
        }),
    )
}

fn read(world: &mut World, query: EvidenceQuery) -> (Vec<Json>, Option<i64>) {
    let page = world.trusted("ann", TrustedCommand::Evidence(query));
    let evidence = page["evidence"].as_array().unwrap().clone();
    (
        evidence,
        page["nextPageToken"].as_str().unwrap().parse().ok(),
    )
}

fn query() -> EvidenceQuery {
    EvidenceQuery {
        page_size: 100,
        ..EvidenceQuery::default()
    }
}

#[test]
fn source_evidence_is_appended_once_by_its_id_or_counted_in_place() {
    let mut world = World::of(&["ann"]);
    for _ in 0..3 {
        assert!(
            record(&mut world, "dropped-1", false)
                .get("occurrences")
                .is_none()
        );
    }
    for expected in 1..=3 {
        world.now_ms += 10;
        assert_eq!(
            record(&mut world, "not-work", true)["occurrences"],
            expected
        );
    }
    let (evidence, next) = read(&mut world, query());
    assert_eq!(next, None);
    assert_eq!(evidence.len(), 2);
    assert_eq!(evidence[0]["sourceEvidenceId"], "not-work");
    assert_eq!(evidence[0]["occurrences"], 3);
    assert_eq!(evidence[1]["sourceEvidenceId"], "dropped-1");
    assert!(evidence[1].get("occurrences").is_none());
}

#[test]
fn operators_page_through_all_evidence_newest_first() {
    let mut world = World::of(&["ann"]);
    for n in 0..25 {
        world.accept("ann", event(&format!("e{n}")));
    }
    let (mut before_id, mut seen) = (None, Vec::new());
    loop {
        let (evidence, next) = read(
            &mut world,
            EvidenceQuery {
                page_size: 10,
                before_id,
                ..query()
            },
        );
        assert!(evidence.len() <= 10);
        seen.extend(
            evidence
                .iter()
                .map(|one| one["evidenceId"].as_i64().unwrap()),
        );
        let Some(next) = next else { break };
        before_id = Some(next);
    }
    let expected: Vec<i64> = (1..=25).rev().collect();
    assert_eq!(seen, expected);
}

#[test]
fn operators_read_evidence_by_task_kind_and_time() {
    let mut world = World::of(&["ann"]);
    let start_ms = world.now_ms;
    let task_id = world.accept("ann", event("e1"))["taskId"]
        .as_str()
        .unwrap()
        .to_owned();
    world.now_ms += 1_000;
    world.accept("ann", event("e2"));
    world.settle();
    let turn = world.take();
    assert_eq!(turn.task_id, task_id);
    let kinds = |(evidence, _): (Vec<Json>, _)| -> Vec<String> {
        evidence
            .iter()
            .map(|one| one["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    let of_task = EvidenceQuery {
        task_id: Some(task_id.clone()),
        ..query()
    };
    assert_eq!(
        kinds(read(&mut world, of_task.clone())),
        ["WOKEN", "ACCEPTED"]
    );
    let woken = EvidenceQuery {
        kind: Some("WOKEN".to_owned()),
        ..query()
    };
    assert_eq!(kinds(read(&mut world, woken)), ["WOKEN"]);
    let early = EvidenceQuery {
        before_ms: Some(start_ms + 1),
        ..query()
    };
    assert_eq!(kinds(read(&mut world, early)), ["ACCEPTED"]);
    let late = EvidenceQuery {
        from_ms: Some(start_ms + 1),
        ..of_task
    };
    assert_eq!(kinds(read(&mut world, late)), ["WOKEN"]);
}
