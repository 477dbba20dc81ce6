#!/bin/sh
# Pi behind the task plane: `resident run -- sh examples/pi.sh`, in the folder it is to work in.
# One session file per task: the turn that brings an answer continues the session that asked.
set -eu

sessions=${XDG_STATE_HOME:-$HOME/.local/state}/a2a-resident/pi
mkdir -p "$sessions"

# The prompt is on stdin.
exec pi --print --session "$sessions/$A2A_SESSION_ID.jsonl" --tools read,bash
