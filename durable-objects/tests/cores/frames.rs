//! What the watchers of a task see.

use durable_objects::commands::principal::Tool;
use durable_objects::effects::FrameKind;
use serde_json::json;

use crate::support::World;
use crate::support::ask::{answer_to, complete, output, question};
use crate::support::network::Address;

fn kinds(world: &World, watcher: usize) -> Vec<FrameKind> {
    world.principals["ann"].watchers[watcher]
        .frames
        .iter()
        .map(|(kind, _)| *kind)
        .collect()
}

#[test]
fn every_watcher_sees_the_same_frames_in_the_same_order_from_its_snapshot_on() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    world.watch("ann", &task_id).unwrap();
    let turn = world.take();
    world.watch("ann", &task_id).unwrap();
    world.tool(
        &turn,
        Tool::RecordOutput(output("report", json!({ "title": "one" }))),
    );
    world.tool(&turn, complete("done"));
    let [first, second] = &world.principals["ann"].watchers[..] else {
        panic!("two watchers");
    };
    assert!(first.frames[0].1.starts_with("{\"task\":"));
    assert!(second.frames[0].1.starts_with("{\"task\":"));
    assert_eq!(first.frames[2..], second.frames[1..]);
    assert_eq!(first.believes, second.believes);
    assert_eq!(
        kinds(&world, 0),
        [
            FrameKind::Progress,
            FrameKind::Progress,
            FrameKind::Progress,
            FrameKind::Progress,
            FrameKind::Terminal,
        ]
    );
}

#[test]
fn a_question_is_an_interrupted_frame_and_the_answer_goes_on() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    world.watch("ann", &task_id).unwrap();
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world
        .try_send("ann", answer_to(&task_id, "m2", "this"))
        .unwrap();
    assert_eq!(
        kinds(&world, 0)[1..],
        [
            FrameKind::Progress,
            FrameKind::Interrupted,
            FrameKind::Progress,
        ]
    );
}

#[test]
fn a_duplicate_send_and_a_refused_tool_emit_nothing() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    let turn = world.take();
    world.watch("ann", &task_id).unwrap();
    world.send("ann", "m1");
    world.end(&turn);
    world.try_tool(&turn, complete("late")).unwrap_err();
    assert_eq!(kinds(&world, 0).len(), 1);
}

#[test]
fn subscribe_streams_updates_and_rejects_terminal_tasks() {
    let mut world = World::of(&["ann", "bob"]);
    let task_id = world.submit("ann", "m1");
    assert_eq!(
        world.watch("bob", &task_id).unwrap_err().reason(),
        "TASK_NOT_FOUND"
    );
    world.watch("ann", &task_id).unwrap();
    world.try_cancel("ann", &task_id).unwrap();
    assert_eq!(kinds(&world, 0), [FrameKind::Progress, FrameKind::Terminal]);
    let refused = world.watch("ann", &task_id).unwrap_err();
    assert_eq!(refused.reason(), "UNSUPPORTED_OPERATION");
}

#[test]
fn a_reconnect_can_miss_transient_messages_without_losing_critical_state() {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    world.watch("ann", &task_id).unwrap();
    let turn = world.take();
    world.reset(&Address::Principal("ann".to_owned()));
    world.tool(
        &turn,
        Tool::RecordOutput(output("report", json!({ "title": "one" }))),
    );
    world.watch("ann", &task_id).unwrap();
    let task = world.get("ann", &task_id);
    let (status, artifacts) = &world.principals["ann"].watchers[0].believes;
    assert_eq!(*status, task["status"]);
    assert_eq!(artifacts, task["artifacts"].as_array().unwrap());
    assert_eq!(artifacts.len(), 1);
}
