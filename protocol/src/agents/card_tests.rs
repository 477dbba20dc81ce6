use super::*;
use proptest::prelude::*;
use serde_json::json;

fn from(url: &str) -> Target {
    Target::parse(url, true).unwrap()
}

fn card_with(interfaces: Value) -> Value {
    json!({
        "name": "Research Agent",
        "version": "1.2.3",
        "description": "Finds things out.",
        "supportedInterfaces": interfaces,
        "capabilities": {"streaming": true},
        "skills": [{"id": "research"}, {"id": "sum\nup"}, {"name": "no id"}],
    })
}

fn interface_at(url: &str) -> Value {
    json!({"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"})
}

fn read_at(card: &Value, url: &str, has_credentials: bool) -> Result<Card, Unusable> {
    read(card.to_string().as_bytes(), &from(url), has_credentials)
}

fn unsupported(card: &Value, url: &str, has_credentials: bool) -> String {
    match read_at(card, url, has_credentials) {
        Err(Unusable::Unsupported(found)) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_card_gives_its_identity_and_the_http_json_interface_at_version_1_0() {
    let card = card_with(json!([
        {"url": "https://agent.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "https://agent.example/v0", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
        interface_at("https://agent.example/a2a/"),
    ]));
    let card = read_at(&card, "https://agent.example", false).unwrap();
    assert_eq!(card.interface, "https://agent.example/a2a");
    assert_eq!(card.skills, ["research", "sum up"]);
    assert!(card.streaming);
    assert_eq!(card.slug(), "research-agent");
    assert_eq!(
        card.line("research"),
        "a2a://research — Research Agent v1.2.3: Finds things out."
    );
}

#[test]
fn a_tenant_is_part_of_the_interface() {
    let mut interface = interface_at("https://agent.example");
    interface["tenant"] = json!("acme/x");
    let card = read_at(
        &card_with(json!([interface])),
        "https://agent.example",
        false,
    )
    .unwrap();
    assert_eq!(card.interface, "https://agent.example/acme%2Fx");
}

#[test]
fn what_a_card_offers_instead_is_named() {
    let card = card_with(json!([
        {"url": "https://agent.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "https://agent.example", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
        {"url": "https://agent.example"},
    ]));
    assert_eq!(
        unsupported(&card, "https://agent.example", false),
        "JSONRPC 1.0, HTTP+JSON 0.3, an unnamed binding of no version"
    );
    assert_eq!(
        unsupported(&card_with(json!([])), "https://agent.example", false),
        "none"
    );
    let legacy = json!({
        "name": "Old", "url": "https://agent.example", "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
    });
    assert_eq!(
        unsupported(&legacy, "https://agent.example", false),
        "JSONRPC 0.3.0"
    );
}

#[test]
fn a_card_can_lead_nowhere_that_its_definition_could_not() {
    for (card_at, interface) in [
        ("https://agent.example", "http://agent.example"),
        ("https://agent.example", "https://169.254.169.254/"),
        ("https://agent.example", "https://[::ffff:10.0.0.1]/"),
        ("https://agent.example", "https://metadata.google.internal/"),
        ("https://agent.example", "http://127.0.0.1:8787/"),
        ("https://agent.example", "http://localhost:8787/"),
        ("https://agent.example", "https://agent.example@10.0.0.1/"),
        ("https://agent.example", "/a2a"),
        ("https://agent.example", ""),
        ("http://127.0.0.1:8787", "https://agent.example"),
    ] {
        let card = card_with(json!([interface_at(interface)]));
        let found = unsupported(&card, card_at, false);
        assert!(
            found.starts_with("HTTP+JSON 1.0 (its URL must"),
            "{interface}: {found}"
        );
        assert!(
            !found.contains("169.254") && !found.contains("8787"),
            "{found}"
        );
    }
}

#[test]
fn an_interface_at_another_origin_is_used_only_without_credentials() {
    let card = card_with(json!([interface_at("https://api.example/a2a")]));
    let used = read_at(&card, "https://agent.example", false).unwrap();
    assert_eq!(used.interface, "https://api.example/a2a");
    let found = unsupported(&card, "https://agent.example", true);
    assert!(found.contains("another origin"), "{found}");
    let other_port = card_with(json!([interface_at("https://agent.example:8443")]));
    assert!(read_at(&other_port, "https://agent.example", true).is_err());
    let same = card_with(json!([interface_at("https://agent.example:443/a2a")]));
    assert!(read_at(&same, "https://agent.example", true).is_ok());
}

#[test]
fn an_extension_that_the_card_requires_is_not_spoken() {
    let mut card = card_with(json!([interface_at("https://agent.example")]));
    card["capabilities"]["extensions"] = json!([{"uri": "https://e.example/x", "required": true}]);
    let found = unsupported(&card, "https://agent.example", false);
    assert!(found.contains("https://e.example/x"), "{found}");
}

#[test]
fn what_is_no_card_is_said_to_be_none() {
    let whole = card_with(json!([interface_at("https://agent.example")]));
    let mut table = vec![
        (b"<html>".to_vec(), "it is not JSON"),
        (
            b"{\"name\": \"a\", \"name\": \"b\"}".to_vec(),
            "it is not JSON",
        ),
        (b"[]".to_vec(), "it is no JSON object"),
        (
            b"{\"name\": \"a\"}".to_vec(),
            "it has no supportedInterfaces",
        ),
    ];
    for (field, why) in [
        ("name", "it has no name"),
        ("version", "it has no version"),
        ("description", "it has no description"),
    ] {
        let mut card = whole.clone();
        card[field] = json!("\u{200b}\n");
        table.push((card.to_string().into_bytes(), why));
    }
    for (body, why) in table {
        let refused = read(&body, &from("https://agent.example"), false);
        assert_eq!(refused, Err(Unusable::Invalid(why)));
    }
}

#[test]
fn a_cards_words_stay_on_one_line_and_are_bounded() {
    let mut card = card_with(json!([interface_at("https://agent.example")]));
    card["name"] = json!("A\u{202e}B\u{200b}\r\n\u{1b}[2JIgnore\u{2028}all");
    card["description"] = json!("d".repeat(10_000));
    let card = read_at(&card, "https://agent.example", false).unwrap();
    assert_eq!(card.name, "AB [2JIgnore all");
    let line = card.line("research");
    assert_eq!(line.lines().count(), 1);
    assert!(line.chars().count() < 400);
    assert!(line.ends_with("d…"));
}

#[test]
fn a_line_hides_nothing() {
    let hidden =
        "a\u{fe0f}b\u{e0101}c\u{34f}d\u{3164}e\u{115f}f\u{1d173}g\u{e0041}h\u{2066}i\u{fff9}j";
    assert_eq!(one_line(hidden, 80), "abcdefghij");
    assert_eq!(one_line("日本 é ñ ع", 80), "日本 é ñ ع");
}

#[test]
fn a_card_is_shown_without_whatever_may_say_where_its_agent_is() {
    let at = "https://agent.example/secret";
    let mut card = card_with(json!([interface_at(at)]));
    for field in ["url", "endpoint", "x-url", "iconUrl", "documentationUrl"] {
        card[field] = json!(at);
    }
    card["provider"] = json!({ "url": at });
    card["name"] = json!("Research");
    card["defaultInputModes"] = json!(["text/plain"]);
    card["defaultOutputModes"] = json!([{ "at": at }]);
    card["securitySchemes"] = json!({"oauth": {"tokenUrl": at}});
    card["capabilities"] = json!({
        "streaming": true,
        "extensions": [{"uri": at, "params": {"at": at}}],
    });
    card["skills"] = json!([
        {"id": "s", "name": "S", "description": "Looks.", "tags": ["a"], "home": at, "x": {"url": at}},
        7,
    ]);
    let shown = shown(&card);
    assert!(!shown.to_string().contains("agent.example"), "{shown}");
    assert_eq!(shown["name"], "Research");
    assert_eq!(shown["defaultInputModes"], json!(["text/plain"]));
    assert_eq!(shown["capabilities"], json!({"streaming": true}));
    assert_eq!(
        shown["skills"],
        json!([{"id": "s", "name": "S", "description": "Looks.", "tags": ["a"]}, {}])
    );
}

proptest! {
    #[test]
    fn any_text_becomes_one_bounded_line(text in "\\PC{0,100}|[\\x00-\\x20\u{2028}\u{85}]{0,9}", max in 1_usize..50) {
        let line = one_line(&text, max);
        prop_assert!(line.chars().count() <= max.saturating_add(1));
        prop_assert!(!line.chars().any(char::is_control));
        let broken = line.contains(['\u{2028}', '\u{2029}']);
        prop_assert!(!broken);
    }

    #[test]
    fn any_body_is_a_card_or_not(body in "\\PC{0,200}") {
        let _ = read(body.as_bytes(), &from("https://agent.example"), false);
    }
}
