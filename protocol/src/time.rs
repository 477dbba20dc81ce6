//! Timestamps: Unix milliseconds inside, RFC 3339 text outside (§5.6.1).
//!
//! Written here rather than taken from a calendar crate: two functions are needed, and the proleptic Gregorian
//! calendar in UTC has no data behind it. Years run from 1 to 9999, the range of `google.protobuf.Timestamp`.

const MS_PER_DAY: i64 = 86_400_000;

/// 0001-01-01T00:00:00.000Z, the earliest timestamp that has a text.
pub const MIN_MS: i64 = -62_135_596_800_000;

/// 9999-12-31T23:59:59.999Z, the latest timestamp that has a text.
pub const MAX_MS: i64 = 253_402_300_799_999;

/// The text of a moment, `YYYY-MM-DDTHH:mm:ss.sssZ`: always UTC, always three decimals.
///
/// `unix_ms` outside [`MIN_MS`]`..=`[`MAX_MS`] is clamped to that range.
pub fn format(unix_ms: i64) -> String {
    let unix_ms = unix_ms.clamp(MIN_MS, MAX_MS);
    let (year, month, day) = date_of(unix_ms.div_euclid(MS_PER_DAY));
    let in_day = unix_ms.rem_euclid(MS_PER_DAY);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1000 % 60, in_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The moment that an RFC 3339 text names, in Unix milliseconds; `None` for any other text.
///
/// Accepted: any numeric offset or `Z`, up to nine fractional digits (what lies below the millisecond is cut off, that
/// is, the moment is rounded into the past). Refused: a missing offset, a date alone, a second of 60, an offset of 24
/// hours or more, a result outside [`MIN_MS`]`..=`[`MAX_MS`].
pub fn parse(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    literal(&mut rest, b"-")?;
    let month = digits(&mut rest, 2)?;
    literal(&mut rest, b"-")?;
    let day = digits(&mut rest, 2)?;
    literal(&mut rest, b"Tt")?;
    let hour = digits(&mut rest, 2)?;
    literal(&mut rest, b":")?;
    let minute = digits(&mut rest, 2)?;
    literal(&mut rest, b":")?;
    let second = digits(&mut rest, 2)?;
    let milli = fraction(&mut rest)?;
    let offset_minutes = offset(&mut rest)?;
    if !rest.is_empty() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_of(year, month, day)?;
    let minutes = days
        .checked_mul(1440)?
        .checked_add(hour.checked_mul(60)?)?
        .checked_add(minute)?;
    let seconds = minutes
        .checked_sub(offset_minutes)?
        .checked_mul(60)?
        .checked_add(second)?;
    let unix_ms = seconds.checked_mul(1000)?.checked_add(milli)?;
    (MIN_MS..=MAX_MS).contains(&unix_ms).then_some(unix_ms)
}

/// Takes exactly `count` ASCII digits.
fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (head, tail) = rest.split_at_checked(count)?;
    *rest = tail;
    head.iter().try_fold(0_i64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(i64::from(digit))
    })
}

/// Takes one byte that is any of `accepted`, and returns it.
fn literal(rest: &mut &[u8], accepted: &[u8]) -> Option<u8> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    accepted.contains(first).then_some(*first)
}

/// Takes `.` and one to nine digits if a `.` is next: the milliseconds.
fn fraction(rest: &mut &[u8]) -> Option<i64> {
    let Some(tail) = rest.strip_prefix(b".") else {
        return Some(0);
    };
    *rest = tail;
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&count) {
        return None;
    }
    let nanos = digits(rest, count)?
        .checked_mul(10_i64.checked_pow(9_u32.checked_sub(count.try_into().ok()?)?)?)?;
    Some(nanos / 1_000_000)
}

/// Takes `Z` or `±HH:MM`: minutes ahead of UTC.
fn offset(rest: &mut &[u8]) -> Option<i64> {
    let sign = match literal(rest, b"Zz+-")? {
        b'+' => 1,
        b'-' => -1,
        _ => return Some(0),
    };
    let hours = digits(rest, 2)?;
    literal(rest, b":")?;
    let minutes = digits(rest, 2)?;
    if hours > 23 || minutes > 59 {
        return None;
    }
    hours
        .checked_mul(60)?
        .checked_add(minutes)?
        .checked_mul(sign)
}

// The two functions below count years from March, so that the leap day is the last of its year, and work in cycles of
// 400 years, after which the calendar repeats. 1970-01-01 is day 719,468 counted from 0000-03-01.

const DAYS_PER_CYCLE: i64 = 146_097;
const DAYS_BEFORE_1970: i64 = 719_468;

/// Days since 1970-01-01 of a date; `None` when there is no such date.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || day < 1
        || day > days_in(year, month)
    {
        return None;
    }
    let (year, month) = if month > 2 {
        (year, month.checked_sub(3)?)
    } else {
        (year.checked_sub(1)?, month.checked_add(9)?)
    };
    let years = year
        .checked_mul(365)?
        .checked_add(year / 4)?
        .checked_sub(year / 100)?
        .checked_add(year / 400)?;
    // 153 days in every five months from March on, rounded so that each month begins on its day.
    let months = month.checked_mul(153)?.checked_add(2)? / 5;
    years
        .checked_add(months)?
        .checked_add(day)?
        .checked_sub(1)?
        .checked_sub(DAYS_BEFORE_1970)
}

fn days_in(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The date (year, month, day) of a day since 1970-01-01.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "called with days of the years 1 to 9999 alone, far from the limits of i64"
)]
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE_1970;
    let (cycle, in_cycle) = (
        days.div_euclid(DAYS_PER_CYCLE),
        days.rem_euclid(DAYS_PER_CYCLE),
    );
    // Leap days removed, every year of the cycle has 365 days.
    let year = (in_cycle - in_cycle / 1460 + in_cycle / 36_524 - in_cycle / 146_096) / 365;
    let in_year = in_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let year = cycle * 400 + year;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments_have_their_text() {
        assert_eq!(format(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(format(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(format(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(format(1_761_647_400_123), "2025-10-28T10:30:00.123Z");
        assert_eq!(format(MIN_MS), "0001-01-01T00:00:00.000Z");
        assert_eq!(format(MAX_MS), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_moment_outside_the_calendar_is_clamped() {
        assert_eq!(format(i64::MIN), "0001-01-01T00:00:00.000Z");
        assert_eq!(format(i64::MAX), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn offsets_and_fractions_are_understood() {
        let moment = 1_761_647_400_123;
        for text in [
            "2025-10-28T10:30:00.123Z",
            "2025-10-28t10:30:00.123z",
            "2025-10-28T10:30:00.123456789Z",
            "2025-10-28T12:30:00.123+02:00",
            "2025-10-28T00:00:00.123-10:30",
            "2025-10-29T10:29:00.123+23:59",
        ] {
            assert_eq!(parse(text), Some(moment), "{text}");
        }
        assert_eq!(parse("2025-10-28T10:30:00Z"), Some(moment - 123));
        assert_eq!(parse("2025-10-28T10:30:00.1Z"), Some(moment - 23));
        assert_eq!(parse("1969-12-31T23:59:59.9999Z"), Some(-1));
    }

    #[test]
    fn any_other_text_is_refused() {
        for text in [
            "",
            "2025-10-28",
            "2025-10-28T10:30:00",
            "2025-10-28T10:30Z",
            "2025-10-28 10:30:00Z",
            "2025-10-28T10:30:00.Z",
            "2025-10-28T10:30:00.1234567890Z",
            "2025-10-28T10:30:00,1Z",
            "2025-10-28T24:00:00Z",
            "2025-10-28T10:60:00Z",
            "2025-10-28T10:30:60Z",
            "2025-10-28T10:30:00+24:00",
            "2025-10-28T10:30:00+2:00",
            "2025-10-28T10:30:00+0200",
            "2025-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2025-13-01T00:00:00Z",
            "2025-00-01T00:00:00Z",
            "2025-01-00T00:00:00Z",
            "2025-04-31T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "+2025-10-28T10:30:00Z",
            "2025-10-28T10:30:00Z ",
            " 2025-10-28T10:30:00Z",
            "２025-10-28T10:30:00Z",
            "1761647400123",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_a_calendar_cycle_follows_the_day_before() {
        let first = days_of(1969, 1, 1).unwrap();
        let mut expected = (1969, 1, 1);
        for days in first..=first + DAYS_PER_CYCLE {
            assert_eq!(date_of(days), expected);
            assert_eq!(days_of(expected.0, expected.1, expected.2), Some(days));
            let (year, month, day) = expected;
            expected = if day < days_in(year, month) {
                (year, month, day + 1)
            } else if month < 12 {
                (year, month + 1, 1)
            } else {
                (year + 1, 1, 1)
            };
        }
    }

    proptest! {
        #[test]
        fn every_moment_survives_its_text(unix_ms in MIN_MS..=MAX_MS) {
            let text = format(unix_ms);
            prop_assert_eq!(text.len(), 24);
            prop_assert_eq!(parse(&text), Some(unix_ms));
        }

        #[test]
        fn texts_sort_as_their_moments(a in MIN_MS..=MAX_MS, b in MIN_MS..=MAX_MS) {
            prop_assert_eq!(a.cmp(&b), format(a).cmp(&format(b)));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn no_text_of_the_right_shape_panics(
            text in "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,10})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
        ) {
            if let Some(unix_ms) = parse(&text) {
                prop_assert_eq!(parse(&format(unix_ms)), Some(unix_ms));
            }
        }
    }
}
