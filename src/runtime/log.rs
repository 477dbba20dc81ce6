//! One JSON line an event, on the platform's console.
//!
//! Name the event, and give ids and reasons as fields. Never a token, a message's content or another principal's name.

use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = log)]
    fn console_log(line: &str);
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(line: &str);
}

/// Something happened that an operator may want to count.
pub fn info(event: &str, fields: &[(&str, &str)]) {
    console_log(&line(event, fields));
}

/// Something of ours failed, or work was given up: an operator should look.
pub fn error(event: &str, fields: &[(&str, &str)]) {
    console_error(&line(event, fields));
}

fn line(event: &str, fields: &[(&str, &str)]) -> String {
    let mut object = Map::new();
    object.insert("event".to_owned(), Value::from(event));
    for (name, value) in fields {
        object.insert((*name).to_owned(), Value::from(*value));
    }
    Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn an_event_is_one_line_whatever_its_fields_hold() {
        assert_eq!(
            line("wake_failed", &[("taskId", "t\n1")]),
            r#"{"event":"wake_failed","taskId":"t\n1"}"#
        );
    }
}
