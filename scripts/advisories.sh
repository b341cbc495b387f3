#!/usr/bin/env bash
# Known vulnerabilities and withdrawn versions among the dependencies: scripts/advisories.sh
#
# Rust: RustSec's database (github.com), by cargo-deny. Go: Go's database (vuln.go.dev), by govulncheck where it is
# installed. Ends with an error where there is an advisory. A check that cannot reach its database is skipped, and the
# last line says so: then nothing is known.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
export PATH="${XDG_CACHE_HOME:-$HOME/.cache}/tare/tools/bin:$PATH"
skipped=()
found=0

# Runs a check: NAME, its address, the command.
check() {
    local name="$1" address="$2" log
    shift 2
    if ! command -v "$1" >/dev/null; then
        skipped+=("$name: there is no $1")
        return
    fi
    if ! python3 -c 'import sys, socket; socket.create_connection((sys.argv[1], 443), 10).close()' "$address" 2>/dev/null; then
        skipped+=("$name: $address cannot be reached")
        return
    fi
    log="$(mktemp)"
    if "$@" >"$log" 2>&1; then
        echo "$name: nothing"
    else
        cat "$log"
        echo "$name: see above" >&2
        found=1
    fi
    rm -f "$log"
}

check "Rust" github.com cargo-deny --log-level warn check advisories
for module in controlplane controlplane/node league/controller-runtime; do
    check "Go, $module" vuln.go.dev govulncheck -C "$module" ./...
done
for one in "${skipped[@]}"; do
    echo "skipped: $one"
done
exit "$found"
