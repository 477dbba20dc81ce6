//! The headers that every request is judged by. The lines of the input are, in this order: `A2A-Version`, the query,
//! `A2A-Extensions`, `Authorization`, `Content-Type`, and the path. A line that is missing is a header that is absent.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::credentials::{MAX_TOKEN_BYTES, TurnToken, bearer_token, is_turn_token};
use protocol::extensions::{self, Activated};
use protocol::http::check_content_type;
use protocol::routes::{Match, match_route};
use protocol::version;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut lines = text.split('\n');

    let (header, query) = (lines.next(), lines.next());
    if version::negotiate(header, query).is_ok() {
        assert!(header.is_none_or(|version| version.trim() == version::SUPPORTED));
    }

    if let Ok(activated) = extensions::activate(lines.next()) {
        let echoed = activated.header_value();
        assert_eq!(extensions::activate(echoed.as_deref()), Ok(activated));
        assert_eq!(Activated::from(u8::from(activated)), activated);
        assert_eq!(echoed.is_none(), activated.is_empty());
    }

    let authorization = lines.next();
    if let Some(token) = authorization.and_then(bearer_token) {
        assert!((1..=MAX_TOKEN_BYTES).contains(&token.len()));
        assert!(token.bytes().all(|byte| byte.is_ascii_graphic()));
        if let Some(turn) = TurnToken::parse(token) {
            assert!(is_turn_token(token));
            assert!(turn.matches(&turn.secret_sha256()));
        }
    }

    let content_type = lines.next();
    if check_content_type(content_type, false).is_ok() {
        let essence = content_type.and_then(|value| value.split(';').next());
        let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
        assert!(["application/json", "application/a2a+json"].contains(&essence.as_str()));
    }

    let path = lines.next().unwrap_or_default();
    if let Match::Found { params, .. } = match_route("GET", path) {
        let raw = ["id", "taskId"]
            .into_iter()
            .find_map(|name| params.raw(name));
        assert!(raw.is_none_or(|segment| !segment.is_empty() && !segment.contains('/')));
    }
});
