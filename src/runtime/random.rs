//! Randomness from the platform's cryptographic source. It is not available while the Worker starts.

use uuid::{NoContext, Timestamp, Uuid};

use super::clock::now_ms;

/// Fills a buffer.
///
/// # Errors
/// Where the platform refuses: outside a request.
pub fn fill(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(bytes)
}

/// A random id, which tells nothing (version 4).
#[must_use]
pub fn uuid_v4() -> Uuid {
    Uuid::new_v4()
}

/// An id that sorts by the time it was made, in milliseconds (version 7).
#[must_use]
pub fn uuid_v7() -> Uuid {
    let now = u64::try_from(now_ms()).unwrap_or_default();
    let (seconds, milliseconds) = (now / 1000, now % 1000);
    let nanoseconds = u32::try_from(milliseconds)
        .unwrap_or_default()
        .saturating_mul(1_000_000);
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, nanoseconds))
}
