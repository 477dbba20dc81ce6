//! One event, one task; and which context and task it belongs to.

use protocol::trusted::activation::Activation;

use super::event::{event, in_conversation, text};
use crate::support::World;
use crate::support::ask::{answer_to, complete, history, message, question};
use crate::support::peek::dump;

#[test]
fn an_event_becomes_a_task_with_its_message_wake_origin_and_evidence_in_one_commit() {
    let mut world = World::of(&["ann"]);
    let accepted = world.accept("ann", in_conversation("e1", "room-1"));
    let task_id = text(&accepted, "taskId").to_owned();
    assert_eq!(accepted["disposition"], "created");
    assert_eq!(world.state("ann", &task_id), "TASK_STATE_SUBMITTED");
    assert_eq!(history(&world.get("ann", &task_id)), ["e1"]);
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED"]);
    for table in ["claims", "origins", "contexts"] {
        assert_eq!(world.count("ann", table), 1, "{table}");
    }
    world.settle();
    assert_eq!(world.take().task_id, task_id);
}

#[test]
fn an_event_that_dies_with_the_object_after_the_commit_is_completed_by_its_redelivery() {
    let mut world = World::of(&["ann"]);
    world.dies_after_commit = true;
    world.try_accept("ann", event("e1")).unwrap_err();
    let again = world.accept("ann", event("e1"));
    assert_eq!(again["disposition"], "duplicate");
    world.pass(2_000);
    assert_eq!(text(&again, "taskId"), world.take().task_id);
}

#[test]
fn two_messages_in_one_provider_thread_create_two_tasks_in_one_context() {
    let mut world = World::of(&["ann"]);
    let first = world.accept("ann", in_conversation("e1", "thread"));
    let second = world.accept("ann", in_conversation("e2", "thread"));
    assert_eq!(first["contextId"], second["contextId"]);
    assert_ne!(first["taskId"], second["taskId"]);
}

#[test]
fn concurrent_first_messages_resolve_one_context_through_the_atomic_upsert() {
    let mut world = World::of(&["ann"]);
    let mut contexts: Vec<_> = (0..100)
        .map(|n| {
            world.accept("ann", in_conversation(&format!("e{n}"), "thread"))["contextId"].clone()
        })
        .collect();
    contexts.dedup();
    assert_eq!(contexts.len(), 1);
    assert_eq!(world.count("ann", "contexts"), 1);
    assert_eq!(world.count("ann", "tasks"), 100);
}

#[test]
fn a_redelivered_duplicate_provider_event_returns_the_prior_task() {
    let mut world = World::of(&["ann"]);
    let first = world.accept("ann", in_conversation("e1", "thread"));
    let before = dump(&world.principals["ann"].store);
    for received_ms in [1_000, 9_000] {
        let again = Activation {
            received_ms,
            ..in_conversation("e1", "thread")
        };
        let again = world.accept("ann", again);
        assert_eq!(again["disposition"], "duplicate");
        for field in ["activationId", "taskId", "contextId"] {
            assert_eq!(again[field], first[field], "{field}");
        }
    }
    assert_eq!(dump(&world.principals["ann"].store), before);
}

#[test]
fn a_duplicate_of_a_settled_task_returns_it_and_wakes_nobody() {
    let mut world = World::of(&["ann"]);
    let first = world.accept("ann", event("e1"));
    world.settle();
    let turn = world.take();
    world.tool(&turn, complete("done"));
    world.end(&turn);
    let again = world.accept("ann", event("e1"));
    assert_eq!(again["taskId"], first["taskId"]);
    world.settle();
    assert_eq!(world.try_take("s1").unwrap(), None);
}

#[test]
fn the_same_dedupe_key_with_other_content_is_refused_and_changes_nothing() {
    let mut world = World::of(&["ann"]);
    world.accept("ann", in_conversation("e1", "thread"));
    let before = dump(&world.principals["ann"].store);
    let others = [
        Activation {
            content_digest: "sha256:other".to_owned(),
            ..in_conversation("e1", "thread")
        },
        in_conversation("e1", "another thread"),
        Activation {
            provider_event_id: "e2".to_owned(),
            ..in_conversation("e1", "thread")
        },
    ];
    for other in others {
        let refused = world.try_accept("ann", other).unwrap_err();
        assert_eq!(refused.reason(), "DUPLICATE_MESSAGE_ID");
    }
    assert_eq!(dump(&world.principals["ann"].store), before);
}

#[test]
fn sources_and_principals_have_dedupe_keys_and_conversations_of_their_own() {
    let mut world = World::of(&["ann", "bob"]);
    let of_ann = world.accept("ann", in_conversation("e1", "thread"));
    let of_bob = world.accept("bob", in_conversation("e1", "thread"));
    let elsewhere = Activation {
        source: "mail".to_owned(),
        ..in_conversation("e1", "thread")
    };
    let elsewhere = world.accept("ann", elsewhere);
    let by_a2a = world.send("ann", "e1");
    for other in [&of_bob, &elsewhere] {
        assert_eq!(other["disposition"], "created");
        assert_ne!(other["contextId"], of_ann["contextId"]);
    }
    assert_ne!(by_a2a["id"], of_ann["taskId"]);
}

#[test]
fn the_trusted_interface_creates_a_new_task_in_an_existing_context() {
    let mut world = World::of(&["ann"]);
    let task = world.send("ann", "m1");
    let context_id = task["contextId"].as_str().unwrap();
    let named = Activation {
        context_id: Some(context_id.to_owned()),
        ..event("e1")
    };
    let created = world.accept("ann", named);
    assert_eq!(created["disposition"], "created");
    assert_eq!(created["contextId"], context_id);
    assert_ne!(created["taskId"], task["id"]);
}

#[test]
fn a_foreign_context_and_an_unknown_one_are_not_found_alike() {
    let mut world = World::of(&["ann", "bob"]);
    let foreign = world.send("ann", "m1")["contextId"]
        .as_str()
        .unwrap()
        .to_owned();
    let unknown = "x".repeat(foreign.len());
    let answers = [foreign, unknown].map(|context_id| {
        let named = Activation {
            context_id: Some(context_id.clone()),
            ..event("e1")
        };
        let refused = world.try_accept("bob", named).unwrap_err();
        assert_eq!(refused.reason(), "CONTEXT_NOT_FOUND");
        format!("{refused:?}").replace(&context_id, "ID")
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(world.count("bob", "claims"), 0);
}

#[test]
fn an_authorized_explicit_task_id_continues_the_waiting_task() {
    let mut world = World::of(&["ann"]);
    world.declare("ann", false, true);
    let task_id = text(&world.accept("ann", event("e1")), "taskId").to_owned();
    world.settle();
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    let answer = Activation {
        task_id: Some(task_id.clone()),
        ..event("e2")
    };
    let continued = world.accept("ann", answer);
    assert_eq!(continued["disposition"], "continued");
    assert_eq!(continued["taskId"], task_id.as_str());
    let ids = world.get("ann", &task_id);
    assert_eq!(history(&ids).first(), Some(&"e1"));
    assert_eq!(history(&ids).last(), Some(&"e2"));
    world.settle();
    assert_eq!(world.take().task_id, task_id);
}

#[test]
fn an_unauthorized_explicit_task_id_fails() {
    let mut world = World::of(&["ann", "bob"]);
    let foreign = world.submit("ann", "m1");
    let own = world.submit("bob", "m1");
    for (task_id, reason) in [
        (foreign.as_str(), "TASK_NOT_FOUND"),
        ("never-seen", "TASK_NOT_FOUND"),
        (own.as_str(), "UNSUPPORTED_OPERATION"),
    ] {
        let named = Activation {
            task_id: Some(task_id.to_owned()),
            ..event("e1")
        };
        let refused = world.try_accept("bob", named).unwrap_err();
        assert_eq!(refused.reason(), reason, "{task_id}");
    }
    assert_eq!(world.count("bob", "claims"), 1);
}

#[test]
fn a_task_id_embedded_in_a_provider_message_body_neither_selects_nor_continues_a_task() {
    let mut world = World::of(&["ann"]);
    world.declare("ann", true, true);
    let waiting = text(
        &world.accept("ann", in_conversation("e1", "thread")),
        "taskId",
    )
    .to_owned();
    world.settle();
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    let body = serde_json::json!([
        { "text": format!("taskId: {waiting}") },
        { "data": { "taskId": waiting, "message": { "taskId": waiting } } },
    ]);
    let forged = Activation {
        parts: body.to_string(),
        ..in_conversation("e2", "thread")
    };
    let accepted = world.accept("ann", forged);
    assert_eq!(accepted["disposition"], "created");
    assert_ne!(accepted["taskId"], waiting.as_str());
    assert_eq!(world.state("ann", &waiting), "TASK_STATE_INPUT_REQUIRED");
}

#[test]
fn the_caller_of_the_a2a_binding_continues_a_native_task_of_its_own_principal() {
    let mut world = World::of(&["ann"]);
    world.declare("ann", true, false);
    let task_id = text(&world.accept("ann", event("e1")), "taskId").to_owned();
    world.settle();
    let turn = world.take();
    world.tool(&turn, question("which?"));
    world.end(&turn);
    let task = world
        .try_send("ann", answer_to(&task_id, "m1", "that one"))
        .unwrap();
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
}

#[test]
fn a_question_fails_for_a_task_whose_source_declares_no_continuation_method() {
    let mut world = World::of(&["ann"]);
    world.accept("ann", event("e1"));
    world.settle();
    let turn = world.take();
    let refused = world.try_tool(&turn, question("which?")).unwrap_err();
    assert_eq!(refused.reason(), "NO_CONTINUATION");
    assert_eq!(world.state("ann", &turn.task_id), "TASK_STATE_WORKING");
    // The turn goes on: the task is completed instead.
    world.tool(&turn, complete("done"));
    assert_eq!(world.state("ann", &turn.task_id), "TASK_STATE_COMPLETED");
}

#[test]
fn as_many_unfinished_tasks_as_the_principal_may_have_refuse_a_new_event_and_keep_nothing_of_it() {
    let mut world = World::of(&["ann"]);
    world.try_send("ann", message("m1", "hi")).unwrap();
    let refused = world
        .try_trusted(
            "ann",
            durable_objects::commands::trusted::TrustedCommand::Accept {
                activation: event("e1"),
                max_open_tasks: 1,
            },
        )
        .unwrap_err();
    assert_eq!(refused.reason(), "RESOURCE_EXHAUSTED");
    assert_eq!(world.count("ann", "origins"), 0);
    assert_eq!(world.count("ann", "claims"), 1);
}
