#!/usr/bin/env bash
# Builds the Worker:
#
#   src/**/*.rs --cargo-------> target/wasm/…/a2a_task_plane.wasm
#               --bindings----> build/wasm/index.js, index_bg.wasm, snippets/   what src/runtime/shell.mjs imports
#               --wasm-opt----> build/worker.wasm
#   shell.mjs   --esbuild-----> build/worker.mjs                                the entry; imports ./worker.wasm
#
# Each step runs only if what it reads has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh
. scripts/toolchain.sh

toolchain=$(cat .tools/wasm-toolchain 2>/dev/null) || fail "the tools are not set up" "make setup"
crate=target/wasm/wasm32-unknown-unknown/release/a2a_task_plane.wasm

compile() {
  wasm_cargo "$toolchain" build --locked --lib --package a2a-task-plane --release \
    --target wasm32-unknown-unknown --target-dir target/wasm -Zbuild-std=std,panic_unwind -Zbuild-std-features=optimize_for_size
}

# `module`: the glue makes its instance when it is loaded, so the first request finds it ready. What else
# scripts/bindings/main.rs asks for lets shell.mjs learn of a trap and replace the instance.
bind() {
  .tools/bin/bindings "$crate" build/wasm && plain_import
}

# workerd has no source phase imports: its plain import of a .wasm file gives the compiled module. The path is the
# bundle's.
plain_import() {
  local glue=build/wasm/index.js
  sed 's#^import source wasmModule from "./index_bg.wasm"#import wasmModule from "./worker.wasm"#' $glue >$glue.new &&
    mv $glue.new $glue &&
    grep -q '^import wasmModule from "./worker.wasm"' $glue
}

# The features are listed, not `all`: they are what rustc emits, and workerd runs each of them. -O1, because LLVM has
# done the rest: -Os takes three times as long for no less. The passes beside it are quick, and gzip notices them.
optimize() {
  node_modules/.bin/wasm-opt -O1 build/wasm/index_bg.wasm -o build/worker.wasm \
    --rse --vacuum --duplicate-function-elimination --strip-producers --strip-target-features \
    --enable-bulk-memory --enable-exception-handling --enable-multivalue --enable-mutable-globals \
    --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext
}

bundle() {
  node_modules/.bin/esbuild src/runtime/shell.mjs --bundle --format=esm --target=es2024 --outfile=build/worker.mjs \
    --minify --external:cloudflare:* --external:./worker.wasm --log-level=warning
}

step "Compile the Worker to WebAssembly" \
  "read the compiler's message above; if it is about std or the target: rm -rf .tools && make setup" compile
bound=$(cat "$crate" scripts/build.sh .tools/bin/bindings.sha256 package-lock.json | sha256sum)
if [ "$(cat build/.bound 2>/dev/null)" != "$bound" ] || [ ! -f build/worker.wasm ]; then
  rm -rf build/wasm build/.bound
  mkdir -p build
  step "Generate the bindings" "rm -rf .tools build && make build" bind
  step "Optimize" "rm -rf .tools build && make build" optimize
  printf '%s\n' "$bound" >build/.bound
fi
step "Bundle" "read esbuild's message above" bundle

gzipped() { gzip -9c "build/$1" | wc -c; }
printf '    gzipped: worker.wasm %d KB, worker.mjs %d KB\n' \
  "$(($(gzipped worker.wasm) / 1024))" "$(($(gzipped worker.mjs) / 1024))"
