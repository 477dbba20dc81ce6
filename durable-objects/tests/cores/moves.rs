//! Several residents: each queue is independent, and a principal that moves takes its open tasks along.

use durable_objects::commands::principal::{PrincipalCommand, Replay, ReplayReply};

use crate::support::ask::{answer_to, complete, question};
use crate::support::objects::QueueObject;
use crate::support::{World, decode};

fn move_to(world: &mut World, principal: &str, resident: &str) {
    world
        .queues
        .entry(resident.to_owned())
        .or_insert_with(QueueObject::new);
    world.principals.get_mut(principal).unwrap().resident = resident.to_owned();
}

fn take_at(world: &mut World, resident: &str, session: &str) -> Option<String> {
    world.try_take_at(resident, session).unwrap().map(|turn| {
        let task_id = turn.task_id.clone();
        world.tool(&turn, complete("done"));
        world.end(&turn);
        task_id
    })
}

#[test]
fn two_residents_have_a_turn_each_at_the_same_time() {
    let mut world = World::of(&["ann"]);
    world.add_principal("bob", "other");
    world.submit("ann", "m1");
    world.submit("bob", "m1");
    let anns = world.try_take_at("resident", "s1").unwrap().unwrap();
    let bobs = world.try_take_at("other", "t1").unwrap().unwrap();
    assert_ne!(anns.task_id, bobs.task_id);
}

#[test]
fn the_next_message_of_a_principal_that_moved_takes_its_open_tasks_along() {
    let mut world = World::of(&["ann"]);
    let first = world.submit("ann", "m1");
    assert!(world.try_take_at("resident", "s1").unwrap().is_some());
    world.pass(0);
    let second = world.submit("ann", "m2");
    move_to(&mut world, "ann", "other");
    let third = world.submit("ann", "m3");
    world.pass(0);
    let mut done: Vec<_> = std::iter::from_fn(|| take_at(&mut world, "other", "t1")).collect();
    done.sort();
    let mut expected = vec![first, second, third];
    expected.sort();
    assert_eq!(done, expected);
    // The former queue's wakes are stale.
    world.pass(120_000);
    assert_eq!(take_at(&mut world, "resident", "s2"), None);
}

#[test]
fn a_replay_that_comes_late_does_not_take_a_principal_back_from_its_next_resident() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    assert_eq!(world.try_take("s1").unwrap().map(drop), Some(()));
    world.pass(0);
    move_to(&mut world, "ann", "other");
    let second = world.submit("ann", "m2");
    let late = PrincipalCommand::Replay(Replay {
        assigned: true,
        startup: 0,
        after: 0,
    });
    let reply: ReplayReply = decode(&world.command("ann", Some("resident"), late).unwrap());
    assert!(reply.moved);
    world.pass(0);
    let done: Vec<_> = std::iter::from_fn(|| take_at(&mut world, "other", "t1")).collect();
    assert!(done.contains(&second), "{done:?}");
}

#[test]
fn a_quiet_principal_that_moved_is_found_when_its_new_resident_starts() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    move_to(&mut world, "ann", "other");
    assert_eq!(take_at(&mut world, "other", "t1"), None);
    world.pass(0);
    assert_eq!(take_at(&mut world, "other", "t1"), Some(task_id));
    assert_eq!(take_at(&mut world, "resident", "s1"), None);
    world.pass(0);
    assert_eq!(take_at(&mut world, "resident", "s1"), None);
}

#[test]
fn a_principal_that_moves_back_is_served_as_before() {
    let mut world = World::of(&["ann"]);
    world.submit("ann", "m1");
    move_to(&mut world, "ann", "other");
    world.submit("ann", "m2");
    move_to(&mut world, "ann", "resident");
    world.submit("ann", "m3");
    world.pass(0);
    let done = std::iter::from_fn(|| take_at(&mut world, "resident", "s1")).count();
    assert_eq!(done, 3);
}

#[test]
fn an_answer_of_a_principal_that_moved_reaches_its_new_resident() {
    let mut world = World::of(&["ann"]);
    world.add_principal("bob", "other");
    assert_eq!(take_at(&mut world, "other", "t1"), None);
    let task_id = world.submit("ann", "m1");
    let turn = world.try_take_at("resident", "s1").unwrap().unwrap();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    assert_eq!(take_at(&mut world, "resident", "s1"), None);
    world.pass(0);
    move_to(&mut world, "ann", "other");
    world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    world.settle();
    world.pass(0);
    assert_eq!(take_at(&mut world, "other", "t1"), Some(task_id));
}
