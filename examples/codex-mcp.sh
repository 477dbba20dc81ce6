#!/bin/sh
# Codex behind the task plane with the turn's tools over MCP: `resident run -- sh examples/codex-mcp.sh`, in the
# repository it is to work in. One session per task, as in codex.sh.
set -eu

state=${XDG_STATE_HOME:-$HOME/.local/state}/a2a-resident/codex
mkdir -p "$state"
session=$state/$A2A_SESSION_ID

# Codex itself takes the turn's token from the environment; what it runs needs neither the token nor the network.
set -- --json \
    -c 'sandbox_mode="workspace-write"' \
    -c "mcp_servers.a2a.url=\"$A2A_URL/mcp\"" \
    -c 'mcp_servers.a2a.bearer_token_env_var="A2A_TURN_TOKEN"' \
    -c 'mcp_servers.a2a.required=true' \
    -c 'mcp_servers.a2a.default_tools_approval_mode="approve"'

if [ -s "$session" ]; then
    exec codex exec resume "$@" "$(cat "$session")" -
fi
status=0
codex exec "$@" - > "$session.log" || status=$?
sed -n 's/.*"thread_id":"\([^"]*\)".*/\1/p' "$session.log" | head -n 1 > "$session"
exit "$status"
