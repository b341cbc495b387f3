#!/usr/bin/env bash
# The image as a multi-platform OCI layout, without a daemon: scripts/image.sh [OPTION...] [PLATFORM...]
#   --package tare|loadgen   which one                                                     [tare]
#   --binaries DIR           takes DIR/TARGET/PACKAGE (scripts/dist.sh --out DIR)          [builds them]
#   --out DIR                where DIR/PACKAGE (gzip) and DIR/PACKAGE-zstd are written     [target/image]
# Platforms: amd64 arm64 arm/v7; without one, all three.
#
# Guarantees: the same binaries, version and revision give the same digests, wherever and whenever it
# runs; an image with another file than its binary is refused. The tag is the version, never `latest`.
# SOURCE_DATE_EPOCH (else 0) is the time of everything in it; REVISION overrides what git says.
# Needs buildah and jq; neither root nor a registry.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh

package=tare binaries="" out=target/image chosen=()
while [[ $# -gt 0 ]]; do
    case "$1" in
        --package | --binaries | --out)
            [[ -n "${2:-}" ]] || fail "$1 needs a value" 2
            declare "${1#--}=$2"
            shift 2
            ;;
        -*) fail "unknown option $1; there are --package, --binaries and --out" 2 ;;
        *)
            target_of "$1" >/dev/null
            chosen+=("$1")
            shift
            ;;
    esac
done
[[ " ${packages[*]} " == *" $package "* ]] || fail "--package \"$package\" is not one of ${packages[*]}" 2
# In the order of `platforms`, however they were named: the index depends on it.
wanted=()
for platform in "${platforms[@]}"; do
    [[ ${#chosen[@]} -gt 0 && " ${chosen[*]} " != *" $platform "* ]] || wanted+=("$platform")
done
need buildah jq
revision="${REVISION:-$(git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null || echo unknown)}"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# Its own store, and its own policy: nothing is pulled, so there is nothing to verify.
echo '{"default":[{"type":"insecureAcceptAnything"}]}' >"$work/policy.json"
store=(buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs)
mkdir -p "$work/empty" "$out"
gzip_layout="$out/$package" zstd_layout="$out/$package-zstd"
rm -rf "$gzip_layout" "$zstd_layout"

# One platform into both layouts, under its label.
pack() {
    local platform="$1" target label folder image
    target="$(target_of "$platform")"
    label="$(label_of "$platform")"
    folder="$work/$label"
    image="localhost/$package:$label"
    if [[ -z "$binaries" ]]; then
        scripts/dist.sh --out "$work/binaries" "$target" "$package" >/dev/null
    fi
    local binary="${binaries:-$work/binaries}/$target/$package"
    [[ -f "$binary" ]] || fail "$binary is not there; make it with: scripts/dist.sh --out ${binaries:-DIR} $target $package"
    mkdir -p "$folder"
    install -m 0755 "$binary" "$folder/$package"
    local stage=build
    [[ "$package" == tare ]] || stage="build-$package"
    "${store[@]}" bud --quiet --signature-policy "$work/policy.json" --isolation chroot --pull-never --layers=false \
        --timestamp "${SOURCE_DATE_EPOCH:-0}" --identity-label=false --omit-history \
        --platform "linux/$platform" --target "$package" --build-context "$stage=$folder" \
        --build-arg "VERSION=$version" --build-arg "REVISION=$revision" \
        --tag "$image" --file Dockerfile.scratch "$work/empty" >/dev/null
    local push=(push --quiet --signature-policy "$work/policy.json" --format oci)
    "${store[@]}" "${push[@]}" --compression-format gzip --compression-level 9 "$image" "oci:$gzip_layout:$label"
    "${store[@]}" "${push[@]}" --compression-format zstd --compression-level 19 "$image" "oci:$zstd_layout:$label"
}

# Replaces the entries of a layout, one per platform, by one index of them: prints its digest.
join() {
    local layout="$1" platform label entries=() index
    for platform in "${wanted[@]}"; do
        label="$(label_of "$platform")"
        entries+=("$(jq -c --arg label "$label" --arg arch "${platform%%/*}" --arg variant "${platform#*/}" '
            .manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $label)
            | {mediaType, digest, size, platform: ({architecture: $arch, os: "linux"}
                + if $variant == $arch then {} else {variant: $variant} end)}' "$layout/index.json")")
    done
    index="$(printf '%s\n' "${entries[@]}" | jq -cs '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: .}')"
    local digest
    digest="$(printf '%s' "$index" | sha256sum | cut -d ' ' -f 1)"
    printf '%s' "$index" >"$layout/blobs/sha256/$digest"
    # The second annotation is the whole name, by which containerd imports it.
    jq -cn --arg digest "sha256:$digest" --argjson size "${#index}" --arg tag "$version" --arg name "localhost/$package:$version" '
        {schemaVersion: 2, manifests: [{mediaType: "application/vnd.oci.image.index.v1+json", digest: $digest, size: $size,
            annotations: {"io.containerd.image.name": $name, "org.opencontainers.image.ref.name": $tag}}]}' >"$layout/index.json"
    echo "sha256:$digest"
}

blob() { echo "$1/blobs/sha256/${2#sha256:}"; }

# The digest of a platform's manifest in a layout that is joined.
manifest_of() {
    local index
    index="$(blob "$1" "$(jq -r '.manifests[0].digest' "$1/index.json")")"
    jq -r --arg arch "${2%%/*}" '.manifests[] | select(.platform.architecture == $arch).digest' "$index"
}

# What a node transfers for one platform: manifest, configuration, layers.
packed_bytes() {
    local manifest
    manifest="$(blob "$1" "$2")"
    echo $(($(wc -c <"$manifest") + $(jq '.config.size + ([.layers[].size] | add)' "$manifest")))
}

row() { printf '%-8s  %12s  %14s  %18s  %18s  %s\n' "$@"; }

for platform in "${wanted[@]}"; do
    pack "$platform"
done
gzip_digest="$(join "$gzip_layout")"
zstd_digest="$(join "$zstd_layout")"

echo "$package:$version, revision $revision"
row platform "binary bytes" "unpacked bytes" "packed bytes, gzip" "packed bytes, zstd" "digest (gzip)"
for platform in "${wanted[@]}"; do
    digest="$(manifest_of "$gzip_layout" "$platform")"
    layers="$(jq -r '.layers[].digest' "$(blob "$gzip_layout" "$digest")")"
    [[ "$layers" == sha256:* && "$layers" != *$'\n'* ]] || fail "the image for $platform has not one layer but: $layers"
    layer="$(blob "$gzip_layout" "$layers")"
    files="$(tar -tzf "$layer")"
    [[ "${files#/}" == "$package" ]] || fail "the image for $platform holds more than /$package: $files"
    row "$platform" "$(wc -c <"$work/$(label_of "$platform")/$package")" "$(gzip -dc "$layer" | wc -c)" \
        "$(packed_bytes "$gzip_layout" "$digest")" \
        "$(packed_bytes "$zstd_layout" "$(manifest_of "$zstd_layout" "$platform")")" "$digest"
done
row index "" "" "" "" "$gzip_digest"
echo "written: $gzip_layout ($gzip_digest), $zstd_layout ($zstd_digest)"
