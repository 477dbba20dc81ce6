//! `bindings WASM FOLDER`: writes the Worker's JavaScript bindings and the module that they bind into the folder, as
//! `index.js`, `index_bg.wasm` and `snippets/`.
//!
//! wasm-bindgen's own tool does the same with `--target module --no-typescript --experimental-reset-state-function
//! --force-enable-abort-handler`, and takes many times as long to compile: it comes with an HTTP server, an HTTP client
//! and a test runner.

use std::env::args_os;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = args_os().skip(1);
    let (Some(input), Some(folder), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: bindings WASM FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let generated = bindgen.module(true).and_then(|bindgen| {
        bindgen
            .input_path(input)
            .out_name("index")
            .typescript(false)
            .reset_state_function(true)
            .force_enable_abort_handler(true)
            .generate(folder)
    });
    match generated {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}
