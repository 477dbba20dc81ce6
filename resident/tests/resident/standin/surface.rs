//! The routes of the resident surface, over the stand-in's state.

use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Shared, State, Turn};

pub fn grant(state: &mut State) -> Option<Value> {
    let session = state.sessions.last().cloned();
    while state.turn.is_none() {
        let task_id = state.waiting.pop_front()?;
        let task = state.tasks.get_mut(&task_id)?;
        if task.state == "TASK_STATE_CANCELED" {
            continue;
        }
        task.state = "TASK_STATE_WORKING";
        task.deliveries += 1;
        state.made += 1;
        state.turn = Some(Turn {
            turn_id: format!("turn-{}", state.made),
            task_id,
            token: String::new(),
            expires: Instant::now() + state.lease,
        });
    }
    state.made += 1;
    let token = format!("turn~{}~secret-{}", session.unwrap_or_default(), state.made);
    let lease = state.lease;
    let turn = state.turn.as_mut()?;
    turn.token = token;
    let task = state.tasks.get(&turn.task_id)?;
    Some(json!({
        "turnId": turn.turn_id, "taskId": turn.task_id, "contextId": "context-1",
        "delivery": task.deliveries, "leaseMs": lease.as_millis() as u64, "token": turn.token,
    }))
}

pub type Answer = (u16, String);

pub fn answer<'a>(
    shared: &'a Shared,
    mut state: MutexGuard<'a, State>,
    path: &str,
    authority: &'static str,
    body: &Value,
) -> (MutexGuard<'a, State>, Answer) {
    if authority == "nobody" && !path.contains("/tools/") {
        return (
            state,
            refusal(401, "UNAUTHENTICATED", "The token is not known", None),
        );
    }
    let until = Instant::now() + Duration::from_millis(body["waitMs"].as_u64().unwrap_or(0));
    if path == "/resident/v1/wakes:take" {
        let session = body["session"].as_str().unwrap().to_owned();
        if !state.sessions.contains(&session) {
            state.sessions.push(session.clone());
            state.end_turn("superseded");
            shared.changed.notify_all();
        }
        loop {
            if state.sessions.last() != Some(&session) {
                let answer = refusal(409, "SESSION_SUPERSEDED", "A newer session took over", None);
                return (state, answer);
            }
            state.expire();
            if let Some(turn) = grant(&mut state) {
                return (state, (200, json!({"turn": turn}).to_string()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return (state, (204, String::new()));
            }
            state = shared.changed.wait_timeout(state, left).unwrap().0;
        }
    }
    if let Some(turn_id) = between(path, "/resident/v1/turns/", ":heartbeat") {
        state.expire();
        loop {
            if !state.live(turn_id) {
                let reason = state.over.get(turn_id).copied().unwrap_or("ended");
                return (
                    state,
                    (200, json!({"live": false, "reason": reason}).to_string()),
                );
            }
            let lease = state.lease;
            state.turn.as_mut().unwrap().expires = Instant::now() + lease;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let answer = json!({"live": true, "leaseMs": lease.as_millis() as u64});
                return (state, (200, answer.to_string()));
            }
            state = shared.changed.wait_timeout(state, left).unwrap().0;
        }
    }
    if let Some(turn_id) = between(path, "/resident/v1/turns/", ":end") {
        state.expire();
        if authority != "resident" {
            return (
                state,
                refusal(
                    403,
                    "PERMISSION_DENIED",
                    "Only the resident ends a turn",
                    None,
                ),
            );
        }
        if !state.live(turn_id) {
            return (state, not_live());
        }
        let task_id = state.turn.as_ref().unwrap().task_id.clone();
        state.end_turn("ended");
        state.ends.push(body.clone());
        let disposition = match state.tasks[&task_id].state {
            "TASK_STATE_INPUT_REQUIRED" | "TASK_STATE_AUTH_REQUIRED" => "interrupted",
            "TASK_STATE_WORKING" => {
                state.waiting.push_back(task_id);
                if body["outcome"] == "failed" {
                    "retrying"
                } else {
                    "reoffered"
                }
            }
            _ => "settled",
        };
        return (
            state,
            (200, json!({"disposition": disposition}).to_string()),
        );
    }
    let Some(tool) = path.strip_prefix("/resident/v1/tools/") else {
        return (
            state,
            refusal(404, "ROUTE_NOT_FOUND", "No such route", None),
        );
    };
    state.expire();
    let turn = state.turn.clone().filter(|turn| {
        authority != "nobody" && body["turnId"] == turn.turn_id && body["taskId"] == turn.task_id
    });
    let answer = match turn {
        Some(turn) => call_tool(&mut state, &turn.task_id, tool, body),
        None => not_live(),
    };
    (state, answer)
}

fn call_tool(state: &mut State, task_id: &str, tool: &str, body: &Value) -> Answer {
    let task = state.tasks.get_mut(task_id).unwrap();
    if tool == "a2a_read_task" {
        if body["format"] == "json" {
            let task =
                json!({"id": task_id, "status": {"state": task.state}, "history": task.history});
            let request =
                json!({"extensions": [], "acceptedOutputModes": [], "referenceTaskIds": []});
            return (200, json!({"task": task, "request": request}).to_string());
        }
        let lines: Vec<String> = task
            .history
            .iter()
            .flat_map(|message| {
                let text = message["parts"][0]["text"].as_str().unwrap_or_default();
                text.lines()
                    .map(|line| format!("| {line}"))
                    .collect::<Vec<_>>()
            })
            .collect();
        let text = format!("<<<untrusted\n{}\nuntrusted>>>", lines.join("\n"));
        return (200, json!({"text": text}).to_string());
    }
    if task.state != "TASK_STATE_WORKING" {
        return refusal(400, "UNSUPPORTED_OPERATION", "The task is settled", None);
    }
    match tool {
        "a2a_complete_task" => {
            task.completion = Some(body.clone());
            task.state = match body["outcome"].as_str() {
                Some("rejected") => "TASK_STATE_REJECTED",
                _ => "TASK_STATE_COMPLETED",
            };
            (200, json!({"state": task.state}).to_string())
        }
        "a2a_record_output" if body["output"] != "report" => refusal(
            400,
            "INVALID_REQUEST",
            "The request is not valid",
            Some(("output", "is not declared by the workflow: report is")),
        ),
        "a2a_record_output" => {
            task.outputs.push(body.clone());
            (200, json!({"artifactId": "artifact-1"}).to_string())
        }
        "a2a_require_input" => {
            let question = body["question"].clone();
            task.history
                .push(json!({"role": "ROLE_AGENT", "parts": [{"text": question}]}));
            task.questions.push(body.clone());
            task.state = match body["auth"] {
                Value::Bool(true) => "TASK_STATE_AUTH_REQUIRED",
                _ => "TASK_STATE_INPUT_REQUIRED",
            };
            (200, json!({"state": task.state}).to_string())
        }
        "a2a_append_response" => {
            if body["append"] != true {
                task.chunks.clear();
            }
            task.chunks.push(body.clone());
            (200, json!({"artifactId": "response"}).to_string())
        }
        "a2a_report_progress" => {
            task.notes.push(body["note"].clone());
            (200, json!({"state": task.state}).to_string())
        }
        _ => refusal(404, "ROUTE_NOT_FOUND", "No such tool", None),
    }
}

fn between<'a>(path: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    path.strip_prefix(begin)?.strip_suffix(end)
}

fn not_live() -> Answer {
    refusal(409, "TURN_NOT_LIVE", "This turn is over", None)
}

pub fn refusal(status: u16, reason: &str, message: &str, field: Option<(&str, &str)>) -> Answer {
    let mut details = vec![json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason, "domain": "a2a-protocol.org",
    })];
    if let Some((field, description)) = field {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"field": field, "description": description}],
        }));
    }
    let error = json!({"code": status, "status": "X", "message": message, "details": details});
    (status, json!({"error": error}).to_string())
}
