#!/usr/bin/env bash
# What is promised of the operator's image, on amd64: scripts/image-check.sh
#
# Guarantees: exit 0 only if two builds from source, in two folders of different names, give the same
# digest, and the image is no larger than the limit. Takes two builds of the static binary, minutes.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
need buildah jq zstd
# Of what a node transfers, zstd: the target of the design.
limit_bytes=1500000

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export REVISION="${REVISION:-image-check}"
unset CARGO_TARGET_DIR
digests=()
for folder in first second/of-another-name; do
    mkdir -p "$work/$folder"
    git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$work/$folder"
    "$work/$folder/scripts/image.sh" --out "$work/out" amd64 | tee "$work/said"
    digests+=("$(jq -r '.manifests[0].digest' "$work/out/tare/index.json")")
    rm -rf "${work:?}/$folder"
done
bytes="$(awk '$1 == "amd64" { print $5 }' "$work/said")"
[[ "${digests[0]}" == "${digests[1]}" ]] || fail "two builds differ: ${digests[*]}"
[[ "$bytes" -le "$limit_bytes" ]] || fail "the image takes $bytes bytes packed, more than $limit_bytes"
echo "two builds on two paths: ${digests[0]}; $bytes of at most $limit_bytes bytes packed"
