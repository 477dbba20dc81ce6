//! The message parser: any body is either refused with the field named, or reads back as itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::digest::message_digest;
use protocol::error::Reason;
use protocol::send::SendRequest;
use serde_json::Value;

fuzz_target!(|body: &[u8]| {
    match SendRequest::parse(body) {
        Ok(request) => {
            let written = serde_json::to_vec(&request).expect("a valid request is JSON");
            let again = SendRequest::parse(&written).expect("a valid request stays valid");
            assert_eq!(again, request);
            assert_eq!(
                message_digest(&again.message),
                message_digest(&request.message)
            );
            let stored = serde_json::to_string(&request.message).expect("a message is JSON");
            assert!(!stored.contains(['\n', '\r']), "a frame is one line");
        }
        Err(error) => {
            assert!(
                (400..500).contains(&error.http_status()) || error.http_status() == 501,
                "{error:?}"
            );
            assert!(
                error.reason != Reason::InvalidRequest || !error.violations.is_empty(),
                "{error:?}"
            );
            let body: Value = serde_json::from_str(&error.to_json()).expect("an error is JSON");
            assert_eq!(body["error"]["code"], Value::from(error.http_status()));
        }
    }
});
