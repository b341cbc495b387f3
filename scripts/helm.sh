#!/usr/bin/env bash
# Helm, as the tests of deploy/helm use it: scripts/helm.sh ARGUMENT...
#
# Guarantees: the version below, whose sources Go checks against its public database of checksums. It is built into the
# user's cache folder, where the next run and tests/release find it. Needs Go.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
helm_version=v4.3.1

tools="${XDG_CACHE_HOME:-$HOME/.cache}/tare/tools/helm-$helm_version/bin"
if ! [[ -x "$tools/helm" ]]; then
    command -v go >/dev/null || fail "missing: go, which builds helm"
    GOBIN="$tools" GOFLAGS='' CGO_ENABLED=0 go install -trimpath "helm.sh/helm/v4/cmd/helm@$helm_version" \
        || fail "go cannot build helm $helm_version; is the Go module proxy reachable?"
fi
exec "$tools/helm" "$@"
