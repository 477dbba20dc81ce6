//! The tools as MCP clients see them: the same as over HTTP, with their schemas.

use serde_json::{Value, json};

/// The tool that waits for a turn. A turn's own token does not open it.
pub const WAIT_FOR_WAKE: &str = "wait_for_wake";

/// The tool that gives a turn back unsettled.
pub const END_TURN: &str = "end_turn";

/// Whether a tool settles its task, and so ends the turn.
#[must_use]
pub fn settles(tool: &str) -> bool {
    matches!(tool, "a2a_complete_task" | "a2a_require_input")
}

/// The tools as data: what a client is shown of them.
const TOOLS: &str = include_str!("tools.json");

/// The tools listed to a resident, or, with `of_turn`, to the bearer of one turn's token.
#[must_use]
pub fn list(of_turn: bool) -> Value {
    // Our own document, which a test reads.
    let mut tools: Vec<Value> = serde_json::from_str(TOOLS).unwrap_or_default();
    if of_turn {
        tools.retain(|tool| !opens_a_turn(tool));
    }
    json!({ "tools": tools })
}

fn opens_a_turn(tool: &Value) -> bool {
    let name = tool.get("name").and_then(Value::as_str);
    name == Some(WAIT_FOR_WAKE) || name == Some(END_TURN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of_turn: bool) -> Vec<String> {
        let list = list(of_turn);
        let tools = list["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_turns_token_opens_the_tools_of_its_turn_alone() {
        assert!(names(false).contains(&WAIT_FOR_WAKE.to_owned()));
        assert!(!names(true).contains(&WAIT_FOR_WAKE.to_owned()));
        assert!(!names(true).contains(&END_TURN.to_owned()));
        assert_eq!(names(true).len(), 10);
    }

    #[test]
    fn every_tool_of_a_turn_names_the_turn_and_the_task() {
        for tool in list(true)["tools"].as_array().unwrap() {
            let required = tool["inputSchema"]["required"].as_array().unwrap();
            assert!(required.contains(&json!("turnId")) && required.contains(&json!("taskId")));
        }
    }
}
