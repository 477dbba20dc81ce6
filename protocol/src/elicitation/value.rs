//! Whether one value of an answer follows its property of a checked schema.

use serde_json::Value;

use crate::http;
use crate::time;

/// What is wrong with a value that should follow a property of a checked schema.
pub(super) fn problem(property: &Value, value: &Value) -> Option<String> {
    let number = |key: &str| property.get(key).and_then(Value::as_f64);
    match property.get("type").and_then(Value::as_str) {
        Some("boolean") => (!value.is_boolean()).then(|| "must be a boolean".to_owned()),
        Some(kind @ ("number" | "integer")) => {
            let Some(actual) = value.as_f64() else {
                return Some(format!("must be of type {kind}"));
            };
            if kind == "integer" && actual.fract() != 0.0 {
                return Some("must be an integer".to_owned());
            }
            if let Some(minimum) = number("minimum").filter(|minimum| actual < *minimum) {
                return Some(format!("must be at least {minimum}"));
            }
            number("maximum")
                .filter(|maximum| actual > *maximum)
                .map(|maximum| format!("must be at most {maximum}"))
        }
        Some("array") => list_problem(property, value),
        _ => match value.as_str() {
            Some(text) => text_problem(property, text),
            None => Some("must be a string".to_owned()),
        },
    }
}

/// Whether a schema enumerates strings, and this among them. `None` where it enumerates none.
fn enumerates(schema: &Value, text: &str) -> Option<bool> {
    let options = ["enum", "oneOf", "anyOf"]
        .iter()
        .find_map(|key| schema.get(key)?.as_array())?;
    // With a title it is an object, and its value is `const`.
    let is_it = |option: &Value| option.get("const").unwrap_or(option) == text;
    Some(options.iter().any(is_it))
}

fn list_problem(property: &Value, value: &Value) -> Option<String> {
    let of_options = |items: &&Vec<Value>| {
        let options = property.get("items").unwrap_or(&Value::Null);
        items.iter().all(|item| {
            item.as_str()
                .is_some_and(|text| enumerates(options, text) == Some(true))
        })
    };
    let Some(items) = value.as_array().filter(of_options) else {
        return Some("must be a list of the enumerated values".to_owned());
    };
    let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
    let bound = |key: &str| property.get(key).and_then(length);
    if let Some(minimum) = bound("minItems").filter(|minimum| count < *minimum) {
        return Some(format!("must have at least {minimum} items"));
    }
    bound("maxItems")
        .filter(|maximum| count > *maximum)
        .map(|maximum| format!("must have at most {maximum} items"))
}

fn text_problem(property: &Value, text: &str) -> Option<String> {
    if let Some(known) = enumerates(property, text) {
        return (!known).then(|| "must be one of the enumerated values".to_owned());
    }
    let bound = |key: &str| property.get(key).and_then(length);
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if let Some(minimum) = bound("minLength").filter(|minimum| length < *minimum) {
        return Some(format!("must have at least {minimum} characters"));
    }
    if let Some(maximum) = bound("maxLength").filter(|maximum| length > *maximum) {
        return Some(format!("must have at most {maximum} characters"));
    }
    let (valid, expected) = match property.get("format").and_then(Value::as_str) {
        Some("email") => (is_email(text), "must be an e-mail address"),
        Some("uri") => (http::is_uri(text), "must be an absolute URI"),
        Some("date") => (is_date(text), "must be a date, YYYY-MM-DD"),
        Some("date-time") => (
            time::parse(text).is_some(),
            "must be a date and time of RFC 3339, such as 2025-01-01T00:00:00Z",
        ),
        _ => return None,
    };
    (!valid).then(|| expected.to_owned())
}

/// A whole number that is not negative, also when written with a fraction of zero.
pub(super) fn length(value: &Value) -> Option<u64> {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        let whole = float.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&float);
        whole.then(|| format!("{float:.0}").parse().ok()).flatten()
    })
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty()
            && !domain.is_empty()
            && !domain.contains('@')
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

fn is_date(text: &str) -> bool {
    text.len() == "YYYY-MM-DD".len() && time::parse(&format!("{text}T00:00:00Z")).is_some()
}
