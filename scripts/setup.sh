#!/usr/bin/env bash
# Gets every tool that building, testing and serving need; only the tests' Python client comes by itself, by
# scripts/python.sh. All of it is pinned and goes into ignored folders of this repository (node_modules, .tools); only
# where the system lacks a C linker or a Rust that can build for the web are Debian packages installed. Nothing is done
# twice: with everything there, it takes a second.
#
# The Worker's toolchain is rustup's nightly below, in a rustup home of its own so that the user's toolchains stay as
# they are, or else Debian's rustc-web. WASM_TOOLCHAIN=rustup or =debian asks for one of them.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh
. scripts/debian.sh
. scripts/toolchain.sh

NATIVE_RUST_MINOR=95

check_prerequisites() {
  command -v git >/dev/null || fail "git is not installed" "install it (Debian: apt-get install git)"
  command -v npm >/dev/null ||
    fail "npm is not installed" "install Node.js with npm (Debian: apt-get install nodejs npm)"
  command -v rustup >/dev/null || fail "rustup is not installed" "follow https://rustup.rs, then open a new shell"
  local version
  version=$(cargo --version 2>/dev/null) ||
    fail "cargo does not run" "rustup toolchain install stable && rustup default stable"
  version=${version#cargo 1.}
  [ "${version%%.*}" -ge "$NATIVE_RUST_MINOR" ] ||
    fail "cargo is 1.$version, this project needs 1.$NATIVE_RUST_MINOR" "rustup update stable"
  command -v cc >/dev/null ||
    step "Install a C compiler, which Rust links with" "install gcc by hand (Debian: apt-get install gcc libc6-dev)" \
      apt_install gcc libc6-dev
  cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ||
    step "Add rustfmt and clippy" "rustup component add rustfmt clippy" rustup component add rustfmt clippy
}

# npm ci, unless node_modules is what the lock file says; it brings Node, wrangler, workerd, esbuild and the rest.
npm_packages() {
  local want
  want=$(cat package.json package-lock.json | sha256sum)
  [ "$(cat node_modules/.locked 2>/dev/null)" = "$want" ] && [ -x node_modules/.bin/node ] && return
  # Errors alone: the warnings are about the system's Node, which some packages find too old. They run on the one that
  # comes with them.
  step "Install the npm packages" "check that the npm registry is reachable: npm ping" \
    npm ci --no-audit --no-fund --loglevel=error
  node_modules/.bin/node --version >/dev/null ||
    fail "the npm package 'node' brought no working Node" "rm -rf node_modules, and see what npm ci says"
  printf '%s\n' "$want" >node_modules/.locked
}

rustup_nightly() {
  RUST_BACKTRACE=0 RUSTUP_MAX_RETRIES=1 RUSTUP_HOME=$RUSTUP_HOME_FOR_WASM timeout 300 \
    rustup toolchain install "$NIGHTLY" --no-self-update --profile minimal \
    --component rust-src --target wasm32-unknown-unknown
}

# Settles which compiler builds the Worker and writes it down for build.sh.
wasm_toolchain() {
  local wanted=${WASM_TOOLCHAIN:-} taken
  taken=$(cat .tools/wasm-toolchain 2>/dev/null || true)
  if [ -n "$taken" ] && [ "${wanted:-$taken}" = "$taken" ] && wasm_toolchain_works "$taken"; then return; fi
  mkdir -p .tools
  case ${wanted:-rustup} in
    rustup)
      if attempt "Install a Rust that builds for the web ($NIGHTLY)" rustup_nightly && wasm_toolchain_works rustup; then
        taken=rustup
      elif [ -n "$wanted" ]; then
        fail "rustup could not install $NIGHTLY with rust-src" "check the network, or leave WASM_TOOLCHAIN unset"
      else
        printf '    rustup could not; trying Debian'\''s packages\n'
        taken=debian
      fi
      ;;
    debian) taken=debian ;;
    *) fail "WASM_TOOLCHAIN is '$wanted'" "set it to rustup or debian, or leave it unset" ;;
  esac
  if [ "$taken" = debian ] && ! wasm_toolchain_works debian; then
    step "Install Debian's Rust for the web" \
      "reach a Debian mirror that has rustc-web, or let rustup install $NIGHTLY with rust-src" \
      apt_install rustc-web cargo-web libstd-rust-web-dev rust-web-src lld-19
    wasm_toolchain_works debian || fail "Debian's Rust for the web does not run" "see what $DEBIAN_RUSTC -vV says"
  fi
  printf '%s\n' "$taken" >.tools/wasm-toolchain
  printf '    the Worker is built with: %s\n' "$(wasm_toolchain_name "$taken")"
}

# What generates the Worker's bindings: a small program around wasm-bindgen's library. Its whole command-line tool would
# take most of the setup.
bindings() {
  local crate=scripts/bindings want
  want=$(cat $crate/Cargo.toml $crate/Cargo.lock $crate/main.rs | sha256sum)
  [ "$(cat .tools/bin/bindings.sha256 2>/dev/null)" = "$want" ] && [ -x .tools/bin/bindings ] && return
  step "Compile wasm-bindgen" "read the message above; if it is about a download, check that the registry of crates is reachable" \
    cargo build --locked --manifest-path $crate/Cargo.toml --target-dir target/tools
  mkdir -p .tools/bin
  cp target/tools/debug/bindings .tools/bin/bindings
  rm -rf target/tools
  printf '%s\n' "$want" >.tools/bin/bindings.sha256
}

check_prerequisites
npm_packages
wasm_toolchain
bindings
