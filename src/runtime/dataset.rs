//! Cloudflare's Analytics Engine binding: data points that an operator queries.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The binding: a dataset of the deployment's.
    pub type Dataset;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = writeDataPoint)]
    fn write_data_point(dataset: &Dataset, index: &str, blob: &str, doubles: &[f64]);
}

impl Dataset {
    /// Writes a data point: its index, which is its first blob too, a second blob, and its numbers. It never waits and
    /// never fails: what can't be written is lost.
    pub fn write(&self, index: &str, blob: &str, doubles: &[f64]) {
        write_data_point(self, index, blob, doubles);
    }
}
