#!/usr/bin/env bash
# Builds the runner, target/resident/resident, for this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh
export CARGO_TARGET_DIR=$PWD/target

step "Compile the resident" "read the compiler's message above" \
  cargo build --locked --profile resident --package a2a-task-plane-resident
