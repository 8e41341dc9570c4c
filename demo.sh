#!/usr/bin/env bash
# Builds Rheos (profile `quick`: a short build, most of the speed) and runs a windowed query over a live stream.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v cc >/dev/null 2>&1; then
  echo "installing build-essential (a C compiler builds one allocator)" >&2
  sudo=""; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq && $sudo apt-get install -y -qq build-essential
fi
echo "building rheos (profile quick; release with 'cargo build --release' is faster and takes longer to build)" >&2
cargo build --profile quick --package rheos-cli
target=${CARGO_TARGET_DIR:-target}
echo "a live auction stream, 1,000 events a second: bids in each second. Ctrl-C ends it." >&2
exec "$target/quick/rheos" run examples/live-bids.sql "$@"
