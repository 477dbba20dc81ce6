//! Everything that native intake does, in any order, against a model of it that is a few maps.
//!
//! The model knows nothing of transactions, indexes or alarms. It says what each answer must be, and which records must
//! still be there; retention may take what the model agrees is past its time, at any moment after that.

use std::collections::BTreeMap;

use durable_objects::commands::principal::{Tool, TurnOutcome};
use durable_objects::principal::RETENTION_MS;
use proptest::prelude::*;
use protocol::state;
use protocol::trusted::activation::Activation;
use protocol::trusted::delivery::{Begin, Outcome, Recovery};

use super::event::{in_conversation, outcome, reply, text};
use crate::support::World;
use crate::support::ask::{answer_to, complete, question, reject};
use crate::support::invariants::Invariants;
use crate::support::peek::texts;

const DAY_MS: i64 = 24 * 3_600_000;

/// One step. Numbers choose among few, so that they meet.
#[derive(Debug, Clone)]
enum Step {
    /// An event, or its redelivery, perhaps with other content, perhaps as a direct reply.
    Event {
        key: u8,
        conversation: u8,
        content: u8,
        replies_to: Option<u8>,
    },
    /// The resident takes a turn, and does one thing with it.
    Turn(Deed),
    /// What a settled or waiting task says is sent, as that response.
    Deliver {
        task: u8,
        response: u8,
    },
    /// The caller's own answer, by the A2A binding.
    Answer {
        task: u8,
        message: u8,
    },
    Cancel {
        task: u8,
    },
    /// The clock jumps, also back.
    Jump {
        ms: i64,
    },
    /// The resident starts anew.
    Restart,
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    Complete,
    Reject,
    Ask,
    Nothing,
    Fail,
}

fn step() -> impl Strategy<Value = Step> {
    let deed = prop_oneof![
        3 => Just(Deed::Complete),
        1 => Just(Deed::Reject),
        4 => Just(Deed::Ask),
        1 => Just(Deed::Nothing),
        1 => Just(Deed::Fail),
    ];
    prop_oneof![
        6 => (0_u8..8, 0_u8..3, 0_u8..8, proptest::option::weighted(0.5, 0_u8..4)).prop_map(
            |(key, conversation, content, replies_to)| Step::Event {
                key,
                conversation,
                // Mostly the same, so that most redeliveries are duplicates.
                content: u8::from(content == 0),
                replies_to,
            }
        ),
        6 => deed.prop_map(Step::Turn),
        3 => (0_u8..6, 0_u8..4).prop_map(|(task, response)| Step::Deliver { task, response }),
        1 => (0_u8..6, 0_u8..4).prop_map(|(task, message)| Step::Answer { task, message }),
        1 => (0_u8..6).prop_map(|task| Step::Cancel { task }),
        2 => prop_oneof![Just(1_000), Just(DAY_MS), Just(31 * DAY_MS), Just(-DAY_MS)]
            .prop_map(|ms| Step::Jump { ms }),
        1 => Just(Step::Restart),
    ]
}

#[derive(Debug, Clone)]
struct KnownTask {
    context_id: String,
    is_native: bool,
}

/// What the model remembers of an accepted event.
#[derive(Debug)]
struct KnownEvent {
    sent: Activation,
    task_id: String,
    activation_id: String,
}

struct Model {
    world: World,
    invariants: Invariants,
    sessions: u32,
    tasks: BTreeMap<String, KnownTask>,
    events: BTreeMap<String, KnownEvent>,
    /// By conversation key: the context, and when its last event came.
    conversations: BTreeMap<String, (String, i64)>,
    anchors: BTreeMap<String, String>,
    /// The latest time at which an alarm can have gone off.
    latest_ms: i64,
    newest_activation: i64,
}

impl Model {
    fn new() -> Self {
        let mut world = World::of(&["ann"]);
        world.declare("ann", true, false);
        Self {
            latest_ms: world.now_ms,
            world,
            invariants: Invariants::default(),
            sessions: 1,
            tasks: BTreeMap::new(),
            events: BTreeMap::new(),
            conversations: BTreeMap::new(),
            anchors: BTreeMap::new(),
            newest_activation: 0,
        }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Event {
                key,
                conversation,
                content,
                replies_to,
            } => self.event(key, conversation, content, replies_to),
            Step::Turn(deed) => self.turn(deed),
            Step::Deliver { task, response } => self.deliver(task, response),
            Step::Answer { task, message } => {
                if let Some(task_id) = self.nth(task) {
                    // Taken exactly where the task waits; the model reads that off the task itself.
                    let waits = self.waits(&task_id);
                    let send = answer_to(&task_id, &format!("{task_id}-{message}"), "an answer");
                    let answered = self.world.try_send("ann", send);
                    assert!(!waits || answered.is_ok(), "{answered:?}");
                }
            }
            Step::Cancel { task } => {
                if let Some(task_id) = self.nth(task) {
                    let is_open = !state::is_terminal(&self.state(&task_id));
                    assert_eq!(self.world.try_cancel("ann", &task_id).is_ok(), is_open);
                }
            }
            Step::Jump { ms } => self.world.now_ms += ms,
            Step::Restart => self.sessions += 1,
        }
        self.world.settle();
        self.latest_ms = self.latest_ms.max(self.world.now_ms);
        for _ in 0..50 {
            let due = self.world.next_alarm();
            let Some((address, _)) = due.filter(|(_, at_ms)| *at_ms <= self.world.now_ms) else {
                break;
            };
            self.world.fire(&address);
            self.world.settle();
        }
        self.forget();
        self.invariants.check(&self.world).unwrap();
        self.invariants.check_records(&self.world).unwrap();
    }

    fn event(&mut self, key: u8, conversation: u8, content: u8, replies_to: Option<u8>) {
        let (key, conversation) = (format!("e{key}"), format!("room-{conversation}"));
        let sent = Activation {
            content_digest: format!("sha256:{content}"),
            reply_to: replies_to.map(|response| format!("r{response}")),
            ..in_conversation(&key, &conversation)
        };
        let waiting = sent
            .reply_to
            .as_ref()
            .and_then(|response| self.anchors.get(response))
            .filter(|task_id| self.tasks.contains_key(*task_id))
            .cloned()
            .filter(|task_id| self.waits(task_id));
        let answer = self.world.try_accept("ann", sent.clone());
        if let Some(known) = self.events.get(&key) {
            if known.sent != sent {
                assert_eq!(answer.unwrap_err().reason(), "DUPLICATE_MESSAGE_ID");
                return;
            }
            let answer = answer.unwrap();
            assert_eq!(answer["disposition"], "duplicate");
            assert_eq!(answer["taskId"], known.task_id.as_str());
            assert_eq!(answer["activationId"], known.activation_id.as_str());
            return;
        }
        let answer = answer.unwrap();
        let (task_id, context_id) = (text(&answer, "taskId"), text(&answer, "contextId"));
        match waiting {
            Some(waiting) => {
                assert_eq!(answer["disposition"], "continued");
                assert_eq!(task_id, waiting);
            }
            None => {
                assert_eq!(answer["disposition"], "created");
                assert!(!self.tasks.contains_key(task_id));
                let now_ms = self.world.now_ms;
                let known = self
                    .conversations
                    .entry(conversation)
                    .or_insert_with(|| (context_id.to_owned(), now_ms));
                assert_eq!(known.0, context_id);
                known.1 = known.1.max(now_ms);
                self.tasks.insert(
                    task_id.to_owned(),
                    KnownTask {
                        context_id: context_id.to_owned(),
                        is_native: true,
                    },
                );
            }
        }
        assert_eq!(self.tasks[task_id].context_id, context_id);
        let number: i64 = text(&answer, "activationId").parse().unwrap();
        assert!(
            number > self.newest_activation,
            "{number} was given out before"
        );
        self.newest_activation = number;
        self.events.insert(
            key,
            KnownEvent {
                sent,
                task_id: task_id.to_owned(),
                activation_id: text(&answer, "activationId").to_owned(),
            },
        );
    }

    fn turn(&mut self, deed: Deed) {
        let session = format!("s{}", self.sessions);
        let Some(turn) = self.world.try_take(&session).unwrap() else {
            return;
        };
        let tool: Option<Tool> = match deed {
            Deed::Complete => Some(complete("done")),
            Deed::Reject => Some(reject("no")),
            Deed::Ask => Some(question("which?")),
            Deed::Nothing | Deed::Fail => None,
        };
        if let Some(tool) = tool {
            self.world.tool(&turn, tool);
        }
        let outcome = match deed {
            Deed::Fail => TurnOutcome::Failed("exit 1".to_owned()),
            _ => TurnOutcome::Ended,
        };
        self.world.try_end(&turn, outcome).unwrap();
    }

    fn deliver(&mut self, task: u8, response: u8) {
        let Some(task_id) = self.nth(task) else {
            return;
        };
        if !self.tasks[&task_id].is_native {
            return;
        }
        let response = format!("r{response}");
        let begin = Begin {
            payload_digest: format!("sha256:{response}"),
            ..reply(&task_id, Recovery::Idempotent)
        };
        let begun = self.world.begin("ann", begin);
        if begun["disposition"] == "DELIVERED" {
            assert_eq!(begun["providerResponseId"], response.as_str());
            return;
        }
        assert_eq!(begun["disposition"], "SEND");
        let delivered = outcome(&begun, Outcome::Delivered, Some(&response));
        self.world.try_settle("ann", delivered).unwrap();
        self.anchors.entry(response).or_insert(task_id);
    }

    fn nth(&self, nth: u8) -> Option<String> {
        self.tasks.keys().rev().nth(usize::from(nth)).cloned()
    }

    fn state(&mut self, task_id: &str) -> a2a::TaskState {
        let name = self.world.state("ann", task_id);
        (1..=8)
            .filter_map(state::from_code)
            .find(|state| state::as_wire(state) == name)
            .unwrap()
    }

    fn waits(&mut self, task_id: &str) -> bool {
        state::is_interrupted(&self.state(task_id))
    }

    /// Forgets what retention took, having checked that it was past its time.
    fn forget(&mut self) {
        let cutoff_ms = self.latest_ms - RETENTION_MS;
        let store = &self.world.principals["ann"].store;
        let kept = texts(store, "SELECT task_id FROM tasks", &[]);
        let contexts = texts(store, "SELECT context_id FROM contexts", &[]);
        let claims = texts(store, "SELECT dedupe_key FROM claims", &[]);
        let anchors = texts(store, "SELECT provider_response_id FROM reply_anchors", &[]);
        let gone: Vec<String> = self
            .tasks
            .keys()
            .filter(|task_id| !kept.contains(task_id))
            .cloned()
            .collect();
        for task_id in gone {
            let last = self.invariants.last_seen("ann", &task_id).unwrap();
            let state = state::from_code(last.0).unwrap();
            assert!(state::is_terminal(&state), "{task_id} was {state:?}");
            assert!(last.1 < cutoff_ms, "{task_id} was pruned too early");
            self.tasks.remove(&task_id);
            self.events.retain(|_, event| event.task_id != task_id);
            self.anchors.retain(|_, anchored| *anchored != task_id);
        }
        let tasks = &self.tasks;
        self.conversations
            .retain(|key, (context_id, last_event_ms)| {
                let is_kept = contexts.contains(context_id);
                let has_tasks = tasks.values().any(|task| task.context_id == *context_id);
                assert!(
                    is_kept || !has_tasks && *last_event_ms < cutoff_ms,
                    "{key} lost its context"
                );
                is_kept
            });
        for key in self.events.keys() {
            assert!(claims.contains(key), "the claim of {key} is lost");
        }
        for response in self.anchors.keys() {
            assert!(anchors.contains(response), "the anchor {response} is lost");
        }
        assert_eq!(tasks.len(), kept.len(), "tasks of nobody");
    }

    /// Time passes with nothing new: what is terminal goes, what is not stays.
    fn pass_away(&mut self) {
        let open: Vec<String> = {
            let ids: Vec<String> = self.tasks.keys().cloned().collect();
            ids.into_iter()
                .filter(|task_id| !state::is_terminal(&self.state(task_id)))
                .collect()
        };
        self.world.now_ms = self.latest_ms;
        for _ in 0..4 {
            self.run(&Step::Jump { ms: 31 * DAY_MS });
        }
        let left: Vec<String> = self.tasks.keys().cloned().collect();
        assert_eq!(left, open);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_interleaving_of_events_replies_turns_deliveries_cancels_and_jumps_does_what_the_model_says(
        steps in proptest::collection::vec(step(), 1..80)
    ) {
        let mut model = Model::new();
        for step in &steps {
            model.run(step);
        }
        model.pass_away();
    }
}
