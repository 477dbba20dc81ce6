//! Dates as HTTP writes them (RFC 9110 section 5.6.7), in Unix milliseconds.

use crate::time;

const MS_PER_DAY: i64 = 86_400_000;
const MS_PER_SECOND: i64 = 1000;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The text of a moment, such as `Sun, 06 Nov 1994 08:49:37 GMT`. What lies below the second is cut off.
///
/// `unix_ms` is clamped as by [`time::format`].
#[must_use]
pub fn format(unix_ms: i64) -> String {
    let unix_ms = unix_ms.clamp(time::MIN_MS, time::MAX_MS);
    let text = time::format(unix_ms);
    let mut fields = text.split(['-', 'T', '.']);
    let mut field = || fields.next().unwrap_or_default();
    let (year, month, day, clock) = (field(), field(), field(), field());
    let month = month
        .parse::<usize>()
        .ok()
        .and_then(|month| MONTHS.get(month.checked_sub(1)?));
    // Day 0 was a Thursday.
    let weekday = usize::try_from(unix_ms.div_euclid(MS_PER_DAY).rem_euclid(7)).ok();
    format!(
        "{}, {day} {} {year} {clock} GMT",
        weekday.and_then(|day| DAYS.get(day)).unwrap_or(&""),
        month.unwrap_or(&""),
    )
}

/// The moment that a date names; `None` for any other text.
///
/// All three forms are read, as the RFC asks of a recipient. The day of the week is not looked at. A year of two digits
/// is of the years 1970 to 2069.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let mut words = text.split_ascii_whitespace();
    let mut word = || words.next();
    let fields = (word()?, word()?, word()?, word(), word(), word(), word());
    let (day, month, year, clock) = match fields {
        (_, day, month, Some(year), Some(clock), Some("GMT"), None) => {
            (day, month, year.to_owned(), clock)
        }
        (_, date, clock, Some("GMT"), None, None, None) => {
            let (day, rest) = date.split_once('-')?;
            let (month, year) = rest.split_once('-')?;
            let century = if year.len() == 2 && year < "70" {
                "20"
            } else {
                "19"
            };
            (day, month, format!("{century}{year}"), clock)
        }
        (_, month, day, Some(clock), Some(year), None, None) => {
            (day, month, year.to_owned(), clock)
        }
        _ => return None,
    };
    let month = MONTHS
        .iter()
        .position(|name| *name == month)?
        .checked_add(1)?;
    if clock.len() != "00:00:00".len() {
        return None;
    }
    time::parse(&format!("{year}-{month:02}-{day:0>2}T{clock}Z"))
}

/// Whether something last modified at one moment was not modified since another, at HTTP's resolution of a second.
#[must_use]
pub fn is_not_later(last_modified_ms: i64, since_ms: i64) -> bool {
    last_modified_ms.div_euclid(MS_PER_SECOND) <= since_ms.div_euclid(MS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOMENT_MS: i64 = 784_111_777_000;

    #[test]
    fn a_moment_is_written_with_its_weekday_in_gmt() {
        assert_eq!(format(MOMENT_MS), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(format(MOMENT_MS + 999), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(format(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(format(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
        assert_eq!(format(1_709_164_800_000), "Thu, 29 Feb 2024 00:00:00 GMT");
    }

    #[test]
    fn all_three_forms_of_a_date_are_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), Some(MOMENT_MS), "{text}");
        }
        assert_eq!(
            parse("Sunday, 06-Nov-69 08:49:37 GMT")
                .map(format)
                .as_deref(),
            Some("Wed, 06 Nov 2069 08:49:37 GMT")
        );
    }

    #[test]
    fn anything_else_is_no_date() {
        for text in [
            "",
            "1994-11-06T08:49:37Z",
            "784111777",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 GMT x",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37.5 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 06-Nov-\u{e9} 08:49:37 GMT",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn moments_are_compared_by_the_second() {
        assert!(is_not_later(MOMENT_MS + 999, MOMENT_MS));
        assert!(is_not_later(MOMENT_MS, MOMENT_MS + 1000));
        assert!(!is_not_later(MOMENT_MS + 1000, MOMENT_MS));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_without_what_lies_below_the_second(
            moment_ms in time::MIN_MS..=time::MAX_MS,
        ) {
            let second_ms = moment_ms.saturating_sub(moment_ms.rem_euclid(1000));
            prop_assert_eq!(parse(&format(moment_ms)), Some(second_ms));
        }

        #[test]
        fn any_text_is_a_date_or_none(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }
    }
}
