#!/usr/bin/env bash
# Passes all tests: installs what is missing, says what it does, then checks formatting, lints, structure and behaviour.
set -euo pipefail
cd "$(dirname "$0")"

say() { printf '\n== %s\n' "$*"; }

need_packages=()
command -v cc >/dev/null 2>&1 || need_packages+=(build-essential)
if [ ${#need_packages[@]} -gt 0 ]; then
  say "installing ${need_packages[*]} (a C compiler builds one allocator)"
  sudo=""; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq && $sudo apt-get install -y -qq "${need_packages[@]}"
fi
if ! cargo nextest --version >/dev/null 2>&1; then
  say "installing cargo-nextest"
  cargo install --locked cargo-nextest
fi

say "formatting, lints, structure (cargo xtask check)"
cargo xtask check

say "tests (cargo nextest)"
cargo nextest run --workspace --no-fail-fast

say "examples in the documentation"
cargo test --doc --workspace --quiet

say "all passed"
