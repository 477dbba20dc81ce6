//! The canonical JSON of RFC 8785 (JCS): one text for one value, the same for every writer in every language.
//!
//! What others hash, they hash in this form. It differs from [`crate::json::canonical`], the form in which values are
//! stored here, in two ways: keys are sorted by their UTF-16 code units (§3.2.3), and every number is a double, written
//! as ECMAScript writes it (§3.2.2.3).

use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use crate::digest::hex;

const SHA256: &str = "sha256:";

/// Whether the text is `sha256:` and 64 lower-case hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.strip_prefix(SHA256).is_some_and(|digits| {
        digits.len() == 64
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// `sha256:` and the SHA-256 of the value's canonical text, in lower-case hex.
#[must_use]
pub fn digest(value: &Value) -> String {
    format!("{SHA256}{}", hex(&Sha256::digest(text(value))))
}

/// The canonical text of a value. Its keys and strings must hold no lone surrogates, which no [`Value`] does.
#[must_use]
pub fn text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => write_number(number, text),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            text.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(key, text);
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::String(string) => write_string(string, text),
        Value::Null | Value::Bool(_) => text.push_str(&value.to_string()),
    }
}

/// As `serde_json` writes strings, which is what §3.2.2.2 asks for: the short escapes where there are any, `\u00xx` in
/// lower case for other control characters, and everything else as it is.
fn write_string(string: &str, text: &mut String) {
    text.push_str(&serde_json::to_string(string).unwrap_or_default());
}

/// A number as ECMAScript's `Number::toString` writes it (ECMA-262 §6.1.6.1.20): the shortest digits that come back as
/// the same double, with an exponent only from 1e21 up and below 1e-6.
fn write_number(number: &Number, text: &mut String) {
    let double = number.as_f64().unwrap_or_default();
    if double.is_sign_negative() && double != 0.0 {
        text.push('-');
    }
    let (digits, point) = shortest_digits(double.abs());
    let count = i32::try_from(digits.len()).unwrap_or_default();
    if digits.is_empty() {
        text.push('0');
    } else if (count..=21).contains(&point) {
        text.push_str(&digits);
        push_zeros(point.saturating_sub(count), text);
    } else if (1..=21).contains(&point) {
        push_split(&digits, point, text);
    } else if (-5..=0).contains(&point) {
        text.push_str("0.");
        push_zeros(point.saturating_neg(), text);
        text.push_str(&digits);
    } else {
        push_split(&digits, 1, text);
        let exponent = point.saturating_sub(1);
        text.push_str(if exponent < 0 { "e-" } else { "e+" });
        text.push_str(&exponent.unsigned_abs().to_string());
    }
}

/// The shortest digits of a double from 0 up, without zeros at either end, and where the decimal point stands: the
/// value is 0.digits times ten to the power of it.
fn shortest_digits(double: f64) -> (String, i32) {
    let shortest = Number::from_f64(double).map_or_else(String::new, |number| number.to_string());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let zeros = digits.len().saturating_sub(significant.len());
    let point = i32::try_from(whole.len())
        .unwrap_or_default()
        .saturating_sub(i32::try_from(zeros).unwrap_or_default())
        .saturating_add(exponent.parse().unwrap_or_default());
    (significant.trim_end_matches('0').to_owned(), point)
}

/// The digits with a point after so many of them, where any follow.
fn push_split(digits: &str, point: i32, text: &mut String) {
    let (whole, fraction) = usize::try_from(point)
        .ok()
        .and_then(|point| digits.split_at_checked(point))
        .unwrap_or((digits, ""));
    text.push_str(whole);
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
}

fn push_zeros(count: i32, text: &mut String) {
    text.extend((0..count).map(|_| '0'));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use proptest::prelude::*;

    fn canonical(json: &str) -> String {
        text(&json::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn the_example_of_the_rfc_has_the_text_of_the_rfc() {
        // RFC 8785 §3.2.2 and §3.2.3.
        let json = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        assert_eq!(
            canonical(json),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
    }

    #[test]
    fn keys_are_sorted_by_their_utf_16_code_units() {
        // RFC 8785 §3.2.3: the emoji's surrogates stand before U+FB33, though its code point does not.
        let json = r#"{
            "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"
        }"#;
        assert_eq!(
            canonical(json),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
             \"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\
             \"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
        );
    }

    #[test]
    fn the_numbers_of_the_rfc_have_the_texts_of_the_rfc() {
        // RFC 8785 appendix B, without what JSON cannot say.
        for (bits, expected) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let number = Number::from_f64(f64::from_bits(bits)).unwrap();
            let mut shown = String::new();
            write_number(&number, &mut shown);
            assert_eq!(shown, expected, "{bits:#x}");
        }
    }

    #[test]
    fn an_integer_is_the_double_that_its_reader_gets() {
        for (json, expected) in [
            ("9007199254740993", "9007199254740992"),
            ("18446744073709551615", "18446744073709552000"),
            ("-9223372036854775808", "-9223372036854776000"),
            ("123456789012345678901234567890", "1.2345678901234568e+29"),
            ("-0", "0"),
            ("1.0", "1"),
            ("100", "100"),
            ("0.1", "0.1"),
            ("12.5e3", "12500"),
        ] {
            assert_eq!(canonical(json), expected, "{json}");
        }
    }

    #[test]
    fn the_digest_is_that_of_the_canonical_text() {
        // printf '%s' '[{"text":"hello"}]' | sha256sum
        let parts = serde_json::json!([{"text": "hello"}]);
        assert_eq!(
            digest(&parts),
            "sha256:2fd7ab77c1d6b240660be2a179a246368367153e0c5c2920c66b840ac872b2a3"
        );
        assert!(is_digest(&digest(&parts)));
    }

    #[test]
    fn a_digest_is_written_in_one_way() {
        let digits = "0".repeat(64);
        assert!(is_digest(&format!("sha256:{digits}")));
        for text in [
            String::new(),
            digits.clone(),
            format!("SHA256:{digits}"),
            format!("sha256:{digits}0"),
            format!("sha256:{}", "A".repeat(64)),
            format!("sha256:{}", "g".repeat(64)),
            format!("sha512:{digits}"),
        ] {
            assert!(!is_digest(&text), "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The value with each number as the double that it stands for.
    fn as_doubles(value: &Value) -> Value {
        match value {
            Value::Number(number) => Value::from(number.as_f64().unwrap() + 0.0),
            Value::Array(items) => items.iter().map(as_doubles).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), as_doubles(value)))
                .collect(),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn the_text_is_the_value_and_its_own_canonical_text(value in any_json()) {
            let once = text(&value);
            let read = json::parse(once.as_bytes()).unwrap();
            prop_assert_eq!(as_doubles(&read), as_doubles(&value));
            prop_assert_eq!(text(&read), once);
        }

        #[test]
        fn how_a_value_was_written_does_not_matter(value in any_json()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(canonical(&pretty), text(&value));
        }

        #[test]
        fn every_double_comes_back_from_its_text(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            if let Some(number) = Number::from_f64(double) {
                let mut shown = String::new();
                write_number(&number, &mut shown);
                prop_assert_eq!(shown.parse::<f64>().unwrap(), double);
            }
        }
    }
}
