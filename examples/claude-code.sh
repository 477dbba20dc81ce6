#!/bin/sh
# Claude Code behind the task plane: `resident run -- sh examples/claude-code.sh`, in the folder it is to work in.
# One session per task: the turn that brings an answer continues the session that asked.
set -eu

sessions=${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects
if [ -n "$(find "$sessions" -name "$A2A_SESSION_ID.jsonl" 2>/dev/null)" ]; then
    set -- --resume "$A2A_SESSION_ID"
else
    set -- --session-id "$A2A_SESSION_ID"
fi

# The prompt is on stdin. Allow what your tasks need and no more: what callers write reaches the model.
exec claude --print "$@" --allowedTools 'Bash(resident *)'
