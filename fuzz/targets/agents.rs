//! Other agents: their cards, answers and streams, what a principal defines of them, and addresses below them. The first
//! byte says which; the rest is read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::agents::address::{Address, is_id};
use protocol::agents::alias::is_alias;
use protocol::agents::answer::{self, Answer};
use protocol::agents::definition::Definition;
use protocol::agents::render::{self, Read};
use protocol::agents::target::Target;
use protocol::agents::vars::{Definitions, ENABLED, secrets};
use protocol::agents::{card, freshness, reference};
use protocol::untrusted::{BEGIN, END, MAX_BYTES};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Some((which, rest)) = data.split_first() else {
        return;
    };
    let text = std::str::from_utf8(rest).unwrap_or_default();
    match which % 7 {
        0 => a_card(rest),
        1 => an_answer(rest),
        2 => an_event(text),
        3 => a_definition(text),
        4 => an_address(text),
        5 => variables(text),
        _ => headers(text),
    }
});

fn a_card(body: &[u8]) {
    let from = Target::parse("https://agent.example/a2a", false).expect("a public host");
    for has_credentials in [false, true] {
        let Ok(read) = card::read(body, &from, has_credentials) else {
            continue;
        };
        let line = read.line("agent");
        assert_eq!(line.lines().count(), 1);
        assert!(!line.contains(char::is_control));
        assert!(is_alias(&read.slug()));
        let target = Target::parse(&read.interface, false);
        // A tenant may make it longer than what is taken as a URL.
        assert!(target.is_ok() || read.interface.len() > 2048);
        assert!(
            !has_credentials
                || protocol::http::origin(&read.interface) == Some(from.origin.as_str())
        );
    }
    if let Ok(json) = protocol::json::parse(body) {
        let shown = card::shown(&json);
        assert_eq!(card::shown(&shown), shown);
        is_quoted("a2a://agent", Read::Card(&json));
    }
}

fn an_answer(body: &[u8]) {
    match answer::of_send(body) {
        Ok(Answer::Task(task)) => {
            assert!(is_id(&task.id));
            assert_eq!(answer::of_task(task.json.as_bytes()), Ok(task.clone()));
            let json = protocol::json::parse(task.json.as_bytes()).expect("its own JSON");
            is_quoted(
                &Address::of_task("agent", &task.id).to_string(),
                Read::Task(&json),
            );
        }
        Ok(Answer::Message(message)) => {
            assert!(is_id(&message.id));
            let json = protocol::json::parse(message.json.as_bytes()).expect("its own JSON");
            is_quoted(
                &Address::of_message("agent", &message.id).to_string(),
                Read::Message(&json),
            );
        }
        Err(_) => {}
    }
    if let Some(reason) = answer::refusal_reason(body) {
        assert!(reason.len() <= 64 && !reason.contains(char::is_whitespace));
    }
}

fn an_event(text: &str) {
    if let Some(state) = answer::of_event(text, "t") {
        assert_ne!(protocol::state::as_wire(&state), "TASK_STATE_UNSPECIFIED");
    }
}

fn a_definition(text: &str) {
    let Ok(json) = protocol::json::parse(text.as_bytes()) else {
        if let Ok(found) = Definition::from_source(text, true) {
            again(&found);
        }
        return;
    };
    if let Ok(read) = Definition::from_json(&json, true, "") {
        again(&read);
        // What it refers to is all that it needs.
        let resolved = read.resolve(&|_| Some("value".to_owned()));
        let refers = read
            .bearer
            .iter()
            .map(String::as_str)
            .chain(read.headers.iter().map(|(_, value)| value.as_str()));
        let is_own = |value: &str| value.contains("A2A_") || value.contains("RESIDENT_MODEL_KEY");
        let is_long = |value: &str| value.len() > 100;
        for value in refers.clone() {
            assert!(read.bearer.as_deref() == Some(value) || reference::is_well_formed(value));
        }
        assert!(resolved.is_ok() || refers.clone().any(|value| is_own(value) || is_long(value)));
    }
}

/// What is kept of a definition is that definition.
fn again(definition: &Definition) {
    let kept: Value = serde_json::from_str(&definition.to_json()).expect("its own JSON");
    assert_eq!(
        Definition::from_json(&kept, true, "").as_ref(),
        Ok(definition)
    );
    let url = definition.card_url();
    assert_eq!(
        protocol::http::origin(&url),
        Some(definition.target.origin.as_str())
    );
}

fn an_address(text: &str) {
    if let Some(address) = Address::parse(text) {
        let written = address.to_string();
        assert!(written.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(Address::parse(&written), Some(address));
    }
}

/// Lines of `NAME=VALUE`.
fn variables(text: &str) {
    let vars: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let enabled = vars.iter().find(|(name, _)| *name == ENABLED);
    let found = Definitions::from_vars(&vars, enabled.map(|(_, value)| *value), false);
    for (alias, read) in &found.by_alias {
        assert!(is_alias(alias));
        assert!(read.as_ref().is_ok_and(|read| read.name == *alias) || !found.problems.is_empty());
    }
    let _ = secrets(Some(text), false);
}

fn headers(text: &str) {
    let mut lines = text.lines();
    let life_ms = freshness::lifetime_ms(lines.next(), lines.next(), lines.next(), 1_000_000);
    assert!((0..=freshness::MAX_MS).contains(&life_ms));
}

/// Nothing of what is read leaves its place between the markers.
fn is_quoted(address: &str, read: Read<'_>) {
    let address = Address::parse(address).expect("an address");
    let text = render::text(&address, read);
    assert!(text.len() <= MAX_BYTES);
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines
        .iter()
        .position(|line| *line == BEGIN)
        .expect("a marker");
    assert_eq!(
        lines.iter().position(|line| *line == END),
        Some(lines.len() - 1)
    );
    for line in &lines[begin + 1..lines.len() - 1] {
        assert!(
            line.starts_with("| ") || line.starts_with('(') || line.contains("left out"),
            "{line}"
        );
    }
    assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\u{9b}']));
}
