//! A remote agent by hand, and what the object does with it, step by step.

use durable_objects::commands::JsonText;
use durable_objects::commands::principal::ToolReply;
use durable_objects::commands::wake_queue::Turn;
use durable_objects::principal::agents::{
    Connect, Connection, Kind, Outcome, Outgoing, Response, Step, UnderTurn, address, adopt,
    connect, lease_due, prepared,
};
use durable_objects::storage::{Store, Transactional};
use protocol::agents::vars::Definitions;
use protocol::error::A2aError;
use serde_json::{Value as Json, json};

use crate::support::{Failure, World};

/// The life of a call, in milliseconds.
pub const LIFE_MS: i64 = 3_600_000;

/// A deployment whose vars define `research`, enabled, and `other`.
pub fn definitions() -> Definitions {
    Definitions::from_vars(
        &[
            ("A2A_REMOTE_RESEARCH", "https://research.example"),
            ("A2A_REMOTE_OTHER", "https://other.example"),
            ("A2A_REMOTE_BROKEN", "http://broken.example"),
        ],
        Some(r#"["research"]"#),
        false,
    )
}

/// A card that offers an interface at the given place.
pub fn card(interface: &str) -> Json {
    json!({
        "name": "Research Agent",
        "version": "2.0",
        "description": "Finds things out.",
        "supportedInterfaces": [
            {"url": interface, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": true},
        "skills": [{"id": "research"}],
    })
}

pub fn answered(status: u16, body: &Json) -> Outcome {
    Outcome::Answered(Response {
        status,
        body: body.to_string().into_bytes(),
        ..Response::default()
    })
}

/// A remote task as it answers reading it.
pub fn remote_task(id: &str, state: &str) -> Json {
    json!({"id": id, "contextId": "there", "status": {"state": format!("TASK_STATE_{state}")}})
}

impl World {
    /// Ann, under a deployment with remote agents.
    pub fn with_agents() -> Self {
        let world = Self::of(&["ann"]);
        world.adopt("ann", &definitions());
        world
    }

    pub fn adopt(&self, principal: &str, definitions: &Definitions) {
        let store = &self.principals[principal].store;
        store
            .transaction(|store| adopt(store, definitions))
            .unwrap();
    }

    /// Prepares an agent with this answer to the request for its card.
    pub fn prepare_with(
        &mut self,
        principal: &str,
        alias: &str,
        outcome: &Outcome,
    ) -> Result<Connection, A2aError> {
        let now_ms = self.now_ms;
        let store = &self.principals[principal].store;
        match connect(store, now_ms, alias).unwrap() {
            Connect::Ready(connection) => Ok(connection),
            Connect::Fetch { connection, .. } => store
                .transaction(|store| prepared(store, now_ms, connection, outcome))
                .unwrap(),
        }
    }

    pub fn prepare(&mut self, principal: &str, alias: &str) -> Connection {
        let interface = format!("https://{alias}.example/a2a");
        self.prepare_with(principal, alias, &answered(200, &card(&interface)))
            .unwrap()
    }

    /// Writes a message of a turn to an agent or a task of it.
    pub fn try_agent_send(
        &mut self,
        turn: &Turn,
        to: &str,
        id: Option<&str>,
    ) -> Result<i64, Failure> {
        let to = address(to).unwrap();
        let connection = self.prepare("ann", &to.alias);
        let parts = JsonText::from_text(json!([{"text": "find out"}]).to_string());
        self.step("ann", |principal| {
            let outgoing = Outgoing {
                address: &to,
                parts: &parts,
                context_id: None,
                message_id: id,
            };
            let under = UnderTurn {
                turn_id: &turn.turn_id,
                task_id: &turn.task_id,
            };
            principal.begin_agent_send(under, &outgoing, &connection, LIFE_MS)
        })
    }

    pub fn agent_send(&mut self, turn: &Turn, to: &str) -> i64 {
        self.try_agent_send(turn, to, None).unwrap()
    }

    pub fn next_step(&mut self, call_id: i64) -> Option<Step> {
        self.step("ann", |principal| principal.next_call_step(call_id))
            .unwrap()
    }

    pub fn absorb(&mut self, call_id: i64, kind: Kind, outcome: &Outcome) {
        self.step("ann", |principal| {
            principal.absorb_outcome(call_id, kind, outcome, None)
        })
        .unwrap();
        self.settle();
    }

    /// Takes the next step of a call and gives it this outcome. It is the step of this kind.
    pub fn exchange(&mut self, call_id: i64, kind: Kind, outcome: &Outcome) -> Step {
        let step = self.next_step(call_id).expect("a step");
        assert_eq!(step.kind, kind);
        self.absorb(call_id, kind, outcome);
        step
    }

    /// Sends a message that begins the remote task `r`, which goes on.
    pub fn delegated(&mut self, turn: &Turn) -> i64 {
        let call_id = self.agent_send(turn, "a2a://research");
        let outcome = answered(200, &json!({"task": remote_task("r", "WORKING")}));
        self.exchange(call_id, Kind::Send, &outcome);
        call_id
    }

    /// The remote task `r` is looked at and found in this state.
    pub fn found(&mut self, call_id: i64, state: &str) {
        self.exchange(
            call_id,
            Kind::Poll,
            &answered(200, &remote_task("r", state)),
        );
    }

    /// The calls that are due by now, leased.
    pub fn due(&mut self) -> Vec<i64> {
        let now_ms = self.now_ms;
        let store = &self.principals["ann"].store;
        store
            .transaction(|store| lease_due(store, now_ms, 100))
            .unwrap()
    }

    /// When the call is due next, in milliseconds from now.
    pub fn due_in(&self, call_id: i64) -> Option<i64> {
        use durable_objects::storage::Store as _;
        let row = self.principals["ann"].store.first(
            "SELECT due_ms FROM remote_calls WHERE call_id = ?1",
            &[call_id.into()],
        );
        let due_ms = row.unwrap().unwrap().optional_integer().unwrap();
        due_ms.map(|due_ms| due_ms - self.now_ms)
    }

    /// Lets a call's deadline be now.
    pub fn end_life_of(&mut self, call_id: i64) {
        let store = &self.principals["ann"].store;
        store
            .execute(
                "UPDATE remote_calls SET deadline_ms = ?2 WHERE call_id = ?1",
                &[call_id.into(), self.now_ms.into()],
            )
            .unwrap();
    }

    /// What a tool tells of a call.
    pub fn standing(&mut self, call_id: i64) -> Json {
        let told = self
            .step("ann", |principal| principal.call_standing(call_id))
            .unwrap();
        serde_json::from_str(told.get()).unwrap()
    }

    /// The task as a turn reads it.
    pub fn text(&mut self, turn: &Turn) -> String {
        let read = durable_objects::commands::principal::Tool::Read { structured: false };
        match self.tool(turn, read) {
            ToolReply::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    pub fn claims_of_agents(&self) -> Vec<String> {
        crate::support::peek::texts(
            &self.principals["ann"].store,
            "SELECT dedupe_key FROM claims WHERE source = 'agents' ORDER BY activation_id",
            &[],
        )
    }
}
