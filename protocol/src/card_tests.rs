use super::*;
use crate::extensions::{ELICITATION_URI, OUTFITTER_TASK_URI};
use proptest::prelude::*;
use serde_json::{Value, json};

const URL: &str = "https://agent.example";

fn card(vars: &Vars<'_>) -> Value {
    let rendered = Identity::from_vars(vars).unwrap().render(URL);
    serde_json::from_str(&rendered.json).unwrap()
}

fn error(vars: Vars<'_>) -> CardError {
    Identity::from_vars(&vars).unwrap_err()
}

fn skills_error(skills: Value) -> String {
    error(Vars {
        skills: Some(&skills.to_string()),
        ..Vars::default()
    })
    .to_string()
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

#[test]
fn without_any_var_the_card_is_whole_and_true() {
    let card = card(&Vars::default());
    let fields: Vec<_> = card
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        fields,
        [
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "description",
            "name",
            "securityRequirements",
            "securitySchemes",
            "skills",
            "supportedInterfaces",
            "version",
        ]
    );
    assert_eq!(card["skills"].as_array().unwrap().len(), 1);
    assert_eq!(card["skills"][0]["tags"], json!(["task"]));
    assert!(!has_null(&card));
}

#[test]
fn the_protocol_claims_are_those_of_the_code() {
    let card = card(&Vars::default());
    assert_eq!(
        card["supportedInterfaces"],
        json!([{"url": URL, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}])
    );
    let capabilities = &card["capabilities"];
    assert_eq!(capabilities["streaming"], json!(true));
    assert_eq!(capabilities["pushNotifications"], json!(false));
    assert_eq!(capabilities["extendedAgentCard"], json!(false));
    let extensions = capabilities["extensions"].as_array().unwrap();
    assert_eq!(extensions[0]["uri"], OUTFITTER_TASK_URI);
    assert_eq!(extensions[1]["uri"], ELICITATION_URI);
    assert!(extensions.iter().all(|e| e["required"] == json!(false)));
    assert_eq!(
        card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"],
        "Bearer"
    );
    assert_eq!(
        card["securityRequirements"],
        json!([{"schemes": {"bearer": {"list": []}}}])
    );
    assert_eq!(
        card["defaultInputModes"],
        json!(["text/plain", "application/json"])
    );
    assert_eq!(
        card["defaultOutputModes"],
        json!(["text/plain", "application/json"])
    );
}

#[test]
fn identity_comes_from_the_vars() {
    let card = card(&Vars {
        name: Some(" Research agent "),
        description: Some("Researches."),
        version: Some("2.1.0"),
        provider_organization: Some("Example"),
        provider_url: Some("https://example.com"),
        documentation_url: Some("https://example.com/docs?x=1#y"),
        icon_url: Some("https://example.com/icon.png"),
        skills: Some(r#"[{"id": "research", "name": "Research", "description": "Answers."}]"#),
    });
    assert_eq!(card["name"], "Research agent");
    assert_eq!(card["description"], "Researches.");
    assert_eq!(card["version"], "2.1.0");
    assert_eq!(
        card["provider"],
        json!({"organization": "Example", "url": "https://example.com"})
    );
    assert_eq!(card["documentationUrl"], "https://example.com/docs?x=1#y");
    assert_eq!(card["iconUrl"], "https://example.com/icon.png");
    assert_eq!(
        card["skills"],
        json!([{
            "id": "research",
            "name": "Research",
            "description": "Answers.",
            "tags": ["research"],
            "examples": [],
            "inputModes": ["text/plain", "application/json"],
            "outputModes": ["text/plain", "application/json"],
        }])
    );
}

#[test]
fn what_a_skill_says_is_kept() {
    let skill = json!({
        "id": "r", "name": "R", "description": "D", "tags": ["a", "b"], "examples": ["Find x"],
        "inputModes": ["image/png"], "outputModes": ["text/markdown"],
    });
    let skills = json!([skill]).to_string();
    let card = card(&Vars {
        skills: Some(&skills),
        ..Vars::default()
    });
    assert_eq!(card["skills"], json!([skill]));
}

#[test]
fn a_blank_var_and_an_empty_list_of_skills_count_as_not_set() {
    let blank = Vars {
        name: Some(""),
        description: Some(" "),
        version: Some(""),
        provider_organization: Some(""),
        provider_url: Some(""),
        documentation_url: Some(""),
        icon_url: Some("\n"),
        skills: Some("[]"),
    };
    assert_eq!(card(&blank), card(&Vars::default()));
}

#[test]
fn the_card_is_read_back_by_the_model_of_the_protocol() {
    let identity = Identity::from_vars(&Vars::default()).unwrap();
    let card: AgentCard = serde_json::from_str(&identity.render(URL).json).unwrap();
    assert_eq!(card, identity.card(URL));
}

#[test]
fn the_same_identity_renders_the_same_bytes_and_tag() {
    let identity = Identity::from_vars(&Vars::default()).unwrap();
    let first = identity.render(URL);
    assert_eq!(
        first,
        Identity::from_vars(&Vars::default()).unwrap().render(URL)
    );
    assert_eq!(first.etag, entity_tag::of(first.json.as_bytes()));
    assert_ne!(first.etag, identity.render("https://other.example").etag);
}

#[test]
fn a_url_that_is_not_absolute_http_names_its_var() {
    for url in [
        "example.com",
        "/docs",
        "ftp://example.com",
        "javascript:alert(1)",
        "https://",
        "https:///x",
        "https://user:pass@example.com",
        "https://exa mple.com",
        "https://example.com:0",
        "https://example.com:99999",
        "https://example.com:",
        "https://example.com/<x>",
        "https://[::1",
        "https://[zz]/",
        "https://-x.example",
    ] {
        let found = error(Vars {
            documentation_url: Some(url),
            ..Vars::default()
        });
        assert_eq!(found.var, "A2A_AGENT_DOCUMENTATION_URL", "{url}");
        let found = error(Vars {
            icon_url: Some(url),
            ..Vars::default()
        });
        assert_eq!(found.var, "A2A_AGENT_ICON_URL", "{url}");
        assert!(interface_url(Some(url), URL).is_err(), "{url}");
    }
    let long = format!("https://example.com/{}", "x".repeat(MAX_URL_BYTES));
    let found = error(Vars {
        icon_url: Some(&long),
        ..Vars::default()
    });
    assert_eq!(found.var, "A2A_AGENT_ICON_URL");
}

#[test]
fn a_provider_needs_both_its_vars() {
    let found = error(Vars {
        provider_organization: Some("Example"),
        ..Vars::default()
    });
    assert_eq!(found.var, "A2A_AGENT_PROVIDER_URL");
    let found = error(Vars {
        provider_url: Some(URL),
        ..Vars::default()
    });
    assert_eq!(found.var, "A2A_AGENT_PROVIDER_ORGANIZATION");
}

#[test]
fn a_text_that_is_too_long_or_has_control_characters_names_its_var() {
    let long = "x".repeat(MAX_NAME_CHARS + 1);
    assert_eq!(
        error(Vars {
            name: Some(&long),
            ..Vars::default()
        })
        .var,
        "A2A_AGENT_NAME"
    );
    assert_eq!(
        error(Vars {
            version: Some(&long),
            ..Vars::default()
        })
        .var,
        "A2A_AGENT_VERSION"
    );
    assert_eq!(
        error(Vars {
            description: Some("a\u{1b}[2Jb"),
            ..Vars::default()
        })
        .var,
        "A2A_AGENT_DESCRIPTION"
    );
}

#[test]
fn skills_that_are_wrong_name_the_place_and_what_would_be_right() {
    let with = |key: &str, value: Value| {
        let mut skill = json!({"id": "i", "name": "N", "description": "D"});
        skill[key] = value;
        json!([skill])
    };
    let table = [
        (json!({}), "A2A_AGENT_SKILLS must be a JSON array"),
        (json!(["x"]), "A2A_AGENT_SKILLS[0] must be an object"),
        (
            json!([{"name": "N", "description": "D"}]),
            "A2A_AGENT_SKILLS[0].id must be",
        ),
        (with("id", json!("")), "A2A_AGENT_SKILLS[0].id must be"),
        (with("name", json!(1)), "A2A_AGENT_SKILLS[0].name must be"),
        (
            with("description", json!(null)),
            "A2A_AGENT_SKILLS[0].description must be",
        ),
        (with("tags", json!("a")), "A2A_AGENT_SKILLS[0].tags must be"),
        (
            with("tags", json!([""])),
            "A2A_AGENT_SKILLS[0].tags must be",
        ),
        (
            with("examples", json!([1])),
            "A2A_AGENT_SKILLS[0].examples must be",
        ),
        (
            with("examples", json!(null)),
            "A2A_AGENT_SKILLS[0].examples must be",
        ),
        (
            with("inputModes", json!(["text"])),
            "A2A_AGENT_SKILLS[0].inputModes must be",
        ),
        (
            with("outputModes", json!(["a/b/c"])),
            "A2A_AGENT_SKILLS[0].outputModes must be",
        ),
        (
            with("tags", json!(vec!["t"; MAX_TEXTS + 1])),
            "A2A_AGENT_SKILLS[0].tags must be",
        ),
        (
            with("securityRequirements", json!([])),
            "A2A_AGENT_SKILLS[0].securityRequirements is not configurable",
        ),
        (
            json!([{"id": "i", "name": "N", "description": "D"}, {"id": "i", "name": "M", "description": "E"}]),
            "A2A_AGENT_SKILLS[1].id must be another",
        ),
        (
            json!(vec![json!({}); MAX_SKILLS + 1]),
            "A2A_AGENT_SKILLS must be a JSON array",
        ),
    ];
    for (skills, expected) in table {
        let found = skills_error(skills.clone());
        assert!(found.starts_with(expected), "{skills}: {found}");
    }
}

#[test]
fn skills_that_are_no_json_name_the_var() {
    for skills in ["[", "research", r#"[{"id": "a", "id": "b"}]"#] {
        let found = error(Vars {
            skills: Some(skills),
            ..Vars::default()
        });
        assert_eq!(found.var, "A2A_AGENT_SKILLS", "{skills}");
    }
}

#[test]
fn the_interface_is_at_the_public_url_else_at_the_requests_origin() {
    let at = |public: Option<&str>, origin: &str| interface_url(public, origin).unwrap();
    assert_eq!(
        at(Some("https://agent.example/"), "http://x"),
        "https://agent.example"
    );
    assert_eq!(
        at(Some("https://agent.example/a2a/"), "http://x"),
        "https://agent.example/a2a"
    );
    assert_eq!(
        at(Some(" "), "http://127.0.0.1:8787"),
        "http://127.0.0.1:8787"
    );
    assert_eq!(at(None, "http://[::1]:8787"), "http://[::1]:8787");
}

#[test]
fn a_public_url_with_query_fragment_or_user_is_refused() {
    for url in [
        "https://a.example?x",
        "https://a.example/#x",
        "https://u@a.example",
        "agent",
    ] {
        let error = interface_url(Some(url), "http://x").unwrap_err();
        assert_eq!(error.var, "A2A_PUBLIC_URL");
        assert!(error.to_string().contains("https://agent.example"));
    }
}

proptest! {
    #[test]
    fn any_vars_give_a_card_without_nulls_or_an_error_that_names_a_var(
        name in prop::option::of("\\PC{0,20}"),
        url in prop::option::of("(https?://)?[a-z0-9.:/@?#\\[\\]\\PC]{0,30}"),
        skills in prop::option::of("\\PC{0,40}"),
    ) {
        let vars = Vars {
            name: name.as_deref(),
            provider_organization: Some("Example"),
            provider_url: url.as_deref(),
            skills: skills.as_deref(),
            ..Vars::default()
        };
        match Identity::from_vars(&vars) {
            Ok(identity) => {
                let card: Value = serde_json::from_str(&identity.render(URL).json).unwrap();
                prop_assert!(!has_null(&card));
            }
            Err(error) => prop_assert!(error.to_string().starts_with("A2A_AGENT_")),
        }
    }
}
