//! Frames of a server-sent event stream (§11.7): `data:` lines and comments, nothing else.

/// The media type of a stream.
pub const CONTENT_TYPE: &str = "text/event-stream";

/// A comment frame: it carries nothing, keeps the connection alive, and finds out that a client has left.
pub const COMMENT: &str = ": \n\n";

/// The frame that carries one JSON text.
///
/// A line break would end the `data:` line and start a field of the reader's choosing. JSON text from `serde_json` has
/// none: inside strings they are escaped. Should there be one between tokens, it becomes a space, which means the same.
pub fn frame(json: &str) -> String {
    let mut frame = String::with_capacity(json.len().saturating_add(8));
    frame.push_str("data: ");
    frame.push_str(json);
    if json.contains(['\n', '\r']) {
        frame = frame.replace(['\n', '\r'], " ");
    }
    frame.push_str("\n\n");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// The data of each event, as the HTML standard's event stream interpretation reads it.
    fn events(stream: &str) -> Vec<String> {
        let mut events = Vec::new();
        let mut data = String::new();
        for line in stream.replace("\r\n", "\n").replace('\r', "\n").split('\n') {
            match line.split_once(':') {
                _ if line.is_empty() => {
                    events.extend((!data.is_empty()).then(|| std::mem::take(&mut data)))
                }
                Some(("data", value)) => data.push_str(value.strip_prefix(' ').unwrap_or(value)),
                Some(("", _)) => {}
                other => panic!("unexpected field {other:?}"),
            }
        }
        events
    }

    #[test]
    fn a_frame_is_one_data_line_and_a_blank_line() {
        assert_eq!(frame(r#"{"task":{}}"#), "data: {\"task\":{}}\n\n");
    }

    #[test]
    fn a_comment_is_no_event() {
        assert!(events(COMMENT).is_empty());
        assert_eq!(events(&format!("{COMMENT}{}{COMMENT}", frame("1"))), ["1"]);
    }

    #[test]
    fn line_breaks_between_tokens_cannot_break_a_frame() {
        let pretty = "{\r\n  \"a\": 1\n}";
        let read = events(&frame(pretty));
        assert_eq!(read.len(), 1);
        assert_eq!(
            serde_json::from_str::<Value>(&read[0]).unwrap(),
            json!({"a": 1})
        );
    }

    proptest! {
        #[test]
        fn every_text_stays_within_its_frame(texts in prop::collection::vec("(?s).{0,20}", 1..4)) {
            let stream: String = texts.iter().map(|text| frame(&json!({"text": text}).to_string())).collect();
            let read: Vec<Value> = events(&stream).iter().map(|data| serde_json::from_str(data).unwrap()).collect();
            let sent: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            prop_assert_eq!(read, sent);
        }
    }
}
