//! The Worker's bindings: variables, secrets and object namespaces.

use wasm_bindgen::prelude::*;

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
}
