//! The two object classes: decode a command, run it in a transaction, carry out its effects. Everything asynchronous
//! lives here; every rule lives in `durable_objects`.

mod agents;
mod alarm;
mod answers;
mod at_work;
mod execution;
mod model;
mod principal;
mod push;
mod settlement;
mod wake_queue;

pub use execution::EXECUTOR_TIMEOUT_MS;
pub use principal::PrincipalObject;
pub use wake_queue::WakeQueueObject;

use durable_objects::commands;
use durable_objects::effects::LogEvent;
use durable_objects::environment::{Environment, Ids};
use durable_objects::error::CoreError;
use js_sys::Uint8Array;
use protocol::error::A2aError;
use serde::Serialize;
use wasm_bindgen::JsValue;

use crate::runtime::{clock, log, random};

/// Identifiers from the system's randomness. Task, context and turn ids sort by the time they were made, which keeps
/// what is written together close together.
struct SystemIds;

impl Ids for SystemIds {
    fn id(&mut self) -> String {
        random::uuid_v7().to_string()
    }

    fn secret(&mut self) -> [u8; 32] {
        let mut secret = [0; 32];
        if random::fill(&mut secret).is_err() {
            // Two version 4 ids: the platform's randomness by another way, never a known secret.
            let halves = [random::uuid_v4(), random::uuid_v4()];
            for (byte, random) in secret
                .iter_mut()
                .zip(halves.iter().flat_map(|half| half.as_bytes()))
            {
                *byte = *random;
            }
        }
        secret
    }
}

/// Runs `work` with the time and ids of now.
fn with_environment<T>(work: impl FnOnce(Environment<'_>) -> T) -> T {
    let mut ids = SystemIds;
    work(Environment {
        now_ms: clock::now_ms(),
        ids: &mut ids,
    })
}

/// Bytes as JavaScript has them.
fn bytes(answer: &[u8]) -> JsValue {
    Uint8Array::from(answer).into()
}

/// The bytes of an answer that carries a reply.
fn accepted(reply: &impl Serialize) -> Result<JsValue, JsValue> {
    commands::accepted(reply)
        .map(|answer| bytes(&answer))
        .map_err(|error| fault("answer_not_written", &error.to_string()))
}

/// The bytes of an answer that refuses.
fn refused(error: &A2aError) -> Result<Vec<u8>, JsValue> {
    commands::refused(error).map_err(|error| fault("answer_not_written", &error.to_string()))
}

/// An answer from a core's outcome: a refusal is one, a fault of ours is thrown.
fn answer(outcome: Result<Vec<u8>, CoreError>) -> Result<JsValue, JsValue> {
    match outcome {
        Ok(answer) => Ok(bytes(&answer)),
        Err(CoreError::Refused(error)) => Ok(bytes(&refused(&error)?)),
        Err(CoreError::Store(error)) => Err(fault("storage_failed", &error.to_string())),
    }
}

/// Logs a fault of ours, once, and makes what is thrown to the caller, which says nothing of it.
fn fault(event: &'static str, reason: &str) -> JsValue {
    log::error(event, &[("reason", reason)]);
    JsValue::from_str(event)
}

fn write_log<'a>(events: impl IntoIterator<Item = &'a LogEvent>) {
    for event in events {
        let fields: Vec<(&str, &str)> = event
            .fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        log::info(event.event, &fields);
    }
}
