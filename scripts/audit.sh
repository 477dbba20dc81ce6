#!/usr/bin/env bash
# Licenses, and known vulnerabilities, of everything in the lock files. The licenses need no network. The npm registry
# answers for npm's packages; cargo-audit, which is built into .tools at the first use, gets RustSec's database by git.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh
export PATH="$PWD/node_modules/.bin:$PATH"

CARGO_AUDIT=0.22.2
locks=(Cargo.lock fuzz/Cargo.lock scripts/bindings/Cargo.lock)

licenses() {
  cargo metadata --locked --format-version 1 | node scripts/licenses.mjs
}

install_cargo_audit() {
  cargo install --quiet --locked --root .tools "cargo-audit@$CARGO_AUDIT"
}

audit_crates() {
  local lock
  for lock in "${locks[@]}"; do
    .tools/bin/cargo-audit audit --deny warnings --file "$lock" || return 1
  done
}

step "Licenses" "use something else, or allow the license in scripts/licenses.mjs" licenses
# Each of these is told of, whatever becomes of the other.
failed=0
attempt "Known vulnerabilities of the npm packages" npm audit || failed=1
if [ "$(.tools/bin/cargo-audit --version 2>/dev/null)" != "cargo-audit $CARGO_AUDIT" ]; then
  step "Build cargo-audit $CARGO_AUDIT" "check that the registry of crates is reachable" install_cargo_audit
fi
attempt "Known vulnerabilities of the crates" audit_crates || failed=1
[ $failed = 0 ] || fail "not everything was found free of known vulnerabilities" \
  "read above: update what is named, or, where a database was not reached, run this where it is"
