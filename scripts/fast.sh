#!/usr/bin/env bash
# What a small change can break, within two minutes: scripts/fast.sh [REVISION]. Prints how long it took.
#
# Looks at what differs from REVISION (HEAD; the last commit where nothing differs): format, unit tests of the packages that
# it is in, and, where it can change what the operator does, the simulated scenarios in mode none that are not alone. Says what
# it leaves out. Everything else is `cargo test --workspace` and .ci/run.
#
# Guarantees: compiles nothing that `cargo test --workspace` does not: with `--package` cargo chooses other features and
# compiles half of the dependencies again.
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

# Folders of the packages, and the tests beside their unit tests.
declare -A folders=()
operator="" documents=""
for file in "${files[@]}"; do
    case "$file" in
    *.md | results/* | tests/repository/*) documents=yes ;;
    xtask/*) documents=yes ;;
    runtime/src/* | runtime/Cargo.toml) folders[tare_runtime]=runtime operator=yes ;;
    src/* | tests/scenarios/* | tests/shared/* | Cargo.toml) folders[tare]=. operator=yes ;;
    kubesim/*) folders[kubesim]=kubesim operator=yes ;;
    kubesim-contract/*) folders[kubesim_contract]=kubesim-contract ;;
    loadgen/* | workloads/* | subjects/*) folders[loadgen]=loadgen ;;
    controlplane/*) folders[controlplane]=controlplane ;;
    procstat/*) folders[tare_procstat]=procstat ;;
    esac
done

what=()
[ ${#folders[@]} = 0 ] || what+=(--lib)
[ -z "$operator" ] || what+=(--test scenarios)
[ -z "$documents" ] || what+=(--test repository --test documents --bin xtask)

# Builds what `what` names, and writes a line for each test program: its target, its path.
programs() {
    cargo test --quiet --workspace "${what[@]}" --no-run --message-format json-render-diagnostics |
        sed -n 's/.*"executable":"\([^"]*\/deps\/\([a-z_]*\)-[0-9a-f]*\)".*/\2 \1/p'
}

# Runs a test program as cargo does: in the folder of its package.
run() {
    local program="$1" folder="$2"
    shift 2
    echo "-- $(basename "${program%-*}") $*"
    (cd "$folder" && "$program" --quiet "$@" </dev/null)
}

cargo fmt --all --check
if [ ${#what[@]} -gt 0 ]; then
    built="$(programs)"
    while read -r target program; do
        case "$target" in
        scenarios) run "$program" . simulated::none --skip fifty_thousand ;;
        repository) run "$program" . documents links vocabulary ;;
        xtask | documents) run "$program" xtask ;;
        *) [ -z "${folders[$target]:-}" ] || run "$program" "${folders[$target]}" ;;
        esac
    done <<<"$built"
fi
echo "left out: modes metadata and pruned, overload, real servers, commands of loadgen, what ships," \
    "simulation, documentation tests, clippy"
echo "done in $SECONDS s"
