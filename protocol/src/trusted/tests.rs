use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Caller;
use super::activation::{Activation, MAX_PARTS_BYTES};
use super::checkpoint::{Checkpoint, MAX_CHECKPOINT_BYTES};
use super::delivery::{Begin, Outcome, Reconcile, Recovery, Settle};
use super::evidence::{EvidenceQuery, SourceEvidence};
use super::settlements::SettlementsQuery;
use super::source::{Anchor, Declaration, Locate};
use crate::canonical;
use crate::error::{A2aError, Reason};

const NOW_MS: i64 = 1_761_647_400_000;

const SOURCE: Caller<'_> = Caller {
    principal: "alice",
    may_name_tasks: false,
};

const PLATFORM: Caller<'_> = Caller {
    principal: "alice",
    may_name_tasks: true,
};

fn event() -> Value {
    json!({
        "source": "chat",
        "providerEventId": "e-1",
        "dedupeKey": "d-1",
        "nativeLocator": {"channel": "C 1", "thread-ts": "17.5"},
        "receivedAt": "2025-10-28T10:30:00Z",
        "parts": [{"text": "hello"}],
        "contentDigest": "sha256:2fd7ab77c1d6b240660be2a179a246368367153e0c5c2920c66b840ac872b2a3",
    })
}

/// The event with these fields; null takes one out.
fn with(fields: Value) -> Value {
    let mut event = event();
    for (name, value) in fields.as_object().unwrap() {
        event[name.as_str()] = value.clone();
    }
    event
}

fn accept(body: Value) -> Result<Activation, A2aError> {
    Activation::from_value(body, &PLATFORM, NOW_MS)
}

fn named<T: std::fmt::Debug>(result: Result<T, A2aError>) -> Vec<String> {
    let error = result.unwrap_err();
    assert_eq!(error.reason, Reason::InvalidRequest, "{error}");
    let violations = error.violations.iter();
    violations
        .map(|violation| violation.field.clone())
        .collect()
}

#[test]
fn an_event_is_read_whole() {
    let activation = accept(with(json!({
        "principal": "alice",
        "conversationKey": "c-1",
        "displayUrl": "https://chat.example/@ann/1?x=a@b#y",
        "evidenceLocator": "s3://bucket/ä",
        "replyTo": "<a@mail.example>",
    })))
    .unwrap();
    assert_eq!(activation.source, "chat");
    assert_eq!(activation.provider_event_id, "e-1");
    assert_eq!(activation.dedupe_key, "d-1");
    assert_eq!(activation.conversation_key.as_deref(), Some("c-1"));
    assert_eq!(activation.native_locator["thread-ts"], "17.5");
    assert_eq!(activation.received_ms, NOW_MS);
    assert_eq!(activation.parts, r#"[{"text":"hello"}]"#);
    assert_eq!(activation.reply_to.as_deref(), Some("<a@mail.example>"));
    assert_eq!(
        activation.evidence_locator.as_deref(),
        Some("s3://bucket/ä")
    );
    assert_eq!((activation.task_id, activation.context_id), (None, None));
}

#[test]
fn the_digest_is_of_the_parts_as_sent_and_what_is_kept_is_what_a_message_keeps() {
    let parts = json!([{"text": "hello", "future": 1, "filename": null}, {"raw": "aGk", "media_type": "image/png"}]);
    let sent = with(json!({"contentDigest": canonical::digest(&parts), "parts": parts}));
    let activation = accept(sent).unwrap();
    assert_eq!(
        activation.parts,
        r#"[{"text":"hello"},{"mediaType":"image/png","raw":"aGk="}]"#
    );
}

#[test]
fn a_digest_of_other_parts_is_refused_and_the_right_one_is_said() {
    let error = accept(with(json!({"parts": [{"text": "hello "}]}))).unwrap_err();
    assert_eq!(error.violations[0].field, "contentDigest");
    let right = canonical::digest(&json!([{"text": "hello "}]));
    assert!(error.violations[0].description.contains(&right));
}

#[test]
fn what_an_event_lacks_is_named_all_at_once() {
    assert_eq!(
        named(accept(json!({}))),
        [
            "source",
            "providerEventId",
            "dedupeKey",
            "nativeLocator",
            "receivedAt",
            "contentDigest",
            "parts"
        ]
    );
    assert_eq!(named(accept(json!([]))), ["body"]);
}

#[test]
fn each_field_out_of_its_bounds_is_named() {
    let long = "x".repeat(5000);
    for (field, value) in [
        ("source", json!("a2a")),
        ("source", json!("agents")),
        ("source", json!("a/b")),
        ("source", json!(1)),
        ("providerEventId", json!("a b")),
        ("dedupeKey", json!("-a")),
        ("dedupeKey", json!("x".repeat(129))),
        ("conversationKey", json!("#general")),
        ("nativeLocator", json!({})),
        ("nativeLocator", json!([])),
        ("nativeLocator", json!("C1")),
        ("receivedAt", json!("yesterday")),
        ("receivedAt", json!(NOW_MS)),
        ("receivedAt", json!("2025-10-28T10:35:00.001Z")),
        ("parts", json!({"text": "hello"})),
        ("contentDigest", json!("2fd7ab77")),
        (
            "contentDigest",
            json!("sha256:2FD7AB77C1D6B240660BE2A179A246368367153E0C5C2920C66B840AC872B2A3"),
        ),
        ("displayUrl", json!("ftp://chat.example/")),
        ("displayUrl", json!("https://")),
        ("displayUrl", json!("https://user:secret@chat.example/")),
        ("displayUrl", json!("https://token@chat.example/m/1")),
        ("displayUrl", json!("javascript:alert(1)")),
        ("displayUrl", json!(format!("https://chat.example/{long}"))),
        ("evidenceLocator", json!(long)),
        ("evidenceLocator", json!({})),
        ("replyTo", json!("a b")),
        ("replyTo", json!("ä")),
        ("replyTo", json!("x".repeat(513))),
        ("taskId", json!("a/b")),
        ("contextId", json!("a/b")),
        ("principal", json!(1)),
        ("future", json!(1)),
        ("provider_event_id", json!("e-1")),
    ] {
        let shown = format!("{field} {value}");
        let mut fields = Map::new();
        fields.insert(field.to_owned(), value);
        assert_eq!(
            named(accept(with(Value::Object(fields)))),
            [field],
            "{shown}"
        );
    }
    assert_eq!(
        named(accept(with(
            json!({"parts": [], "contentDigest": canonical::digest(&json!([]))})
        ))),
        ["parts"]
    );
    let parts = json!([{"text": "a", "url": "b"}, {"raw": "?"}]);
    let body = with(json!({"contentDigest": canonical::digest(&parts), "parts": parts}));
    assert_eq!(named(accept(body)), ["parts[0]", "parts[1].raw"]);
}

#[test]
fn a_locators_fields_are_named_where_they_are_wrong() {
    let locator = json!({
        "a": "", "b": 1, "c": "x".repeat(4097), "d d": "x", "e-e": null, "ok": "ä".repeat(4096),
    });
    assert_eq!(
        named(accept(with(json!({"nativeLocator": locator})))),
        [
            "nativeLocator.a",
            "nativeLocator.b",
            "nativeLocator.c",
            "nativeLocator[\"d d\"]",
            "nativeLocator[\"e-e\"]"
        ]
    );
    let many: Map<_, _> = (0..33).map(|n| (format!("f{n}"), json!("x"))).collect();
    assert_eq!(
        named(accept(with(json!({"nativeLocator": many})))),
        ["nativeLocator"]
    );
}

#[test]
fn a_clock_may_be_five_minutes_ahead() {
    assert!(accept(with(json!({"receivedAt": "2025-10-28T10:35:00.000Z"}))).is_ok());
    assert!(accept(with(json!({"receivedAt": "2025-10-28T12:30:00+02:00"}))).is_ok());
    assert!(accept(with(json!({"receivedAt": "2005-10-28T12:30:00+02:00"}))).is_ok());
}

#[test]
fn a_source_may_not_name_a_task_and_a_platform_may() {
    for task_id in [json!("t-1"), json!(1), json!("a/b")] {
        let body = with(json!({"taskId": task_id, "dedupeKey": "not valid"}));
        let error = Activation::from_value(body, &SOURCE, NOW_MS).unwrap_err();
        assert_eq!(error.reason, Reason::PermissionDenied);
        assert_eq!(error.violations[0].field, "taskId");
    }
    let body = with(json!({"taskId": "t-1"}));
    assert_eq!(accept(body).unwrap().task_id.as_deref(), Some("t-1"));
    for absent in [json!(null), json!("")] {
        let body = with(json!({"taskId": absent}));
        assert_eq!(
            Activation::from_value(body, &SOURCE, NOW_MS)
                .unwrap()
                .task_id,
            None
        );
    }
}

#[test]
fn a_body_speaks_for_the_credentials_principal_alone() {
    for refused in [
        accept(with(json!({"principal": "bob"}))).map(drop),
        Declaration::from_value(json!({"principal": "bob"}), "chat".into(), &SOURCE).map(drop),
        Checkpoint::from_value(json!({"principal": "bob"}), "chat".into(), &SOURCE).map(drop),
        Locate::from_value(json!({"principal": "bob"}), &SOURCE).map(drop),
        Anchor::from_value(json!({"principal": "bob"}), &SOURCE).map(drop),
        Begin::from_value(json!({"principal": "bob"}), &SOURCE).map(drop),
        Settle::from_value(json!({"principal": "bob"}), "d".into(), &SOURCE).map(drop),
        Reconcile::from_value(json!({"principal": "bob"}), "d".into(), &SOURCE).map(drop),
        SourceEvidence::from_value(json!({"principal": "bob"}), &SOURCE).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.reason, Reason::PermissionDenied);
        assert_eq!(error.violations[0].field, "principal");
    }
}

#[test]
fn what_would_select_a_task_or_context_twice_is_refused() {
    let both = json!({"conversationKey": "c-1", "contextId": "x-1"});
    assert_eq!(named(accept(with(both))), ["contextId"]);
    let both = json!({"taskId": "t-1", "replyTo": "r-1"});
    assert_eq!(named(accept(with(both))), ["replyTo"]);
}

#[test]
fn parts_are_at_most_256_kib() {
    let sized = |bytes: usize| {
        let parts = json!([{"text": "x".repeat(bytes - r#"[{"text":""}]"#.len())}]);
        accept(with(
            json!({"contentDigest": canonical::digest(&parts), "parts": parts}),
        ))
    };
    assert_eq!(sized(MAX_PARTS_BYTES).unwrap().parts.len(), MAX_PARTS_BYTES);
    let error = sized(MAX_PARTS_BYTES + 1).unwrap_err();
    assert_eq!(error.reason, Reason::PayloadTooLarge);
    assert_eq!(error.violations[0].field, "parts");
}

#[test]
fn a_declaration_lists_its_methods() {
    let declare = |continuation: Value| {
        Declaration::from_value(
            json!({"continuation": continuation}),
            "chat".into(),
            &SOURCE,
        )
    };
    let both = declare(json!(["TASK_ID", "REPLY_ANCHOR"])).unwrap();
    assert!(both.reply_anchor && both.task_id);
    let neither = declare(json!([])).unwrap();
    assert!(!neither.reply_anchor && !neither.task_id);
    assert_eq!(named(declare(json!(["THREAD"]))), ["continuation[0]"]);
    assert_eq!(named(declare(json!(null))), ["continuation"]);
    assert_eq!(named(declare(json!("TASK_ID"))), ["continuation"]);
}

#[test]
fn a_checkpoint_is_any_json_of_at_most_64_kib() {
    let advance = |body: Value| Checkpoint::from_value(body, "chat".into(), &SOURCE);
    for value in [json!(null), json!(""), json!(0), json!({"cursor": [1]})] {
        let kept = advance(json!({"checkpoint": value, "covers": []})).unwrap();
        assert_eq!(kept.checkpoint, value.to_string());
        assert_eq!(kept.version, None);
    }
    let kept = advance(json!({"checkpoint": 1, "covers": ["a", "b"], "version": 7.0})).unwrap();
    assert_eq!(
        (kept.covers, kept.version),
        (vec!["a".into(), "b".into()], Some(7))
    );
    assert_eq!(named(advance(json!({}))), ["checkpoint", "covers"]);
    for version in [json!(-1), json!(1.5), json!("1"), json!(1e300)] {
        let body = json!({"checkpoint": 1, "covers": [], "version": version});
        assert_eq!(named(advance(body)), ["version"]);
    }
    let body = json!({"checkpoint": 1, "covers": vec!["a"; 1001]});
    assert_eq!(named(advance(body)), ["covers"]);
    assert_eq!(
        named(advance(json!({"checkpoint": 1, "covers": ["a", "b c"]}))),
        ["covers[1]"]
    );

    let sized = |bytes: usize| advance(json!({"checkpoint": "x".repeat(bytes - 2), "covers": []}));
    assert!(sized(MAX_CHECKPOINT_BYTES).is_ok());
    let error = sized(MAX_CHECKPOINT_BYTES + 1).unwrap_err();
    assert_eq!(error.reason, Reason::PayloadTooLarge);
    assert_eq!(error.violations[0].field, "checkpoint");
}

#[test]
fn a_delivery_is_begun_with_all_that_makes_it_one() {
    let digest = canonical::digest(&json!("reply"));
    let body = json!({
        "taskId": "t-1", "source": "chat", "operationId": "reply", "payloadDigest": digest, "recovery": "LOOKUP",
        "payloadPolicy": "FIXED", "holder": "worker-1", "canReconcile": true,
    });
    let begin = Begin::from_value(body.clone(), &SOURCE).unwrap();
    assert_eq!(begin.recovery, Recovery::Lookup);
    assert!(begin.fixed && begin.can_reconcile);
    assert_eq!(begin.holder.as_deref(), Some("worker-1"));
    for (field, value) in [
        ("taskId", json!(null)),
        ("source", json!("a2a")),
        ("operationId", json!("")),
        ("payloadDigest", json!("x")),
        ("recovery", json!("RETRY")),
        ("recovery", json!(null)),
        ("payloadPolicy", json!("OPEN")),
        ("holder", json!("a b")),
        ("canReconcile", json!("yes")),
    ] {
        let mut body = body.clone();
        body[field] = value;
        assert_eq!(named(Begin::from_value(body, &SOURCE)), [field]);
    }
}

#[test]
fn an_outcome_says_what_was_made_only_where_something_was() {
    let settle = |body: Value| Settle::from_value(body, "d-1".into(), &SOURCE);
    let delivered = json!({"attempt": "a-1", "outcome": "DELIVERED", "providerResponseId": "r-1"});
    let read = settle(delivered).unwrap();
    assert_eq!(read.outcome, Outcome::Delivered);
    assert_eq!(read.provider_response_id.as_deref(), Some("r-1"));
    for (name, outcome) in [
        ("REFUSED", Outcome::Refused),
        ("INDETERMINATE", Outcome::Indeterminate),
        ("ABSENT", Outcome::Absent),
    ] {
        let body = json!({"attempt": "a-1", "outcome": name, "reason": "x".repeat(1000)});
        assert_eq!(settle(body).unwrap().outcome, outcome);
        let body = json!({"attempt": "a-1", "outcome": name, "providerResponseId": "r-1"});
        assert_eq!(named(settle(body)), ["providerResponseId"]);
    }
    assert_eq!(
        named(settle(json!({"outcome": "SENT"}))),
        ["attempt", "outcome"]
    );
    let body = json!({"attempt": "a-1", "outcome": "REFUSED", "reason": "x".repeat(1001)});
    assert_eq!(named(settle(body)), ["reason"]);

    let reconcile = |body: Value| Reconcile::from_value(body, "d-1".into(), &SOURCE);
    assert_eq!(
        reconcile(json!({"outcome": "ABSENT"})).unwrap().outcome,
        Outcome::Absent
    );
    assert_eq!(named(reconcile(json!({"outcome": "REFUSED"}))), ["outcome"]);
    assert_eq!(
        named(reconcile(json!({"outcome": "ABSENT", "attempt": "a"}))),
        ["attempt"]
    );
}

#[test]
fn evidence_has_a_kind_and_short_details() {
    let record = |fields: Value| {
        let mut body = json!({"source": "chat", "evidenceId": "e-1", "kind": "UNSUPPORTED_EVENT"});
        for (name, value) in fields.as_object().unwrap() {
            body[name.as_str()] = value.clone();
        }
        SourceEvidence::from_value(body, &SOURCE)
    };
    let counted = record(json!({"aggregation": "COUNTER", "detail": {"type": "edited"}})).unwrap();
    assert!(counted.counted);
    assert_eq!(counted.detail["type"], "edited");
    assert!(!record(json!({})).unwrap().counted);
    assert_eq!(
        named(record(json!({"aggregation": "SUM"}))),
        ["aggregation"]
    );
    for kind in ["lower", "1A", "A B", "", &"X".repeat(65)] {
        assert_eq!(named(record(json!({"kind": kind}))), ["kind"]);
    }
    assert_eq!(
        named(record(json!({"detail": {"a": "x".repeat(1025)}}))),
        ["detail.a"]
    );
    let many: Map<_, _> = (0..17).map(|n| (format!("f{n}"), json!("x"))).collect();
    assert_eq!(named(record(json!({"detail": many}))), ["detail"]);
}

#[test]
fn a_page_of_evidence_is_asked_for_by_principal() {
    let (principal, query) = EvidenceQuery::parse(
        "principal=alice&taskId=t-1&kind=WOKEN&from=2025-10-28T10:30:00Z&before=2025-10-28T11:30:00Z&pageSize=7&pageToken=12",
    )
    .unwrap();
    assert_eq!(principal, "alice");
    assert_eq!(
        query,
        EvidenceQuery {
            task_id: Some("t-1".into()),
            kind: Some("WOKEN".into()),
            from_ms: Some(NOW_MS),
            before_ms: Some(NOW_MS + 3_600_000),
            page_size: 7,
            before_id: Some(12),
        }
    );
    assert_eq!(named(EvidenceQuery::parse("")), ["principal"]);
    assert_eq!(
        named(EvidenceQuery::parse(
            "principal=a/b&taskId=-&kind=woken&from=now&before=1&pageSize=0&pageToken=x"
        )),
        [
            "principal",
            "taskId",
            "kind",
            "from",
            "before",
            "pageSize",
            "pageToken"
        ]
    );
    assert_eq!(
        named(EvidenceQuery::parse("principal=a&principal=b")),
        ["principal"]
    );
}

#[test]
fn settlements_are_asked_for_by_source() {
    let query = SettlementsQuery::parse("source=chat&after=12&pageSize=3").unwrap();
    assert_eq!(
        (query.source.as_str(), query.after, query.page_size),
        ("chat", 12, 3)
    );
    let query = SettlementsQuery::parse("source=chat").unwrap();
    assert_eq!((query.after, query.page_size), (0, 50));
    assert_eq!(
        named(SettlementsQuery::parse("source=a2a&after=-1&pageSize=101")),
        ["source", "after", "pageSize"]
    );
    assert_eq!(named(SettlementsQuery::parse("source=")), ["source"]);
}

#[test]
fn a_place_in_a_list_is_one_that_an_answer_can_have_given() {
    let after = |text: &str| SettlementsQuery::parse(&format!("source=chat&after={text}"));
    let token = |text: &str| EvidenceQuery::parse(&format!("principal=alice&pageToken={text}"));
    let last = "9007199254740991";
    assert_eq!(after(last).unwrap().after, 9_007_199_254_740_991);
    assert_eq!(
        token(last).unwrap().1.before_id,
        Some(9_007_199_254_740_991)
    );
    for beyond in [
        "9007199254740992",
        "9223372036854775807",
        "9223372036854775808",
        "%2B5",
        "-1",
        "1e3",
    ] {
        assert_eq!(named(after(beyond)), ["after"], "{beyond}");
        assert_eq!(named(token(beyond)), ["pageToken"], "{beyond}");
    }
}

/// A body near the contract: each field is absent, right, or of some other shape.
fn any_body() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!("")),
        Just(json!("e-1")),
        Just(json!("a b")),
        Just(json!(1)),
        Just(json!({})),
        Just(json!({"a": "b"})),
        Just(json!([{"text": "hello"}])),
        Just(json!("2025-10-28T10:30:00Z")),
        ".{0,8}".prop_map(Value::from),
    ];
    let names = event()
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect::<Vec<_>>();
    prop::collection::btree_map(prop::sample::select(names), value, 0..4)
        .prop_map(|fields| with(Value::Object(fields.into_iter().collect())))
}

proptest! {
    #[test]
    fn an_event_is_refused_by_field_or_read(body in any_body()) {
        match accept(body) {
            Ok(activation) => prop_assert!(!activation.native_locator.is_empty()),
            Err(error) => {
                prop_assert_eq!(error.http_status(), 400);
                prop_assert!(!error.violations.is_empty());
                prop_assert!(error.violations.iter().all(|violation| !violation.field.is_empty()));
            }
        }
    }
}
