//! The response that the Worker gives.

use std::cell::RefCell;
use std::collections::BTreeMap;

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A JavaScript `Response`.
    pub type Response;

    /// Its status.
    #[wasm_bindgen(method, getter)]
    pub fn status(this: &Response) -> u16;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = headersFrom)]
    fn headers_from(header_lines: &str) -> JsValue;
    #[wasm_bindgen(catch, js_name = respond)]
    fn respond_with(
        status: u16,
        headers: &JsValue,
        body: Option<&[u8]>,
    ) -> Result<Response, JsValue>;
    #[wasm_bindgen(catch)]
    fn finish(
        response: &Response,
        header_lines: &str,
        log_line: Option<&str>,
    ) -> Result<(), JsValue>;
}

/// How many sets of headers are kept ready. Most answers share very few.
const MAX_KEPT: usize = 32;

thread_local! {
    /// Sets of headers that were used before, by their lines.
    static KEPT: RefCell<BTreeMap<String, JsValue>> = const { RefCell::new(BTreeMap::new()) };
}

/// Builds a response in one crossing. Each header is given once: of two with one name, the last counts.
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
    let lines = header_lines(headers);
    KEPT.with_borrow_mut(|kept| {
        if let Some(headers) = kept.get(&lines) {
            return respond_with(status, headers, body.map(str::as_bytes));
        }
        let headers = headers_from(&lines);
        let response = respond_with(status, &headers, body.map(str::as_bytes));
        if kept.len() < MAX_KEPT {
            kept.insert(lines, headers);
        }
        response
    })
}

impl Response {
    /// Adds headers, in place of any of the same name, and writes the request's line to the log, in one crossing.
    ///
    /// # Errors
    /// Where the platform refuses a header: a mistake of ours. The line is in the log all the same.
    pub fn finish(&self, headers: &[(&str, &str)], log_line: Option<&str>) -> Result<(), JsValue> {
        finish(self, &header_lines(headers), log_line)
    }
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
