//! What SQLite does for the statements that run most often: a queue that is full costs a take no more than an empty one.

use std::cell::RefCell;
use std::collections::BTreeSet;

use durable_objects::commands::wake_queue::Take;
use durable_objects::environment::Environment;
use durable_objects::storage::native::NativeStore;
use durable_objects::storage::{Row, Store, StoreError, Value};
use durable_objects::wake_queue::{Step, WakeQueue};

use crate::support::objects::Counter;
use crate::support::{LEASE_MS, World};

/// A store that remembers what it was asked.
struct Listening<'a> {
    store: &'a NativeStore,
    heard: RefCell<BTreeSet<String>>,
}

impl Store for Listening<'_> {
    fn query(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        self.heard.borrow_mut().insert(sql.to_owned());
        self.store.query(sql, parameters)
    }
}

/// The steps of SQLite's plan for a statement.
fn plan(store: &NativeStore, sql: &str) -> Vec<String> {
    let parameters = (1..).take_while(|place| sql.contains(&format!("?{place}")));
    let parameters = vec![Value::Null; parameters.count()];
    store
        .query(&format!("EXPLAIN QUERY PLAN {sql}"), &parameters)
        .unwrap()
        .into_iter()
        .map(|mut row| {
            for _ in 0..3 {
                row.integer().unwrap();
            }
            row.text().unwrap()
        })
        .collect()
}

#[test]
fn taking_a_wake_never_scans_the_queue() {
    let mut world = World::of(&["ann"]);
    for number in 0..128 {
        world.submit("ann", &format!("m{number}"));
    }
    // The session's startup is over, and its first turn too.
    let turn = world.take();
    world.tool(&turn, crate::support::ask::complete("done"));
    world.end(&turn);
    let listening = Listening {
        store: &world.queues["resident"].store,
        heard: RefCell::default(),
    };
    let ids = &mut Counter::default();
    let now_ms = world.now_ms;
    let take = Take {
        resident: "resident".to_owned(),
        session: "s1".to_owned(),
        lease_ms: None,
    };
    let environment = Environment { now_ms, ids };
    let (step, _) = WakeQueue::new(&listening, environment, "resident", LEASE_MS)
        .take(&take)
        .unwrap();
    assert!(matches!(step, Step::Ask { .. }));

    let heard = listening.heard.take();
    let oldest = "ORDER BY wake_id LIMIT 1";
    assert!(heard.iter().any(|sql| sql.ends_with(oldest)), "{heard:?}");
    for sql in heard {
        let plan = plan(listening.store, &sql);
        assert!(
            !plan.iter().any(|step| step.contains("TEMP B-TREE")),
            "{sql}: {plan:?}"
        );
        for step in plan.iter().filter(|step| step.starts_with("SCAN wakes")) {
            // From its beginning, and no further than the first.
            assert!(
                sql.ends_with(oldest) && step.contains("INDEX wakes_ready"),
                "{sql}: {plan:?}"
            );
        }
    }
}
