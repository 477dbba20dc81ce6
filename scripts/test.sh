#!/usr/bin/env bash
# Every check and every test, the quick ones first. A built Worker and a built resident are expected.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh
export PATH="$PWD/node_modules/.bin:$PATH"

# First, because it is what may be missing.
scripts/python.sh
step "Rust is formatted" "make fmt" cargo fmt --all --check
step "The fuzz targets are formatted" "make fmt" cargo fmt --manifest-path fuzz/Cargo.toml --check
step "The generator of the bindings is formatted" "make fmt" \
  cargo fmt --manifest-path scripts/bindings/Cargo.toml --check
step "JavaScript is formatted" "make fmt" prettier --check --log-level warn .
step "Clippy is content" "correct what it names above" \
  cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
step "Test the Rust" "read the failed test's message above; cargo test NAME runs it alone" \
  cargo test --locked --workspace --quiet
step "Test on workerd" "read the failed test's message above; node --test FILE runs its file alone" \
  node --test --test-reporter=spec --test-timeout=120000 "tests/**/*.test.mjs"
step "Check the deployment" "read wrangler's message above, then correct wrangler.toml" scripts/deploy.sh --dry-run
