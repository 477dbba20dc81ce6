//! The wall clock.

/// Milliseconds since the Unix epoch.
///
/// The platform stops it while code runs: it moves on with I/O.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the clock is an integer far below 2^53"
)]
pub fn now_ms() -> i64 {
    js_sys::Date::now() as i64
}
