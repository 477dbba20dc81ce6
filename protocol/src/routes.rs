//! The one table of routes. The router matches from it, a 405 takes its `Allow` from it, and
//! [`crate::openapi`] is made from it, so the three cannot disagree.
//!
//! Paths are matched as they arrived, before percent-decoding: a raw `:` in a segment always starts a
//! verb, so `/tasks/{id}:anything` never falls through to the plain read, while an encoded `%3A` belongs
//! to the id. There is no tenant in this agent's card, so `/{tenant}/…` is no route at all.

use std::borrow::Cow;

use crate::credentials::Role;
use crate::http;

/// Longest path that is looked at, in bytes. A longer one is [`Match::NotFound`].
pub const MAX_PATH_BYTES: usize = 2048;

/// The operations served. A2A's carry the specification's names (section 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The public Agent Card, section 8.2.
    AgentCard,
    /// Section 3.1.1.
    SendMessage,
    /// Section 3.1.2.
    SendStreamingMessage,
    /// Section 3.1.3.
    GetTask,
    /// Section 3.1.4.
    ListTasks,
    /// Section 3.1.5.
    CancelTask,
    /// Section 3.1.6. By `GET` as the proto says, and by `POST` as the prose says.
    SubscribeToTask,
    /// Sections 3.1.7 to 3.1.10, every verb: the card declares no push notifications.
    PushNotificationConfig,
    /// Section 3.1.11.
    GetExtendedAgentCard,
    /// The resident waits for the next wake.
    TakeWake,
    /// The resident, or the turn itself, renews the lease.
    Heartbeat,
    /// The resident gives its turn back.
    EndTurn,
    /// One of the tools of a turn.
    CallTool,
    /// The resident waits for wakes at an event stream.
    WatchWakes,
    /// The same surface for agents that speak the Model Context Protocol.
    Mcp,
    /// An operator looks at a resident's queue.
    InspectQueue,
    /// This interface, described.
    OpenApi,
    /// Whether the Worker answers.
    Health,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Anybody; neither token nor version is asked for.
    Public,
    /// A principal: role `client` or `trusted`.
    Principal,
    /// The resident's own token.
    Resident,
    /// The token of the turn in question, or the resident's own.
    TurnOrResident,
    /// An operator.
    Operator,
}

impl Access {
    /// Whether a credential of this role may call the route. A turn token is no credential: it is
    /// checked apart, on [`Access::TurnOrResident`] alone.
    #[must_use]
    pub fn permits(self, role: Role) -> bool {
        match self {
            Self::Public => true,
            Self::Principal => matches!(role, Role::Client | Role::Trusted),
            Self::Resident | Self::TurnOrResident => role == Role::Resident,
            Self::Operator => role == Role::Operator,
        }
    }
}

/// The method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`, and `HEAD`, which is answered alike but without a body (RFC 9110 section 9.3.2).
    Get,
    /// `POST`
    Post,
    /// `DELETE`
    Delete,
    /// Every method but `OPTIONS`, standard or not. Such a route is never a 405.
    Any,
}

impl Method {
    /// The method as it stands in a request line, `*` for [`Method::Any`].
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Any => "*",
        }
    }

    fn accepts(self, method: &str) -> bool {
        self == Self::Any || self.as_str() == method || (self == Self::Get && method == "HEAD")
    }

    /// The methods of a row, as `Allow` names them.
    const fn named(self) -> &'static [&'static str] {
        match self {
            Self::Get => &["GET", "HEAD"],
            Self::Post => &["POST"],
            Self::Delete => &["DELETE"],
            Self::Any => &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The method it answers.
    pub method: Method,
    /// The path: literal segments, or `{name}` with an optional `:verb`.
    pub pattern: &'static str,
    /// What it does.
    pub operation: Operation,
    /// Its name in the OpenAPI document; unique.
    pub id: &'static str,
    /// Who may call it.
    pub access: Access,
    /// One sentence for the OpenAPI document.
    pub summary: &'static str,
}

macro_rules! routes {
    ($($method:ident $pattern:literal => $operation:ident as $id:literal for $access:ident: $summary:literal;)*) => {
        /// Every route, in the order in which they are tried.
        pub const ROUTES: &[Route] = &[$(Route {
            method: Method::$method,
            pattern: $pattern,
            operation: Operation::$operation,
            id: $id,
            access: Access::$access,
            summary: $summary,
        }),*];
    };
}

routes! {
    Post "/message:send" => SendMessage as "SendMessage" for Principal:
        "Send a message; wait until its task settles unless configuration.returnImmediately.";
    Post "/message:stream" => SendStreamingMessage as "SendStreamingMessage" for Principal:
        "Send a message and stream its task over server-sent events until it settles.";
    Get "/tasks/{id}" => GetTask as "GetTask" for Principal:
        "Read one task as it is now.";
    Get "/tasks" => ListTasks as "ListTasks" for Principal:
        "List the caller's tasks, newest status first.";
    Post "/tasks/{id}:cancel" => CancelTask as "CancelTask" for Principal:
        "Cancel a task that is not terminal.";
    Get "/tasks/{id}:subscribe" => SubscribeToTask as "SubscribeToTask" for Principal:
        "Stream a task over server-sent events until it is terminal.";
    Post "/tasks/{id}:subscribe" => SubscribeToTask as "SubscribeToTaskByPost" for Principal:
        "The same as the GET, for clients built to the specification's prose.";
    Get "/.well-known/agent-card.json" => AgentCard as "GetAgentCard" for Public:
        "The public Agent Card.";
    Get "/extendedAgentCard" => GetExtendedAgentCard as "GetExtendedAgentCard" for Principal:
        "Not supported: the card declares no extended card.";
    Get "/resident/v1/wakes" => WatchWakes as "WatchWakes" for Resident:
        "Stream a notice whenever a wake may be taken, over server-sent events.";
    Post "/resident/v1/wakes:take" => TakeWake as "TakeWake" for Resident:
        "Wait for the next wake and take its turn.";
    Post "/resident/v1/turns/{turnId}:heartbeat" => Heartbeat as "Heartbeat" for TurnOrResident:
        "Renew the lease of a turn, and learn whether it is still live.";
    Post "/resident/v1/turns/{turnId}:end" => EndTurn as "EndTurn" for Resident:
        "End a turn.";
    Post "/resident/v1/tools/{tool}" => CallTool as "CallTool" for TurnOrResident:
        "Call one of the tools of a turn.";
    Post "/mcp" => Mcp as "Mcp" for TurnOrResident:
        "The resident surface over the Model Context Protocol, Streamable HTTP.";
    Get "/operator/v1/queues/{resident}" => InspectQueue as "InspectQueue" for Operator:
        "How much waits for a resident, and what its turn is doing.";
    Post "/tasks/{taskId}/pushNotificationConfigs" => PushNotificationConfig
        as "CreateTaskPushNotificationConfig" for Principal:
        "Not supported: the card declares no push notifications.";
    Get "/tasks/{taskId}/pushNotificationConfigs" => PushNotificationConfig
        as "ListTaskPushNotificationConfigs" for Principal:
        "Not supported: the card declares no push notifications.";
    Any "/tasks/{taskId}/pushNotificationConfigs" => PushNotificationConfig
        as "TaskPushNotificationConfigs" for Principal:
        "Not supported: the card declares no push notifications.";
    Get "/tasks/{taskId}/pushNotificationConfigs/{id}" => PushNotificationConfig
        as "GetTaskPushNotificationConfig" for Principal:
        "Not supported: the card declares no push notifications.";
    Delete "/tasks/{taskId}/pushNotificationConfigs/{id}" => PushNotificationConfig
        as "DeleteTaskPushNotificationConfig" for Principal:
        "Not supported: the card declares no push notifications.";
    Any "/tasks/{taskId}/pushNotificationConfigs/{id}" => PushNotificationConfig
        as "TaskPushNotificationConfig" for Principal:
        "Not supported: the card declares no push notifications.";
    Get "/openapi.json" => OpenApi as "GetOpenApi" for Public:
        "This document.";
    Get "/healthz" => Health as "GetHealth" for Public:
        "Answers while the Worker runs; touches no object.";
}

const OPTIONS: &str = "OPTIONS";

const MAX_PARAMS: usize = 2;

/// What the `{name}` segments of a pattern stood for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Params<'a>([Option<(&'static str, &'a str)>; MAX_PARAMS]);

impl<'a> Params<'a> {
    /// The segment as it arrived, still percent-encoded; never empty.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        self.0
            .iter()
            .flatten()
            .find_map(|(key, value)| (*key == name).then_some(*value))
    }

    /// The segment percent-decoded. `None` also when its encoding is broken or is no UTF-8: no id
    /// has such a name, so the caller answers as for an unknown one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        http::decode_segment(self.raw(name)?)
    }

    fn push(&mut self, name: &'static str, value: &'a str) -> bool {
        match self.0.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => {
                *slot = Some((name, value));
                true
            }
            None => false,
        }
    }
}

/// What a method and a path lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match<'a> {
    /// A route.
    Found {
        /// The route's name in the OpenAPI document.
        id: &'static str,
        /// What to do.
        operation: Operation,
        /// Who may.
        access: Access,
        /// On what.
        params: Params<'a>,
    },
    /// `OPTIONS` of a path that exists: what it answers to, told to anybody.
    Options {
        /// The methods of the path, in the table's order and without `OPTIONS`.
        methods: String,
    },
    /// The path exists for other methods: 405.
    MethodNotAllowed {
        /// The methods of the path, in the table's order and without `OPTIONS`.
        methods: String,
    },
    /// 404.
    NotFound,
}

/// Finds the route of a request.
///
/// `path` is the raw path with its leading `/` and without its query; `method` is
/// compared as it is, since methods are case-sensitive (RFC 9110 section 9.1).
#[must_use]
pub fn match_route<'a>(method: &str, path: &'a str) -> Match<'a> {
    if path.len() > MAX_PATH_BYTES {
        return Match::NotFound;
    }
    let is_options = method == OPTIONS;
    let mut named: Vec<&'static str> = Vec::new();
    for route in ROUTES {
        let Some(params) = match_pattern(route.pattern, path) else {
            continue;
        };
        if !is_options && route.method.accepts(method) {
            return Match::Found {
                id: route.id,
                operation: route.operation,
                access: route.access,
                params,
            };
        }
        for method in route.method.named() {
            if !named.contains(method) {
                named.push(method);
            }
        }
    }
    let methods = named.join(", ");
    match (named.is_empty(), is_options) {
        (true, _) => Match::NotFound,
        (false, true) => Match::Options { methods },
        (false, false) => Match::MethodNotAllowed { methods },
    }
}

/// The value of `Allow` for a path with these methods.
#[must_use]
pub fn allow(methods: &str) -> String {
    format!("{methods}, {OPTIONS}")
}

fn match_pattern<'a>(pattern: &'static str, path: &'a str) -> Option<Params<'a>> {
    let mut params = Params::default();
    let mut segments = path.split('/');
    for expected in pattern.split('/') {
        let segment = segments.next()?;
        let Some((name, verb)) = expected
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
        else {
            if expected == segment {
                continue;
            }
            return None;
        };
        let value = segment.strip_suffix(verb)?;
        if value.is_empty() || value.contains(':') || !params.push(name, value) {
            return None;
        }
    }
    segments.next().is_none().then_some(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn found(method: &str, path: &str) -> Option<Operation> {
        match match_route(method, path) {
            Match::Found { operation, .. } => Some(operation),
            _ => None,
        }
    }

    #[test]
    fn each_operation_is_found_at_its_method_and_path() {
        let table = [
            ("GET", "/.well-known/agent-card.json", Operation::AgentCard),
            ("HEAD", "/.well-known/agent-card.json", Operation::AgentCard),
            ("POST", "/message:send", Operation::SendMessage),
            ("POST", "/message:stream", Operation::SendStreamingMessage),
            ("GET", "/tasks", Operation::ListTasks),
            ("GET", "/tasks/t-1", Operation::GetTask),
            ("POST", "/tasks/t-1:cancel", Operation::CancelTask),
            ("GET", "/tasks/t-1:subscribe", Operation::SubscribeToTask),
            ("POST", "/tasks/t-1:subscribe", Operation::SubscribeToTask),
            ("GET", "/extendedAgentCard", Operation::GetExtendedAgentCard),
            ("POST", "/resident/v1/wakes:take", Operation::TakeWake),
            (
                "POST",
                "/resident/v1/turns/u-1:heartbeat",
                Operation::Heartbeat,
            ),
            ("POST", "/resident/v1/turns/u-1:end", Operation::EndTurn),
            (
                "POST",
                "/resident/v1/tools/a2a_read_task",
                Operation::CallTool,
            ),
            ("GET", "/openapi.json", Operation::OpenApi),
            ("GET", "/healthz", Operation::Health),
        ];
        for (method, path, operation) in table {
            assert_eq!(found(method, path), Some(operation), "{method} {path}");
        }
    }

    #[test]
    fn push_notification_configs_answer_every_method() {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "PURGE"] {
            for path in [
                "/tasks/t/pushNotificationConfigs",
                "/tasks/t/pushNotificationConfigs/c",
            ] {
                assert_eq!(
                    found(method, path),
                    Some(Operation::PushNotificationConfig),
                    "{method} {path}"
                );
            }
        }
    }

    #[test]
    fn an_unknown_verb_on_a_task_is_not_found_and_never_the_plain_read() {
        for path in [
            "/tasks/t-1:anything",
            "/tasks/t-1:",
            "/tasks/t-1:cancel:subscribe",
            "/tasks/t-1:cancel:",
            "/tasks/t-1:Cancel",
            "/tasks/:cancel",
            "/tasks/message:send",
        ] {
            for method in ["GET", "POST"] {
                assert_eq!(
                    match_route(method, path),
                    Match::NotFound,
                    "{method} {path}"
                );
            }
        }
    }

    #[test]
    fn an_encoded_colon_belongs_to_the_id() {
        let Match::Found {
            operation, params, ..
        } = match_route("GET", "/tasks/a%3Acancel")
        else {
            panic!("not found");
        };
        assert_eq!(operation, Operation::GetTask);
        assert_eq!(params.raw("id"), Some("a%3Acancel"));
        assert_eq!(params.get("id").as_deref(), Some("a:cancel"));
    }

    #[test]
    fn a_segment_that_does_not_decode_is_no_id() {
        for path in ["/tasks/%", "/tasks/%zz", "/tasks/%ff"] {
            let Match::Found { params, .. } = match_route("GET", path) else {
                panic!("not found");
            };
            assert_eq!(params.get("id"), None, "{path}");
        }
    }

    #[test]
    fn a_tenant_prefix_a_trailing_slash_and_a_doubled_slash_are_not_found() {
        for path in [
            "/acme/tasks",
            "/acme/message:send",
            "/acme/tasks/t-1:cancel",
            "/tasks/",
            "/tasks//",
            "//tasks",
            "/",
            "",
            "tasks",
            "/tasks/t-1/pushNotificationConfigs/",
            "/tasks/t-1/pushNotificationConfigs/c/d",
            "/resident/v1/tools/",
            "/resident/v1/turns/u-1",
        ] {
            assert_eq!(match_route("GET", path), Match::NotFound, "{path}");
        }
    }

    #[test]
    fn another_method_on_a_known_path_learns_the_allowed_ones() {
        let table = [
            ("GET", "/message:send", "POST"),
            ("DELETE", "/tasks", "GET, HEAD"),
            ("POST", "/tasks/t-1", "GET, HEAD"),
            ("HEAD", "/tasks/t-1:cancel", "POST"),
            ("GET", "/tasks/t-1:cancel", "POST"),
            ("PUT", "/tasks/t-1:subscribe", "GET, HEAD, POST"),
            ("POST", "/.well-known/agent-card.json", "GET, HEAD"),
            ("get", "/tasks", "GET, HEAD"),
            ("GET", "/resident/v1/wakes:take", "POST"),
        ];
        for (method, path, methods) in table {
            assert_eq!(
                match_route(method, path),
                Match::MethodNotAllowed {
                    methods: methods.into()
                },
                "{method} {path}"
            );
        }
        assert_eq!(allow("GET, HEAD"), "GET, HEAD, OPTIONS");
    }

    #[test]
    fn head_is_served_wherever_get_is() {
        for path in [
            "/.well-known/agent-card.json",
            "/openapi.json",
            "/healthz",
            "/tasks",
            "/tasks/t-1",
            "/tasks/t-1:subscribe",
            "/extendedAgentCard",
        ] {
            assert_eq!(found("HEAD", path), found("GET", path), "{path}");
            assert!(found("HEAD", path).is_some(), "{path}");
        }
    }

    #[test]
    fn options_tells_the_methods_of_every_known_path_and_of_no_other() {
        for route in ROUTES {
            let path = route.pattern.replace(['{', '}'], "x");
            let Match::Options { methods } = match_route("OPTIONS", &path) else {
                panic!("{path}");
            };
            for method in methods.split(", ") {
                assert!(found(method, &path).is_some(), "{method} {path}");
            }
        }
        assert_eq!(match_route("OPTIONS", "/unknown"), Match::NotFound);
        assert_eq!(
            match_route("OPTIONS", "/tasks/t-1:unknown"),
            Match::NotFound
        );
    }

    #[test]
    fn a_path_over_the_bound_is_not_found() {
        let path = format!("/tasks/{}", "a".repeat(MAX_PATH_BYTES));
        assert_eq!(match_route("GET", &path), Match::NotFound);
    }

    #[test]
    fn no_two_routes_share_a_method_and_pattern_or_an_id() {
        let mut places = HashSet::new();
        let mut ids = HashSet::new();
        for route in ROUTES {
            assert!(places.insert((route.method, route.pattern)), "{route:?}");
            assert!(ids.insert(route.id), "{route:?}");
        }
    }

    #[test]
    fn roles_reach_their_own_surface_alone() {
        assert!(Access::Principal.permits(Role::Client));
        assert!(Access::Principal.permits(Role::Trusted));
        assert!(!Access::Principal.permits(Role::Resident));
        assert!(!Access::Principal.permits(Role::Source));
        assert!(!Access::Resident.permits(Role::Client));
        assert!(!Access::TurnOrResident.permits(Role::Client));
        assert!(Access::TurnOrResident.permits(Role::Resident));
        assert!(!Access::Resident.permits(Role::Operator));
    }

    proptest! {
        #[test]
        fn any_path_has_an_answer(method in "[A-Z]{1,8}", path in "[/a-z%:{}.0-9\\PC]{0,80}") {
            if let Match::Found { params, .. } = match_route(&method, &path) {
                for name in ["id", "taskId", "turnId", "tool"] {
                    if let Some(raw) = params.raw(name) {
                        prop_assert!(!raw.is_empty() && !raw.contains([':', '/']));
                    }
                }
            }
        }
    }
}
