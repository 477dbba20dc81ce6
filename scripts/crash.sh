#!/usr/bin/env bash
# Kills workerd and the resident at random moments under load, and looks whether anything was lost or done twice
# (tests/crash). CRASH_KILLS (25) kills; CRASH_SEED replays a schedule.
set -euo pipefail
cd "$(dirname "$0")/.."
exec node --no-warnings tests/crash/run.mjs --kills "${CRASH_KILLS:-25}" ${CRASH_SEED:+--seed "$CRASH_SEED"}
