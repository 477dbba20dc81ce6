# To be sourced: runs one step so that a reader always sees what is going on and, if it fails, what to do.

# fail MESSAGE WHAT-TO-DO: ends the script.
fail() {
  printf '\nfailed: %s\n  what to do: %s\n' "$1" "$2" >&2
  exit 1
}

# step TITLE WHAT-TO-DO COMMAND…: runs COMMAND, says every 20 s that it still runs, and ends the script if it fails.
step() {
  local title=$1 advice=$2 started=$SECONDS ticker status=0
  shift 2
  printf '==> %s\n' "$title"
  while sleep 20 >/dev/null 2>&1; do printf '... %s: %d s\n' "$title" "$((SECONDS - started))"; done &
  ticker=$!
  "$@" || status=$?
  kill "$ticker" 2>/dev/null
  wait "$ticker" 2>/dev/null || true
  [ "$status" -eq 0 ] || fail "$title" "$advice"
}
