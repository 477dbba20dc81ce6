#!/usr/bin/env bash
# Runs the simulation of the objects (durable-objects/tests/cores/simulation) with SIMULATION_SEEDS (10,000) seeds.
#
# A seed that fails is named with what went wrong; SIMULATION_SEED=N runs that one alone, and prints its trace.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh
export SIMULATION_SEEDS=${SIMULATION_SEEDS:-10000}

simulate() {
  cargo test --locked --quiet --profile simulation --package a2a-task-plane-durable-objects --test cores "$@"
}

step "Compile the simulation" "read the compiler's message above" simulate --no-run
step "Simulate $SIMULATION_SEEDS seeds" "run the seed that failed alone: SIMULATION_SEED=N make sim" \
  simulate simulation -- --nocapture
