//! Another Worker, reached by a service binding: it answers a question in lines, or gives a file.

use js_sys::{Promise, Uint8Array};
use thiserror::Error;
use wasm_bindgen::prelude::*;

use super::env::Env;
use super::promise::settled;

#[wasm_bindgen]
extern "C" {
    /// A service binding.
    #[derive(Clone)]
    pub type Service;
}

#[wasm_bindgen(module = "/src/runtime/service.js")]
extern "C" {
    #[wasm_bindgen(js_name = service)]
    fn service_binding(env: &Env, name: &str) -> Option<Service>;

    #[wasm_bindgen(js_name = readFile)]
    fn read_file(binding: &Service, path: &str, max_bytes: u32, deadline_ms: u32) -> Promise;

    type LineReader;
    #[wasm_bindgen(constructor)]
    fn new(max_line_bytes: u32) -> LineReader;
    #[wasm_bindgen(method)]
    fn ask(
        this: &LineReader,
        binding: &Service,
        path: &str,
        body: &str,
        deadline_ms: u32,
    ) -> Promise;
    #[wasm_bindgen(method)]
    fn next(this: &LineReader, deadline_ms: u32) -> Promise;
    #[wasm_bindgen(method)]
    fn close(this: &LineReader);
}

impl Env {
    /// A service binding; `None` where it is absent or something else. Never throws.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<Service> {
        service_binding(self, name)
    }
}

/// Why a service gave no answer, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServiceError {
    /// Nothing came in time.
    #[error("the service did not answer in time")]
    Deadline,
    /// It failed, or answered with another status than 200. For the log; never for a caller.
    #[error("the service failed: {0}")]
    Failed(String),
}

impl ServiceError {
    fn from_js(text: String) -> Self {
        if text == "deadline" {
            Self::Deadline
        } else {
            Self::Failed(text)
        }
    }
}

impl Service {
    /// What it has at an absolute path, by GET.
    ///
    /// # Errors
    /// [`ServiceError`] where it did not come whole within `deadline_ms`, or is longer than `max_bytes`.
    pub async fn get(
        &self,
        path: &str,
        max_bytes: u32,
        deadline_ms: u32,
    ) -> Result<Vec<u8>, ServiceError> {
        let answer = settled(&read_file(self, path, max_bytes, deadline_ms))
            .await
            .map_err(|_| ServiceError::Failed("abandoned".to_owned()))?;
        match answer.as_string() {
            None => Ok(answer.unchecked_into::<Uint8Array>().to_vec()),
            Some(failure) => Err(ServiceError::from_js(failure)),
        }
    }
}

/// The lines of an answer, in order. Dropping it lets the service stop.
pub struct Lines(LineReader);

impl Lines {
    /// Asks with a JSON body, by POST. The first line is due `deadline_ms` from now, too: asking and the wait for that
    /// line share one deadline.
    ///
    /// # Errors
    /// [`ServiceError`] where no answer began within `deadline_ms`.
    pub async fn ask(
        service: &Service,
        path: &str,
        body: &str,
        max_line_bytes: u32,
        deadline_ms: u32,
    ) -> Result<Self, ServiceError> {
        let reader = LineReader::new(max_line_bytes);
        match settled(&reader.ask(service, path, body, deadline_ms)).await {
            Ok(answer) => match answer.as_string() {
                None => Ok(Self(reader)),
                Some(failure) => Err(ServiceError::from_js(failure)),
            },
            Err(_) => Err(ServiceError::Failed("abandoned".to_owned())),
        }
    }

    /// The next line that is not blank; `None` at the end.
    ///
    /// # Errors
    /// [`ServiceError`] where none came whole within `deadline_ms`, however many of its pieces did; for the first line,
    /// within the deadline of [`Lines::ask`].
    pub async fn next(&self, deadline_ms: u32) -> Result<Option<Vec<u8>>, ServiceError> {
        let answer = settled(&self.0.next(deadline_ms))
            .await
            .map_err(|_| ServiceError::Failed("abandoned".to_owned()))?;
        if let Some(failure) = answer.as_string() {
            return Err(ServiceError::from_js(failure));
        }
        Ok(answer.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.0.close();
    }
}
