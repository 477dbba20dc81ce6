//! The trace that a request belongs to, by its `traceparent` header (W3C Trace Context, section 3.2).

/// The header.
pub const HEADER: &str = "traceparent";

/// The trace id of a valid header, 32 lower-case hexadecimal digits; `None` for anything else, which the standard has
/// ignored.
///
/// A version that is not known yet may say more behind the four fields that are.
#[must_use]
pub fn trace_id(header: &str) -> Option<&str> {
    let (version, rest) = header.split_once('-')?;
    let (trace_id, rest) = rest.split_once('-')?;
    let (parent_id, rest) = rest.split_once('-')?;
    let flags = match (version, rest.split_once('-')) {
        ("00", Some(_)) => return None,
        (_, Some((flags, _))) => flags,
        (_, None) => rest,
    };
    let is_valid = is_hex(version, 2)
        && version != "ff"
        && is_hex(trace_id, 32)
        && !is_zero(trace_id)
        && is_hex(parent_id, 16)
        && !is_zero(parent_id)
        && is_hex(flags, 2);
    is_valid.then_some(trace_id)
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_zero(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn the_trace_id_is_the_second_field() {
        for header in [
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later",
        ] {
            assert_eq!(trace_id(header), Some(TRACE), "{header}");
        }
    }

    #[test]
    fn an_invalid_header_names_no_trace() {
        for header in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(trace_id(header), None, "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_header_names_a_trace_of_32_digits_or_none(header in "[0-9a-f-]{0,70}|\\PC{0,70}") {
            prop_assert!(trace_id(&header).is_none_or(|id| id.len() == 32));
        }
    }
}
