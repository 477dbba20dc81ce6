# To be sourced: runs one step so that a reader always sees what is going on and, if it fails, what to do.

# fail MESSAGE WHAT-TO-DO: ends the script.
fail() {
  printf '\nfailed: %s\n  what to do: %s\n' "$1" "$2" >&2
  exit 1
}

# attempt TITLE COMMAND…: runs COMMAND, says every 20 s that it still runs, and gives its exit status.
attempt() {
  local title=$1 started=$SECONDS ticker status=0
  shift
  printf '==> %s\n' "$title"
  # It must not outlive this script, however that ends, nor hold its output open.
  while sleep 20 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    printf '... %s: %d s\n' "$title" "$((SECONDS - started))"
  done &
  ticker=$!
  "$@" || status=$?
  kill "$ticker" 2>/dev/null
  wait "$ticker" 2>/dev/null || true
  return "$status"
}

# step TITLE WHAT-TO-DO COMMAND…: as attempt, and ends the script if COMMAND fails. A function must chain its commands
# with &&: `set -e` does not reach into it.
step() {
  local title=$1 advice=$2
  shift 2
  attempt "$title" "$@" || fail "$title" "$advice"
}
