//! What can't be read any more stands in no other's way.

use durable_objects::commands::trusted::TrustedCommand;
use durable_objects::storage::Store;

use super::event::{SOURCE, event};
use crate::support::World;
use crate::support::ask::complete;

#[test]
fn a_claim_whose_task_can_t_be_read_is_quarantined_with_evidence_and_never_blocks_the_others() {
    for poison in [
        "UPDATE tasks SET state = 99 WHERE task_id = ?1",
        "DELETE FROM tasks WHERE task_id = ?1",
    ] {
        let mut world = World::of(&["ann"]);
        let poisoned = world.accept("ann", event("e1"))["taskId"]
            .as_str()
            .unwrap()
            .to_owned();
        let sound = world.accept("ann", event("e2"))["taskId"]
            .as_str()
            .unwrap()
            .to_owned();
        world.settle();
        world.principals["ann"]
            .store
            .execute(poison, &[(&poisoned).into()])
            .unwrap();
        let turn = world.take();
        assert_eq!(turn.task_id, sound);
        assert_eq!(
            world.evidence("ann", &poisoned),
            ["ACCEPTED", "QUARANTINED"]
        );
        assert_eq!(world.logged["claim_quarantined"], 1);
        world.tool(&turn, complete("done"));
        world.end(&turn);
        // A restart of the resident offers it no more, and records nothing anew.
        assert_eq!(world.try_take("s2").unwrap(), None);
        assert_eq!(
            world.evidence("ann", &poisoned),
            ["ACCEPTED", "QUARANTINED"]
        );
    }
}

#[test]
fn a_notice_that_can_t_be_read_holds_up_no_other() {
    let mut world = World::of(&["ann"]);
    world.dies_after_commit = true;
    world.try_accept("ann", event("e1")).unwrap_err();
    world.principals["ann"]
        .store
        .execute("UPDATE outbox SET notice = '{'", &[])
        .unwrap();
    world.dies_after_commit = true;
    world.try_accept("ann", event("e2")).unwrap_err();
    world.pass(10_000);
    assert_eq!(world.count("ann", "outbox"), 0);
    assert_eq!(world.queues["resident"].pending(), 1);
    let set_aside = crate::support::peek::integer(
        &world.principals["ann"].store,
        "SELECT count(*) FROM evidence WHERE kind = 'QUARANTINED'",
        &[],
    );
    assert_eq!(set_aside, 1);
    assert_eq!(world.logged["notice_quarantined"], 1);
}

#[test]
fn a_settlement_that_can_t_be_read_holds_up_no_other_and_sets_no_alarm_again_and_again() {
    for poison in [
        "UPDATE settlements SET state = 99 WHERE settlement_id = 1",
        "DELETE FROM tasks WHERE task_id = (SELECT task_id FROM settlements WHERE settlement_id = 1)",
    ] {
        let mut world = World::of(&["ann"]);
        world.tells_sources = false;
        for id in ["e1", "e2"] {
            world.accept("ann", event(id));
            world.settle();
            let turn = world.take();
            world.tool(&turn, complete("done"));
            world.end(&turn);
        }
        let second = world.settled[1].task_id.clone();
        world.settled.clear();
        world.principals["ann"].store.execute(poison, &[]).unwrap();
        world.pass(10_000);
        assert!(!world.settled.is_empty());
        assert!(world.settled.iter().all(|owed| owed.task_id == second));
        let page = world.trusted(
            "ann",
            TrustedCommand::Settlements {
                source: SOURCE.to_owned(),
                after: 0,
                page_size: 10,
            },
        );
        assert_eq!(page["settlements"].as_array().unwrap().len(), 1);
        assert_eq!(page["next"], 2);
        let due = crate::support::peek::integer(
            &world.principals["ann"].store,
            "SELECT count(*) FROM settlements WHERE settlement_id = 1 AND due_ms IS NOT NULL",
            &[],
        );
        assert_eq!(due, 0);
        assert_eq!(world.logged["settlement_quarantined"], 1);
    }
}

#[test]
fn a_redelivery_of_an_event_whose_task_can_t_be_read_is_acknowledged() {
    let mut world = World::of(&["ann"]);
    let first = world.accept("ann", event("e1"));
    world.principals["ann"]
        .store
        .execute("UPDATE tasks SET state = 99", &[])
        .unwrap();
    let again = world.accept("ann", event("e1"));
    assert_eq!(again["disposition"], "duplicate");
    assert_eq!(again["taskId"], first["taskId"]);
    assert_eq!(again["contextId"], first["contextId"]);
}
