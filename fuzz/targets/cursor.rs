//! The page token: only what this server sealed opens, under the same key and for the same list.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::cursor::{Cursor, KEY_BYTES};
use protocol::ids::is_identifier;

const KEY: [u8; KEY_BYTES] = [11; KEY_BYTES];
/// Nothing is sealed under this one: the fuzzer sees the tokens of the other being compared, and learns them.
const UNUSED_KEY: [u8; KEY_BYTES] = [13; KEY_BYTES];
const FILTER: [u8; 32] = [22; 32];

fuzz_target!(|data: &[u8]| {
    if let Ok(token) = std::str::from_utf8(data) {
        assert!(
            Cursor::open(token, &UNUSED_KEY, &FILTER).is_err(),
            "forged: {token}"
        );
    }
    // The rest is a place to seal, and how to tamper with its token.
    let Some((timestamp, rest)) = data.split_first_chunk::<8>() else {
        return;
    };
    let Some((&[at, with], id)) = rest.split_first_chunk::<2>() else {
        return;
    };
    let Some(task_id) = std::str::from_utf8(id).ok().filter(|id| is_identifier(id)) else {
        return;
    };
    let place = Cursor {
        status_timestamp_ms: i64::from_be_bytes(*timestamp),
        task_id: task_id.to_owned(),
    };
    let token = place.seal(&KEY, &FILTER);
    assert_eq!(Cursor::open(&token, &KEY, &FILTER).as_ref(), Ok(&place));
    assert!(
        Cursor::open(&token, &[12; KEY_BYTES], &FILTER).is_err(),
        "another principal's"
    );
    assert!(
        Cursor::open(&token, &KEY, &[23; 32]).is_err(),
        "another list's"
    );

    let mut tampered = token.clone().into_bytes();
    let at = usize::from(at) % tampered.len();
    tampered[at] = with;
    if let Ok(tampered) = std::str::from_utf8(&tampered)
        && tampered != token
    {
        assert!(
            Cursor::open(tampered, &KEY, &FILTER).is_err(),
            "tampered: {tampered}"
        );
    }
});
