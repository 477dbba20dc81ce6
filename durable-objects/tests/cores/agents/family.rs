//! The family: list, add, enable, disable, remove, and preparation.

use durable_objects::commands::JsonText;
use durable_objects::commands::agents::AgentsCommand;
use durable_objects::commands::principal::PrincipalCommand;
use durable_objects::principal::agents::{
    Connect, Outcome, Response, candidate, connect, to_discover,
};
use protocol::agents::definition::Definition;
use protocol::agents::vars::Definitions;
use serde_json::{Value as Json, json};

use super::remote::{answered, card, definitions};
use crate::support::peek::dump;
use crate::support::{Failure, World, decode};

impl World {
    fn manage(&mut self, principal: &str, command: AgentsCommand) -> Result<Json, Failure> {
        let reply = self.command(principal, None, PrincipalCommand::Agents(command))?;
        let reply: JsonText = decode(&reply);
        Ok(serde_json::from_str(reply.get()).unwrap())
    }

    fn listed(&mut self, principal: &str, alias: &str) -> Json {
        let list = self.manage(principal, AgentsCommand::List).unwrap();
        let agents = list["agents"].as_array().unwrap();
        agents
            .iter()
            .find(|agent| agent["alias"] == alias)
            .cloned()
            .unwrap_or_default()
    }

    fn problem(&mut self, alias: &str, outcome: &Outcome) -> (String, u16) {
        let error = self.prepare_with("ann", alias, outcome).unwrap_err();
        (error.metadata["problem"].clone(), error.http_status())
    }
}

fn added(alias: &str, url: &str) -> AgentsCommand {
    let definition = json!({"name": alias, "url": url});
    AgentsCommand::Add {
        alias: alias.to_owned(),
        definition: JsonText::from_text(definition.to_string()),
    }
}

fn enable(alias: &str) -> AgentsCommand {
    AgentsCommand::Enable {
        alias: alias.to_owned(),
    }
}

fn disable(alias: &str) -> AgentsCommand {
    AgentsCommand::Disable {
        alias: alias.to_owned(),
    }
}

#[test]
fn the_deployments_definitions_are_listed_with_their_default_and_what_is_wrong_with_them() {
    let mut world = World::with_agents();
    assert_eq!(world.listed("ann", "research")["enabled"], true);
    let other = world.listed("ann", "other");
    assert_eq!(other["enabled"], false);
    assert_eq!(other["provenance"], "deployment");
    assert_eq!(other["definition"]["url"], "https://other.example");
    let broken = world.listed("ann", "broken");
    assert_eq!(broken["enabled"], false);
    assert_eq!(broken["problem"]["problem"], "definition-malformed");
}

#[test]
fn a_deployment_without_agents_writes_nothing() {
    let world = World::of(&["ann"]);
    let before = dump(&world.principals["ann"].store);
    world.adopt("ann", &Definitions::default());
    assert_eq!(dump(&world.principals["ann"].store), before);
}

#[test]
fn what_a_principal_enabled_outlives_another_deployment() {
    let mut world = World::with_agents();
    world.manage("ann", enable("other")).unwrap();
    world.manage("ann", disable("research")).unwrap();
    let moved = Definitions::from_vars(
        &[
            ("A2A_REMOTE_RESEARCH", "https://research.example"),
            ("A2A_REMOTE_OTHER", "https://moved.example"),
        ],
        Some(r#"["research"]"#),
        false,
    );
    world.adopt("ann", &moved);
    assert_eq!(world.listed("ann", "other")["enabled"], true);
    assert_eq!(
        world.listed("ann", "other")["definition"]["url"],
        "https://moved.example"
    );
    assert_eq!(world.listed("ann", "research")["enabled"], false);
    assert_eq!(world.listed("ann", "broken"), Json::Null);
}

#[test]
fn an_added_agent_is_disabled_until_it_is_enabled_and_gone_when_it_is_removed() {
    let mut world = World::with_agents();
    let agent = world
        .manage("ann", added("mine", "https://mine.example"))
        .unwrap();
    assert_eq!(
        (&agent["enabled"], &agent["provenance"]),
        (&json!(false), &json!("principal"))
    );
    let again = world
        .manage("ann", added("mine", "https://mine.example"))
        .unwrap_err();
    assert_eq!(again.reason(), "ALREADY_EXISTS");
    world.manage("ann", enable("mine")).unwrap();
    assert_eq!(world.listed("ann", "mine")["enabled"], true);
    let remove = AgentsCommand::Remove {
        alias: "mine".to_owned(),
    };
    world.manage("ann", remove.clone()).unwrap();
    assert_eq!(world.listed("ann", "mine"), Json::Null);
    assert_eq!(
        world.manage("ann", remove).unwrap_err().reason(),
        "AGENT_NOT_CONFIGURED"
    );
}

#[test]
fn a_deployments_agent_is_disabled_rather_than_removed() {
    let mut world = World::with_agents();
    let remove = AgentsCommand::Remove {
        alias: "research".to_owned(),
    };
    assert_eq!(
        world.manage("ann", remove).unwrap_err().reason(),
        "UNSUPPORTED_OPERATION"
    );
    let broken = world.manage("ann", enable("broken")).unwrap_err();
    assert_eq!(broken.reason(), "UNSUPPORTED_OPERATION");
}

#[test]
fn two_principals_use_one_alias_for_different_agents() {
    let mut world = World::of(&["ann", "bob"]);
    for (principal, url) in [("ann", "https://a.example"), ("bob", "https://b.example")] {
        world.adopt(principal, &definitions());
        world.manage(principal, added("research", url)).unwrap();
        world.manage(principal, enable("research")).unwrap();
        let store = &world.principals[principal].store;
        let Connect::Fetch { exchange, .. } = connect(store, world.now_ms, "research").unwrap()
        else {
            panic!("prepared already");
        };
        assert_eq!(exchange.url, format!("{url}/.well-known/agent-card.json"));
    }
    // Without the principal's own, the deployment's stands again.
    let remove = AgentsCommand::Remove {
        alias: "research".to_owned(),
    };
    world.manage("ann", remove).unwrap();
    assert_eq!(world.listed("ann", "research")["provenance"], "deployment");
}

#[test]
fn an_unknown_alias_and_a_disabled_one_are_answered_alike() {
    let world = World::with_agents();
    let store = &world.principals["ann"].store;
    let refused = |alias: &str| match connect(store, world.now_ms, alias) {
        Err(durable_objects::error::CoreError::Refused(error)) => error,
        other => panic!("{other:?}"),
    };
    let (unknown, disabled) = (refused("unknown"), refused("other"));
    assert_eq!(unknown.http_status(), 404);
    assert_eq!(unknown.metadata["problem"], "agent-not-configured");
    assert_eq!(unknown.message, disabled.message);
}

#[test]
fn a_prepared_agent_is_used_again_while_its_card_is_fresh() {
    let mut world = World::with_agents();
    let store = |world: &World| dump(&world.principals["ann"].store);
    let connection = world.prepare("ann", "research");
    assert_eq!(connection.interface, "https://research.example/a2a");
    assert!(connection.streaming);
    let before = store(&world);
    assert_eq!(world.prepare("ann", "research"), connection);
    assert_eq!(store(&world), before);
    let listed = world.listed("ann", "research");
    assert_eq!(
        listed["card"],
        json!({
            "name": "Research Agent", "version": "2.0", "description": "Finds things out.",
            "skills": ["research"], "streaming": true,
        })
    );
}

#[test]
fn a_stale_card_is_asked_for_with_its_validators_and_stands_when_it_is_unchanged() {
    let mut world = World::with_agents();
    let outcome = Outcome::Answered(Response {
        status: 200,
        body: card("https://research.example").to_string().into_bytes(),
        cache_control: Some("max-age=60".to_owned()),
        etag: Some("\"v1\"".to_owned()),
        ..Response::default()
    });
    let connection = world.prepare_with("ann", "research", &outcome).unwrap();
    world.now_ms += 60_000;
    let store = &world.principals["ann"].store;
    let Connect::Fetch { exchange, .. } = connect(store, world.now_ms, "research").unwrap() else {
        panic!("still fresh");
    };
    assert_eq!(
        exchange.validators,
        [("if-none-match", "\"v1\"".to_owned())]
    );
    let unchanged = Outcome::Answered(Response {
        status: 304,
        cache_control: Some("max-age=60".to_owned()),
        ..Response::default()
    });
    assert_eq!(
        world.prepare_with("ann", "research", &unchanged),
        Ok(connection.clone())
    );
    assert!(matches!(
        connect(&world.principals["ann"].store, world.now_ms, "research").unwrap(),
        Connect::Ready(ready) if ready == connection
    ));
}

#[test]
fn each_problem_of_a_preparation_has_its_name() {
    let jsonrpc = json!({
        "name": "R", "version": "1", "description": "d",
        "supportedInterfaces": [{"url": "https://research.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    });
    for (outcome, problem) in [
        (
            Outcome::Unresolved("TOKEN".to_owned()),
            "authorization-unresolved",
        ),
        (Outcome::Unreachable, "card-unreachable"),
        (Outcome::TimedOut, "card-unreachable"),
        (Outcome::TooLarge, "card-unreachable"),
        (answered(404, &json!({})), "card-unreachable"),
        (answered(302, &json!({})), "card-unreachable"),
        (answered(304, &json!({})), "card-unreachable"),
        (answered(200, &json!([])), "card-unreachable"),
        (answered(200, &jsonrpc), "interface-unsupported"),
    ] {
        let mut world = World::with_agents();
        assert_eq!(
            world.problem("research", &outcome).0,
            problem,
            "{outcome:?}"
        );
        assert_eq!(
            world.listed("ann", "research")["problem"]["problem"],
            problem
        );
    }
}

#[test]
fn an_unavailable_agent_keeps_its_one_problem_for_a_while() {
    let mut world = World::with_agents();
    world.problem("research", &Outcome::Unreachable);
    let store = &world.principals["ann"].store;
    connect(store, world.now_ms, "research").unwrap_err();
    world.now_ms += 30_000;
    let store = &world.principals["ann"].store;
    assert!(matches!(
        connect(store, world.now_ms, "research"),
        Ok(Connect::Fetch { .. })
    ));
}

#[test]
fn discovery_gives_one_candidate_and_stores_nothing() {
    let world = World::with_agents();
    let before = dump(&world.principals["ann"].store);
    let source = json!({"name": "source", "url": "https://found.example"});
    let definition = Definition::from_json(&source, false, "").unwrap();
    let (connection, exchange) = to_discover(definition);
    assert_eq!(
        exchange.url,
        "https://found.example/.well-known/agent-card.json"
    );
    assert_eq!(exchange.validators, []);
    let found = candidate(&connection, &answered(200, &card("https://found.example"))).unwrap();
    let found: Json = serde_json::from_str(&found).unwrap();
    let candidate = &found["candidates"][0];
    assert_eq!(candidate["alias"], "research-agent");
    assert_eq!(candidate["provenance"], "agent-card");
    assert_eq!(
        candidate["definition"],
        json!({"name": "research-agent", "url": "https://found.example"})
    );
    assert_eq!(dump(&world.principals["ann"].store), before);
}

#[test]
fn a_definition_that_is_refused_by_now_breaks_no_other_and_can_be_removed() {
    use durable_objects::storage::Store as _;
    let mut world = World::with_agents();
    world
        .manage("ann", added("old", "https://old.example"))
        .unwrap();
    world.manage("ann", enable("old")).unwrap();
    let stored = r#"{"name":"old","url":"https://metadata.google.internal"}"#;
    world.principals["ann"]
        .store
        .execute(
            "UPDATE agents SET definition = ?1 WHERE alias = 'old'",
            &[stored.into()],
        )
        .unwrap();
    let old = world.listed("ann", "old");
    assert_eq!(old["enabled"], false);
    assert_eq!(
        old["problem"],
        json!({"problem": "definition-malformed", "message": "url must be a public host's name"})
    );
    assert_eq!(world.listed("ann", "research")["enabled"], true);
    let refused = world.manage("ann", enable("old")).unwrap_err();
    assert_eq!(refused.reason(), "UNSUPPORTED_OPERATION");
    let remove = AgentsCommand::Remove {
        alias: "old".to_owned(),
    };
    world.manage("ann", remove).unwrap();
    assert_eq!(world.listed("ann", "old"), Json::Null);
}

#[test]
fn a_skill_without_an_id_is_not_told() {
    let mut world = World::with_agents();
    let mut card = card("https://research.example");
    card["skills"] = json!([1, null, {"id": 4}, {"id": "\u{200b}"}, {"id": "ok"}]);
    world
        .prepare_with("ann", "research", &answered(200, &card))
        .unwrap();
    let told = world.listed("ann", "research");
    assert_eq!(told["card"]["skills"], json!(["ok"]));
}
