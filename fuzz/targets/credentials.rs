//! The credential document: whatever the operator sets is read or refused, and a refusal shows nothing of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::credentials::{Credentials, MIN_TOKEN_BYTES};
use protocol::ids::is_identifier;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Ok(secret) = std::str::from_utf8(data) else {
        return;
    };
    let document: Value = serde_json::from_str(secret).unwrap_or_default();
    let tokens: Vec<_> = document["credentials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["token"].as_str())
        .collect();
    match Credentials::parse(secret) {
        Ok(credentials) => {
            for resident in credentials.residents() {
                assert!(is_identifier(resident));
            }
            for token in &tokens {
                assert!(token.len() >= MIN_TOKEN_BYTES);
                let credential = credentials.authenticate(token).expect("its own token");
                assert!(is_identifier(&credential.resident));
                assert!(credential.principal.as_deref().is_none_or(is_identifier));
            }
            assert!(
                credentials
                    .authenticate("a token of no one at all")
                    .is_none()
            );
            assert_shows_none(&format!("{credentials:?}"), &tokens);
        }
        Err(error) => {
            let shown = format!("{error} {error:?}");
            assert!(shown.len() < 400, "{shown}");
            assert_shows_none(&shown, &tokens);
        }
    }
});

fn assert_shows_none(shown: &str, tokens: &[&str]) {
    for token in tokens.iter().filter(|token| token.len() >= MIN_TOKEN_BYTES) {
        assert!(!shown.contains(token), "{shown}");
    }
}
