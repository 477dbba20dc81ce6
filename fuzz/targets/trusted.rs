//! The parsers of the trusted surface, and the canonical form that content digests are made of: any body is either
//! refused with the field named, or within the contract; any value has one canonical text, which is its own.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::error::{A2aError, Reason};
use protocol::trusted::Caller;
use protocol::trusted::activation::{Activation, MAX_PARTS_BYTES};
use protocol::trusted::checkpoint::Checkpoint;
use protocol::trusted::delivery::{Begin, Reconcile, Settle};
use protocol::trusted::evidence::{EvidenceQuery, SourceEvidence};
use protocol::trusted::settlements::SettlementsQuery;
use protocol::trusted::source::{Anchor, Declaration, Locate};
use protocol::{canonical, json};
use serde_json::{Value, json};

const NOW_MS: i64 = 1_761_647_400_000;

const SOURCE: Caller<'_> = Caller {
    principal: "alice",
    may_name_tasks: false,
};

fuzz_target!(|body: &[u8]| {
    if let Ok(query) = std::str::from_utf8(body) {
        sound(EvidenceQuery::parse(query));
        sound(SettlementsQuery::parse(query));
    }
    let Ok(body) = json::parse(body) else {
        return;
    };
    let text = canonical::text(&body);
    let again = json::parse(text.as_bytes()).expect("a canonical text is JSON");
    assert_eq!(canonical::text(&again), text);

    accept(body.clone());
    // The digest is the one field that nothing finds by chance.
    if let Value::Object(mut event) = body.clone() {
        let parts = event.get("parts").cloned().unwrap_or_default();
        event.insert("contentDigest".into(), json!(canonical::digest(&parts)));
        accept(Value::Object(event));
    }
    let (name, id) = ("chat".to_owned(), "d-1".to_owned());
    sound(Declaration::from_value(body.clone(), name.clone(), &SOURCE));
    sound(Checkpoint::from_value(body.clone(), name, &SOURCE));
    sound(Locate::from_value(body.clone(), &SOURCE));
    sound(Anchor::from_value(body.clone(), &SOURCE));
    sound(Begin::from_value(body.clone(), &SOURCE));
    sound(Settle::from_value(body.clone(), id.clone(), &SOURCE));
    sound(Reconcile::from_value(body.clone(), id, &SOURCE));
    sound(SourceEvidence::from_value(body, &SOURCE));
});

fn accept(body: Value) {
    if let Some(activation) = sound(Activation::from_value(body, &SOURCE, NOW_MS)) {
        assert_eq!(activation.task_id, None, "a source named a task");
        assert!(!activation.native_locator.is_empty());
        assert!(activation.parts.len() <= MAX_PARTS_BYTES);
        let parts: Value = serde_json::from_str(&activation.parts).expect("parts are JSON");
        assert!(parts.as_array().is_some_and(|parts| !parts.is_empty()));
    }
}

/// What was read; a refusal must name what is wrong.
fn sound<T>(read: Result<T, A2aError>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) => {
            let expected = [
                Reason::InvalidRequest,
                Reason::PermissionDenied,
                Reason::PayloadTooLarge,
            ];
            assert!(expected.contains(&error.reason), "{error:?}");
            assert!(!error.violations.is_empty(), "{error:?}");
            assert!(error.violations.iter().all(|one| !one.field.is_empty()));
            None
        }
    }
}
