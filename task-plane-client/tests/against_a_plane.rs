//! The client against a real task plane, whose resident answers each event with its own text, asks first where the text
//! begins with `ask`, and works on one that begins with `hold` until the principal has a task `release`.
//!
//! `tests/task-plane-client/` serves one and runs these, each with a source of its own.

// Tests assert: a panic there is the report. These are the tests' own functions, which clippy.toml does not exempt.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use task_plane_client::{
    Activation, Begin, Begun, CallError, Checkpoint, Continuation, DeliverError, DeliveryState,
    Disposition, Endpoint, EvidenceQuery, Found, Outcome, Part, Recovery, Retry, SendError, Settle,
    Settlement, SourceEvidence, TaskPlane, Token,
};

const NEEDS: &str = "TASK_PLANE_URL, and TASK_PLANE_TOKEN, _TRUSTED_TOKEN and _OPERATOR_TOKEN";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("this test needs {NEEDS}"))
}

fn plane_with(token: &str, source: &str) -> TaskPlane {
    let endpoint = Endpoint::parse(&variable("TASK_PLANE_URL")).unwrap();
    TaskPlane::new(endpoint, Token::new(variable(token)).unwrap(), source).unwrap()
}

fn plane(source: &str) -> TaskPlane {
    plane_with("TASK_PLANE_TOKEN", source)
}

fn event(id: &str, text: &str) -> Activation {
    Activation::new(id, SystemTime::now(), vec![Part::text(text)]).locator("event", id)
}

/// Accepts an event, and waits until its task is settled or asks.
async fn settled(plane: &TaskPlane, id: &str, text: &str) -> Settlement {
    let accepted = plane.accept(&event(id, text)).await.unwrap();
    let mut feed = plane
        .follow()
        .await
        .unwrap()
        .pause(Duration::from_millis(20));
    loop {
        for settlement in feed.next_page().await.unwrap() {
            if settlement.task_id == accepted.task_id {
                return settlement;
            }
        }
    }
}

fn reason(error: &CallError) -> &str {
    match error {
        CallError::Refused(refusal) => refusal.reason.as_deref().unwrap_or_default(),
        other => panic!("no refusal: {other}"),
    }
}

/// The digest of the content that was accepted under the dedupe key.
fn accepted_digest(error: &CallError) -> Option<String> {
    match error {
        CallError::Refused(refusal) => refusal.metadata.get("contentDigest").cloned(),
        other => panic!("no refusal: {other}"),
    }
}

fn fields(error: &CallError) -> Vec<&str> {
    match error {
        CallError::Refused(refusal) => refusal
            .fields
            .iter()
            .map(|at_fault| at_fault.field.as_str())
            .collect(),
        other => panic!("no refusal: {other}"),
    }
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn an_event_is_accepted_once_whatever_its_parts_are() {
    let plane = plane("once");
    let mut event = event("e-1", "three parts");
    event.parts.push(
        Part::data(json!({"€": 1.0, "\u{20ac}b": [1e21, 0.1, -0.0], "\u{1f600}": null, "a": 333333333.3333333}))
            .media_type("application/json"),
    );
    event.parts.push(Part::raw(b"\x00\xff").filename("two.bin"));
    let first = plane.accept(&event).await.unwrap();
    assert_eq!(first.disposition, Disposition::Created);
    event.received_at += Duration::from_secs(1);
    let again = plane.accept(&event).await.unwrap();
    assert_eq!(again.disposition, Disposition::Duplicate);
    assert_eq!(
        (again.task_id, again.activation_id),
        (first.task_id, first.activation_id)
    );

    let mut elsewhere = event.clone();
    elsewhere
        .native_locator
        .insert("channel".to_owned(), "another".to_owned());
    let described_otherwise = plane.accept(&elsewhere).await.unwrap_err();
    assert_eq!(reason(&described_otherwise), "DUPLICATE_MESSAGE_ID");
    let digest = task_plane_client::content_digest(&event.parts);
    assert_eq!(accepted_digest(&described_otherwise), Some(digest.clone()));

    event.parts.pop();
    let other = plane.accept(&event).await.unwrap_err();
    assert_eq!(reason(&other), "DUPLICATE_MESSAGE_ID");
    assert_eq!(accepted_digest(&other), Some(digest));
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn events_of_a_conversation_share_a_context_and_have_tasks_of_their_own() {
    let plane = plane("conversation");
    let one = plane
        .accept(&event("e-1", "a").conversation("c-1"))
        .await
        .unwrap();
    let two = plane
        .accept(&event("e-2", "b").conversation("c-1"))
        .await
        .unwrap();
    assert_eq!(one.context_id, two.context_id);
    assert_ne!(one.task_id, two.task_id);
    let mut third = event("e-3", "c");
    third.context_id = Some(one.context_id.clone());
    let third = plane.accept(&third).await.unwrap();
    assert_eq!(third.context_id, one.context_id);
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_refusal_tells_its_reason_and_every_field_at_fault() {
    let plane = plane("refused");
    let mut bad = event("not an id", "text").reply_to("two words");
    bad.native_locator.clear();
    let error = plane.accept(&bad).await.unwrap_err();
    assert_eq!(reason(&error), "INVALID_REQUEST");
    let mut named = fields(&error);
    named.sort_unstable();
    assert_eq!(
        named,
        ["dedupeKey", "nativeLocator", "providerEventId", "replyTo"]
    );

    let mut naming = event("e-1", "text");
    naming.task_id = Some("01a22f54-4349-777a-a2de-95f18eed8bbc".to_owned());
    let error = plane.accept(&naming).await.unwrap_err();
    assert_eq!(
        (reason(&error), fields(&error)),
        ("PERMISSION_DENIED", vec!["taskId"])
    );
    let unknown = plane
        .task("01a22f54-4349-777a-a2de-95f18eed8bbc")
        .await
        .unwrap_err();
    assert!(unknown.has_reason("TASK_NOT_FOUND"));
    assert!(!unknown.is_transient());
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_wrong_token_and_a_plane_that_is_not_there_are_told_apart() {
    let endpoint = Endpoint::parse(&variable("TASK_PLANE_URL")).unwrap();
    let wrong = Token::new("not-the-token-00000000000000".to_owned()).unwrap();
    let stranger = TaskPlane::new(endpoint, wrong, "stranger").unwrap();
    let error = stranger.source().await.unwrap_err();
    assert_eq!(reason(&error), "UNAUTHENTICATED");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let token = Token::new("any".to_owned()).unwrap();
    let retry = Retry {
        attempts: 2,
        first_delay: Duration::from_millis(1),
        longest_delay: Duration::from_millis(1),
    };
    let gone = TaskPlane::new(Endpoint::parse(&nobody).unwrap(), token, "gone")
        .unwrap()
        .with_retry(retry);
    let error = gone.source().await.unwrap_err();
    assert!(matches!(error, CallError::Unreached(_)), "{error}");
    assert!(error.is_transient());
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_checkpoint_passes_only_what_was_accepted_and_no_other_writer() {
    let plane = plane("checkpoint");
    let declared = plane.declare(&[Continuation::ReplyAnchor]).await.unwrap();
    assert_eq!(declared.continuation, [Continuation::ReplyAnchor]);
    assert_eq!((declared.checkpoint, declared.version), (None, 0));
    plane.accept(&event("e-1", "text")).await.unwrap();
    let at = |covers: &[&str], version| Checkpoint {
        checkpoint: json!({"cursor": covers.len()}),
        covers: covers.iter().map(|key| (*key).to_owned()).collect(),
        version,
    };
    let ahead = plane.advance(&at(&["e-1", "e-2"], None)).await.unwrap_err();
    assert_eq!(
        (reason(&ahead), fields(&ahead)),
        ("CHECKPOINT_AHEAD", vec!["covers[1]"])
    );
    let kept = plane.advance(&at(&["e-1"], Some(0))).await.unwrap();
    assert_eq!(
        (kept.checkpoint, kept.version),
        (Some(json!({"cursor": 1})), 1)
    );
    let moved = plane.advance(&at(&["e-1"], Some(0))).await.unwrap_err();
    assert_eq!(reason(&moved), "CHECKPOINT_MOVED");
    assert_eq!(plane.source().await.unwrap().version, 1);
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn the_feed_goes_on_where_it_was_committed() {
    let plane = plane("feed");
    let first = settled(&plane, "e-1", "one").await;
    assert_eq!(first.state, "TASK_STATE_COMPLETED");
    let mut feed = plane.follow().await.unwrap();
    assert_eq!(
        feed.next_page().await.unwrap(),
        std::slice::from_ref(&first)
    );
    // Not committed: it comes again.
    let mut feed = plane.follow().await.unwrap();
    assert_eq!(feed.next_page().await.unwrap(), [first]);
    feed.commit().await.unwrap();
    let second = settled(&plane, "e-2", "two").await;
    let mut feed = plane.follow().await.unwrap();
    assert_eq!(feed.next_page().await.unwrap(), [second]);
    assert_eq!(plane.source().await.unwrap().version, 1);
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_task_tells_its_answer_and_where_it_came_from() {
    let plane = plane("origin");
    let mut shown = event("e-1", "hello").conversation("c-1");
    shown.display_url = Some("https://chat.example/e-1".to_owned());
    let accepted = plane.accept(&shown).await.unwrap();
    let settlement = settled(&plane, "e-2", "again").await;
    assert_eq!(settlement.source, "origin");
    let task = plane.task(&accepted.task_id).await.unwrap();
    assert_eq!(task.source, "origin");
    let origin = task.origin.unwrap();
    assert_eq!(origin.provider_event_id, "e-1");
    assert_eq!(
        origin.native_locator,
        BTreeMap::from([("event".to_owned(), "e-1".to_owned())])
    );
    assert_eq!(origin.display_url, shown.display_url);
    let done = plane.task(&settlement.task_id).await.unwrap();
    assert!(done.terminal);
    assert_eq!(done.state(), "TASK_STATE_COMPLETED");
    assert_eq!(
        done.task.pointer("/artifacts/0/parts/0/text"),
        Some(&Value::from("again"))
    );
    assert_eq!(plane.locate(&origin.native_locator).await.unwrap(), None);
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_delivery_is_made_once_however_often_it_is_asked_for() {
    let plane = plane("delivered");
    let task = settled(&plane, "e-1", "text").await;
    let begin = Begin::new(&task.task_id, "reply", &json!("text"), Recovery::Idempotent);
    let sent = AtomicU32::new(0);
    for _ in 0..3 {
        let outcome = plane
            .deliver(&begin, async |_: &str| {
                sent.fetch_add(1, Relaxed);
                Ok(Some("response-1".to_owned()))
            })
            .await
            .unwrap();
        let Outcome::Delivered {
            provider_response_id,
            ..
        } = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!(provider_response_id.as_deref(), Some("response-1"));
    }
    assert_eq!(sent.load(Relaxed), 1);
    let other = Begin::new(&task.task_id, "pin", &json!(1), Recovery::Idempotent).fixed();
    plane
        .deliver(&other, async |_: &str| Ok(None))
        .await
        .unwrap();
    let changed = Begin::new(&task.task_id, "pin", &json!(2), Recovery::Idempotent).fixed();
    let error = plane
        .deliver(&changed, async |_: &str| Ok(None))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, DeliverError::Plane(refused) if refused.has_reason("DELIVERY_CONFLICT"))
    );
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_refusal_may_be_tried_again_and_a_doubt_is_left_to_a_person() {
    let plane = plane("refusals");
    let task = settled(&plane, "e-1", "text").await;
    let begin = Begin::new(&task.task_id, "reply", &json!("text"), Recovery::Ambiguous);
    let no = async |_: &str| Err(SendError::Refused("422: no".to_owned()));
    let outcome = plane.deliver(&begin, no).await.unwrap();
    assert!(matches!(outcome, Outcome::Refused { .. }), "{outcome:?}");
    let perhaps = async |_: &str| Err(SendError::Unknown("reset".to_owned()));
    let outcome = plane.deliver(&begin, perhaps).await.unwrap();
    let Outcome::Ambiguous { delivery_id } = &outcome else {
        panic!("{outcome:?}");
    };
    let never =
        async |_: &str| -> Result<Option<String>, SendError> { panic!("it is not sent again") };
    assert_eq!(plane.deliver(&begin, never).await.unwrap(), outcome);

    let by_hand = plane.reconcile(delivery_id, &Found::Absent).await.unwrap();
    assert_eq!(by_hand.state, DeliveryState::Failed);
    let outcome = plane
        .deliver(&begin, async |_: &str| Ok(None))
        .await
        .unwrap();
    assert!(matches!(outcome, Outcome::Delivered { .. }), "{outcome:?}");
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn nothing_is_sent_while_nobody_can_look_up_what_an_attempt_left_unknown() {
    let plane = plane("lookup");
    let task = settled(&plane, "e-1", "text").await;
    let begin = Begin::new(&task.task_id, "reply", &json!("text"), Recovery::Lookup);
    let unused =
        async |_: &str| -> Result<_, std::convert::Infallible> { panic!("nothing to look up") };
    let lost = async |_: &str| Err(SendError::Unknown("reset".to_owned()));
    let outcome = plane.deliver_or_find(&begin, lost, unused).await.unwrap();
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");

    let silent = async |_: &str| Err("no answer");
    let never = async |_: &str| -> Result<Option<String>, SendError> { panic!("it is not sent") };
    let error = plane
        .deliver_or_find(&begin, never, silent)
        .await
        .unwrap_err();
    assert!(matches!(error, DeliverError::LookUp(_)), "{error}");
    // The attempt that could not look it up holds it; whoever comes next is told so.
    let hasty = plane.clone().with_longest_wait(Duration::ZERO);
    let outcome = hasty.deliver(&begin, never).await.unwrap();
    assert!(matches!(outcome, Outcome::Held { .. }), "{outcome:?}");
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_lookup_that_finds_it_settles_it_and_one_that_does_not_goes_on_to_send() {
    let plane = plane("found");
    let task = settled(&plane, "e-1", "text").await;
    for (operation, found) in [("made", Some("response-1")), ("lost", None)] {
        let begin = Begin::new(&task.task_id, operation, &json!("text"), Recovery::Lookup);
        let Begun::Send {
            delivery_id,
            attempt,
        } = plane.begin(&begin, true).await.unwrap()
        else {
            panic!("it is new");
        };
        let doubt = Settle::Indeterminate {
            reason: "reset".to_owned(),
        };
        let settled = plane.settle(&delivery_id, &attempt, &doubt).await.unwrap();
        assert_eq!(settled.state, DeliveryState::Sending);
        let sends = AtomicU32::new(0);
        let send = async |_: &str| {
            sends.fetch_add(1, Relaxed);
            Ok(Some("response-2".to_owned()))
        };
        let look_up = async |id: &str| {
            assert_eq!(id, delivery_id);
            Ok::<_, std::convert::Infallible>(found.map(str::to_owned))
        };
        let outcome = plane.deliver_or_find(&begin, send, look_up).await.unwrap();
        let Outcome::Delivered {
            provider_response_id,
            ..
        } = outcome
        else {
            panic!("{outcome:?}");
        };
        let expected = found.unwrap_or("response-2");
        assert_eq!(provider_response_id.as_deref(), Some(expected));
        assert_eq!(sends.load(Relaxed), u32::from(found.is_none()));
    }
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_direct_reply_to_what_was_delivered_continues_the_task_that_asked() {
    let plane = plane("reply");
    plane.declare(&[Continuation::ReplyAnchor]).await.unwrap();
    let asked = settled(&plane, "e-1", "ask me").await;
    assert_eq!(asked.state, "TASK_STATE_INPUT_REQUIRED");
    let begin = Begin::new(
        &asked.task_id,
        "question",
        &json!("?"),
        Recovery::Idempotent,
    );
    plane
        .deliver(&begin, async |_: &str| Ok(Some("question-1".to_owned())))
        .await
        .unwrap();
    plane
        .record_anchor("question-1", &asked.task_id)
        .await
        .unwrap();
    let answer = plane
        .accept(&event("e-2", "42").reply_to("question-1"))
        .await
        .unwrap();
    assert_eq!(answer.disposition, Disposition::Continued);
    assert_eq!(answer.task_id, asked.task_id);

    let other = settled(&plane, "e-3", "other").await;
    let taken = plane
        .record_anchor("question-1", &other.task_id)
        .await
        .unwrap_err();
    assert_eq!(reason(&taken), "ANCHOR_TAKEN");
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn evidence_is_recorded_once_or_counted_and_an_operator_reads_it() {
    let plane = plane("noted");
    let evidence = |id: &str| SourceEvidence {
        evidence_id: id.to_owned(),
        kind: "CLIENT_TEST".to_owned(),
        detail: BTreeMap::from([("channel".to_owned(), "c-1".to_owned())]),
    };
    for _ in 0..2 {
        assert_eq!(
            plane.record(&evidence("seen-1")).await.unwrap().occurrences,
            None
        );
    }
    for count in 1..=3 {
        let counted = plane.count(&evidence("noise")).await.unwrap();
        assert_eq!(counted.occurrences, Some(count));
    }
    let operator = plane_with("TASK_PLANE_OPERATOR_TOKEN", "noted");
    let query = EvidenceQuery {
        kind: Some("CLIENT_TEST".to_owned()),
        page_size: Some(1),
        ..EvidenceQuery::default()
    };
    let page = operator.evidence("alice", &query).await.unwrap();
    let next = EvidenceQuery {
        page_token: Some(page.next_page_token),
        ..query
    };
    let rest = operator.evidence("alice", &next).await.unwrap();
    let mut ids: Vec<_> = page
        .evidence
        .iter()
        .chain(&rest.evidence)
        .map(|each| (each.source_evidence_id.as_deref(), each.occurrences))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [(Some("noise"), Some(3)), (Some("seen-1"), None)]);
    let error = plane.evidence("alice", &next).await.unwrap_err();
    assert_eq!(reason(&error), "PERMISSION_DENIED");
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn a_trusted_platform_answers_by_the_tasks_id() {
    let platform = plane_with("TASK_PLANE_TRUSTED_TOKEN", "platform");
    platform.declare(&[Continuation::TaskId]).await.unwrap();
    let asked = settled(&platform, "e-1", "ask me").await;
    let mut answer = event("e-2", "42");
    answer.task_id = Some(asked.task_id.clone());
    let accepted = platform.accept(&answer).await.unwrap();
    assert_eq!(accepted.disposition, Disposition::Continued);
    assert_eq!(accepted.task_id, asked.task_id);
    answer.dedupe_key = "e-3".to_owned();
    let error = platform.accept(&answer).await.unwrap_err();
    assert_eq!(reason(&error), "UNSUPPORTED_OPERATION");
}

#[tokio::test]
#[ignore = "needs a task plane"]
async fn an_exact_locator_finds_the_task_whose_turn_is_live() {
    let plane = plane("located");
    let held = event("e-1", "hold on").locator("channel", "c-1");
    let accepted = plane.accept(&held).await.unwrap();
    let located = loop {
        if let Some(located) = plane.locate(&held.native_locator).await.unwrap() {
            break located;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(
        (located.task_id, located.context_id),
        (accepted.task_id, accepted.context_id)
    );
    let part = event("e-1", "").native_locator;
    assert_eq!(plane.locate(&part).await.unwrap(), None);
    plane.accept(&event("e-2", "release")).await.unwrap();
}
