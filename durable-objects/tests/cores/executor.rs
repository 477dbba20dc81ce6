//! Message or Task is the executor's decision, and what happens to a task when its executor fails.

use durable_objects::commands::principal::{
    Grant, GrantReply, PrincipalCommand, Replay, ReplayReply, Send, SendReply,
};
use durable_objects::environment::Environment;
use durable_objects::error::CoreError;
use durable_objects::principal::{self, Begun, EXECUTION_LIFE_MS, Executed, RETENTION_MS};
use durable_objects::storage::Transactional;
use protocol::executor::Line;
use serde_json::{Value as Json, json};

use crate::support::ask::{answer_to, message as send, question};
use crate::support::objects::Counter;
use crate::support::{World, decode};

const SCOPE: (&str, &str) = ("ann", "resident");

/// One principal's object with an executor, asked by hand.
struct Agent {
    world: World,
    ids: Counter,
}

impl Agent {
    fn new() -> Self {
        Self {
            world: World::of(&["ann"]),
            ids: Counter::default(),
        }
    }

    fn begin(&mut self, command: &Send) -> Result<Begun, CoreError> {
        let now_ms = self.world.now_ms;
        let ids = &mut self.ids;
        self.world.principals["ann"].store.transaction(|store| {
            principal::begin_execution(store, Environment { now_ms, ids }, SCOPE, command)
        })
    }

    fn first(&mut self, command: &Send, line: Json) -> Result<Executed, CoreError> {
        let now_ms = self.world.now_ms;
        let ids = &mut self.ids;
        let line = Line::parse(line.to_string().as_bytes()).unwrap();
        self.world.principals["ann"]
            .store
            .transaction(|store| {
                principal::execute(store, Environment { now_ms, ids }, SCOPE, command, &line)
            })
            .map(|(executed, _)| executed)
    }

    fn further(&mut self, begun: &(String, String), line: Json) -> bool {
        let now_ms = self.world.now_ms;
        let ids = &mut self.ids;
        let line = Line::parse(line.to_string().as_bytes()).unwrap();
        let (more, _) = self.world.principals["ann"]
            .store
            .transaction(|store| {
                let environment = Environment { now_ms, ids };
                principal::continue_execution(store, environment, SCOPE, &begun.0, &begun.1, &line)
            })
            .unwrap();
        more
    }

    fn end(&mut self, begun: &(String, String), failed: bool) -> usize {
        let now_ms = self.world.now_ms;
        let ids = &mut self.ids;
        let effects = self.world.principals["ann"]
            .store
            .transaction(|store| {
                let environment = Environment { now_ms, ids };
                principal::end_execution(store, environment, SCOPE, &begun.0, &begun.1, failed)
            })
            .unwrap();
        effects.notices.len()
    }
}

fn begun(executed: Executed) -> (String, String) {
    match executed {
        Executed::Begun {
            task_id,
            execution_id,
            ..
        } => (task_id, execution_id),
        Executed::Over(reply) => panic!("over already: {reply:?}"),
    }
}

fn over(executed: Executed) -> SendReply {
    match executed {
        Executed::Over(reply) => reply,
        Executed::Begun { .. } => panic!("not over"),
    }
}

fn task(reply: SendReply) -> Json {
    match reply {
        SendReply::Task(task) => serde_json::from_str(task.task.get()).unwrap(),
        SendReply::Message(message) => panic!("a message: {message:?}"),
    }
}

fn message(reply: SendReply) -> Json {
    match reply {
        SendReply::Message(message) => serde_json::from_str(message.get()).unwrap(),
        SendReply::Task(task) => panic!("a task: {:?}", task.task),
    }
}

fn working() -> Json {
    json!({"task": {"status": {"state": "TASK_STATE_WORKING"}}})
}

#[test]
fn a_simple_interaction_returns_a_direct_message_and_a_duplicate_its_prior_direct_result() {
    let mut agent = Agent::new();
    let command = send("m1", "hello");
    assert!(matches!(agent.begin(&command), Ok(Begun::Ask(_))));
    let line = json!({"message": {"parts": [{"text": "hi"}], "metadata": {"a": 1}}});
    let first = message(over(agent.first(&command, line).unwrap()));
    assert_eq!(first["role"], "ROLE_AGENT");
    assert_eq!(first["parts"][0]["text"], "hi");
    assert!(first["contextId"].is_string());
    assert_eq!(first.get("taskId"), None);
    let Ok(Begun::Answered(again)) = agent.begin(&command) else {
        panic!("asked again");
    };
    assert_eq!(message(again), first);
    let mut other = send("m1", "something else");
    other.digest = "other".to_owned();
    let Err(CoreError::Refused(refused)) = agent.begin(&other) else {
        panic!("a conflict passed");
    };
    assert_eq!(refused.reason.as_str(), "DUPLICATE_MESSAGE_ID");
}

#[test]
fn a_direct_message_goes_after_30_days_also_where_no_task_ever_was() {
    let mut agent = Agent::new();
    let line = json!({"message": {"parts": [{"text": "hi"}]}});
    over(agent.first(&send("m1", "hello"), line).unwrap());
    let due_ms = principal::next_due_ms(&agent.world.principals["ann"].store).unwrap();
    assert_eq!(due_ms, Some(agent.world.now_ms + RETENTION_MS));
    agent.world.now_ms += RETENTION_MS + 1;
    let now_ms = agent.world.now_ms;
    let ids = &mut agent.ids;
    agent.world.principals["ann"]
        .store
        .transaction(|store| principal::compact(store, Environment { now_ms, ids }))
        .unwrap();
    assert_eq!(agent.world.count("ann", "contexts"), 0);
    assert_eq!(agent.world.count("ann", "evidence"), 0);
    assert!(matches!(
        agent.begin(&send("m1", "hello")),
        Ok(Begun::Ask(_))
    ));
}

#[test]
fn work_goes_to_the_resident() {
    let mut agent = Agent::new();
    let reply = over(
        agent
            .first(&send("m1", "hello"), json!({"work": {}}))
            .unwrap(),
    );
    assert_eq!(task(reply)["status"]["state"], "TASK_STATE_SUBMITTED");
    assert_eq!(agent.world.count("ann", "outbox"), 1);
}

#[test]
fn an_executor_may_settle_a_task_at_once_and_nothing_is_owed_to_the_resident() {
    let mut agent = Agent::new();
    let line = json!({"task": {
        "status": {"state": "TASK_STATE_COMPLETED"},
        "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}],
    }});
    let task = task(over(agent.first(&send("m1", "hello"), line).unwrap()));
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "done");
    assert_eq!(agent.world.count("ann", "outbox"), 0);
}

#[test]
fn the_artifact_of_a_stream_is_its_folded_chunks() {
    let mut agent = Agent::new();
    let task = begun(agent.first(&send("m1", "hello"), working()).unwrap());
    for (text, append, last) in [("a", false, false), ("b", true, false), ("c", true, true)] {
        let line = json!({"artifactUpdate": {
            "artifact": {"artifactId": "out", "parts": [{"text": text}]},
            "append": append, "lastChunk": last,
        }});
        assert!(agent.further(&task, line));
    }
    let done = json!({"statusUpdate": {"status": {"state": "TASK_STATE_COMPLETED"}}});
    assert!(!agent.further(&task, done));
    let read = agent.world.get("ann", &task.0);
    assert_eq!(
        read["artifacts"][0]["parts"],
        json!([{"text": "a"}, {"text": "b"}, {"text": "c"}])
    );
    assert_eq!(read["status"]["state"], "TASK_STATE_COMPLETED");
}

#[test]
fn a_task_that_its_executor_leaves_unsettled_goes_to_the_resident() {
    let mut agent = Agent::new();
    let task = begun(agent.first(&send("m1", "hello"), working()).unwrap());
    assert_eq!(agent.end(&task, false), 1);
}

#[test]
fn a_task_whose_executor_fails_is_failed() {
    let mut agent = Agent::new();
    let task = begun(agent.first(&send("m1", "hello"), working()).unwrap());
    assert_eq!(agent.end(&task, true), 0);
    assert_eq!(agent.world.state("ann", &task.0), "TASK_STATE_FAILED");
}

#[test]
fn a_task_whose_object_died_under_its_executor_is_failed_in_time() {
    let mut agent = Agent::new();
    let task = begun(agent.first(&send("m1", "hello"), working()).unwrap());
    agent.world.now_ms += EXECUTION_LIFE_MS;
    let now_ms = agent.world.now_ms;
    let ids = &mut agent.ids;
    agent.world.principals["ann"]
        .store
        .transaction(|store| principal::fail_overdue_executions(store, Environment { now_ms, ids }))
        .unwrap();
    assert_eq!(agent.world.state("ann", &task.0), "TASK_STATE_FAILED");
    // Nothing is left to do but to look for what is past its time.
    let next_ms = principal::next_due_ms(&agent.world.principals["ann"].store).unwrap();
    let in_a_day_ms = agent.world.now_ms + 24 * 3_600_000;
    assert!(next_ms.is_some_and(|next_ms| next_ms > in_a_day_ms));
}

#[test]
fn a_canceled_task_takes_no_further_lines() {
    let mut agent = Agent::new();
    let task = begun(agent.first(&send("m1", "hello"), working()).unwrap());
    agent.world.try_cancel("ann", &task.0).unwrap();
    let done = json!({"statusUpdate": {"status": {"state": "TASK_STATE_COMPLETED"}}});
    assert!(!agent.further(&task, done));
    assert_eq!(agent.world.state("ann", &task.0), "TASK_STATE_CANCELED");
}

#[test]
fn a_new_resident_session_is_not_offered_what_an_executor_is_at_work_on() {
    let mut agent = Agent::new();
    begun(agent.first(&send("m1", "hello"), working()).unwrap());
    let reply = agent
        .world
        .command(
            "ann",
            None,
            PrincipalCommand::Replay(Replay {
                assigned: true,
                startup: 0,
                after: 0,
            }),
        )
        .unwrap();
    let reply: ReplayReply = decode(&reply);
    assert_eq!((reply.offered, reply.moved), (0, false));
}

#[test]
fn an_executor_is_shown_the_task_that_a_message_continues_and_fails_without_a_trace() {
    let mut agent = Agent::new();
    let asked = json!({"task": {"status": {
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"parts": [{"text": "which?"}]},
    }}});
    let waiting = task(over(agent.first(&send("m1", "hello"), asked).unwrap()));
    let id = waiting["id"].as_str().unwrap();
    let mut answer = send("m2", "this one");
    answer.task_id = Some(id.to_owned());
    let Ok(Begun::Ask(request)) = agent.begin(&answer) else {
        panic!("not asked");
    };
    let request: Json = serde_json::from_str(&request).unwrap();
    assert_eq!(request["principal"], "ann");
    assert_eq!(request["task"]["id"], waiting["id"]);
    assert_eq!(request["message"]["messageId"], "m2");
    // It fails now: nothing is stored, and the same answer may be given again.
    assert_eq!(agent.world.state("ann", id), "TASK_STATE_INPUT_REQUIRED");
    let done = json!({"task": {"status": {"state": "TASK_STATE_COMPLETED"}}});
    let done = task(over(agent.first(&answer, done).unwrap()));
    assert_eq!(done["id"], waiting["id"]);
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(done["history"].as_array().unwrap().len(), 3);
}

#[test]
fn a_question_whose_schema_is_none_of_ours_is_a_plain_one_and_any_answer_is_taken() {
    let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
    for schema in [nested, json!("no schema"), json!(null)] {
        let mut agent = Agent::new();
        let asked = json!({"task": {"status": {
            "state": "TASK_STATE_INPUT_REQUIRED",
            "message": {"parts": [{"text": "which?"}, {"data": {"requestedSchema": schema}}]},
        }}});
        let waiting = task(over(agent.first(&send("m1", "hello"), asked).unwrap()));
        let mut answer = send("m2", "this one");
        answer.task_id = waiting["id"].as_str().map(str::to_owned);
        assert!(matches!(agent.begin(&answer), Ok(Begun::Ask(_))));
        let done = json!({"task": {"status": {"state": "TASK_STATE_COMPLETED"}}});
        let done = task(over(agent.first(&answer, done).unwrap()));
        assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

#[test]
fn a_line_that_can_not_be_first_stores_nothing() {
    let mut agent = Agent::new();
    let line = json!({"statusUpdate": {"status": {"state": "TASK_STATE_WORKING"}}});
    let Err(CoreError::Refused(refused)) = agent.first(&send("m1", "hello"), line) else {
        panic!("accepted");
    };
    assert_eq!(refused.reason.as_str(), "INVALID_AGENT_RESPONSE");
    assert!(matches!(
        agent.begin(&send("m1", "hello")),
        Ok(Begun::Ask(_))
    ));
}

#[test]
fn a_late_grant_of_the_activation_before_leaves_a_task_to_its_executor() {
    let mut agent = Agent::new();
    let task_id = agent.world.submit("ann", "m1");
    let turn = agent.world.take();
    agent.world.tool(&turn, question("which?"));
    // The caller answers before the turn has ended, and its answer is for the executor.
    let answer = answer_to(&task_id, "m2", "this one");
    let begun = begun(agent.first(&answer, working()).unwrap());
    // The queue asks for the turn before once more, as it does when the first reply was lost.
    let grant = PrincipalCommand::Grant(Grant {
        activation_id: 1,
        task_id: task_id.clone(),
        turn_id: "another turn".to_owned(),
    });
    let reply = agent.world.command("ann", Some("resident"), grant).unwrap();
    assert_eq!(decode::<GrantReply>(&reply), GrantReply::Stale);
    let line = json!({"statusUpdate": {"status": {"state": "TASK_STATE_WORKING"}}});
    assert!(agent.further(&begun, line));
    agent.end(&begun, true);
    assert_eq!(agent.world.state("ann", &task_id), "TASK_STATE_FAILED");
}
