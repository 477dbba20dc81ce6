//! Page tokens: where a list of tasks goes on.
//!
//! A list is ordered by status timestamp, newest first, and then by task id, so a page is found again by the keys of
//! the last task on the page before: no offset to shift when tasks change, no scan. The token seals those keys under a
//! key of the principal's own. It cannot be made or altered by a caller, it is worthless to another principal, and it
//! continues only the list, with the same filters, that it came from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::digest::Key;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::error::A2aError;
use crate::ids;

/// Longest token that is looked at, in bytes. Sealed ones are shorter: 153 bytes in base64.
pub const MAX_TOKEN_BYTES: usize = 256;

/// Length of a principal's key, in bytes.
pub const KEY_BYTES: usize = 32;

const FORMAT: u8 = 1;
const TAG_BYTES: usize = 16;
/// Keeps these tags apart from any other use of the same key.
const PURPOSE: &[u8] = b"a2a list cursor";

/// The sort keys of the last task on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The task's status timestamp, in Unix milliseconds.
    pub status_timestamp_ms: i64,
    /// The task's id.
    pub task_id: String,
}

impl Cursor {
    /// The token for this place in the list that `filter` is the digest of
    /// ([`filter_digest`](crate::query::ListTasksQuery::filter_digest)).
    ///
    /// `key` belongs to one principal, is random, and never leaves its object.
    pub fn seal(&self, key: &[u8; KEY_BYTES], filter: &[u8; 32]) -> String {
        let mut token = vec![FORMAT];
        token.extend(self.status_timestamp_ms.to_be_bytes());
        token.extend(self.task_id.as_bytes());
        let tag = mac(key, filter, &token).finalize().into_bytes();
        token.extend(tag.iter().take(TAG_BYTES));
        URL_SAFE_NO_PAD.encode(token)
    }

    /// The place that a token names. Tags are compared in constant time.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) naming `pageToken`, and the same for every cause.
    pub fn open(token: &str, key: &[u8; KEY_BYTES], filter: &[u8; 32]) -> Result<Cursor, A2aError> {
        unseal(token, key, filter).ok_or_else(|| {
            A2aError::field("pageToken", "must be the nextPageToken of the same list")
        })
    }
}

fn unseal(token: &str, key: &[u8; KEY_BYTES], filter: &[u8; 32]) -> Option<Cursor> {
    if token.len() > MAX_TOKEN_BYTES {
        return None;
    }
    let token = URL_SAFE_NO_PAD.decode(token).ok()?;
    let (sealed, tag) = token.split_at_checked(token.len().checked_sub(TAG_BYTES)?)?;
    mac(key, filter, sealed).verify_truncated_left(tag).ok()?;
    let (timestamp, task_id) = sealed.strip_prefix(&[FORMAT])?.split_first_chunk()?;
    let task_id = std::str::from_utf8(task_id)
        .ok()
        .filter(|id| ids::is_identifier(id))?;
    Some(Cursor {
        status_timestamp_ms: i64::from_be_bytes(*timestamp),
        task_id: task_id.to_owned(),
    })
}

fn mac(key: &[u8; KEY_BYTES], filter: &[u8; 32], sealed: &[u8]) -> Hmac<Sha256> {
    // HMAC fills a key up to its block with zeros (RFC 2104). Done here, so that no key has a wrong length.
    let mut block = Key::<Hmac<Sha256>>::default();
    for (slot, byte) in block.iter_mut().zip(key) {
        *slot = *byte;
    }
    let mut mac = Hmac::<Sha256>::new(&block);
    mac.update(PURPOSE);
    mac.update(filter);
    mac.update(sealed);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &[u8; KEY_BYTES] = b"the random key of one principal!";
    const FILTER: [u8; 32] = [7; 32];

    fn place() -> Cursor {
        Cursor {
            status_timestamp_ms: 1_761_647_400_123,
            task_id: "0192f0c4-7a4e".into(),
        }
    }

    fn assert_refused(token: &str, key: &[u8; KEY_BYTES], filter: &[u8; 32]) {
        let error = Cursor::open(token, key, filter).unwrap_err();
        assert_eq!(
            error,
            A2aError::field("pageToken", "must be the nextPageToken of the same list")
        );
    }

    #[test]
    fn a_token_is_short_and_needs_no_escaping() {
        let longest = Cursor {
            status_timestamp_ms: i64::MIN,
            task_id: "x".repeat(ids::MAX_BYTES),
        };
        let token = longest.seal(KEY, &FILTER);
        assert!(token.len() <= MAX_TOKEN_BYTES, "{}", token.len());
        assert!(
            token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        assert_eq!(Cursor::open(&token, KEY, &FILTER).unwrap(), longest);
    }

    #[test]
    fn a_token_of_another_principal_is_refused() {
        assert_refused(&place().seal(&[1; KEY_BYTES], &FILTER), KEY, &FILTER);
    }

    #[test]
    fn a_token_of_a_list_with_other_filters_is_refused() {
        assert_refused(&place().seal(KEY, &[8; 32]), KEY, &FILTER);
    }

    #[test]
    fn a_truncated_or_lengthened_token_is_refused() {
        let token = place().seal(KEY, &FILTER);
        for (end, _) in token.char_indices() {
            assert_refused(token.split_at(end).0, KEY, &FILTER);
        }
        assert_refused(&format!("{token}A"), KEY, &FILTER);
        assert_refused(&format!("{token}="), KEY, &FILTER);
        assert_refused(&"A".repeat(100_000), KEY, &FILTER);
    }

    proptest! {
        #[test]
        fn every_place_survives_its_token(
            status_timestamp_ms: i64, task_id in "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", filter: [u8; 32], key: [u8; KEY_BYTES],
        ) {
            let place = Cursor { status_timestamp_ms, task_id };
            prop_assert_eq!(Cursor::open(&place.seal(&key, &filter), &key, &filter).unwrap(), place);
        }

        #[test]
        fn a_changed_bit_anywhere_is_refused(position: prop::sample::Index, bit in 0..8_u8) {
            let mut bytes = URL_SAFE_NO_PAD.decode(place().seal(KEY, &FILTER)).unwrap();
            let at = position.index(bytes.len());
            bytes[at] ^= 1 << bit;
            assert_refused(&URL_SAFE_NO_PAD.encode(bytes), KEY, &FILTER);
        }

        #[test]
        fn no_text_is_a_token(token in "\\PC{0,80}") {
            assert_refused(&token, KEY, &FILTER);
        }
    }
}
