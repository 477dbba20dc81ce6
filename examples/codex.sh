#!/bin/sh
# Codex behind the task plane: `resident run -- sh examples/codex.sh`, in the repository it is to work in.
# Codex names its sessions itself, so the name is kept in a file per task and the next turn resumes it.
set -eu

state=${XDG_STATE_HOME:-$HOME/.local/state}/a2a-resident/codex
mkdir -p "$state"
session=$state/$A2A_SESSION_ID

# The tools need the network, and their variables: Codex may hide those whose names contain TOKEN.
set -- --json \
    -c 'sandbox_mode="workspace-write"' \
    -c 'sandbox_workspace_write.network_access=true' \
    -c 'shell_environment_policy.inherit="all"' \
    -c 'shell_environment_policy.ignore_default_excludes=true'

if [ -s "$session" ]; then
    exec codex exec resume "$@" "$(cat "$session")" -
fi
status=0
codex exec "$@" - > "$session.log" || status=$?
sed -n 's/.*"thread_id":"\([^"]*\)".*/\1/p' "$session.log" | head -n 1 > "$session"
exit "$status"
