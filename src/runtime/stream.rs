//! A watcher's frames as a server-sent event stream.
//!
//! The pump runs in JavaScript (`watch.js`), so that nothing of a client that went away stays in this instance; Rust is
//! called once a frame, to say what it becomes on the wire.

use std::panic::AssertUnwindSafe;

use wasm_bindgen::prelude::*;

use super::response::{JsResponse, Response, header_lines};
use super::sockets::{PING, WebSocket};

#[wasm_bindgen(module = "/src/runtime/watch.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = streamFrames)]
    fn stream_frames(
        socket: &WebSocket,
        header_lines: &str,
        tick_ms: u32,
        ping: &str,
        comment: &str,
        event_of: JsValue,
        context: &ExecutionContext,
    ) -> Result<JsResponse, JsValue>;
}

#[wasm_bindgen]
extern "C" {
    /// What workerd gives the Worker beside a request (`ctx`).
    #[derive(Clone)]
    pub type ExecutionContext;
}

/// How often a stream proves that its client is there, unless told otherwise.
pub const TICK_MS: u32 = 15_000;

/// What a frame becomes on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Nothing: the frame is not for the client.
    Skip,
    /// This text; the stream goes on.
    More(String),
    /// This text; the stream ends behind it.
    Last(String),
}

/// Answers with a stream of what `event_of` makes of each text frame, in order.
///
/// Every `tick_ms` it writes a comment, which is how a client that went away is noticed, and pings the object. It ends
/// when an event is the last, when the socket closes, and when the client is gone or takes nothing for two ticks or
/// lets 1 MiB pile up behind a frame, which itself goes out whatever its size; the socket is then closed. A panic in `event_of` ends the stream.
///
/// # Errors
/// Where the platform refuses to build the response: a mistake of ours.
pub fn respond_with_stream(
    socket: &WebSocket,
    headers: &[(&str, &str)],
    tick_ms: u32,
    context: &ExecutionContext,
    event_of: impl FnMut(String) -> Event + 'static,
) -> Result<Response, JsValue> {
    let mut event_of = AssertUnwindSafe(event_of);
    let shim = Closure::<dyn FnMut(String) -> Option<String>>::new(move |frame: String| {
        let AssertUnwindSafe(event_of) = &mut event_of;
        match event_of(frame) {
            Event::Skip => None,
            Event::More(text) => Some(format!("+{text}")),
            Event::Last(text) => Some(format!(".{text}")),
        }
    });
    let mut lines = header_lines(&[
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache, no-transform"),
    ]);
    lines.push_str(&header_lines(headers));
    stream_frames(
        socket,
        &lines,
        tick_ms,
        PING,
        ":\n\n",
        shim.into_js_value(),
        context,
    )
    .map(Response::Built)
}
