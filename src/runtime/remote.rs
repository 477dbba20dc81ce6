//! Requests to remote agents: one bounded exchange, or a stream of events.

use js_sys::{Array, JsString, Promise, Uint8Array};
use wasm_bindgen::prelude::*;

use super::env::Env;
use super::promise::settled;
use super::response::header_lines;

#[wasm_bindgen(module = "/src/runtime/remote.js")]
extern "C" {
    #[wasm_bindgen(js_name = exchange)]
    fn exchange_bytes(
        method: &str,
        url: &str,
        header_lines: &str,
        body: Option<&str>,
        max_bytes: u32,
        deadline_ms: u32,
    ) -> Promise;

    #[wasm_bindgen(js_name = variablesNamed)]
    fn variables_named(env: &Env, prefix: &str) -> Array;

    type EventReader;
    #[wasm_bindgen(constructor)]
    fn new(max_bytes: u32) -> EventReader;
    #[wasm_bindgen(method)]
    fn open(this: &EventReader, url: &str, header_lines: &str, deadline_ms: u32) -> Promise;
    #[wasm_bindgen(method)]
    fn next(this: &EventReader, wait_ms: u32) -> Promise;
    #[wasm_bindgen(method)]
    fn close(this: &EventReader);
}

impl Env {
    /// The variables and secrets whose names begin so, in any case: their names and values.
    #[must_use]
    pub fn vars_named(&self, prefix: &str) -> Vec<(String, String)> {
        let flat = variables_named(self, prefix);
        let mut values = flat.iter().filter_map(|value| value.as_string());
        let mut found = Vec::new();
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            found.push((name, value));
        }
        found
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeError {
    /// Not all of it came in time.
    Deadline,
    /// It is longer than asked for.
    TooLarge,
    /// No connection, or it broke.
    Failed,
}

/// An answer, whatever its status: a redirect is not followed.
#[derive(Debug, Clone)]
pub struct Exchanged {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// `Cache-Control`, `Age`, `Expires`, `ETag` and `Last-Modified`.
    pub validity: [Option<String>; 5],
}

/// Asks and reads the whole answer, at most `max_bytes` of it, within `deadline_ms`.
///
/// # Errors
/// [`ExchangeError`].
pub async fn exchange(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
    max_bytes: u32,
    deadline_ms: u32,
) -> Result<Exchanged, ExchangeError> {
    let lines = header_lines(headers);
    let promise = exchange_bytes(method, url, &lines, body, max_bytes, deadline_ms);
    let answer = settled(&promise).await.map_err(|_| ExchangeError::Failed)?;
    let parts =
        answer
            .dyn_into::<Array>()
            .map_err(|failure| match failure.as_string().as_deref() {
                Some("deadline") => ExchangeError::Deadline,
                Some("large") => ExchangeError::TooLarge,
                _ => ExchangeError::Failed,
            })?;
    let text = |at: u32| parts.get(at).as_string();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an HTTP status"
    )]
    let status = parts.get(0).as_f64().unwrap_or_default() as u16;
    Ok(Exchanged {
        status,
        body: parts.get(1).unchecked_into::<Uint8Array>().to_vec(),
        validity: [text(2), text(3), text(4), text(5), text(6)],
    })
}

/// What a stream brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An event with this data.
    Data(String),
    /// Nothing whole in time, but it lives.
    Alive,
    /// It is over: it ended, broke, fell silent, or its event is too large.
    Over,
}

/// A stream of events. Dropping it closes the connection.
pub struct Events(EventReader);

impl Events {
    /// Opens a stream.
    ///
    /// # Errors
    /// The status with which it was refused, or 0 where there was no answer in time.
    pub async fn open(
        url: &str,
        headers: &[(&str, &str)],
        max_bytes: u32,
        deadline_ms: u32,
    ) -> Result<Self, u16> {
        let events = Self(EventReader::new(max_bytes));
        let opened = settled(&events.0.open(url, &header_lines(headers), deadline_ms)).await;
        match opened.map(|failure| failure.dyn_ref::<JsString>().map(String::from)) {
            Ok(None) => Ok(events),
            Ok(Some(failure)) => Err(failure
                .strip_prefix("status ")
                .and_then(|status| status.parse().ok())
                .unwrap_or(0)),
            Err(_) => Err(0),
        }
    }

    /// What comes next, within `wait_ms`.
    pub async fn next(&self, wait_ms: u32) -> Event {
        match settled(&self.0.next(wait_ms)).await {
            Ok(answer) => match answer.dyn_ref::<Array>() {
                Some(data) => data.get(0).as_string().map_or(Event::Alive, Event::Data),
                None => Event::Over,
            },
            Err(_) => Event::Over,
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.0.close();
    }
}
