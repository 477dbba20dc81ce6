//! How long a fetched card may be used without asking again (RFC 9111).

use crate::http_date;

/// What a card lives that says nothing about it, in milliseconds.
pub const UNSAID_MS: i64 = 300_000;

/// The longest that a card is used without asking again, in milliseconds.
pub const MAX_MS: i64 = 86_400_000;

/// For how long from now the answer with these headers is fresh, in milliseconds; 0 where it must be asked for again at
/// its next use.
#[must_use]
pub fn lifetime_ms(
    cache_control: Option<&str>,
    age: Option<&str>,
    expires: Option<&str>,
    now_ms: i64,
) -> i64 {
    let directives = || {
        cache_control
            .unwrap_or_default()
            .split(',')
            .map(|directive| directive.trim().to_ascii_lowercase())
    };
    if directives().any(|directive| directive == "no-store" || directive.starts_with("no-cache")) {
        return 0;
    }
    let max_age = directives()
        .find_map(|directive| seconds(directive.strip_prefix("max-age=")?.trim_matches('"')));
    let lifetime_ms = match max_age {
        Some(max_age) => {
            let age = age.and_then(|age| seconds(age.trim())).unwrap_or(0);
            i64::from(max_age.saturating_sub(age)).saturating_mul(1000)
        }
        None => match expires {
            // An invalid date, such as 0, is one in the past (section 5.3).
            Some(expires) => http_date::parse(expires.trim())
                .map_or(0, |expires_ms| expires_ms.saturating_sub(now_ms)),
            None => UNSAID_MS,
        },
    };
    lifetime_ms.clamp(0, MAX_MS)
}

/// A number of seconds. One too large to hold is the largest (section 1.2.2).
fn seconds(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_lives_as_long_as_its_headers_say() {
        let now_ms = http_date::parse("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (cache_control, age, expires, expected) in [
            (None, None, None, UNSAID_MS),
            (Some("max-age=60"), None, None, 60_000),
            (Some("public, Max-Age=60"), Some("45"), None, 15_000),
            (Some("max-age=60"), Some("100"), None, 0),
            (Some("max-age=60"), Some("x"), None, 60_000),
            (Some("max-age=0"), None, None, 0),
            (Some("no-store, max-age=60"), None, None, 0),
            (Some("no-cache"), None, None, 0),
            (Some("max-age=999999999"), None, None, MAX_MS),
            (Some("max-age=4294967296"), None, None, MAX_MS),
            (Some("max-age=99999999999999999999"), None, None, MAX_MS),
            (Some("max-age=60"), Some("99999999999999999999"), None, 0),
            (Some("max-age=x"), None, None, UNSAID_MS),
            (Some("max-age=-1"), None, None, UNSAID_MS),
            (Some("max-age="), None, None, UNSAID_MS),
            (Some("max-age=60"), None, Some("0"), 60_000),
            (None, None, Some("Sun, 06 Nov 1994 08:50:37 GMT"), 60_000),
            (None, None, Some("Sun, 06 Nov 1994 08:48:37 GMT"), 0),
            (None, None, Some("0"), 0),
        ] {
            let lifetime_ms = lifetime_ms(cache_control, age, expires, now_ms);
            assert_eq!(
                lifetime_ms, expected,
                "{cache_control:?} {age:?} {expires:?}"
            );
        }
    }
}
