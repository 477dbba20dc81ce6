//! What `resident read` takes out of the task's JSON for scripts.

use serde_json::Value;

/// The text of the newest message with the caller's role: its text parts, a line break between. Empty if there
/// is none.
pub fn newest_text(task: &Value) -> String {
    let history = history(task);
    history
        .iter()
        .rev()
        .find(|message| has_role(message, "ROLE_USER"))
        .map(text_of)
        .unwrap_or_default()
}

/// The text of the question that the newest caller message answers: the last message with the agent's role
/// after the caller's message before. Empty if there is none.
pub fn answered_question(task: &Value) -> String {
    history(task)
        .iter()
        .rev()
        .skip_while(|message| !has_role(message, "ROLE_USER"))
        .skip(1)
        .take_while(|message| !has_role(message, "ROLE_USER"))
        .find(|message| has_role(message, "ROLE_AGENT"))
        .map(text_of)
        .unwrap_or_default()
}

fn history(task: &Value) -> &[Value] {
    task.get("history")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn has_role(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_str) == Some(role)
}

fn text_of(message: &Value) -> String {
    let texts: Vec<&str> = message
        .get("parts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{answered_question, newest_text};

    fn user(text: &str) -> Value {
        json!({"role": "ROLE_USER", "parts": [{"text": text}]})
    }

    fn agent(text: &str) -> Value {
        json!({"role": "ROLE_AGENT", "parts": [{"text": text}]})
    }

    #[test]
    fn the_newest_text_is_the_last_caller_messages_text_parts() {
        let task = json!({"history": [
            user("first"),
            agent("Which colour?"),
            {"role": "ROLE_USER", "parts": [{"text": "blue"}, {"data": {"a": 1}}, {"text": "please"}]},
        ]});
        assert_eq!(newest_text(&task), "blue\nplease");
    }

    #[test]
    fn an_answer_has_its_question() {
        let task = json!({"history": [user("first"), agent("Which colour?"), user("blue")]});
        assert_eq!(answered_question(&task), "Which colour?");
    }

    #[test]
    fn a_first_message_answers_no_question() {
        assert_eq!(answered_question(&json!({"history": [user("first")]})), "");
        assert_eq!(answered_question(&json!({})), "");
        assert_eq!(newest_text(&json!({"history": []})), "");
    }
}
