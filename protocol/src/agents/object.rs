//! A JSON object written field by field. What an answer is made of here is text already, so that nothing is built only to
//! be written.

use serde_json::Value;

/// An object that is being written.
#[derive(Debug, Clone)]
pub struct Object(String);

impl Default for Object {
    fn default() -> Self {
        Self("{".to_owned())
    }
}

impl Object {
    /// Adds a text.
    #[must_use]
    pub fn text(self, name: &str, text: &str) -> Self {
        let quoted = quote(text);
        self.raw(name, &quoted)
    }

    /// Adds a text where there is one.
    #[must_use]
    pub fn maybe(self, name: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    /// Adds true or false.
    #[must_use]
    pub fn flag(self, name: &str, flag: bool) -> Self {
        self.raw(name, if flag { "true" } else { "false" })
    }

    /// Adds a value that is JSON text.
    #[must_use]
    pub fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quote(name));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// The whole object.
    #[must_use]
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// An array of values that are JSON text.
#[must_use]
pub fn array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// A JSON string.
#[must_use]
pub fn quote(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_what_was_added_to_it() {
        let text = Object::default()
            .text("a \"quoted\" name", "line\nbreak")
            .flag("yes", true)
            .maybe("absent", None)
            .maybe("there", Some("x"))
            .raw("list", &array(&[quote("a"), "1".to_owned()]))
            .end();
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            read,
            json!({"a \"quoted\" name": "line\nbreak", "yes": true, "there": "x", "list": ["a", 1]})
        );
        assert_eq!(Object::default().end(), "{}");
    }
}
