# To be sourced from the repository's root: the two compilers that can build the Worker.
#
# The Worker unwinds on a panic, which the shipped standard library for wasm32 can't: it is compiled along, so the
# compiler must have the library's source and take -Z flags.

NIGHTLY=nightly-2026-05-20
RUSTUP_HOME_FOR_WASM=$PWD/.tools/rustup
DEBIAN_CARGO=/usr/bin/cargo
DEBIAN_RUSTC=/usr/bin/rustc
DEBIAN_LINKER=/usr/bin/wasm-ld-19

nightly_bin() {
  echo "$RUSTUP_HOME_FOR_WASM"/toolchains/"$NIGHTLY"-*/bin
}

has_library_source() {
  [ -f "$("$1" --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/Cargo.lock" ]
}

# wasm_toolchain_works rustup|debian
wasm_toolchain_works() {
  case $1 in
    rustup) [ -x "$(nightly_bin)/cargo" ] && has_library_source "$(nightly_bin)/rustc" ;;
    debian) [ -x "$DEBIAN_CARGO" ] && [ -x "$DEBIAN_LINKER" ] && has_library_source "$DEBIAN_RUSTC" ;;
    *) false ;;
  esac
}

# wasm_toolchain_name rustup|debian: for people.
wasm_toolchain_name() {
  case $1 in
    rustup) echo "rustup's $("$(nightly_bin)/rustc" --version)" ;;
    debian) echo "Debian's $("$DEBIAN_RUSTC" --version)" ;;
  esac
}

# -Cpanic=unwind: a panic fails one request; in a destructor it is a trap, or else each drop of a value needs a way to go
# on dropping its neighbours: 4 % of the Worker. The inliner's threshold is LLVM's for whatever is compiled, the standard
# library too: what is called once is still inlined, and copies of the rest made the Worker 7 % larger and no faster.
WASM_RUSTFLAGS="-Cpanic=unwind -Zpanic-in-drop=abort -Cllvm-args=-inline-threshold=0"

# wasm_cargo rustup|debian ARGUMENTS…: that toolchain's cargo, with that toolchain's compiler and linker.
wasm_cargo() {
  local toolchain=$1
  shift
  # A cargo that itself runs under rustup, or flags meant for another build, must not leak into this one.
  unset RUSTUP_TOOLCHAIN CARGO CARGO_ENCODED_RUSTFLAGS RUSTC_WRAPPER
  case $toolchain in
    rustup)
      RUSTC=$(nightly_bin)/rustc RUSTFLAGS=$WASM_RUSTFLAGS "$(nightly_bin)/cargo" "$@"
      ;;
    debian)
      RUSTC=$DEBIAN_RUSTC RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$DEBIAN_LINKER \
        RUSTFLAGS=$WASM_RUSTFLAGS "$DEBIAN_CARGO" "$@"
      ;;
  esac
}
