//! Streams of remote tasks, whatever they say and however often.

use durable_objects::principal::agents::{Heard, Kind, StreamStep, Subscription, stream_opened};
use serde_json::{Value as Json, json};

use super::remote::{LIFE_MS, answered, remote_task};
use crate::support::World;
use crate::support::peek::dump;

fn started() -> (World, i64) {
    let mut world = World::with_agents();
    world.submit("ann", "m1");
    let turn = world.take();
    let call_id = world.delegated(&turn);
    (world, call_id)
}

fn opened(world: &World, call_id: i64) -> Option<Subscription> {
    stream_opened(&world.principals["ann"].store, world.now_ms, call_id).unwrap()
}

/// What an event makes of the stream; none where it does not reach the store.
fn hear(world: &mut World, call_id: i64, heard: &mut Heard, event: &str) -> Option<StreamStep> {
    let news = heard.news(world.now_ms, event)?;
    let step = world.step("ann", |principal| {
        principal.take_event(call_id, heard, news)
    });
    Some(step.unwrap())
}

fn status(state: &str) -> Json {
    json!({"statusUpdate": {"taskId": "r", "status": {"state": state}}})
}

#[test]
fn a_stream_only_says_when_to_look() {
    let (mut world, call_id) = started();
    let Subscription {
        exchange,
        mut heard,
    } = opened(&world, call_id).unwrap();
    assert_eq!(
        exchange.url,
        "https://research.example/a2a/tasks/r:subscribe"
    );
    assert_eq!(world.due_in(call_id), Some(120_000));
    for event in [
        json!({"task": remote_task("r", "WORKING")}),
        status("TASK_STATE_WORKING"),
        json!({"artifactUpdate": {"taskId": "r"}}),
    ] {
        assert_eq!(
            hear(&mut world, call_id, &mut heard, &event.to_string()),
            None
        );
    }
    let done = status("TASK_STATE_COMPLETED").to_string();
    assert_eq!(
        hear(&mut world, call_id, &mut heard, &done),
        Some(StreamStep::Look)
    );
    assert_eq!(world.standing(call_id)["settled"], false);
    world.found(call_id, "COMPLETED");
    world.now_ms += 1_000;
    assert_eq!(
        hear(&mut world, call_id, &mut heard, &done),
        Some(StreamStep::Stop)
    );
}

#[test]
fn a_stream_that_talks_without_end_writes_nothing() {
    let (mut world, call_id) = started();
    let mut heard = opened(&world, call_id).unwrap().heard;
    let before = dump(&world.principals["ann"].store);
    let mut told = 0;
    for number in 0..10_000 {
        world.now_ms += 1;
        let event = match number % 6 {
            0 => json!({"artifactUpdate": {"taskId": "r", "artifact": {"artifactId": number}}}),
            1 => status("TASK_STATE_WORKING"),
            2 => status("TASK_STATE_SUBMITTED"),
            3 => json!({"task": remote_task("r", "WORKING"), "number": number}),
            4 => json!({"task": remote_task("another", "COMPLETED")}),
            _ => json!({"garbage": number}),
        };
        if let Some(step) = hear(&mut world, call_id, &mut heard, &event.to_string()) {
            assert_eq!(step, StreamStep::ReadOn);
            told += 1;
        }
    }
    assert_eq!(told, 10);
    assert_eq!(dump(&world.principals["ann"].store), before);
    // It is looked at all the same in the end.
    world.now_ms += 120_000;
    assert_eq!(world.due(), [call_id]);
}

#[test]
fn a_stream_that_says_settled_again_and_again_is_looked_at_once_a_second() {
    let (mut world, call_id) = started();
    let done = status("TASK_STATE_COMPLETED").to_string();
    let mut at_once = 0;
    for _ in 0..10 {
        let mut heard = opened(&world, call_id).unwrap().heard;
        match hear(&mut world, call_id, &mut heard, &done) {
            Some(StreamStep::Look) => at_once += 1,
            step => {
                assert_eq!(step, Some(StreamStep::LookLater));
                world
                    .step("ann", |principal| {
                        principal.end_stream(call_id, StreamStep::LookLater)
                    })
                    .unwrap();
                assert_eq!(world.due_in(call_id), Some(1_000));
                world.now_ms += 1_000;
            }
        }
        world.exchange(
            call_id,
            Kind::Poll,
            &answered(200, &remote_task("r", "WORKING")),
        );
    }
    assert_eq!(at_once, 2);
    let mut heard = opened(&world, call_id).unwrap().heard;
    world.now_ms += 1_000;
    assert_eq!(
        hear(&mut world, call_id, &mut heard, &done),
        Some(StreamStep::Look)
    );
}

#[test]
fn a_stream_is_not_believed_beyond_the_deadline() {
    let (mut world, call_id) = started();
    world.now_ms += LIFE_MS - 5_000;
    assert!(opened(&world, call_id).is_some());
    assert!(world.due_in(call_id) <= Some(5_000));
}

#[test]
fn a_task_that_a_stream_tells_whole_is_looked_at_like_any_other() {
    let (mut world, call_id) = started();
    let mut heard = opened(&world, call_id).unwrap().heard;
    let done = json!({"task": remote_task("r", "COMPLETED")}).to_string();
    assert_eq!(
        hear(&mut world, call_id, &mut heard, &done),
        Some(StreamStep::Look)
    );
    assert_eq!(world.standing(call_id)["settled"], false);
}

#[test]
fn a_stream_that_ends_early_is_followed_by_a_look_and_by_ever_longer_pauses() {
    let (mut world, call_id) = started();
    let mut pauses = Vec::new();
    for _ in 0..3 {
        let now_ms = world.now_ms;
        assert!(
            stream_opened(&world.principals["ann"].store, now_ms, call_id)
                .unwrap()
                .is_some()
        );
        world
            .step("ann", |principal| {
                principal.end_stream(call_id, StreamStep::Stop)
            })
            .unwrap();
        pauses.push(world.due_in(call_id).unwrap());
        world.found(call_id, "WORKING");
    }
    assert_eq!(pauses, [1_000, 1_000, 2_000]);
    world
        .step("ann", |principal| {
            principal.end_stream(call_id, StreamStep::Refused)
        })
        .unwrap();
    let now_ms = world.now_ms;
    assert!(
        stream_opened(&world.principals["ann"].store, now_ms, call_id)
            .unwrap()
            .is_none()
    );
}
