//! The Worker's end of a watcher: frames from an object, one by one.

use js_sys::{Array, Promise};
use thiserror::Error;
use wasm_bindgen::prelude::*;

use super::env::Namespace;
use super::object_call::CallError;
use super::promise::settled;
use super::sockets::WebSocket;

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = openSocket)]
    fn open_socket(
        objects: &Namespace,
        name: &str,
        path_and_query: &str,
        deadline_ms: u32,
    ) -> Result<Promise, JsValue>;
}

#[wasm_bindgen(module = "/src/runtime/watch.js")]
extern "C" {
    type FrameReader;

    #[wasm_bindgen(constructor)]
    fn new(socket: &WebSocket, tick_ms: u32, ping: &str) -> FrameReader;
    #[wasm_bindgen(method)]
    fn next(this: &FrameReader, deadline_ms: u32) -> Promise;
    #[wasm_bindgen(method)]
    fn close(this: &FrameReader);
}

/// Why no watcher could be opened.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The object answered the upgrade with a response of its own.
    #[error("the object refused the watcher with status {status}")]
    Refused {
        /// The answer's HTTP status.
        status: u16,
        /// The answer's body.
        text: String,
    },
    /// The object gave no answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Opens a WebSocket to the object of that name. `path_and_query` begins with `/`.
///
/// # Errors
/// [`OpenError`].
pub async fn open(
    objects: &Namespace,
    name: &str,
    path_and_query: &str,
    deadline_ms: u32,
) -> Result<WebSocket, OpenError> {
    let opening = open_socket(objects, name, path_and_query, deadline_ms)
        .map_err(|error| CallError::from_js(&error))?;
    let answer = settled(&opening)
        .await
        .map_err(|error| CallError::from_js(&error))?;
    match answer.dyn_into::<Array>() {
        Err(socket) => Ok(socket.unchecked_into()),
        Ok(refusal) => Err(OpenError::Refused {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "an HTTP status"
            )]
            status: refusal.get(0).as_f64().unwrap_or_default() as u16,
            text: refusal.get(1).as_string().unwrap_or_default(),
        }),
    }
}

/// What came of waiting for a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A text frame.
    Frame(String),
    /// The deadline passed. A later call may still get a frame.
    Deadline,
    /// The object, or the platform, closed the socket. There will be no more.
    Closed,
}

/// Frames in the order the object sent them. Dropping it closes the socket.
///
/// While it lives it pings the object every `tick_ms`, so that the object keeps its watcher.
pub struct Frames(FrameReader);

impl Frames {
    /// Reads a socket that [`open`] gave.
    #[must_use]
    pub fn new(socket: &WebSocket, tick_ms: u32) -> Self {
        Self(FrameReader::new(socket, tick_ms, super::sockets::PING))
    }

    /// The next frame, waiting at most `deadline_ms`.
    pub async fn next(&self, deadline_ms: u32) -> Next {
        match settled(&self.0.next(deadline_ms)).await {
            Ok(answer) => match answer.as_string() {
                Some(frame) => Next::Frame(frame),
                None if answer.is_null() => Next::Deadline,
                None => Next::Closed,
            },
            Err(_) => Next::Closed,
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.0.close();
    }
}
