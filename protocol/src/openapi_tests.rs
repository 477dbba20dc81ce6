use super::*;
use crate::{ids, mcp, message, part, query, send, state};
use std::collections::HashSet;

fn parsed() -> Value {
    serde_json::from_str(&document("https://agent.example")).unwrap()
}

fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            found.push((method.clone(), path.clone(), operation.clone()));
        }
    }
    found
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(target) if key == "$ref" => found.push(target.clone()),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_route_with_a_named_method_is_in_the_document_under_its_id() {
    let document = parsed();
    for route in ROUTES.iter().filter(|route| route.method != Method::Any) {
        let method = route.method.as_str().to_lowercase();
        let operation = &document["paths"][route.pattern][&method];
        assert_eq!(operation["operationId"], route.id, "{route:?}");
    }
}

#[test]
fn what_is_compiled_in_is_what_people_read_and_nothing_between_it() {
    let read: Value = serde_json::from_slice(COMPONENTS).unwrap();
    let compacted: Value = serde_json::from_slice(&COMPACT).unwrap();
    assert_eq!(compacted, read);
    assert_eq!(COMPACT.len(), read.to_string().len());
    let (escaped, length) = compact::<32>(br#" { "a \" b\\" : [ 1 , " " ] } "#);
    assert_eq!(&escaped[..length], br#"{"a \" b\\":[1," "]}"#);
}

#[test]
fn every_reference_leads_somewhere() {
    let document = parsed();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for target in found {
        let pointer = target.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{target}");
    }
}

#[test]
fn every_component_is_used() {
    let document = parsed();
    let mut found = Vec::new();
    references(&document, &mut found);
    let used: HashSet<_> = found.into_iter().collect();
    for section in ["parameters", "responses", "schemas"] {
        for name in document["components"][section].as_object().unwrap().keys() {
            let target = format!("#/components/{section}/{name}");
            assert!(used.contains(&target), "{target}");
        }
    }
}

#[test]
fn every_operation_declares_its_path_parameters_a_summary_and_a_response() {
    for (method, path, operation) in operations(&parsed()) {
        let names: Vec<_> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
            .collect();
        let expected: Vec<_> = path
            .split('{')
            .skip(1)
            .map(|rest| rest.split_once('}').unwrap().0.to_owned())
            .collect();
        assert_eq!(names, expected, "{method} {path}");
        assert!(operation["summary"].as_str().unwrap().ends_with('.'));
        assert!(!operation["responses"].as_object().unwrap().is_empty());
    }
}

#[test]
fn public_operations_need_no_token_and_all_others_do() {
    for (method, path, operation) in operations(&parsed()) {
        let public =
            ["/.well-known/agent-card.json", "/openapi.json", "/healthz"].contains(&path.as_str());
        let security = operation["security"].as_array().unwrap();
        assert_eq!(security.is_empty(), public, "{method} {path}");
    }
}

#[test]
fn the_versions_of_mcp_are_those_that_are_spoken() {
    let document = parsed();
    let versions = &document["components"]["parameters"]["McpProtocolVersion"]["schema"];
    assert_eq!(versions["enum"], json!(mcp::VERSIONS));
}

#[test]
fn the_document_names_the_version_of_openapi_and_the_server() {
    let document = parsed();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(
        document["servers"],
        json!([{"url": "https://agent.example"}])
    );
}

#[test]
fn the_errors_list_every_reason() {
    let document = parsed();
    let reasons = &document["components"]["schemas"]["ErrorInfo"]["properties"]["reason"];
    assert_eq!(reasons["enum"].as_array().unwrap().len(), Reason::ALL.len());
}

#[test]
fn the_bounds_of_the_schemas_are_those_of_the_code() {
    let document = parsed();
    let at = |pointer: &str| {
        document
            .pointer(&format!("/components{pointer}"))
            .unwrap_or_else(|| panic!("{pointer}"))
            .clone()
    };
    let message = "/schemas/Message/properties";
    assert_eq!(at(&format!("{message}/parts/maxItems")), part::MAX_PARTS);
    assert_eq!(
        at(&format!("{message}/extensions/maxItems")),
        message::MAX_EXTENSIONS
    );
    assert_eq!(
        at(&format!("{message}/referenceTaskIds/maxItems")),
        message::MAX_REFERENCES
    );
    let part = "/schemas/Part/properties";
    assert_eq!(
        at(&format!("{part}/filename/maxLength")),
        part::MAX_FILENAME_BYTES
    );
    assert_eq!(
        at(&format!("{part}/mediaType/maxLength")),
        part::MAX_MEDIA_TYPE_BYTES
    );
    let configuration = "/schemas/SendMessageConfiguration/properties";
    assert_eq!(
        at(&format!("{configuration}/acceptedOutputModes/maxItems")),
        send::MAX_OUTPUT_MODES
    );
    assert_eq!(
        at("/parameters/PageSize/schema/maximum"),
        query::MAX_PAGE_SIZE
    );
    assert_eq!(
        at("/parameters/PageSize/schema/default"),
        query::DEFAULT_PAGE_SIZE
    );
    let pattern = at("/schemas/Identifier/pattern");
    assert!(
        pattern
            .as_str()
            .unwrap()
            .contains(&format!("{}}}", ids::MAX_BYTES - 1))
    );
    let states: Vec<_> = state::ALL.iter().map(state::as_wire).collect();
    assert_eq!(at("/schemas/TaskState/enum"), json!(states));
}
