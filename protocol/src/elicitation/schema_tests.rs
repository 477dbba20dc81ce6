use super::*;
use proptest::prelude::*;
use serde_json::json;

fn parse(schema: &Value) -> Result<RequestedSchema, Vec<FieldViolation>> {
    RequestedSchema::parse(schema, "requestedSchema")
}

fn fields(schema: Value) -> Vec<String> {
    match parse(&schema) {
        Ok(_) => panic!("accepted: {schema}"),
        Err(violations) => violations.into_iter().map(|v| v.field).collect(),
    }
}

fn with_property(property: Value) -> Value {
    json!({"type": "object", "properties": {"p": property}})
}

#[test]
fn every_kind_of_property_of_the_revision_is_accepted() {
    for property in [
        json!({"type": "string"}),
        json!({"type": "string", "title": "T", "description": "D", "minLength": 0, "maxLength": 9}),
        json!({"type": "string", "format": "email"}),
        json!({"type": "string", "format": "uri"}),
        json!({"type": "string", "format": "date"}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
        json!({"type": "number", "minimum": -1.5, "maximum": 1.5}),
        json!({"type": "integer", "minimum": 1, "maximum": 1}),
        json!({"type": "boolean", "default": true}),
        json!({"type": "string", "default": "x"}),
        json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
        json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}], "default": "a"}),
        json!({"type": "number", "default": 0.5}),
        json!({"type": "integer", "minimum": 1, "default": 1}),
        json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}),
        json!({"type": "array", "minItems": 1, "maxItems": 2, "default": ["b"],
               "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}}),
    ] {
        assert!(
            parse(&with_property(property.clone())).is_ok(),
            "{property}"
        );
    }
    assert!(parse(&json!({"type": "object", "properties": {}})).is_ok());
    let dialect = "https://json-schema.org/draft/2020-12/schema";
    assert!(parse(&json!({"$schema": dialect, "type": "object", "properties": {}})).is_ok());
    assert!(
        parse(
            &json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]})
        )
        .is_ok()
    );
}

#[test]
fn a_schema_that_is_not_flat_or_not_of_the_revision_names_the_field() {
    let p = |suffix: &str| format!("requestedSchema.properties.p{suffix}");
    let table = [
        (json!({"type": "object", "properties": {}}), p(".type")),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            p(".items"),
        ),
        (json!({"type": "array"}), p(".items")),
        (
            json!({"type": "array", "items": {"type": "object", "enum": ["a"]}}),
            p(".items"),
        ),
        (
            json!({"type": "array", "items": {"anyOf": [{"const": "a"}]}}),
            p(".items.anyOf[0]"),
        ),
        (
            json!({"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 2, "maxItems": 1}),
            p(".maxItems"),
        ),
        (
            json!({"type": "array", "items": {"type": "string", "enum": ["a"]}, "default": ["b"]}),
            p(".default"),
        ),
        (
            json!({"type": "string", "oneOf": [{"const": 1, "title": "A"}]}),
            p(".oneOf[0].const"),
        ),
        (
            json!({"type": "string", "enum": ["a"], "default": "b"}),
            p(".default"),
        ),
        (json!({"type": "integer", "default": 1.5}), p(".default")),
        (
            json!({"type": "string", "maxLength": 1, "default": "ab"}),
            p(".default"),
        ),
        (json!({"type": ["string", "null"]}), p(".type")),
        (json!({}), p(".type")),
        (json!("string"), p("")),
        (json!({"type": "string", "pattern": "a"}), p(".pattern")),
        (json!({"type": "string", "minimum": 1}), p(".minimum")),
        (json!({"type": "string", "format": "ipv4"}), p(".format")),
        (json!({"type": "string", "minLength": -1}), p(".minLength")),
        (json!({"type": "string", "minLength": 1.5}), p(".minLength")),
        (
            json!({"type": "string", "minLength": 2, "maxLength": 1}),
            p(".maxLength"),
        ),
        (json!({"type": "string", "enum": []}), p(".enum")),
        (json!({"type": "string", "enum": ["a", 1]}), p(".enum[1]")),
        (
            json!({"type": "string", "enum": ["a"], "enumNames": []}),
            p(".enumNames"),
        ),
        (
            json!({"type": "string", "enumNames": ["A"]}),
            p(".enumNames"),
        ),
        (json!({"type": "number", "minimum": "1"}), p(".minimum")),
        (
            json!({"type": "integer", "minimum": 2, "maximum": 1}),
            p(".maximum"),
        ),
        (json!({"type": "integer", "enum": [1]}), p(".enum")),
        (json!({"type": "boolean", "default": 1}), p(".default")),
        (json!({"type": "boolean", "title": 1}), p(".title")),
        (
            json!({"type": "boolean", "description": "d".repeat(MAX_TEXT_CHARS + 1)}),
            p(".description"),
        ),
    ];
    for (property, field) in table {
        let found = fields(with_property(property.clone()));
        assert!(found.contains(&field), "{property}: {found:?}");
    }
}

#[test]
fn a_schema_of_another_shape_names_the_field() {
    let table = [
        (json!(null), ""),
        (json!({"properties": {}}), ".type"),
        (json!({"type": "string", "properties": {}}), ".type"),
        (json!({"type": "object"}), ".properties"),
        (json!({"type": "object", "properties": []}), ".properties"),
        (
            json!({"type": "object", "properties": {}, "required": "a"}),
            ".required",
        ),
        (
            json!({"type": "object", "properties": {}, "required": ["a"]}),
            ".required[0]",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a", "a"]}),
            ".required[1]",
        ),
        (
            json!({"type": "object", "properties": {}, "$defs": {}}),
            "[\"$defs\"]",
        ),
        (
            json!({"type": "object", "properties": {"": {"type": "boolean"}}}),
            ".properties[\"\"]",
        ),
    ];
    for (schema, path) in table {
        assert_eq!(
            fields(schema.clone()),
            [format!("requestedSchema{path}")],
            "{schema}"
        );
    }
}

#[test]
fn sizes_are_bounded() {
    let properties: Map<String, Value> = (0..=MAX_PROPERTIES)
        .map(|n| (format!("p{n}"), json!({"type": "boolean"})))
        .collect();
    assert_eq!(
        fields(json!({"type": "object", "properties": properties})),
        ["requestedSchema.properties"]
    );
    let values = vec!["x"; MAX_ENUM + 1];
    assert_eq!(
        fields(with_property(json!({"type": "string", "enum": values}))),
        ["requestedSchema.properties.p.enum"]
    );
    let wrong: Map<String, Value> = (0..MAX_PROPERTIES)
        .map(|n| (format!("p{n}"), json!(0)))
        .collect();
    assert_eq!(
        fields(json!({"type": "object", "properties": wrong})).len(),
        MAX_VIOLATIONS
    );
}

#[test]
fn a_schema_is_stored_as_itself_and_checked_when_it_is_read() {
    let schema = with_property(json!({"type": "boolean"}));
    let parsed = parse(&schema).unwrap();
    assert_eq!(serde_json::to_value(&parsed).unwrap(), schema);
    assert_eq!(
        serde_json::from_value::<RequestedSchema>(schema).unwrap(),
        parsed
    );
    let error = serde_json::from_value::<RequestedSchema>(json!({"type": "object"})).unwrap_err();
    assert!(error.to_string().starts_with("requestedSchema.properties"));
}

proptest! {
    #[test]
    fn any_property_is_accepted_or_named(kind in "string|number|integer|boolean|object|\\PC{0,5}", key in "title|minLength|minimum|enum|format|default|\\PC{0,5}", value in prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!(1.5)), Just(json!("x")), Just(json!(["x"])), Just(json!({}))]) {
        let mut property = json!({"type": kind});
        property[key] = value;
        if let Err(violations) = parse(&with_property(property)) {
            prop_assert!(!violations.is_empty());
            prop_assert!(violations.iter().all(|v| v.field.starts_with("requestedSchema.properties.p")));
        }
    }
}
