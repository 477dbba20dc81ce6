//! The response that the Worker gives.
//!
//! It is put together in Rust and built in one crossing, when all of it is known: its headers and its line in the log,
//! too.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A JavaScript `Response`.
    #[wasm_bindgen(js_name = Response)]
    pub type JsResponse;

    /// Its status.
    #[wasm_bindgen(method, getter)]
    fn status(this: &JsResponse) -> u16;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = headersFrom)]
    fn headers_from(header_lines: &str) -> JsValue;
    #[wasm_bindgen(catch, js_name = respond)]
    fn respond_with(
        status: u16,
        headers: &JsValue,
        request_id: Option<&str>,
        body: Option<&str>,
        log_line: Option<&str>,
    ) -> Result<JsResponse, JsValue>;
    #[wasm_bindgen(catch, js_name = respond)]
    fn respond_with_js(
        status: u16,
        headers: &JsValue,
        request_id: Option<&str>,
        body: &JsValue,
        log_line: Option<&str>,
    ) -> Result<JsResponse, JsValue>;
    #[wasm_bindgen(catch)]
    fn finish(
        response: &JsResponse,
        header_lines: &str,
        request_id: &str,
        log_line: Option<&str>,
    ) -> Result<(), JsValue>;
}

/// How many sets of headers are kept ready. Most answers share very few.
const MAX_KEPT: usize = 32;

thread_local! {
    /// Sets of headers that were used before, by their lines.
    static KEPT: RefCell<Vec<(String, JsValue)>> = const { RefCell::new(Vec::new()) };
}

/// A response that is not built yet, or a stream, which is.
pub enum Response {
    /// One with a whole body, or none.
    Whole {
        /// Its status.
        status: u16,
        /// Its headers, as `header_lines` writes them.
        header_lines: String,
        /// Its body.
        body: Body,
    },
    /// One that the platform has built.
    Built(JsResponse),
}

/// A response's body.
pub enum Body {
    /// None, or that of an answer to `HEAD`.
    Absent,
    /// Text.
    Text(String),
    /// Text that an object answered, which never came into Rust.
    Passed(JsText),
}

/// A JavaScript string.
pub struct JsText(JsValue);

impl JsText {
    /// The value, if it is a string.
    #[must_use]
    pub fn from_value(value: JsValue) -> Option<Self> {
        value.is_string().then_some(Self(value))
    }

    /// Its text.
    #[must_use]
    pub fn read(&self) -> String {
        self.0.as_string().unwrap_or_default()
    }
}

/// A response of a whole text, or none. Each header is given once: of two with one name, the last counts.
///
/// A header value that HTTP can't carry (a line break) loses what follows the break, rather than becoming a header of
/// its own.
#[must_use]
pub fn respond(status: u16, headers: &[(&str, &str)], body: Option<&str>) -> Response {
    let body = body.map_or(Body::Absent, |text| Body::Text(text.to_owned()));
    respond_with_body(status, headers, body)
}

/// The same, of any body.
#[must_use]
pub fn respond_with_body(status: u16, headers: &[(&str, &str)], body: Body) -> Response {
    Response::Whole {
        status,
        header_lines: header_lines(headers),
        body,
    }
}

/// Builds a response at once: what an object answers to an upgrade that it refuses.
///
/// # Errors
/// As [`Response::finish`].
pub fn respond_now(
    status: u16,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<JsResponse, JsValue> {
    respond_with(
        status,
        &headers_from(&header_lines(headers)),
        None,
        Some(body),
        None,
    )
}

impl Response {
    /// Its status.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Whole { status, .. } => *status,
            Self::Built(response) => response.status(),
        }
    }

    /// Builds it with further headers, in place of any of the same name, and writes the request's line to the log, in one
    /// crossing.
    ///
    /// # Errors
    /// A `RangeError` where the status is not in 200–599, or has no body and is given one; a `TypeError` where a
    /// header's name is not a token. All are mistakes of ours. The line is in the log all the same.
    pub fn finish(
        self,
        headers: &[(&str, &str)],
        request_id: &str,
        log_line: Option<&str>,
    ) -> Result<JsResponse, JsValue> {
        match self {
            Self::Whole {
                status,
                header_lines: mut lines,
                body,
            } => {
                lines.push_str(&header_lines(headers));
                with_headers(lines, |headers| match &body {
                    Body::Absent => respond_with(status, headers, Some(request_id), None, log_line),
                    Body::Text(text) => {
                        respond_with(status, headers, Some(request_id), Some(text), log_line)
                    }
                    Body::Passed(text) => {
                        respond_with_js(status, headers, Some(request_id), &text.0, log_line)
                    }
                })
            }
            Self::Built(response) => {
                finish(&response, &header_lines(headers), request_id, log_line)?;
                Ok(response)
            }
        }
    }
}

/// Has `build` use headers of these lines, made anew or kept from before.
fn with_headers<T>(lines: String, build: impl FnOnce(&JsValue) -> T) -> T {
    KEPT.with_borrow_mut(|kept| {
        if let Some((_, headers)) = kept.iter().find(|(of, _)| *of == lines) {
            return build(headers);
        }
        let headers = headers_from(&lines);
        let built = build(&headers);
        if kept.len() < MAX_KEPT {
            kept.push((lines, headers));
        }
        built
    })
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
