//! The response that the Worker gives.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A JavaScript `Response`.
    pub type Response;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = respond)]
    fn respond_with(
        status: u16,
        header_lines: &str,
        body: Option<&str>,
    ) -> Result<Response, JsValue>;
}

/// Builds a response in one crossing.
///
/// A header value that HTTP can't carry (a line break) loses what follows the break, rather than becoming a header of
/// its own.
///
/// # Errors
/// A `RangeError` where the status is not in 200–599, or has no body and is given one; a `TypeError` where a header's
/// name is not a token. All are mistakes of ours.
pub fn respond(
    status: u16,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Result<Response, JsValue> {
    respond_with(status, &header_lines(headers), body)
}

/// `name:value` lines, as `glue.js` reads them.
pub(super) fn header_lines(headers: &[(&str, &str)]) -> String {
    let mut lines = String::with_capacity(64);
    for (name, value) in headers {
        lines.push_str(name);
        lines.push(':');
        lines.extend(
            value
                .chars()
                .take_while(|character| !matches!(character, '\r' | '\n' | '\0')),
        );
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::header_lines;

    #[test]
    fn a_line_break_in_a_value_makes_no_second_header() {
        assert_eq!(
            header_lines(&[("a", "1\r\nset-cookie: x"), ("b", "2")]),
            "a:1\nb:2\n"
        );
    }
}
