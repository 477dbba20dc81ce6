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

/// The schemas as people read them. What is compiled in is [`COMPACT`].
const COMPONENTS: &[u8] = include_bytes!("openapi/components.json");

/// The same without white space.
static COMPACT: [u8; COMPACT_BYTES] = compact::<COMPACT_BYTES>(COMPONENTS).0;

const COMPACT_BYTES: usize = compact::<{ COMPONENTS.len() }>(COMPONENTS).1;

/// JSON without the white space between its tokens, and its length.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "done by the compiler, which stops at either"
)]
const fn compact<const ROOM: usize>(json: &[u8]) -> ([u8; ROOM], usize) {
    let mut compact = [0; ROOM];
    let (mut read, mut written) = (0, 0);
    let mut in_string = false;
    while read < json.len() {
        let byte = json[read];
        let is_escape = in_string && byte == b'\\';
        if byte == b'"' {
            in_string = !in_string;
        }
        if in_string || !byte.is_ascii_whitespace() {
            compact[written] = byte;
            written += 1;
        }
        read += 1;
        if is_escape {
            compact[written] = json[read];
            written += 1;
            read += 1;
        }
    }
    (compact, written)
}

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
            "description": "A2A 1.0 over HTTP+JSON, the surface of the resident that does the work, and that of native sources. \
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
    let compact = std::str::from_utf8(&COMPACT).unwrap_or_default();
    let mut components: Value = serde_json::from_str(compact).unwrap_or_default();
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
        "responses": responses(route, description),
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
        Access::Principal | Access::Resident | Access::Operator | Access::Source => {
            json!([{"bearer": []}])
        }
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
                    "a2a_agents", "a2a_send_agent", "a2a_read_agent", "a2a_cancel_agent",
                ]},
            }),
            _ => json!({
                "name": name, "in": "path", "required": true,
                "schema": reference("schemas", if name == "source" { "Source" } else { "Identifier" }),
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
        responses.insert(
            "default".into(),
            json!({
                "description": "The message is none, or not taken: a JSON-RPC error.",
                "content": content(JSON, json!({"type": "object"})),
            }),
        );
        return Value::Object(responses);
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

const EVIDENCE_PARAMETERS: &[&str] = &[
    "Principal",
    "TaskId",
    "Kind",
    "From",
    "Before",
    "PageSize",
    "PageToken",
];
const NEGOTIATED: &[&str] = &["A2aVersion", "A2aExtensions"];

const fn a2a(
    parameters: &'static [&'static str],
    body: Option<Body>,
    answer: Answer,
) -> Description {
    Description {
        tag: "a2a",
        parameters,
        body,
        answer,
    }
}

const fn telling(
    tag: &'static str,
    request: &'static str,
    required: bool,
    response: &'static str,
) -> Description {
    Description {
        tag,
        parameters: &[],
        body: body(request, required),
        answer: Answer::Json(JSON, response),
    }
}

const fn resident(request: &'static str, required: bool, response: &'static str) -> Description {
    telling("resident", request, required, response)
}

const fn trusted(request: &'static str, response: &'static str) -> Description {
    telling("trusted", request, true, response)
}

const fn reading(
    tag: &'static str,
    parameters: &'static [&'static str],
    response: &'static str,
) -> Description {
    Description {
        tag,
        parameters,
        body: None,
        answer: Answer::Json(JSON, response),
    }
}

const fn public(answer: Answer) -> Description {
    Description {
        tag: "public",
        parameters: &[],
        body: None,
        answer,
    }
}

const fn body(schema: &'static str, required: bool) -> Option<Body> {
    Some(Body { schema, required })
}

/// Each is data, made when this is compiled.
fn describe(route: &Route) -> &'static Description {
    match route.operation {
        Operation::SendMessage => {
            const {
                &a2a(
                    NEGOTIATED,
                    body("SendMessageRequest", true),
                    Answer::Json(A2A_JSON, "SendMessageResponse"),
                )
            }
        }
        Operation::SendStreamingMessage => {
            const {
                &a2a(
                    NEGOTIATED,
                    body("SendMessageRequest", true),
                    Answer::Stream("StreamResponse"),
                )
            }
        }
        Operation::GetTask => {
            const {
                &a2a(
                    &["HistoryLength", "A2aVersion", "A2aExtensions"],
                    None,
                    Answer::Json(A2A_JSON, "Task"),
                )
            }
        }
        Operation::ListTasks => {
            const {
                &a2a(
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
                )
            }
        }
        Operation::CancelTask => {
            const {
                &a2a(
                    NEGOTIATED,
                    body("TaskRequest", false),
                    Answer::Json(A2A_JSON, "Task"),
                )
            }
        }
        Operation::SubscribeToTask if route.method == Method::Post => {
            const {
                &a2a(
                    NEGOTIATED,
                    body("TaskRequest", false),
                    Answer::Stream("StreamResponse"),
                )
            }
        }
        Operation::SubscribeToTask => {
            const { &a2a(NEGOTIATED, None, Answer::Stream("StreamResponse")) }
        }
        Operation::PushNotificationConfig => const { &a2a(NEGOTIATED, None, Answer::Never("501")) },
        Operation::GetExtendedAgentCard => const { &a2a(NEGOTIATED, None, Answer::Never("400")) },
        Operation::TakeWake => const { &resident("TakeWakeRequest", true, "TakeWakeResponse") },
        Operation::Heartbeat => const { &resident("HeartbeatRequest", false, "HeartbeatResponse") },
        Operation::EndTurn => const { &resident("EndTurnRequest", true, "EndTurnResponse") },
        Operation::CallTool => const { &resident("ToolRequest", true, "ToolResponse") },
        Operation::WatchWakes => {
            const {
                &Description {
                    tag: "resident",
                    parameters: &[],
                    body: None,
                    answer: Answer::Stream("WakeNotice"),
                }
            }
        }
        Operation::Mcp => {
            const {
                &Description {
                    tag: "resident",
                    parameters: &["McpSessionId", "McpProtocolVersion"],
                    body: body("McpMessage", true),
                    answer: Answer::Object,
                }
            }
        }
        Operation::InspectQueue => const { &reading("operator", &[], "Queue") },
        Operation::ListEvidence => {
            const { &reading("operator", EVIDENCE_PARAMETERS, "EvidencePage") }
        }
        Operation::AcceptActivation => const { &trusted("Activation", "Acceptance") },
        Operation::DeclareSource => const { &trusted("SourceDeclaration", "SourceState") },
        Operation::ReadSource => const { &reading("trusted", &[], "SourceState") },
        Operation::AdvanceCheckpoint => const { &trusted("CheckpointAdvance", "SourceState") },
        Operation::ResolveLocator => const { &trusted("LocatorRequest", "TaskInContext") },
        Operation::ReadNativeTask => const { &reading("trusted", &[], "NativeTask") },
        Operation::RecordAnchor => const { &trusted("ReplyAnchor", "ReplyAnchor") },
        Operation::BeginDelivery => const { &trusted("DeliveryRequest", "DeliveryBegun") },
        Operation::SettleDelivery => const { &trusted("DeliveryOutcome", "DeliveryState") },
        Operation::ReconcileDelivery => const { &trusted("DeliveryFinding", "DeliveryState") },
        Operation::RecordEvidence => const { &trusted("SourceEvidence", "EvidenceRecorded") },
        Operation::ListSettlements => {
            const { &reading("trusted", &["Source", "After", "PageSize"], "Settlements") }
        }
        Operation::ListAgents => const { &reading("agents", &[], "Agents") },
        Operation::AddAgent => const { &telling("agents", "AddAgentRequest", true, "Agent") },
        Operation::DiscoverAgents => {
            const { &telling("agents", "DiscoverAgentsRequest", true, "AgentCandidates") }
        }
        Operation::EnableAgent | Operation::DisableAgent => {
            const { &reading("agents", &[], "Agent") }
        }
        Operation::RemoveAgent => const { &reading("agents", &[], "AgentRemoved") },
        Operation::AgentCard => const { &public(Answer::Json(JSON, "AgentCard")) },
        Operation::OpenApi | Operation::Health => const { &public(Answer::Object) },
    }
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
