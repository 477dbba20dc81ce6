//! A turn run by a language model: the requests to an OpenAI-compatible endpoint, and what its answers ask for.
//!
//! The model sees the task as any resident does, between untrusted-content markers, and the tools of a turn without
//! their turn and task, which are not its to choose.

use serde_json::{Map, Value, json};

use crate::mcp::{TURN_INSTRUCTIONS, tools};
use crate::untrusted;

/// The most answers asked for in one turn.
pub const MAX_STEPS: usize = 12;

/// The most tokens of one answer.
pub const MAX_TOKENS: u32 = 4096;

/// The most tokens of all answers of a turn.
pub const MAX_TURN_TOKENS: u64 = 64 * 1024;

/// How long a whole turn may take, in milliseconds.
pub const TURN_TIMEOUT_MS: i64 = 600_000;

/// How long one answer may take, in milliseconds.
const ANSWER_TIMEOUT_MS: i64 = 120_000;

/// The largest answer read, in bytes.
pub const MAX_ANSWER_BYTES: u32 = 2 * 1024 * 1024;

/// The most of one tool's result that the model is told, in bytes: as much as a task is as text.
pub const MAX_RESULT_BYTES: usize = untrusted::MAX_BYTES;

/// The most of one conversation, in bytes of its messages: a turn that says more has failed.
pub const MAX_CONVERSATION_BYTES: usize = 1024 * 1024;

/// Bytes that one token stands for, roughly, where an endpoint does not say how many it took.
const BYTES_PER_TOKEN: u64 = 4;

/// Said in place of the rest of a result.
const CUT: &str = "\n(the rest is left out to keep this text short)";

/// The most tool calls of one answer.
const MAX_CALLS: usize = 16;

/// How long what comes next in a turn may take, in milliseconds: no longer than one answer may, and no longer than the turn
/// has left. `None` once its time is over.
#[must_use]
pub fn time_left_ms(now_ms: i64, deadline_ms: i64) -> Option<u32> {
    let left_ms = deadline_ms.saturating_sub(now_ms).min(ANSWER_TIMEOUT_MS);
    u32::try_from(left_ms).ok().filter(|left_ms| *left_ms > 0)
}

/// What a model wants done.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it says, where it says something.
    pub text: Option<String>,
    /// The tools it calls, in order.
    pub calls: Vec<ToolCall>,
    /// The tokens it took, as the endpoint counts them; estimated by its length where the endpoint does not say.
    pub tokens: u64,
    message: Value,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The model's own id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments; what is no object is no arguments, which the tool then refuses.
    pub arguments: Map<String, Value>,
}

/// A conversation with a model about one task.
#[derive(Debug, Clone)]
pub struct Conversation {
    model: String,
    messages: Vec<Value>,
    bytes: usize,
}

impl Conversation {
    /// Begins with the task as text (`untrusted::render`).
    #[must_use]
    pub fn about(model: &str, task: &str) -> Self {
        Self {
            model: model.to_owned(),
            messages: vec![
                json!({ "role": "system", "content": TURN_INSTRUCTIONS }),
                json!({ "role": "user", "content": task }),
            ],
            bytes: task.len(),
        }
    }

    /// The next request's body.
    #[must_use]
    pub fn request(&self) -> String {
        json!({
            "model": self.model,
            "messages": self.messages,
            "tools": functions(),
            "max_tokens": MAX_TOKENS,
        })
        .to_string()
    }

    /// Whether it is over [`MAX_CONVERSATION_BYTES`]: nothing more is asked then.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.bytes > MAX_CONVERSATION_BYTES
    }

    /// Takes the model's answer in.
    pub fn answered(&mut self, answer: &Answer) {
        self.push(answer.message.clone());
    }

    fn push(&mut self, message: Value) {
        self.bytes = self.bytes.saturating_add(message.to_string().len());
        self.messages.push(message);
    }

    /// Takes in what a tool gave, or why it refused: at most [`MAX_RESULT_BYTES`] of it, and that the rest is left out.
    pub fn tool_result(&mut self, call: &ToolCall, result: &str) {
        let mut content = result.to_owned();
        if content.len() > MAX_RESULT_BYTES {
            content
                .truncate(content.floor_char_boundary(MAX_RESULT_BYTES.saturating_sub(CUT.len())));
            content.push_str(CUT);
        }
        self.push(json!({
            "role": "tool",
            "tool_call_id": call.id,
            "content": content,
        }));
    }
}

impl Answer {
    /// Reads a chat completion, or what Workers AI answers in its place (`{response, tool_calls}`). `None` where it is
    /// neither.
    #[must_use]
    pub fn parse(body: &str) -> Option<Self> {
        let body: Value = serde_json::from_str(body).ok()?;
        let message = match body.get("choices") {
            Some(choices) => choices.get(0)?.get("message")?,
            None if body.get("response").is_some() || body.get("tool_calls").is_some() => &body,
            None => return None,
        };
        let text = message
            .get("content")
            .or_else(|| message.get("response"))
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned);
        let listed = message
            .get("tool_calls")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let calls = listed
            .iter()
            .take(MAX_CALLS)
            .enumerate()
            .map(|(index, call)| tool_call(index, call))
            .collect::<Option<Vec<_>>>()?;
        let counted = body
            .get("usage")
            .and_then(|usage| usage.get("completion_tokens"))
            .and_then(Value::as_u64);
        let mut kept = json!({ "role": "assistant", "content": text });
        if let (false, Some(fields)) = (calls.is_empty(), kept.as_object_mut()) {
            fields.insert(
                "tool_calls".to_owned(),
                calls.iter().map(ToolCall::as_sent).collect(),
            );
        }
        let tokens = counted.unwrap_or_else(|| {
            let bytes = u64::try_from(kept.to_string().len()).unwrap_or(u64::MAX);
            bytes.div_ceil(BYTES_PER_TOKEN)
        });
        Some(Self {
            text,
            calls,
            tokens,
            message: kept,
        })
    }
}

impl ToolCall {
    /// The call as the conversation repeats it.
    fn as_sent(&self) -> Value {
        json!({
            "id": self.id,
            "type": "function",
            "function": {
                "name": self.name,
                "arguments": Value::Object(self.arguments.clone()).to_string(),
            },
        })
    }
}

fn tool_call(index: usize, call: &Value) -> Option<ToolCall> {
    // Workers AI gives a call's name and arguments without a function around them, and without an id.
    let function = call.get("function").unwrap_or(call);
    let arguments = match function.get("arguments") {
        Some(Value::String(arguments)) => serde_json::from_str(arguments).unwrap_or_default(),
        Some(Value::Object(arguments)) => arguments.clone(),
        _ => Map::new(),
    };
    Some(ToolCall {
        id: match call.get("id").and_then(Value::as_str) {
            Some(id) => id.to_owned(),
            None => format!("call-{index}"),
        },
        name: function.get("name")?.as_str()?.to_owned(),
        arguments,
    })
}

/// The tools of a turn as functions.
fn functions() -> Value {
    let mut listed = tools::list(true);
    let tools = listed.get_mut("tools").map(Value::take).unwrap_or_default();
    let functions = tools.as_array().into_iter().flatten().map(|tool| {
        let mut parameters = tool.get("inputSchema").cloned().unwrap_or_default();
        if let Some(properties) = parameters
            .get_mut("properties")
            .and_then(Value::as_object_mut)
        {
            properties.remove("turnId");
            properties.remove("taskId");
        }
        if let Some(required) = parameters.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name != "turnId" && name != "taskId");
        }
        json!({
            "type": "function",
            "function": {
                "name": tool.get("name"),
                "description": tool.get("description"),
                "parameters": parameters,
            },
        })
    });
    Value::Array(functions.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_are_estimated_where_the_endpoint_does_not_say() {
        let text = "word ".repeat(1_000);
        let body = json!({ "choices": [{ "message": { "content": text } }] });
        let answer = Answer::parse(&body.to_string()).unwrap();
        assert!((1_250..1_300).contains(&answer.tokens), "{}", answer.tokens);
    }

    #[test]
    fn one_answer_takes_no_longer_than_its_turn_has_left() {
        let left_ms = |now_ms| time_left_ms(now_ms, TURN_TIMEOUT_MS);
        assert_eq!(left_ms(0), Some(120_000));
        assert_eq!(left_ms(TURN_TIMEOUT_MS - 7_000), Some(7_000));
        assert_eq!(left_ms(TURN_TIMEOUT_MS - 1), Some(1));
        for now_ms in [TURN_TIMEOUT_MS, TURN_TIMEOUT_MS + 1, i64::MAX] {
            assert_eq!(left_ms(now_ms), None);
        }
    }

    #[test]
    fn a_conversation_that_only_reads_and_reads_grows_too_long() {
        let mut conversation = Conversation::about("m", "the task");
        let call = ToolCall {
            id: "c".to_owned(),
            name: "a2a_read_task".to_owned(),
            arguments: Map::new(),
        };
        let result = "x".repeat(MAX_RESULT_BYTES);
        for _ in 0..15 {
            conversation.tool_result(&call, &result);
        }
        assert!(!conversation.is_too_long());
        conversation.tool_result(&call, &result);
        assert!(conversation.is_too_long());
        assert!(conversation.request().len() < MAX_CONVERSATION_BYTES + 2 * MAX_RESULT_BYTES);
    }

    #[test]
    fn a_model_is_shown_the_tools_without_turn_and_task() {
        let request: Value =
            serde_json::from_str(&Conversation::about("m", "the task").request()).unwrap();
        let tools = request["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 10);
        for tool in tools {
            assert_eq!(tool["type"], "function");
            let parameters = &tool["function"]["parameters"];
            assert_eq!(parameters["properties"].get("turnId"), None);
            assert!(
                !parameters["required"]
                    .as_array()
                    .unwrap()
                    .contains(&json!("taskId"))
            );
        }
        assert_eq!(request["messages"][1]["content"], "the task");
    }

    #[test]
    fn a_long_result_is_cut_and_the_model_told_so() {
        let call = tool_call(0, &json!({ "name": "a2a_read_task" })).unwrap();
        let told = |result: &str| {
            let mut conversation = Conversation::about("m", "the task");
            conversation.tool_result(&call, result);
            let request: Value = serde_json::from_str(&conversation.request()).unwrap();
            request["messages"][2]["content"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let whole = "x".repeat(MAX_RESULT_BYTES);
        assert_eq!(told(&whole), whole);
        let cut = told(&"é".repeat(MAX_RESULT_BYTES));
        assert!(cut.len() <= MAX_RESULT_BYTES && cut.len() > MAX_RESULT_BYTES - 100);
        assert!(cut.ends_with("é\n(the rest is left out to keep this text short)"));
    }

    #[test]
    fn an_answer_may_call_tools_or_speak() {
        let calls = Answer::parse(
            r#"{"choices": [{"message": {"content": null, "tool_calls": [{"id": "c1", "type": "function",
            "function": {"name": "a2a_report_progress", "arguments": "{\"note\": \"x\"}"}}]}}],
            "usage": {"completion_tokens": 7}}"#,
        )
        .unwrap();
        assert_eq!(calls.text, None);
        assert_eq!(calls.calls[0].arguments["note"], "x");
        assert_eq!(calls.tokens, 7);
        let speaks = Answer::parse(r#"{"choices": [{"message": {"content": "done"}}]}"#).unwrap();
        assert_eq!(
            (speaks.text.as_deref(), speaks.calls.len()),
            (Some("done"), 0)
        );
    }

    #[test]
    fn workers_ai_answers_in_its_own_shape() {
        let calls = Answer::parse(
            r#"{"response": null, "tool_calls": [{"name": "a2a_complete_task", "arguments": {"response": "x"}}]}"#,
        )
        .unwrap();
        assert_eq!(calls.calls[0].name, "a2a_complete_task");
        assert_eq!(calls.calls[0].arguments["response"], "x");
        let speaks = Answer::parse(r#"{"response": "done"}"#).unwrap();
        assert_eq!(speaks.text.as_deref(), Some("done"));
    }

    #[test]
    fn what_is_no_completion_is_none() {
        for body in [
            "",
            "{}",
            r#"{"choices": []}"#,
            r#"{"choices": [{"message": {"tool_calls": [{}]}}]}"#,
        ] {
            assert_eq!(Answer::parse(body), None, "{body}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_panics(body in ".*") {
            let _ = Answer::parse(&body);
        }
    }
}
