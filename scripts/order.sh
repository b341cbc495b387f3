#!/usr/bin/env bash
# Which functions tare runs: scripts/order.sh [OBJECTS]
#
# Lets the bench on the simulated server offer OBJECTS (1000) to the static binary as order.py traces it: first a start
# without objects, then, in each cache mode, a burst, a steady rate, updates, deletions and a restart. Every
# function that was entered goes to scripts/order/tare.txt, which scripts/dist.sh gives to the linker:
# what runs lies beside what runs, and pages of the file that hold nothing else are never mapped.
#
# Guarantees: the list is made anew and appears whole or not at all; hashes in names are left out, so
# that it holds for other targets and compilers. Needs python3 and readelf, on Linux on x86_64. Takes some minutes.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
objects="${1:-1000}"
[[ "$objects" =~ ^[1-9][0-9]*$ ]] || { echo "error: \"$objects\" is not a number of objects" >&2; exit 2; }
command -v readelf >/dev/null || { echo "error: readelf is missing; install Debian's package binutils" >&2; exit 1; }

target=x86_64-unknown-linux-musl
symbols="$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}/static/symbols")"
scripts/dist.sh --symbols yes --out "$symbols" "$target" tare
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT

# The bench on the simulated server, with the operator traced in these cache modes; a trace for each of them.
profile() {
    local name="$1" options=("${@:3}") mode names=()
    for mode in $2; do
        cat >"$out/$name-$mode.toml" <<END
name = "traced"
variant = "$mode"
[run]
command = "python3"
args = ["$PWD/scripts/order.py", "trace", "$out/$name-$mode", "$symbols/$target/tare",
        "run", "--cache", "$mode", "--admin", "{admin}"]
env = { KUBECONFIG = "{kubeconfig}" }
crd = "$PWD/deploy/base/crd.yaml"
[ready]
http = "/readyz"
[metrics]
path = "/metrics"
reconcile_histogram = "tare_reconcile_duration_seconds"
reconcile_errors = "tare_reconcile_errors_total"
END
        options+=(--subject "$out/$name-$mode.toml")
        names+=("traced/$mode")
    done
    # Its exit code says that a time was late or not, which of a traced program means nothing.
    cargo run --quiet -p loadgen -- bench --no-build --skip-conformance \
        --subjects "$(IFS=,; echo "${names[*]}")" --out "$out/$name" "${options[@]}" >&2 || true
    for mode in $2; do
        [[ -s "$out/$name-$mode" ]] || { echo "error: no trace of $name in mode $mode; the bench says above why" >&2; exit 1; }
    done
}
profile start none --objects 0
profile work "none metadata pruned" --objects "$objects" --update-storm
python3 scripts/order.py list "$symbols/$target/tare" "$out"/{start-none,work-none,work-metadata,work-pruned} >"$out/order.txt"
mv "$out/order.txt" scripts/order/tare.txt
