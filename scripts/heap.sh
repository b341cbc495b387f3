#!/usr/bin/env bash
# Who holds tare's heap when it is largest: scripts/heap.sh [OBJECTS]
#
# Builds tare with dhat and debug symbols, lets the bench on the simulated server offer OBJECTS (5,000) to it, and
# prints the heap at its peak by the function that asked for it: first in the burst, then after a
# restart with every object there. The profiles themselves stay in target/heap, for dhat's own viewer
# (dh_view.html of valgrind).
set -euo pipefail
cd "$(dirname "$0")/.."
objects="${1:-5000}"
[[ "$objects" =~ ^[1-9][0-9]*$ ]] || { echo "error: \"$objects\" is not a number of objects" >&2; exit 2; }

target=target/heap
cargo build --quiet --release -p tare --features alloc-dhat \
    --config 'profile.release.debug="line-tables-only"' --target-dir "$target"
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
rm -f "$target"/dhat-heap-*.json
cargo run --quiet --release -p loadgen -- bench --no-build --skip-conformance --bursts-only \
    --subject loadgen/subjects/allocators/dhat.toml --subjects tare/dhat \
    --objects "$objects" --out "$out/bench" >&2
for profile in $(ls -tr "$target"/dhat-heap-*.json); do
    echo
    python3 scripts/heap.py "$profile"
done
