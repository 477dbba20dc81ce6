#!/usr/bin/env bash
# Gets the official Python client, with which the tests call the agent, into a virtual environment: .tools/python.
# Every package is pinned by its hash in tests/python-client/requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh

requirements=tests/python-client/requirements.txt
installed=.tools/python/requirements.sha256

want=$(sha256sum <$requirements)
[ "$(cat $installed 2>/dev/null)" = "$want" ] && .tools/python/bin/python -c 'import a2a' 2>/dev/null && exit

command -v python3 >/dev/null ||
  fail "python3 is not installed, and the tests call the agent with the official Python client, too" \
    "install Python 3.10 or newer with venv (Debian: apt-get install python3 python3-venv)"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  fail "python3 is $(python3 --version), the official Python client needs 3.10" "put a newer python3 first on PATH"

make_environment() {
  rm -rf .tools/python && python3 -m venv .tools/python
}

install_packages() {
  .tools/python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes --requirement $requirements
}

step "Make a Python environment" "install venv (Debian: apt-get install python3-venv)" make_environment
step "Install the official Python client" "check that PyPI is reachable, then run this again" install_packages
printf '%s\n' "$want" >$installed
