#!/usr/bin/env bash
# What a small change can break: scripts/fast.sh [REVISION]. Prints how long it took.
#
# Looks at what differs from REVISION (HEAD; the last commit where nothing differs): format, unit tests of the packages that
# it is in, and, where it can change what the operator does, the simulated scenarios in mode none that are not alone. Says what
# it leaves out. Everything else is `cargo test --workspace` and .ci/run.
set -euo pipefail
cd "$(dirname "$0")/.."
export RUST_BACKTRACE=0

since="${1:-HEAD}"
changed() { git diff --name-only "$since"; git ls-files --others --exclude-standard; }
mapfile -t files < <(changed)
if [ ${#files[@]} = 0 ] && [ $# = 0 ]; then
    since="HEAD~1"
    mapfile -t files < <(changed)
fi
echo "${#files[@]} files differ from $since"

packages=()
operator=""
documents=""
for file in "${files[@]}"; do
    case "$file" in
    runtime/src/* | runtime/Cargo.toml) packages+=(tare-runtime) operator=yes ;;
    src/* | tests/scenarios/* | tests/shared/* | Cargo.toml) packages+=(tare) operator=yes ;;
    kubesim/*) packages+=(kubesim) operator=yes ;;
    loadgen/* | workloads/* | subjects/*) packages+=(loadgen) ;;
    xtask/* | results/*) documents=yes ;;
    controlplane/*) packages+=(controlplane) ;;
    procstat/*) packages+=(tare-procstat) ;;
    *.md) documents=yes ;;
    esac
done
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u | sed '/^$/d')

cargo fmt --all --check
for package in "${packages[@]}"; do
    case "$package" in
    tare) cargo test --quiet -p "$package" --lib --bins ;;
    *) cargo test --quiet -p "$package" --lib ;;
    esac
done
if [ -n "$operator" ]; then
    cargo test --quiet -p tare --test scenarios -- simulated::none --skip fifty_thousand
fi
if [ -n "$documents" ]; then
    # What it needs of loadgen is what `cargo test` builds.
    cargo test --quiet -p tare --test repository -- documents links vocabulary
    cargo test --quiet -p xtask
fi
echo "left out: modes metadata and pruned, real servers, commands of loadgen, simulation, clippy"
echo "done in $SECONDS s"
