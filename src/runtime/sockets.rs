//! An object's watchers: WebSockets that outlive the object's stay in memory (hibernation).
//!
//! The platform keeps each socket with its tags and a small attachment, and answers pings without waking the object.

use js_sys::Array;
use wasm_bindgen::prelude::*;

use super::response::JsResponse;
use super::storage::ObjectState;

/// What the Worker sends so as to be seen alive.
pub const PING: &str = "ping";
/// What the platform answers on the object's behalf.
pub const PONG: &str = "pong";

#[wasm_bindgen]
extern "C" {
    /// One end of a WebSocket.
    #[derive(Clone)]
    pub type WebSocket;

    #[wasm_bindgen(method, catch, js_name = send)]
    fn js_send(this: &WebSocket, frame: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch, js_name = close)]
    fn js_close(this: &WebSocket, code: u16, reason: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch, js_name = serializeAttachment)]
    fn js_serialize_attachment(this: &WebSocket, value: &str) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch, js_name = getWebSockets)]
    fn js_web_sockets(this: &ObjectState, tag: Option<&str>) -> Result<Array, JsValue>;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = acceptSocket)]
    fn accept_socket(
        state: &ObjectState,
        tag_lines: &str,
        attachment: Option<&str>,
    ) -> Result<Array, JsValue>;
    #[wasm_bindgen(catch, js_name = answerPings)]
    fn answer_pings(state: &ObjectState, ping: &str, pong: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(catch, js_name = lastPing)]
    fn last_ping(state: &ObjectState, socket: &WebSocket) -> Result<Option<f64>, JsValue>;
    #[wasm_bindgen(catch, js_name = attachment)]
    fn socket_attachment(socket: &WebSocket) -> Result<Option<String>, JsValue>;
    #[wasm_bindgen(catch, js_name = broadcast)]
    fn broadcast_frame(state: &ObjectState, tag: &str, frame: &str) -> Result<u32, JsValue>;
}

/// A watcher that was let in: the object's end, and the answer that carries the other end to the Worker.
pub struct Accepted {
    /// The object's end. Frames may be sent at once.
    pub socket: WebSocket,
    /// The 101 answer to the upgrade.
    pub response: JsResponse,
}

impl ObjectState {
    /// Lets in a watcher under at most 10 tags of at most 256 characters, none with a line break, with an optional
    /// attachment of at most 16,384 bytes, which stays with the socket when the object leaves memory.
    ///
    /// # Errors
    /// Where the platform refuses: a tag or attachment over its limit, or 32,768 sockets already.
    pub fn accept(&self, tags: &[&str], attachment: Option<&str>) -> Result<Accepted, JsValue> {
        let pair = accept_socket(self, &tags.join("\n"), attachment)?;
        Ok(Accepted {
            socket: pair.get(0).unchecked_into(),
            response: pair.get(1).unchecked_into(),
        })
    }

    /// The open sockets with this tag, or all of them. Empty where the platform refuses.
    #[must_use]
    pub fn sockets(&self, tag: Option<&str>) -> Vec<WebSocket> {
        match self.js_web_sockets(tag) {
            Ok(sockets) => sockets.iter().map(JsCast::unchecked_into).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Sends a frame to every open socket with this tag, in one crossing, and tells how many took it.
    ///
    /// The platform lets it out when the writes before it are durable.
    pub fn broadcast(&self, tag: &str, frame: &str) -> u32 {
        broadcast_frame(self, tag, frame).unwrap_or_default()
    }

    /// From now on the platform answers [`PING`] with [`PONG`] on every socket, without waking the object.
    ///
    /// # Errors
    /// Where the platform refuses.
    pub fn answer_pings(&self) -> Result<(), JsValue> {
        answer_pings(self, PING, PONG)
    }

    /// When the platform last answered a ping on this socket, in milliseconds since the epoch; `None`: never.
    #[must_use]
    pub fn last_ping_ms(&self, socket: &WebSocket) -> Option<i64> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the platform gives whole milliseconds"
        )]
        last_ping(self, socket)
            .ok()
            .flatten()
            .map(|at_ms| at_ms as i64)
    }
}

impl WebSocket {
    /// Sends a text frame; `false` where the socket is closed.
    pub fn send(&self, frame: &str) -> bool {
        self.js_send(frame).is_ok()
    }

    /// Closes the socket with a code that WebSocket allows an application (1000, 3000–4999) and a reason of at most
    /// 123 bytes; `false` where it can't be.
    pub fn close(&self, code: u16, reason: &str) -> bool {
        self.js_close(code, reason).is_ok()
    }

    /// Keeps a text of at most 16,384 bytes with the socket, in place of any other.
    ///
    /// # Errors
    /// Where the platform refuses.
    pub fn set_attachment(&self, value: &str) -> Result<(), JsValue> {
        self.js_serialize_attachment(value)
    }

    /// The text kept with the socket.
    #[must_use]
    pub fn attachment(&self) -> Option<String> {
        socket_attachment(self).ok().flatten()
    }
}
