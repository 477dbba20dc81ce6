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
        (
            "POST",
            "/trusted/v1/activations",
            Operation::AcceptActivation,
        ),
        ("PUT", "/trusted/v1/sources/mail", Operation::DeclareSource),
        ("HEAD", "/trusted/v1/sources/mail", Operation::ReadSource),
        (
            "PUT",
            "/trusted/v1/sources/mail/checkpoint",
            Operation::AdvanceCheckpoint,
        ),
        (
            "POST",
            "/trusted/v1/deliveries/d-1:settle",
            Operation::SettleDelivery,
        ),
        ("GET", "/operator/v1/evidence", Operation::ListEvidence),
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
        ("POST", "/trusted/v1/sources/mail", "PUT, GET, HEAD"),
        ("GET", "/trusted/v1/sources/mail/checkpoint", "PUT"),
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
    for role in [Role::Client, Role::Resident, Role::Operator] {
        assert!(!Access::Source.permits(role), "{role:?}");
    }
    assert!(Access::Source.permits(Role::Source));
    assert!(Access::Source.permits(Role::Trusted));
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
