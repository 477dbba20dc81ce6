//! The payloads of `elicitation/v1`: a question with a schema for its answer, and the answer.
//!
//! A request is a data part `{message, requestedSchema}`; its answer is a data part `{action: accept |
//! decline | cancel, content?}` in which `content` goes with `accept` alone. The schema is MCP's flat one
//! ([`RequestedSchema`]). The plain question always stands beside the request, as text.

mod schema;
mod value;

use serde_json::{Map, Value, json};

use crate::error::FieldViolation;
use crate::field_path::{item, member, violation};

pub use schema::{MAX_ENUM, MAX_PROPERTIES, MAX_TEXT_CHARS, RequestedSchema};

/// Most fields that the content of an answer may have.
pub const MAX_CONTENT_FIELDS: usize = 256;

/// The part that asks: the question, and the schema its answer should follow.
#[must_use]
pub fn request_part(message: &str, schema: &RequestedSchema) -> Value {
    json!({
        "data": {"message": message, "requestedSchema": schema.as_value()},
        "mediaType": "application/json",
    })
}

/// What a caller answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The caller gives what was asked for. Follows the requested schema.
    Accept(Map<String, Value>),
    /// The caller says no.
    Decline,
    /// The caller left the question without a choice.
    Cancel,
}

/// Finds the answer among the parts of a message, given as they stand in JSON: the one part whose `data`
/// is an object with an `action`. `None` when the message answers in plain text, which is always allowed.
///
/// # Errors
/// A violation when several parts are answers. `path` is that of the parts, such as `message.parts`.
pub fn find_answer<'v>(
    parts: &'v [Value],
    path: &str,
) -> Result<Option<(usize, &'v Value)>, FieldViolation> {
    let mut answers = parts.iter().enumerate().filter_map(|(index, part)| {
        let data = part.get("data")?;
        data.as_object()?
            .contains_key("action")
            .then_some((index, data))
    });
    let first = answers.next();
    match answers.next() {
        None => Ok(first),
        Some((index, _)) => Err(violation(
            member(&item(path, index), "data"),
            "must be the only part that answers: another part has an action too",
        )),
    }
}

/// Checks an answer against the schema it was asked with. `path` is that of the part's data, such as
/// `message.parts[0].data`. Content fields that the schema does not name are kept, as long as they are
/// strings, numbers, booleans or lists of strings.
///
/// # Errors
/// Each field that is wrong, at most [`crate::error::MAX_VIOLATIONS`] of them.
pub fn check_answer(
    data: &Value,
    schema: &RequestedSchema,
    path: &str,
) -> Result<Answer, Vec<FieldViolation>> {
    let one = |path: String, description: &'static str| vec![violation(path, description)];
    let Some(fields) = data.as_object() else {
        return Err(one(path.to_owned(), "must be an object"));
    };
    if let Some(key) = fields
        .keys()
        .find(|key| !matches!(key.as_str(), "action" | "content"))
    {
        return Err(one(
            member(path, key),
            "is unknown: the fields are action, content",
        ));
    }
    let content = fields.get("content");
    let refused = match fields.get("action").and_then(Value::as_str) {
        Some("accept") => {
            return accepted(content, schema, &member(path, "content")).map(Answer::Accept);
        }
        Some("decline") => Answer::Decline,
        Some("cancel") => Answer::Cancel,
        _ => {
            return Err(one(
                member(path, "action"),
                "must be accept, decline or cancel",
            ));
        }
    };
    match content {
        None => Ok(refused),
        Some(_) => Err(one(
            member(path, "content"),
            "goes with the action accept alone: leave it out",
        )),
    }
}

fn accepted(
    content: Option<&Value>,
    schema: &RequestedSchema,
    path: &str,
) -> Result<Map<String, Value>, Vec<FieldViolation>> {
    let empty = Map::new();
    let content = match content {
        None => &empty,
        Some(content) => content
            .as_object()
            .filter(|content| content.len() <= MAX_CONTENT_FIELDS)
            .ok_or_else(|| {
                vec![violation(
                    path,
                    format!("must be an object of at most {MAX_CONTENT_FIELDS} fields"),
                )]
            })?,
    };
    let violations = schema.check(content, path);
    if violations.is_empty() {
        Ok(content.clone())
    } else {
        Err(violations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DATA: &str = "message.parts[0].data";

    fn schema() -> RequestedSchema {
        RequestedSchema::parse(
            &json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": 5},
                    "email": {"type": "string", "format": "email"},
                    "site": {"type": "string", "format": "uri"},
                    "day": {"type": "string", "format": "date"},
                    "at": {"type": "string", "format": "date-time"},
                    "count": {"type": "integer", "minimum": 1, "maximum": 10},
                    "ratio": {"type": "number", "maximum": 0.5},
                    "ok": {"type": "boolean"},
                    "size": {"type": "string", "enum": ["s", "m"]},
                    "color": {"type": "string", "oneOf": [{"const": "r", "title": "red"}]},
                    "extras": {
                        "type": "array",
                        "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
                        "maxItems": 2,
                    },
                },
                "required": ["name"],
            }),
            "requestedSchema",
        )
        .unwrap()
    }

    fn fields(data: Value) -> Vec<String> {
        match check_answer(&data, &schema(), DATA) {
            Ok(answer) => panic!("accepted: {answer:?}"),
            Err(violations) => violations.into_iter().map(|v| v.field).collect(),
        }
    }

    fn accept(content: Value) -> Value {
        json!({"action": "accept", "content": content})
    }

    #[test]
    fn the_request_part_holds_the_question_and_the_schema() {
        let part = request_part("Which size?", &schema());
        assert_eq!(part["data"]["message"], "Which size?");
        assert_eq!(part["data"]["requestedSchema"]["required"], json!(["name"]));
        assert_eq!(part["mediaType"], "application/json");
    }

    #[test]
    fn decline_and_cancel_have_no_content() {
        let check = |data: Value| check_answer(&data, &schema(), DATA);
        assert_eq!(check(json!({"action": "decline"})), Ok(Answer::Decline));
        assert_eq!(check(json!({"action": "cancel"})), Ok(Answer::Cancel));
        for action in ["decline", "cancel"] {
            assert_eq!(
                fields(json!({"action": action, "content": {}})),
                ["message.parts[0].data.content"]
            );
        }
    }

    #[test]
    fn accepted_content_that_follows_the_schema_is_handed_on() {
        let content = json!({
            "name": "héllo",
            "email": "a@example.com",
            "site": "https://example.com",
            "day": "2024-02-29",
            "at": "2025-01-01T00:00:00+01:00",
            "count": 10,
            "ratio": 0.5,
            "ok": false,
            "size": "m",
            "color": "r",
            "extras": ["b", "a"],
            "unasked": "kept",
        });
        assert_eq!(
            check_answer(&accept(content.clone()), &schema(), DATA),
            Ok(Answer::Accept(content.as_object().unwrap().clone()))
        );
    }

    #[test]
    fn a_whole_number_written_with_a_fraction_is_an_integer() {
        assert!(check_answer(&accept(json!({"name": "x", "count": 2.0})), &schema(), DATA).is_ok());
    }

    #[test]
    fn each_wrong_content_field_is_named() {
        let table = [
            ("name", json!("")),
            ("name", json!("sixsix")),
            ("name", json!(1)),
            ("email", json!("nobody")),
            ("email", json!("a@b@c")),
            ("email", json!("a b@c")),
            ("site", json!("example")),
            ("day", json!("2023-02-29")),
            ("day", json!("2024-2-1")),
            ("day", json!("2024-02-29T00:00:00Z")),
            ("at", json!("2025-01-01 00:00")),
            ("count", json!(0)),
            ("count", json!(11)),
            ("count", json!(1.5)),
            ("count", json!("1")),
            ("ratio", json!(0.51)),
            ("ok", json!("true")),
            ("ok", json!(null)),
            ("size", json!("l")),
            ("unasked", json!({"nested": 1})),
            ("unasked", json!([["nested"]])),
            ("color", json!("red")),
            ("extras", json!("a")),
            ("extras", json!(["a", "c"])),
            ("extras", json!(["a", "b", "a"])),
        ];
        for (field, value) in table {
            let mut content = json!({"name": "x"});
            content[field] = value.clone();
            assert_eq!(
                fields(accept(content)),
                [format!("{DATA}.content.{field}")],
                "{value}"
            );
        }
    }

    #[test]
    fn a_missing_required_field_is_named_even_without_content() {
        for data in [json!({"action": "accept"}), accept(json!({}))] {
            assert_eq!(fields(data), ["message.parts[0].data.content.name"]);
        }
    }

    #[test]
    fn an_answer_of_another_shape_names_the_field() {
        let table = [
            (json!("accept"), ""),
            (json!({}), ".action"),
            (json!({"action": "ok"}), ".action"),
            (json!({"action": true}), ".action"),
            (json!({"action": "Accept", "content": {}}), ".action"),
            (json!({"action": "accept", "contents": {}}), ".contents"),
            (accept(json!([])), ".content"),
            (accept(json!(null)), ".content"),
        ];
        for (data, path) in table {
            assert_eq!(fields(data.clone()), [format!("{DATA}{path}")], "{data}");
        }
    }

    #[test]
    fn the_answer_is_found_among_other_parts() {
        let parts = [
            json!({"text": "here you are"}),
            json!({"data": {"free": "form"}}),
            json!({"data": [1]}),
            json!({"data": {"action": "decline"}}),
        ];
        let (index, data) = find_answer(&parts, "message.parts").unwrap().unwrap();
        assert_eq!((index, data), (3, &json!({"action": "decline"})));
        assert_eq!(find_answer(&parts[..3], "message.parts").unwrap(), None);
    }

    #[test]
    fn two_answers_in_one_message_are_refused() {
        let parts = [
            json!({"data": {"action": "decline"}}),
            json!({"data": {"action": "accept"}}),
        ];
        let violation = find_answer(&parts, "message.parts").unwrap_err();
        assert_eq!(violation.field, "message.parts[1].data");
    }

    proptest! {
        #[test]
        fn any_answer_is_accepted_or_refused_with_a_field(action in "accept|decline|cancel|\\PC{0,6}", name in "\\PC{0,8}", count in any::<f64>()) {
            let data = json!({"action": action, "content": {"name": name, "count": count}});
            if let Err(violations) = check_answer(&data, &schema(), DATA) {
                prop_assert!(!violations.is_empty());
                prop_assert!(violations.iter().all(|v| v.field.starts_with(DATA)));
            }
        }
    }
}
