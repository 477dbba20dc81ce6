#!/usr/bin/env bash
# Gets the official Python client, with which the tests call the agent, and a validator of OpenAPI documents into a
# virtual environment: .tools/python. With `bench`: the official Python server, which the benchmark measures, into
# .tools/python-sdk. A missing python3 or venv is installed as a Debian package. The Python packages are pinned by their
# hashes in requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh
. scripts/debian.sh

if [ "${1-}" = bench ]; then
  environment=.tools/python-sdk
  requirements=bench/python-sdk/requirements.txt
  modules='a2a, sqlalchemy, starlette, uvicorn'
else
  environment=.tools/python
  requirements=tests/python-client/requirements.txt
  modules='a2a, openapi_spec_validator'
fi
installed=$environment/requirements.sha256

want=$(sha256sum <$requirements)
[ "$(cat $installed 2>/dev/null)" = "$want" ] &&
  $environment/bin/python -c "import $modules" 2>/dev/null && exit

# Debian has venv in a package of its own; what it lacks without it is ensurepip.
python3 -c 'import ensurepip, venv' 2>/dev/null ||
  step "Install Python with venv, which the official Python packages need" \
    "install Python 3.10 or newer with venv by hand (Debian: apt-get install python3 python3-venv)" \
    apt_install python3 python3-venv
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  fail "python3 is $(python3 --version), the official Python client needs 3.10" "put a newer python3 first on PATH"

make_environment() {
  rm -rf $environment && python3 -m venv $environment
}

install_packages() {
  $environment/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes --requirement $requirements
}

step "Make a Python environment" "see whether python3 -m venv works, and whether there is room on the disk" make_environment
step "Install the Python packages" "check that PyPI is reachable, then run this again" install_packages
printf '%s\n' "$want" >$installed
