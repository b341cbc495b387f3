#!/usr/bin/env bash
# The digest of the image that Dockerfile.scratch compiles in: scripts/base-image.sh [show|check|pin]     [show]
#
#   show    what the registry has for the tag, and what Dockerfile.scratch names
#   check   ends with an error where the two differ, or where no digest is named
#   pin     writes the registry's digest into Dockerfile.scratch
#
# Nothing of this image is shipped: the images of tare and loadgen are made `FROM scratch`. It compiles them where
# `docker build` is used; scripts/image.sh does not need it. A registry that cannot be reached is said in one line that
# begins with `skipped:`, and is no error. Needs skopeo.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
need skopeo
what="${1:-show}"
[[ "$what" == show || "$what" == check || "$what" == pin ]] || fail "\"$what\" is not one of show, check, pin" 2

file=Dockerfile.scratch
rust="$(sed -n 's/^ARG RUST_VERSION=//p' "$file")"
named="$(sed -n 's/^ARG RUST_DIGEST=//p' "$file")"
image="docker.io/library/rust:$rust-bookworm"
if ! found="$(skopeo inspect --no-tags --format '{{.Digest}}' "docker://$image" 2>&1)"; then
    echo "skipped: $image cannot be looked up: $(tail -n 1 <<<"$found")"
    exit 0
fi
echo "$image"
echo "  registry: $found"
echo "  $file: ${named:-none}"
case "$what" in
    check) [[ "@$found" == "$named" ]] || fail "they differ: scripts/base-image.sh pin" ;;
    pin)
        sed -i "s|^ARG RUST_DIGEST=.*|ARG RUST_DIGEST=@$found|" "$file"
        echo "written"
        ;;
esac
