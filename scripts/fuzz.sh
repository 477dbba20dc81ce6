#!/usr/bin/env bash
# Fuzzes everything that reads what a stranger wrote, for FUZZ_SECONDS (60) per target.
#
#   scripts/fuzz.sh [TARGET…]
#
# fuzz/README.md says how, and what to do with a finding.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh

seconds=${FUZZ_SECONDS:-60}
triple=$(rustc -vV | sed -n 's/^host: //p')
targets=("$@")
[ $# -gt 0 ] || targets=(message cursor negotiation credentials trusted agents)

command -v c++ >/dev/null || fail "there is no C++ compiler, and libFuzzer is C++" "install it (Debian: apt-get install g++)"

# What `cargo fuzz` would pass with `--sanitizer none`: the coverage that guides the fuzzer. The code has no unsafe
# block, so there is nothing an address sanitizer could find, and a stable compiler will do.
compile() {
  RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --locked --release --quiet --manifest-path fuzz/Cargo.toml --target "$triple" --target-dir target/fuzz
}

# What it learns goes to the ignored folder; the seeds stay as they are.
fuzz() {
  mkdir -p "target/fuzz/corpus/$1" &&
    "target/fuzz/$triple/release/$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=16384 \
      -print_final_stats=1 -verbosity=0 -artifact_prefix="target/fuzz/$1-" "target/fuzz/corpus/$1" "fuzz/corpus/$1"
}

step "Compile the fuzz targets" "read the compiler's message above" compile
for target in "${targets[@]}"; do
  [ -f "fuzz/targets/$target.rs" ] || fail "there is no target '$target'" "name one of fuzz/targets"
  step "Fuzz $target for $seconds s" "the input is in target/fuzz/$target-…: see fuzz/README.md" fuzz "$target"
done
