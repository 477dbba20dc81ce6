//! The OpenAPI 3.1 document of this endpoint, made from the table of routes.
//!
//! Paths, methods, names and access come from [`ROUTES`]; what an operation reads and answers with is
//! said by `describe`; the schemas stand in `openapi/components.json`. The reasons that an error may
//! have are filled in from [`Reason`].

use serde_json::{Map, Value, json};

use crate::error::Reason;
use crate::http::{A2A_JSON, JSON};
use crate::routes::{Access, Method, Operation, ROUTES, Route};
use crate::sse;

const COMPONENTS: &str = include_str!("openapi/components.json");

/// The document as JSON text, for an endpoint at `url` (see [`crate::card::interface_url`]).
#[must_use]
pub fn document(url: &str) -> String {
    let mut paths: Map<String, Value> = Map::new();
    // A row for every method is not a method of the document; the named verbs stand beside it.
    for route in ROUTES.iter().filter(|route| route.method != Method::Any) {
        let item = paths
            .entry(route.pattern)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(item) = item {
            let method = route.method.as_str().to_ascii_lowercase();
            item.insert(method, operation(route));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "A2A endpoint",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A2A 1.0 over HTTP+JSON, and the surface of the resident that does the work. \
                            Wherever GET is answered HEAD is too, and OPTIONS everywhere.",
        },
        "servers": [{"url": url}],
        "paths": paths,
        "components": components(),
    })
    .to_string()
}

fn components() -> Value {
    // Embedded at build time and read by the tests, so it is there.
    let mut components: Value = serde_json::from_str(COMPONENTS).unwrap_or_default();
    let reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    if let Some(reason) = components.pointer_mut("/schemas/ErrorInfo/properties/reason") {
        *reason = json!({"type": "string", "enum": reasons});
    }
    components
}

fn operation(route: &Route) -> Value {
    let description = describe(route);
    let parameters: Vec<Value> = path_parameters(route.pattern)
        .chain(
            description
                .parameters
                .iter()
                .map(|name| reference("parameters", name)),
        )
        .collect();
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "tags": [description.tag],
        "security": security(route.access),
        "responses": responses(route, &description),
    });
    if let Value::Object(fields) = &mut operation {
        if !parameters.is_empty() {
            fields.insert("parameters".into(), Value::Array(parameters));
        }
        if let Some(body) = &description.body {
            fields.insert("requestBody".into(), request_body(body));
        }
    }
    operation
}

fn security(access: Access) -> Value {
    match access {
        Access::Public => json!([]),
        Access::Principal | Access::Resident | Access::Operator => json!([{"bearer": []}]),
        Access::TurnOrResident => json!([{"turn": []}, {"bearer": []}]),
    }
}

fn path_parameters(pattern: &'static str) -> impl Iterator<Item = Value> {
    pattern
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.split_once('}'))
        .map(|(name, _)| match name {
            "tool" => json!({
                "name": name, "in": "path", "required": true,
                "schema": {"type": "string", "enum": [
                    "a2a_read_task", "a2a_complete_task", "a2a_record_output", "a2a_append_response",
                    "a2a_report_progress", "a2a_require_input",
                ]},
            }),
            _ => json!({
                "name": name, "in": "path", "required": true,
                "schema": {"$ref": "#/components/schemas/Identifier"},
            }),
        })
}

fn reference(section: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{section}/{name}")})
}

fn request_body(body: &Body) -> Value {
    let schema = reference("schemas", body.schema);
    json!({
        "required": body.required,
        "content": {
            A2A_JSON: {"schema": schema},
            JSON: {"schema": schema},
        },
    })
}

fn responses(route: &Route, description: &Description) -> Value {
    let content = |media_type: &str, schema: Value| json!({media_type: {"schema": schema}});
    let mut responses = Map::new();
    let (status, success) = match description.answer {
        Answer::Json(media_type, schema) => (
            "200",
            json!({"description": "Done.", "content": content(media_type, reference("schemas", schema))}),
        ),
        Answer::Stream(frame) => (
            "200",
            json!({
                "description": format!("Frames `data: {{json}}`, each a {frame}."),
                "content": content(sse::CONTENT_TYPE, json!({
                    "type": "string",
                    "contentMediaType": JSON,
                    "contentSchema": reference("schemas", frame),
                })),
            }),
        ),
        Answer::Object => (
            "200",
            json!({"description": "Done.", "content": content(JSON, json!({"type": "object"}))}),
        ),
        Answer::Never(status) => (status, reference("responses", "Error")),
    };
    responses.insert(status.into(), success);
    if route.operation == Operation::TakeWake {
        responses.insert(
            "204".into(),
            json!({"description": "No wake came in time."}),
        );
    }
    if route.operation == Operation::Mcp {
        responses.insert(
            "202".into(),
            json!({"description": "The message wants no answer."}),
        );
        for refused in ["400", "413"] {
            responses.insert(
                refused.into(),
                json!({
                    "description": "The message is none, or not taken: a JSON-RPC error.",
                    "content": content(JSON, json!({"type": "object"})),
                }),
            );
        }
    }
    if matches!(route.operation, Operation::AgentCard | Operation::OpenApi) {
        responses.insert(
            "304".into(),
            json!({"description": "The document is the one that the caller holds."}),
        );
    }
    responses.insert("default".into(), reference("responses", "Error"));
    Value::Object(responses)
}

struct Body {
    schema: &'static str,
    required: bool,
}

enum Answer {
    /// A body of this media type and schema.
    Json(&'static str, &'static str),
    /// A stream of frames of this schema.
    Stream(&'static str),
    /// Some JSON object.
    Object,
    /// Nothing but this error.
    Never(&'static str),
}

struct Description {
    tag: &'static str,
    parameters: &'static [&'static str],
    body: Option<Body>,
    answer: Answer,
}

const NEGOTIATED: &[&str] = &["A2aVersion", "A2aExtensions"];

fn describe(route: &Route) -> Description {
    let a2a = |parameters, body, answer| Description {
        tag: "a2a",
        parameters,
        body,
        answer,
    };
    let resident = |request, required, response| Description {
        tag: "resident",
        parameters: &[],
        body: Some(Body {
            schema: request,
            required,
        }),
        answer: Answer::Json(JSON, response),
    };
    let public = |answer| Description {
        tag: "public",
        parameters: &[],
        body: None,
        answer,
    };
    let body = |schema, required| Some(Body { schema, required });
    match route.operation {
        Operation::SendMessage => a2a(
            NEGOTIATED,
            body("SendMessageRequest", true),
            Answer::Json(A2A_JSON, "SendMessageResponse"),
        ),
        Operation::SendStreamingMessage => a2a(
            NEGOTIATED,
            body("SendMessageRequest", true),
            Answer::Stream("StreamResponse"),
        ),
        Operation::GetTask => a2a(
            &["HistoryLength", "A2aVersion", "A2aExtensions"],
            None,
            Answer::Json(A2A_JSON, "Task"),
        ),
        Operation::ListTasks => a2a(
            &[
                "ContextId",
                "Status",
                "StatusTimestampAfter",
                "PageSize",
                "PageToken",
                "HistoryLength",
                "IncludeArtifacts",
                "A2aVersion",
                "A2aExtensions",
            ],
            None,
            Answer::Json(A2A_JSON, "ListTasksResponse"),
        ),
        Operation::CancelTask => a2a(
            NEGOTIATED,
            body("TaskRequest", false),
            Answer::Json(A2A_JSON, "Task"),
        ),
        Operation::SubscribeToTask => {
            let body = match route.method {
                Method::Post => body("TaskRequest", false),
                _ => None,
            };
            a2a(NEGOTIATED, body, Answer::Stream("StreamResponse"))
        }
        Operation::PushNotificationConfig => a2a(NEGOTIATED, None, Answer::Never("501")),
        Operation::GetExtendedAgentCard => a2a(NEGOTIATED, None, Answer::Never("400")),
        Operation::TakeWake => resident("TakeWakeRequest", true, "TakeWakeResponse"),
        Operation::Heartbeat => resident("HeartbeatRequest", false, "HeartbeatResponse"),
        Operation::EndTurn => resident("EndTurnRequest", true, "EndTurnResponse"),
        Operation::CallTool => resident("ToolRequest", true, "ToolResponse"),
        Operation::WatchWakes => Description {
            tag: "resident",
            parameters: &[],
            body: None,
            answer: Answer::Stream("WakeNotice"),
        },
        Operation::Mcp => Description {
            tag: "resident",
            parameters: &["McpSessionId", "McpProtocolVersion"],
            body: body("McpMessage", true),
            answer: Answer::Object,
        },
        Operation::InspectQueue => Description {
            tag: "operator",
            parameters: &[],
            body: None,
            answer: Answer::Json(JSON, "Queue"),
        },
        Operation::AgentCard => public(Answer::Json(JSON, "AgentCard")),
        Operation::OpenApi | Operation::Health => public(Answer::Object),
    }
}

#[cfg(test)]
mod tests {
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
            let public = ["/.well-known/agent-card.json", "/openapi.json", "/healthz"]
                .contains(&path.as_str());
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
}
