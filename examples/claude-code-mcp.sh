#!/bin/sh
# Claude Code behind the task plane with the turn's tools over MCP and no other: `resident run -- sh
# examples/claude-code-mcp.sh`, in the folder it is to work in. One session per task, as in claude-code.sh.
set -eu

sessions=${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects
if [ -n "$(find "$sessions" -name "$A2A_SESSION_ID.jsonl" 2>/dev/null)" ]; then
    set -- --resume "$A2A_SESSION_ID"
else
    set -- --session-id "$A2A_SESSION_ID"
fi

# The prompt is on stdin, and mcp.json takes the turn's token from the environment: it is on no command line.
exec claude --print "$@" --mcp-config "$(dirname "$0")/mcp.json" --strict-mcp-config --allowedTools mcp__a2a
