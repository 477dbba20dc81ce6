//! Artifacts that come in chunks: they go further than one that is given at once, and read whole.

use durable_objects::commands::principal::{
    ListReply, ListTasks, PrincipalCommand, Tool, ToolReply, View,
};
use durable_objects::commands::wake_queue::Turn;
use durable_objects::storage::Store;
use serde_json::{Value as Json, json};

use crate::support::ask::{chunk, complete, output, raw};
use crate::support::peek::integer;
use crate::support::{World, decode};

const KIB: usize = 1024;

/// A world in which ann's only task is under a turn, with a watcher from its beginning.
fn working() -> (World, Turn) {
    let mut world = World::of(&["ann"]);
    let task_id = world.submit("ann", "m1");
    world.watch("ann", &task_id).unwrap();
    let turn = world.take();
    (world, turn)
}

fn stored_bytes(world: &World) -> i64 {
    integer(
        &world.principals["ann"].store,
        "SELECT coalesce(sum(octet_length(artifact)), 0) FROM artifacts",
        &[],
    )
}

fn lengths(artifact: &Json) -> Vec<usize> {
    artifact["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap().len())
        .collect()
}

#[test]
fn a_response_in_chunks_goes_beyond_one_mebibyte_and_the_folded_stream_is_what_is_stored() {
    let (mut world, turn) = working();
    let sizes = [
        700 * KIB,
        1,
        300 * KIB,
        10,
        255 * KIB,
        KIB,
        1020 * KIB,
        20,
        500 * KIB,
    ];
    for (index, size) in sizes.iter().enumerate() {
        world.tool(&turn, chunk(&"x".repeat(*size), index > 0, index == 8));
        // What another tool records in between stands beside it, not in it.
        world.tool(
            &turn,
            Tool::RecordOutput(output(&format!("output-{index}"), json!({ "n": index }))),
        );
    }
    world.tool(
        &turn,
        Tool::Complete {
            response: None,
            outputs: Vec::new(),
        },
    );
    let task = world.get("ann", &turn.task_id);
    let artifacts = task["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 10);
    assert_eq!(lengths(&artifacts[0]), sizes);
    assert_eq!(artifacts[9]["artifactId"], "output.output-8");
    assert_eq!(
        world.principals["ann"].watchers[0].believes.1, *artifacts,
        "the folded stream"
    );
    let ListReply { page } = decode(
        &world
            .command(
                "ann",
                None,
                PrincipalCommand::ListTasks(ListTasks {
                    context_id: None,
                    state: None,
                    status_from_ms: None,
                    page_size: 10,
                    page_token: None,
                    filter_digest: [0; 32],
                    view: View::default(),
                }),
            )
            .unwrap(),
    );
    let page: Json = serde_json::from_str(page.get()).unwrap();
    assert_eq!(page["tasks"][0]["artifacts"], task["artifacts"]);
}

#[test]
fn all_artifacts_of_a_task_have_eight_mebibytes_together() {
    let (mut world, turn) = working();
    let mebibyte = "x".repeat(1000 * KIB);
    for index in 0..8 {
        world.tool(&turn, chunk(&mebibyte, index > 0, false));
    }
    let before = stored_bytes(&world);
    assert!(before > 7 * 1024 * 1024);
    for refused in [
        chunk(&mebibyte, true, false),
        Tool::RecordOutput(output("report", json!({ "x": "y".repeat(200 * KIB) }))),
    ] {
        let refusal = world.try_tool(&turn, refused).unwrap_err();
        assert_eq!(refusal.reason(), "PAYLOAD_TOO_LARGE");
        assert_eq!(stored_bytes(&world), before);
    }
    // What begins anew gives back the room that it had.
    world.tool(&turn, chunk(&mebibyte, false, false));
    assert!(stored_bytes(&world) < 1024 * 1024);
    world.tool(&turn, complete("short after all"));
    assert_eq!(
        lengths(&world.get("ann", &turn.task_id)["artifacts"][0]),
        [15]
    );
}

#[test]
fn bytes_are_counted_and_not_characters() {
    let (mut world, turn) = working();
    let wide = "\u{1f980}".repeat(250 * KIB);
    for index in 0..8 {
        world.tool(&turn, chunk(&wide, index > 0, false));
    }
    let refusal = world
        .try_tool(&turn, chunk(&wide, true, false))
        .unwrap_err();
    assert_eq!(refusal.reason(), "PAYLOAD_TOO_LARGE");
    let task = world.get("ann", &turn.task_id);
    assert_eq!(lengths(&task["artifacts"][0]), [wide.len(); 8]);
}

#[test]
fn many_small_chunks_fill_few_rows() {
    let (mut world, turn) = working();
    for index in 0..300 {
        world.tool(&turn, chunk(&"y".repeat(2 * KIB), index > 0, false));
    }
    let rows = integer(
        &world.principals["ann"].store,
        "SELECT count(*) FROM artifacts",
        &[],
    );
    assert_eq!(rows, 3);
    let longest = integer(
        &world.principals["ann"].store,
        "SELECT max(octet_length(artifact)) FROM artifacts",
        &[],
    );
    assert!(longest <= 256 * 1024, "{longest}");
    let task = world.get("ann", &turn.task_id);
    assert_eq!(lengths(&task["artifacts"][0]).len(), 300);
}

#[test]
fn a_response_of_very_many_parts_is_read_as_text_from_its_beginning() {
    let (mut world, turn) = working();
    let parts = json!(vec![json!({ "text": "x" }); 30_000]);
    for index in 0..6 {
        world.tool(
            &turn,
            Tool::AppendResponse {
                parts: raw(&parts),
                append: index > 0,
                last: false,
            },
        );
    }
    let read = Tool::Read { structured: false };
    let ToolReply::Text(text) = world.tool(&turn, read) else {
        panic!("a text");
    };
    assert!(text.len() <= 64 * KIB);
    assert!(text.contains("artifact response, recorded so far:\n| name: response\ntext:\n| x\n"));
    assert!(text.contains("(the rest is left out to keep this text short)"));
}

#[test]
fn an_artifact_that_stands_right_before_another_takes_no_further_row() {
    let (mut world, turn) = working();
    world.tool(&turn, chunk(&"x".repeat(300 * KIB), false, false));
    // As the first version numbered them.
    world.principals["ann"]
        .store
        .execute(
            "INSERT INTO artifacts (task_id, ordinal, artifact_id, artifact, sealed) VALUES \
             (?1, 1, 'a', '{\"artifactId\":\"a\",\"parts\":[{\"text\":\"b\"}]}', 1)",
            &[(&turn.task_id).into()],
        )
        .unwrap();
    let refusal = world
        .try_tool(&turn, chunk("more", true, false))
        .unwrap_err();
    assert_eq!(refusal.reason(), "PAYLOAD_TOO_LARGE");
    let artifacts = world.get("ann", &turn.task_id)["artifacts"].clone();
    assert_eq!(artifacts.as_array().unwrap().len(), 2);
    assert_eq!(lengths(&artifacts[0]), [300 * KIB]);
}
