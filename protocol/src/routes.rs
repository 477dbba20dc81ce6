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
    /// An operator reads what was recorded about a principal.
    ListEvidence,
    /// A source hands over an event.
    AcceptActivation,
    /// A source says how its tasks may be continued.
    DeclareSource,
    /// What a source declared, and its checkpoint.
    ReadSource,
    /// A source keeps how far it has read.
    AdvanceCheckpoint,
    /// Which task is being worked on for a locator.
    ResolveLocator,
    /// A source's task.
    ReadNativeTask,
    /// A response was sent for a task.
    RecordAnchor,
    /// A mutation at the provider is about to be sent.
    BeginDelivery,
    /// How the mutation went.
    SettleDelivery,
    /// What somebody found out about a mutation.
    ReconcileDelivery,
    /// A source records evidence of its own.
    RecordEvidence,
    /// Which tasks of a source are settled.
    ListSettlements,
    /// The agents that a principal may call.
    ListAgents,
    /// One more of them, by a definition.
    AddAgent,
    /// Looks an agent up.
    DiscoverAgents,
    /// Enables one.
    EnableAgent,
    /// Disables one.
    DisableAgent,
    /// Removes a definition.
    RemoveAgent,
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
    /// A native source: role `source` or `trusted`.
    Source,
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
            Self::Source => matches!(role, Role::Source | Role::Trusted),
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
    /// `PUT`
    Put,
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
            Self::Put => "PUT",
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
            Self::Put => &["PUT"],
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
    Get "/operator/v1/evidence" => ListEvidence as "ListEvidence" for Operator:
        "What was recorded about a principal's work, newest first.";
    Post "/trusted/v1/activations" => AcceptActivation as "AcceptActivation" for Source:
        "Accept an event once: as a new task, or as the answer that a waiting task asked for.";
    Put "/trusted/v1/sources/{source}" => DeclareSource as "DeclareSource" for Source:
        "Say how tasks of this source may be continued.";
    Get "/trusted/v1/sources/{source}" => ReadSource as "ReadSource" for Source:
        "Read what a source declared, and its checkpoint.";
    Put "/trusted/v1/sources/{source}/checkpoint" => AdvanceCheckpoint as "AdvanceCheckpoint" for Source:
        "Keep how far a source has read, once everything up to there is accepted.";
    Post "/trusted/v1/locators:resolve" => ResolveLocator as "ResolveLocator" for Source:
        "Find the task that is being worked on for exactly this locator.";
    Get "/trusted/v1/tasks/{id}" => ReadNativeTask as "ReadNativeTask" for Source:
        "Read a source's task and where it came from.";
    Post "/trusted/v1/anchors" => RecordAnchor as "RecordAnchor" for Source:
        "Record the response that was sent for a task, so that a direct reply to it continues the task.";
    Post "/trusted/v1/deliveries" => BeginDelivery as "BeginDelivery" for Source:
        "Begin a mutation at the provider, and learn whether to send it.";
    Post "/trusted/v1/deliveries/{deliveryId}:settle" => SettleDelivery as "SettleDelivery" for Source:
        "Say how a mutation went.";
    Post "/trusted/v1/deliveries/{deliveryId}:reconcile" => ReconcileDelivery as "ReconcileDelivery" for Source:
        "Resolve by hand a mutation of which nobody knew how it went.";
    Post "/trusted/v1/evidence" => RecordEvidence as "RecordEvidence" for Source:
        "Record, or count in place, something of which the source made no task.";
    Get "/trusted/v1/settlements" => ListSettlements as "ListSettlements" for Source:
        "The tasks of a source that were settled or wait for an answer, oldest first.";
    Get "/agents/v1/agents" => ListAgents as "ListAgents" for Principal:
        "The remote agents that the caller's tasks may call: each alias, whether it is enabled, and what its card says.";
    Post "/agents/v1/agents" => AddAgent as "AddAgent" for Principal:
        "Add a definition of the caller's own, disabled.";
    Post "/agents/v1/agents:discover" => DiscoverAgents as "DiscoverAgents" for Principal:
        "Look an agent up by the URL it is at, or read a client's own configuration. Adds, enables and stores nothing.";
    Post "/agents/v1/agents/{alias}:enable" => EnableAgent as "EnableAgent" for Principal:
        "Enable an alias, prepare its agent, and tell what came of it.";
    Post "/agents/v1/agents/{alias}:disable" => DisableAgent as "DisableAgent" for Principal:
        "Disable an alias.";
    Delete "/agents/v1/agents/{alias}" => RemoveAgent as "RemoveAgent" for Principal:
        "Remove a definition of the caller's own.";
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
#[path = "routes_tests.rs"]
mod tests;
