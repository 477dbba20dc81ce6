use super::*;
use proptest::prelude::*;
use serde_json::json;

const ALICE: &str = "alice-token-0123456789";
const RESIDENT: &str = "resident-token-0123456789";

fn parse(value: serde_json::Value) -> Result<Credentials, CredentialsError> {
    Credentials::parse(&value.to_string())
}

fn problem(entry: serde_json::Value) -> EntryProblem {
    let good = json!({"token": ALICE, "principal": "alice"});
    match parse(json!({"credentials": [good, entry]})) {
        Err(CredentialsError::Entry { index: 1, problem }) => problem,
        other => panic!("{other:?}"),
    }
}

fn hex(bytes: [u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_token_stands_for_its_principal_role_and_resident() {
    let credentials = parse(json!({"credentials": [
        {"token": ALICE, "principal": "alice"},
        {"token": RESIDENT, "role": "resident", "resident": "gpu"},
        {"token": "source-token-0123456789", "principal": "slack", "role": "source"},
    ]}))
    .unwrap();
    assert_eq!(
        credentials.authenticate(ALICE),
        Some(&Credential {
            role: Role::Client,
            principal: Some("alice".into()),
            resident: "default".into(),
        })
    );
    let resident = credentials.authenticate(RESIDENT).unwrap();
    assert_eq!(
        (
            resident.role,
            resident.principal.as_deref(),
            resident.resident.as_str()
        ),
        (Role::Resident, None, "gpu")
    );
    assert_eq!(
        credentials
            .authenticate("source-token-0123456789")
            .unwrap()
            .role,
        Role::Source
    );
    assert_eq!(credentials.residents(), ["default", "gpu"]);
}

#[test]
fn a_resident_serves_every_principal_that_names_it_and_no_operator() {
    let credentials = parse(json!({"credentials": [
        {"token": ALICE, "principal": "alice"},
        {"token": "another-token-of-alice-0123", "principal": "alice"},
        {"token": "source-token-0123456789", "principal": "slack", "role": "source"},
        {"token": "carols-token-0123456789", "principal": "carol", "resident": "gpu"},
        {"token": "operator-token-0123456789", "principal": "ops", "role": "operator"},
        {"token": RESIDENT, "role": "resident"},
    ]}))
    .unwrap();
    assert_eq!(credentials.principals_of("default"), ["alice", "slack"]);
    assert_eq!(credentials.principals_of("gpu"), ["carol"]);
}

#[test]
fn an_unknown_token_stands_for_nothing() {
    let credentials =
        parse(json!({"credentials": [{"token": ALICE, "principal": "alice"}]})).unwrap();
    for token in [
        "",
        "alice",
        "alice-token-012345678",
        "alice-token-01234567890",
        "ALICE-TOKEN-0123456789",
    ] {
        assert_eq!(credentials.authenticate(token), None);
    }
}

#[test]
fn a_hashed_token_is_matched_by_its_plain_form_in_either_case() {
    for hash in [hex(sha256(ALICE)), hex(sha256(ALICE)).to_uppercase()] {
        let credentials =
            parse(json!({"credentials": [{"tokenSha256": hash, "principal": "alice"}]})).unwrap();
        assert!(credentials.authenticate(ALICE).is_some());
        assert!(credentials.authenticate(&hash).is_none());
    }
}

#[test]
fn several_tokens_may_name_one_principal() {
    let credentials = parse(json!({"credentials": [
        {"token": ALICE, "principal": "alice", "resident": "gpu"},
        {"token": "alice-other-0123456789", "principal": "alice", "resident": "gpu"},
    ]}))
    .unwrap();
    assert_eq!(
        credentials.authenticate(ALICE),
        credentials.authenticate("alice-other-0123456789")
    );
}

#[test]
fn the_first_and_the_last_of_many_are_found() {
    let entries: Vec<_> = (0..MAX_CREDENTIALS)
        .map(|n| json!({"token": format!("token-number-{n:08}"), "principal": format!("p{n}")}))
        .collect();
    let credentials = parse(json!({"credentials": entries})).unwrap();
    for n in [0, 1, MAX_CREDENTIALS - 1] {
        let found = credentials
            .authenticate(&format!("token-number-{n:08}"))
            .unwrap();
        assert_eq!(found.principal.as_deref(), Some(format!("p{n}").as_str()));
    }
}

#[test]
fn an_absent_or_blank_secret_says_so() {
    for secret in ["", "  \n"] {
        assert_eq!(
            Credentials::parse(secret).unwrap_err(),
            CredentialsError::Absent
        );
    }
}

#[test]
fn a_document_of_another_shape_is_refused() {
    for document in [
        json!([]),
        json!({}),
        json!({"credentials": []}),
        json!({"credentials": {}}),
        json!({"credentials": [{"token": ALICE, "principal": "a"}], "more": 1}),
        json!({"tokens": [{"token": ALICE, "principal": "a"}]}),
    ] {
        assert_eq!(parse(document).unwrap_err(), CredentialsError::Shape);
    }
}

#[test]
fn a_repeated_key_is_refused_since_two_readers_would_disagree() {
    let document = format!(
        "{{\"credentials\": [{{\"token\": \"{ALICE}\", \"principal\": \"alice\", \"principal\": \"bob\"}}]}}"
    );
    assert!(matches!(
        Credentials::parse(&document),
        Err(CredentialsError::NotJson { .. })
    ));
}

#[test]
fn an_entry_that_is_wrong_is_named_by_its_place_and_its_problem() {
    let token = "bob-token-0123456789";
    let hash = hex(sha256(token));
    let table = [
        (json!("bob"), EntryProblem::Shape),
        (
            json!({"token": token, "principle": "bob"}),
            EntryProblem::Shape,
        ),
        (json!({"principal": "bob"}), EntryProblem::OneToken),
        (
            json!({"token": token, "tokenSha256": hash, "principal": "bob"}),
            EntryProblem::OneToken,
        ),
        (
            json!({"token": "123456789012345", "principal": "bob"}),
            EntryProblem::Token,
        ),
        (
            json!({"token": "t".repeat(513), "principal": "bob"}),
            EntryProblem::Token,
        ),
        (
            json!({"token": "with a space 0123456789", "principal": "bob"}),
            EntryProblem::Token,
        ),
        (
            json!({"token": "with,comma-0123456789", "principal": "bob"}),
            EntryProblem::Token,
        ),
        (json!({"token": 1, "principal": "bob"}), EntryProblem::Token),
        (
            json!({"token": "turn~default~u~0123456789", "principal": "bob"}),
            EntryProblem::ReservedToken,
        ),
        (
            json!({"tokenSha256": "abc", "principal": "bob"}),
            EntryProblem::TokenSha256,
        ),
        (
            json!({"tokenSha256": "g".repeat(64), "principal": "bob"}),
            EntryProblem::TokenSha256,
        ),
        (
            json!({"token": token, "principal": "bob", "role": "admin"}),
            EntryProblem::Role,
        ),
        (
            json!({"token": token, "principal": "bob", "role": null}),
            EntryProblem::Role,
        ),
        (json!({"token": token}), EntryProblem::Principal),
        (
            json!({"token": token, "principal": ""}),
            EntryProblem::Principal,
        ),
        (
            json!({"token": token, "principal": "-bob"}),
            EntryProblem::Principal,
        ),
        (
            json!({"token": token, "principal": "b~b"}),
            EntryProblem::Principal,
        ),
        (
            json!({"token": token, "principal": "b".repeat(129)}),
            EntryProblem::Principal,
        ),
        (
            json!({"token": token, "role": "operator"}),
            EntryProblem::Principal,
        ),
        (
            json!({"token": token, "role": "resident", "principal": "b/b"}),
            EntryProblem::Principal,
        ),
        (
            json!({"token": token, "role": "resident", "resident": "a~b"}),
            EntryProblem::Resident,
        ),
        (
            json!({"token": ALICE, "principal": "bob"}),
            EntryProblem::Duplicate(0),
        ),
        (
            json!({"tokenSha256": hex(sha256(ALICE)), "principal": "alice"}),
            EntryProblem::Duplicate(0),
        ),
        (
            json!({"token": token, "principal": "alice", "resident": "gpu"}),
            EntryProblem::ResidentConflict(0),
        ),
    ];
    for (entry, expected) in table {
        assert_eq!(problem(entry.clone()), expected, "{entry}");
    }
}

#[test]
fn too_many_credentials_and_too_large_a_secret_are_refused() {
    let entries: Vec<_> = (0..=MAX_CREDENTIALS)
        .map(|n| json!({"token": format!("token-number-{n:08}"), "principal": "p"}))
        .collect();
    assert_eq!(
        parse(json!({"credentials": entries})).unwrap_err(),
        CredentialsError::Shape
    );
    assert_eq!(
        Credentials::parse(&"x".repeat(MAX_SECRET_BYTES + 1)).unwrap_err(),
        CredentialsError::TooLarge
    );
}

#[test]
fn neither_an_error_nor_debug_shows_a_token() {
    let secret = "supersecret";
    let broken = [
        format!("{{\"credentials\": [{{\"token\": \"{secret}\" oops"),
        format!("{{\"credentials\": \"{secret}\"}}"),
        json!({"credentials": [{"token": secret, "principal": "a"}]}).to_string(),
        json!({"credentials": [{secret: "0123456789012345", "principal": "a"}]}).to_string(),
        json!({"credentials": [{"token": ALICE, "principal": secret, "role": secret}]}).to_string(),
        json!({"credentials": [{"token": ALICE, "principal": format!("{secret} ")}]}).to_string(),
    ];
    for document in broken {
        let error = Credentials::parse(&document).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(secret), "{shown}");
        assert!(shown.contains("A2A_CREDENTIALS"), "{shown}");
    }
    let credentials =
        parse(json!({"credentials": [{"token": ALICE, "principal": "alice"}]})).unwrap();
    let shown = format!("{credentials:?}");
    assert!(
        !shown.contains(ALICE) && !shown.contains("alice"),
        "{shown}"
    );
}

#[test]
fn a_bearer_header_has_one_token_and_a_scheme_in_any_case() {
    for header in ["Bearer abc", "bearer abc", "BEARER  abc", " Bearer\tabc "] {
        assert_eq!(bearer_token(header), Some("abc"), "{header:?}");
    }
    for header in [
        "",
        "Bearer",
        "Bearer ",
        "Basic abc",
        "abc",
        "Bearer abc def",
        "Bearer abc, Bearer def",
        "Bearer abc,def",
        "Bearerabc",
        "Bearer \u{e9}t\u{e9}",
    ] {
        assert_eq!(bearer_token(header), None, "{header:?}");
    }
    let longest = "t".repeat(MAX_TOKEN_BYTES);
    assert_eq!(
        bearer_token(&format!("Bearer {longest}")),
        Some(longest.as_str())
    );
    assert_eq!(bearer_token(&format!("Bearer {longest}t")), None);
}

#[test]
fn a_minted_turn_token_names_its_turn_and_matches_only_its_own_hash() {
    let token = mint_turn_token("gpu", "turn-1", &[7; 32]);
    let other = mint_turn_token("gpu", "turn-1", &[8; 32]);
    let parsed = TurnToken::parse(&token).unwrap();
    assert_eq!((parsed.resident, parsed.turn_id), ("gpu", "turn-1"));
    assert!(parsed.matches(&parsed.secret_sha256()));
    assert!(!parsed.matches(&TurnToken::parse(&other).unwrap().secret_sha256()));
    assert!(!parsed.matches(&[]));
    assert!(is_turn_token(&token));
    assert_eq!(
        bearer_token(&format!("Bearer {token}")),
        Some(token.as_str())
    );
}

#[test]
fn the_longest_turn_token_still_fits_in_a_header() {
    let token = mint_turn_token(&"r".repeat(128), &"t".repeat(128), &[255; 32]);
    assert!(token.len() <= MAX_TOKEN_BYTES);
    assert!(TurnToken::parse(&token).is_some());
}

#[test]
fn a_malformed_turn_token_is_none() {
    for token in [
        "turn~",
        "turn~gpu~t",
        "turn~gpu~t~short",
        "turn~~t~0123456789abcdef",
        "turn~gpu~~0123456789abcdef",
        "turn~gpu~t~0123456789abcdef~x",
        "turn~gpu~t~0123456789abcde+",
        "Turn~gpu~t~0123456789abcdef",
        "turn~g/u~t~0123456789abcdef",
    ] {
        assert!(TurnToken::parse(token).is_none(), "{token}");
    }
}

#[test]
fn debug_of_a_turn_token_hides_its_secret() {
    let token = mint_turn_token("gpu", "turn-1", &[7; 32]);
    let secret = token.rsplit('~').next().unwrap();
    assert!(!format!("{:?}", TurnToken::parse(&token).unwrap()).contains(secret));
}

proptest! {
    #[test]
    fn any_secret_is_parsed_or_refused(secret in "\\PC{0,200}") {
        let _ = Credentials::parse(&secret).map_err(|error| error.to_string());
    }

    #[test]
    fn any_entry_is_parsed_or_refused_without_showing_its_values(
        token in "[!-~]{0,40}",
        principal in "[ -~]{0,20}",
        role in prop::option::of("[a-z]{0,10}"),
    ) {
        let document = json!({"credentials": [{"token": token, "principal": principal, "role": role}]});
        match parse(document) {
            Ok(credentials) => prop_assert!(credentials.authenticate(&token).is_some()),
            Err(error) => prop_assert!(token.len() < 8 || !error.to_string().contains(&token)),
        }
    }

    #[test]
    fn any_header_has_a_token_or_none(header in "\\PC{0,80}") {
        if let Some(token) = bearer_token(&header) {
            prop_assert!(header.contains(token) && !token.contains([' ', ',']));
        }
    }

    #[test]
    fn any_turn_token_survives_minting_and_parsing(random in any::<[u8; 32]>(), turn in "[A-Za-z0-9][A-Za-z0-9._:-]{0,40}") {
        let token = mint_turn_token("default", &turn, &random);
        let parsed = TurnToken::parse(&token).unwrap();
        prop_assert_eq!(parsed.turn_id, turn);
    }
}
