//! The Worker's bindings: variables, secrets and object namespaces.

use wasm_bindgen::prelude::*;

use super::dataset::Dataset;
use super::rate_limiter::RateLimiter;

#[wasm_bindgen]
extern "C" {
    /// The bindings that workerd hands to the Worker and to each object.
    #[derive(Clone)]
    pub type Env;

    /// A Durable Object namespace.
    #[derive(Clone)]
    pub type Namespace;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    fn variable(env: &Env, name: &str) -> Option<String>;
    fn namespace(env: &Env, name: &str) -> Option<Namespace>;
    #[wasm_bindgen(js_name = versionTimestamp)]
    fn version_timestamp(env: &Env, name: &str) -> Option<String>;
    #[wasm_bindgen(js_name = rateLimiter)]
    fn rate_limiter(env: &Env, name: &str) -> Option<RateLimiter>;
    fn dataset(env: &Env, name: &str) -> Option<Dataset>;
}

impl Env {
    /// A variable or secret; `None` where it is absent or not text. Never throws.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<String> {
        variable(self, name)
    }

    /// An object namespace; `None` where it is absent or something else. Never throws.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Option<Namespace> {
        namespace(self, name)
    }

    /// When the deployed version was made, as a version metadata binding tells it; `None` where that is absent. Never
    /// throws.
    #[must_use]
    pub fn version_timestamp(&self, name: &str) -> Option<String> {
        version_timestamp(self, name)
    }

    /// An Analytics Engine binding; `None` where it is absent or something else. Never throws.
    #[must_use]
    pub fn dataset(&self, name: &str) -> Option<Dataset> {
        dataset(self, name)
    }

    /// A rate limiting binding; `None` where it is absent or something else. Never throws.
    #[must_use]
    pub fn rate_limiter(&self, name: &str) -> Option<RateLimiter> {
        rate_limiter(self, name)
    }
}
