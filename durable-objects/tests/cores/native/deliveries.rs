//! A delivery is made once: whoever sends, whoever crashes, whoever asks again.

use durable_objects::commands::trusted::TrustedCommand;
use durable_objects::principal::HOLD_MS;
use protocol::trusted::delivery::{Begin, Outcome, Reconcile, Recovery, Settle};
use serde_json::Value as Json;

use super::event::{event, outcome, reply, text};
use crate::support::World;
use crate::support::peek::dump;

fn with_task() -> (World, String) {
    let mut world = World::of(&["ann", "bob"]);
    let task_id = text(&world.accept("ann", event("e1")), "taskId").to_owned();
    (world, task_id)
}

fn reconcile(world: &mut World, begun: &Json, outcome: Outcome) -> Json {
    world.trusted(
        "ann",
        TrustedCommand::Reconcile(Reconcile {
            delivery_id: text(begun, "deliveryId").to_owned(),
            outcome,
            provider_response_id: None,
        }),
    )
}

#[test]
fn concurrent_identical_deliveries_share_one_mutation_and_the_second_is_told_who_holds_it() {
    let (mut world, task_id) = with_task();
    let first = world.begin("ann", reply(&task_id, Recovery::Idempotent));
    assert_eq!(first["disposition"], "SEND");
    world.now_ms += 1_000;
    let other = Begin {
        holder: Some("adapter-2".to_owned()),
        ..reply(&task_id, Recovery::Idempotent)
    };
    let second = world.begin("ann", other.clone());
    assert_eq!(second["disposition"], "HELD");
    assert_eq!(second["deliveryId"], first["deliveryId"]);
    assert_eq!(second["heldBy"], "adapter-1");
    assert_eq!(second["retryAfterMs"], HOLD_MS - 1_000);
    assert!(second.get("attempt").is_none());
    world
        .try_settle("ann", outcome(&first, Outcome::Delivered, Some("r1")))
        .unwrap();
    let third = world.begin("ann", other);
    assert_eq!(third["disposition"], "DELIVERED");
    assert_eq!(third["providerResponseId"], "r1");
}

#[test]
fn another_payload_is_another_delivery_unless_the_operation_is_fixed_to_one() {
    let (mut world, task_id) = with_task();
    let of = |fixed, payload: &str| Begin {
        payload_digest: format!("sha256:{payload}"),
        fixed,
        ..reply(&task_id, Recovery::Ambiguous)
    };
    let ids =
        ["one", "two"].map(|payload| world.begin("ann", of(false, payload))["deliveryId"].clone());
    assert_ne!(ids[0], ids[1]);
    world.begin("ann", of(true, "one"));
    let refused = world
        .try_trusted("ann", TrustedCommand::Begin(of(true, "two")))
        .unwrap_err();
    assert_eq!(refused.reason(), "DELIVERY_CONFLICT");
}

#[test]
fn a_begin_whose_answer_was_lost_is_the_same_attempt_when_it_is_said_again() {
    for recovery in [Recovery::Idempotent, Recovery::Lookup, Recovery::Ambiguous] {
        let (mut world, task_id) = with_task();
        let named = |attempt: &str| Begin {
            attempt: Some(attempt.to_owned()),
            ..reply(&task_id, recovery)
        };
        let first = world.begin("ann", named("a1"));
        assert_eq!(
            (text(&first, "disposition"), text(&first, "attempt")),
            ("SEND", "a1")
        );
        assert_eq!(world.begin("ann", named("a1")), first);
        assert_eq!(world.begin("ann", named("a2"))["disposition"], "HELD");
        world
            .try_settle("ann", outcome(&first, Outcome::Delivered, Some("r1")))
            .unwrap();
        assert_eq!(world.begin("ann", named("a1"))["disposition"], "DELIVERED");
    }
}

#[test]
fn an_attempt_that_was_told_to_look_up_is_told_so_again() {
    let (mut world, task_id) = with_task();
    let named = |attempt: &str| Begin {
        attempt: Some(attempt.to_owned()),
        ..reply(&task_id, Recovery::Lookup)
    };
    world.begin("ann", named("a1"));
    world.now_ms += HOLD_MS;
    for _ in 0..2 {
        assert_eq!(world.begin("ann", named("a2"))["disposition"], "RECONCILE");
    }
}

#[test]
fn an_attempt_that_took_too_long_counts_as_crashed_under_its_own_name_too() {
    for (recovery, expected) in [
        (Recovery::Idempotent, "SEND"),
        (Recovery::Lookup, "RECONCILE"),
        (Recovery::Ambiguous, "AMBIGUOUS"),
    ] {
        let (mut world, task_id) = with_task();
        let named = Begin {
            attempt: Some("a1".to_owned()),
            ..reply(&task_id, recovery)
        };
        world.begin("ann", named.clone());
        world.now_ms += HOLD_MS;
        for _ in 0..2 {
            assert_eq!(world.begin("ann", named.clone())["disposition"], expected);
        }
    }
}

#[test]
fn a_name_that_is_used_for_a_second_attempt_still_looks_the_first_up() {
    let (mut world, task_id) = with_task();
    let named = Begin {
        attempt: Some("a1".to_owned()),
        ..reply(&task_id, Recovery::Lookup)
    };
    let first = world.begin("ann", named.clone());
    world
        .try_settle("ann", outcome(&first, Outcome::Indeterminate, None))
        .unwrap();
    for _ in 0..2 {
        assert_eq!(
            world.begin("ann", named.clone())["disposition"],
            "RECONCILE"
        );
    }
}

#[test]
fn a_crash_in_sending_is_sent_again_where_that_is_idempotent() {
    let (mut world, task_id) = with_task();
    let first = world.begin("ann", reply(&task_id, Recovery::Idempotent));
    world.now_ms += HOLD_MS;
    let second = world.begin("ann", reply(&task_id, Recovery::Idempotent));
    assert_eq!(second["disposition"], "SEND");
    assert_ne!(second["attempt"], first["attempt"]);
    // Whoever was thought dead has lost it.
    let late = world.try_settle("ann", outcome(&first, Outcome::Delivered, Some("r1")));
    assert_eq!(late.unwrap_err().reason(), "DELIVERY_NOT_HELD");
    let settled = world.try_settle("ann", outcome(&second, Outcome::Delivered, Some("r1")));
    assert_eq!(settled.unwrap()["state"], "DELIVERED");
}

#[test]
fn a_crash_in_sending_is_looked_up_before_anything_is_sent_again() {
    for found in [true, false] {
        let (mut world, task_id) = with_task();
        world.begin("ann", reply(&task_id, Recovery::Lookup));
        world.now_ms += HOLD_MS;
        let begun = world.begin("ann", reply(&task_id, Recovery::Lookup));
        assert_eq!(begun["disposition"], "RECONCILE");
        if found {
            let settled = world.try_settle("ann", outcome(&begun, Outcome::Delivered, Some("r1")));
            assert_eq!(settled.unwrap()["state"], "DELIVERED");
        } else {
            let absent = world
                .try_settle("ann", outcome(&begun, Outcome::Absent, None))
                .unwrap();
            assert_eq!(
                (&absent["state"], &absent["disposition"]),
                (&"SENDING".into(), &"SEND".into())
            );
            let held = world.begin("ann", reply(&task_id, Recovery::Lookup));
            assert_eq!(held["disposition"], "HELD");
            let sent = world.try_settle("ann", outcome(&begun, Outcome::Delivered, Some("r2")));
            assert_eq!(sent.unwrap()["state"], "DELIVERED");
        }
    }
}

#[test]
fn a_lookup_delivery_without_its_reconciler_fails_closed_as_ambiguous_instead_of_sending_blindly() {
    let (mut world, task_id) = with_task();
    world.begin("ann", reply(&task_id, Recovery::Lookup));
    world.now_ms += HOLD_MS;
    let blind = Begin {
        can_reconcile: false,
        ..reply(&task_id, Recovery::Lookup)
    };
    assert_eq!(world.begin("ann", blind)["disposition"], "AMBIGUOUS");
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "UNHEALTHY"]);
    // Later, too, also for one that could look it up.
    let later = world.begin("ann", reply(&task_id, Recovery::Lookup));
    assert_eq!(later["disposition"], "AMBIGUOUS");
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "UNHEALTHY"]);
}

#[test]
fn a_crash_in_sending_without_recovery_is_ambiguous_with_unhealthy_evidence() {
    let (mut world, task_id) = with_task();
    world.begin("ann", reply(&task_id, Recovery::Ambiguous));
    world.now_ms += HOLD_MS;
    // What it was begun with decides, not what is claimed later.
    let claimed = world.begin("ann", reply(&task_id, Recovery::Idempotent));
    assert_eq!(claimed["disposition"], "AMBIGUOUS");
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "UNHEALTHY"]);
}

#[test]
fn a_determinate_refusal_is_retryable() {
    for recovery in [Recovery::Idempotent, Recovery::Lookup, Recovery::Ambiguous] {
        let (mut world, task_id) = with_task();
        let begun = world.begin("ann", reply(&task_id, recovery));
        let refused = world.try_settle("ann", outcome(&begun, Outcome::Refused, None));
        assert_eq!(refused.unwrap()["state"], "FAILED");
        assert_eq!(
            world.begin("ann", reply(&task_id, recovery))["disposition"],
            "SEND"
        );
        assert_eq!(
            world.evidence("ann", &task_id),
            ["ACCEPTED", "DELIVERY_FAILED"]
        );
    }
}

#[test]
fn an_indeterminate_outcome_is_not_retried_blindly() {
    for (recovery, state, next) in [
        (Recovery::Ambiguous, "AMBIGUOUS", "AMBIGUOUS"),
        (Recovery::Lookup, "SENDING", "RECONCILE"),
        (Recovery::Idempotent, "FAILED", "SEND"),
    ] {
        let (mut world, task_id) = with_task();
        let begun = world.begin("ann", reply(&task_id, recovery));
        let settled = world
            .try_settle("ann", outcome(&begun, Outcome::Indeterminate, None))
            .unwrap();
        assert_eq!(settled["state"], state);
        assert_eq!(
            world.begin("ann", reply(&task_id, recovery))["disposition"],
            next
        );
    }
}

#[test]
fn a_delivery_settled_twice_alike_is_answered_alike_and_otherwise_refused() {
    let (mut world, task_id) = with_task();
    let begun = world.begin("ann", reply(&task_id, Recovery::Ambiguous));
    let delivered = outcome(&begun, Outcome::Delivered, Some("r1"));
    let first = world.try_settle("ann", delivered.clone()).unwrap();
    let before = dump(&world.principals["ann"].store);
    assert_eq!(world.try_settle("ann", delivered).unwrap(), first);
    for other in [
        outcome(&begun, Outcome::Delivered, Some("r2")),
        outcome(&begun, Outcome::Refused, None),
        outcome(&begun, Outcome::Indeterminate, None),
    ] {
        let refused = world.try_settle("ann", other).unwrap_err();
        assert_eq!(refused.reason(), "DELIVERY_SETTLED");
    }
    assert_eq!(dump(&world.principals["ann"].store), before);
}

#[test]
fn reconcile_resolves_a_fixed_publication_by_hand() {
    for (found, state, next) in [
        (Outcome::Delivered, "DELIVERED", "DELIVERED"),
        (Outcome::Absent, "FAILED", "SEND"),
    ] {
        let (mut world, task_id) = with_task();
        let fixed = Begin {
            fixed: true,
            ..reply(&task_id, Recovery::Ambiguous)
        };
        let begun = world.begin("ann", fixed.clone());
        world
            .try_settle("ann", outcome(&begun, Outcome::Indeterminate, None))
            .unwrap();
        assert_eq!(reconcile(&mut world, &begun, found)["state"], state);
        assert_eq!(reconcile(&mut world, &begun, found)["state"], state);
        assert_eq!(world.begin("ann", fixed)["disposition"], next);
    }
}

#[test]
fn reconcile_waits_for_an_attempt_that_is_under_way_and_contradicts_none_that_was_made() {
    let (mut world, task_id) = with_task();
    let begun = world.begin("ann", reply(&task_id, Recovery::Ambiguous));
    let by_hand = |outcome| {
        TrustedCommand::Reconcile(Reconcile {
            delivery_id: text(&begun, "deliveryId").to_owned(),
            outcome,
            provider_response_id: None,
        })
    };
    let early = world
        .try_trusted("ann", by_hand(Outcome::Absent))
        .unwrap_err();
    assert_eq!(early.reason(), "DELIVERY_NOT_HELD");
    world
        .try_settle("ann", outcome(&begun, Outcome::Delivered, None))
        .unwrap();
    let against = world
        .try_trusted("ann", by_hand(Outcome::Absent))
        .unwrap_err();
    assert_eq!(against.reason(), "DELIVERY_SETTLED");
}

#[test]
fn a_delivery_of_another_principal_and_an_unknown_one_are_not_found_alike() {
    let (mut world, task_id) = with_task();
    let begun = world.begin("ann", reply(&task_id, Recovery::Ambiguous));
    let foreign = text(&begun, "deliveryId").to_owned();
    let unknown = "x".repeat(foreign.len());
    let answers = [foreign, unknown].map(|delivery_id| {
        let settle = Settle {
            delivery_id: delivery_id.clone(),
            ..outcome(&begun, Outcome::Delivered, None)
        };
        let refused = world.try_settle("bob", settle).unwrap_err();
        assert_eq!(refused.reason(), "DELIVERY_NOT_FOUND");
        format!("{refused:?}").replace(&delivery_id, "ID")
    });
    assert_eq!(answers[0], answers[1]);
    let begun = world.try_trusted(
        "bob",
        TrustedCommand::Begin(reply(&task_id, Recovery::Lookup)),
    );
    assert_eq!(begun.unwrap_err().reason(), "TASK_NOT_FOUND");
}

#[test]
fn an_attempt_that_falls_silent_is_given_up_with_unhealthy_evidence_though_nobody_asks_again() {
    let (mut world, task_id) = with_task();
    let begun = world.begin("ann", reply(&task_id, Recovery::Ambiguous));
    for recovery in [Recovery::Idempotent, Recovery::Lookup] {
        let other = Begin {
            operation_id: format!("{recovery:?}"),
            ..reply(&task_id, recovery)
        };
        world.begin("ann", other);
    }
    world.pass(HOLD_MS - 1_000);
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED"]);
    world.pass(2_000);
    assert_eq!(world.evidence("ann", &task_id), ["ACCEPTED", "UNHEALTHY"]);
    // What it comes to know for certain after all is taken, once.
    let late = outcome(&begun, Outcome::Delivered, Some("r1"));
    assert_eq!(world.try_settle("ann", late).unwrap()["state"], "DELIVERED");
    let other = world.try_settle("ann", outcome(&begun, Outcome::Refused, None));
    assert_eq!(other.unwrap_err().reason(), "DELIVERY_SETTLED");
}
