#!/usr/bin/env bash
# All that is published about reliability: CAMPAIGN_FOLDER=FOLDER scripts/reliability.sh [PART...]
# Parts: simulation (about 30 minutes), objects (5), overload (250); without one, all three.
#
# Writes FOLDER/simulation and simulation.md, objects.jsonl and objects.md, overload and overload.md: records of the tests, and
# the pages that the tests make of them. Guarantees: a part begins with its folder empty; a test that fails ends it.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
folder="$(realpath --canonicalize-missing "${CAMPAIGN_FOLDER:?set CAMPAIGN_FOLDER to the folder that is written}")"
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(simulation objects overload)
arch="$(uname -m)"

simulation() {
    export SIMULATION_RECORDS="$folder/simulation"
    rm -rf "$SIMULATION_RECORDS"
    SEEDS="${SEEDS:-100000}" cargo test --release -p tare --test simulation -- --include-ignored --nocapture
    cargo test --release -p tare --features mutants --test simulation -- mutants:: --include-ignored --nocapture
    SIMULATION_REPORT="$folder/simulation.md" cargo test --release -p tare --test simulation -- report
}

objects() {
    rm -f "$folder/objects.jsonl"
    OBJECTS_RECORDS="$folder/objects.jsonl" OBJECTS_OPERATIONS=20000 cargo test -p tare --test scenarios -- objects::
}

overload() {
    rm -rf "$folder/overload"
    cargo run --quiet -p loadgen -- control-plane build
    scripts/dist.sh "$arch-unknown-linux-musl"
    TARE_PROGRAM="$PWD/target/static/$arch-unknown-linux-musl/dist/tare" OVERLOAD_RECORDS="$folder/overload" OVERLOAD_IDLE_S=600 \
        cargo test -p tare --test scenarios -- --include-ignored --test-threads 1 overload::
}

mkdir -p "$folder"
for part in "${parts[@]}"; do
    case "$part" in
        simulation | objects | overload) "$part" ;;
        *)
            echo "error: no part \"$part\"; there are simulation, objects and overload" >&2
            exit 2
            ;;
    esac
done
