//! The Workers AI binding.

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;

use super::env::Env;
use super::post::PostError;
use super::promise::settled;

#[wasm_bindgen]
extern "C" {
    /// The binding.
    #[derive(Clone)]
    pub type Ai;
}

#[wasm_bindgen(module = "/src/runtime/post.js")]
extern "C" {
    #[wasm_bindgen(js_name = ai)]
    fn ai_binding(env: &Env, name: &str) -> Option<Ai>;
    #[wasm_bindgen(js_name = runAi)]
    fn run_ai(binding: &Ai, model: &str, input: &str, deadline_ms: u32) -> Promise;
}

impl Env {
    /// The Workers AI binding; `None` where it is absent or something else. Never throws.
    #[must_use]
    pub fn ai(&self, name: &str) -> Option<Ai> {
        ai_binding(self, name)
    }
}

impl Ai {
    /// Runs a model on a JSON input, and gives its answer as JSON. Waits at most `deadline_ms`.
    ///
    /// # Errors
    /// [`PostError`].
    pub async fn run(
        &self,
        model: &str,
        input: &str,
        deadline_ms: u32,
    ) -> Result<String, PostError> {
        let answer = settled(&run_ai(self, model, input, deadline_ms))
            .await
            .map_err(|_| PostError::Failed("abandoned".to_owned()))?;
        match answer.dyn_into::<Array>() {
            Ok(parts) => Ok(parts.get(0).as_string().unwrap_or_default()),
            Err(failure) => Err(match failure.as_string() {
                Some(text) if text == "deadline" => PostError::Deadline,
                text => PostError::Failed(text.unwrap_or_default()),
            }),
        }
    }
}
