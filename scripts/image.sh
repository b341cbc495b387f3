#!/usr/bin/env bash
# The image as a multi-platform OCI layout, without a daemon: scripts/image.sh [OPTION...] [PLATFORM...]
#   --package NAME           tare, loadgen or tare-helm-controller                         [tare]
#   --binaries DIR           takes DIR/TARGET/PACKAGE (scripts/dist.sh --out DIR)          [builds them]
#   --out DIR                where DIR/PACKAGE (zstd) and DIR/PACKAGE-gzip are written     [target/image]
# Platforms: amd64 arm64 arm/v7 riscv64; without one, all four.
#
# Guarantees: the same binaries, version, revision and compressors give the same digests, wherever and
# whenever it runs; an image with another file than its binary is refused. The tag is the version, never
# `latest`.
# SOURCE_DATE_EPOCH (else 0) is the time of everything in it. REVISION overrides what git says, in the
# label of the image and in `--version`.
# Needs buildah, jq and zstd; neither root nor a registry.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
# shellcheck source=scripts/layout.sh
source scripts/layout.sh

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
[[ " ${packages[*]} ${operators[*]} " == *" $package "* ]] || fail "--package \"$package\" is not one of ${packages[*]} ${operators[*]}" 2
# In the order of `platforms`, however they were named: the index depends on it.
wanted=()
for platform in "${platforms[@]}"; do
    [[ ${#chosen[@]} -gt 0 && " ${chosen[*]} " != *" $platform "* ]] || wanted+=("$platform")
done
need buildah jq zstd
revision="${REVISION:-$(git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null || echo unknown)}"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# Its own store, and its own policy: nothing is pulled, so there is nothing to verify.
echo '{"default":[{"type":"insecureAcceptAnything"}]}' >"$work/policy.json"
store=(buildah --log-level error --root "$work/store" --runroot "$work/run" --storage-driver vfs)
mkdir -p "$work/empty"
declare -A layouts=([zstd]="$out/$package" [gzip]="$out/$package-gzip")
for layout in "${layouts[@]}"; do
    rm -rf "$layout"
    mkdir -p "$layout/blobs/sha256"
    printf '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
done

# What Dockerfile.scratch makes for one platform: its configuration and its one layer, uncompressed.
build() {
    local platform="$1" folder="$2" target stage=build
    target="$(target_of "$platform")"
    if [[ -z "$binaries" ]]; then
        scripts/dist.sh --out "$work/binaries" "$target" "$package" >/dev/null
    fi
    local binary="${binaries:-$work/binaries}/$target/$package"
    [[ -f "$binary" ]] || fail "$binary is not there; make it with: scripts/dist.sh --out ${binaries:-DIR} $target $package"
    mkdir -p "$folder/files"
    install -m 0755 "$binary" "$folder/files/$package"
    [[ "$package" == tare ]] || stage="build-$package"
    "${store[@]}" bud --quiet --signature-policy "$work/policy.json" --isolation chroot --pull-never --layers=false \
        --timestamp "${SOURCE_DATE_EPOCH:-0}" --identity-label=false --omit-history \
        --platform "linux/$platform" --target "$package" --build-context "$stage=$folder/files" \
        --build-arg "VERSION=$version" --build-arg "REVISION=$revision" \
        --tag "localhost/$package:build" --file Dockerfile.scratch "$work/empty" >/dev/null
    "${store[@]}" push --quiet --signature-policy "$work/policy.json" --format oci "localhost/$package:build" "oci:$folder/plain:build"
    local manifest layers files
    manifest="$(blob "$folder/plain" "$(jq -r '.manifests[0].digest' "$folder/plain/index.json")")"
    layers="$(jq -r '.layers[] | .mediaType + " " + .digest' "$manifest")"
    [[ "$layers" == *tar+gzip\ sha256:* && "$layers" != *$'\n'* ]] || fail "the image for $platform has not one gzip layer but: $layers"
    gzip -dc "$(blob "$folder/plain" "${layers#* }")" >"$folder/layer.tar"
    cp "$(blob "$folder/plain" "$(jq -r '.config.digest' "$manifest")")" "$folder/config.json"
    files="$(tar -tf "$folder/layer.tar")"
    [[ "${files#/}" == "$package" ]] || fail "the image for $platform holds something else than /$package: $files"
}

# A platform's layer compressed into a layout, with its configuration and manifest; prints the manifest's
# entry for the index. The compressors' own programs pack better than those built into buildah.
repack() {
    local format="$1" platform="$2" folder="$3" layout="${layouts[$1]}" layer config entry
    case "$format" in
        zstd) zstd --quiet -19 --single-thread --stdout "$folder/layer.tar" >"$work/blob" ;;
        gzip) gzip -9 --no-name --stdout "$folder/layer.tar" >"$work/blob" ;;
    esac
    layer="$(add "$layout" "$work/blob")"
    cp "$folder/config.json" "$work/blob"
    config="$(add "$layout" "$work/blob")"
    jq -cn --arg format "$format" --argjson config "$config" --argjson layer "$layer" '
        {schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
         config: ({mediaType: "application/vnd.oci.image.config.v1+json"} + $config),
         layers: [{mediaType: ("application/vnd.oci.image.layer.v1.tar+" + $format)} + $layer]}' >"$work/blob"
    # What a node transfers: manifest, configuration, layer.
    packed_bytes=$(($(wc -c <"$work/blob") + $(jq .size <<<"$config") + $(jq .size <<<"$layer")))
    entry="$(add "$layout" "$work/blob")"
    manifest_digest="$(jq -r .digest <<<"$entry")"
    jq -cn --arg platform "$platform" --argjson entry "$entry" '($platform / "/") as [$arch, $variant]
        | {mediaType: "application/vnd.oci.image.manifest.v1+json"} + $entry
        + {platform: ({architecture: $arch, os: "linux"} + if $variant then {variant: $variant} else {} end)}' >>"$work/entries-$format"
}

# One index of all platforms, under the version and under the whole name, by which containerd imports it.
finish() {
    local format="$1" layout="${layouts[$1]}" index
    jq -cs '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: .}' "$work/entries-$format" >"$work/blob"
    index="$(add "$layout" "$work/blob")"
    jq -cn --argjson index "$index" --arg tag "$version" --arg name "localhost/$package:$version" '
        {schemaVersion: 2, manifests: [{mediaType: "application/vnd.oci.image.index.v1+json"} + $index
            + {annotations: {"io.containerd.image.name": $name, "org.opencontainers.image.ref.name": $tag}}]}' >"$layout/index.json"
    index_digest="$(jq -r .digest <<<"$index")"
}

row() { printf '%-8s  %12s  %14s  %18s  %18s  %s\n' "$@"; }

echo "$package:$version, revision $revision"
row platform "binary bytes" "unpacked bytes" "packed bytes, gzip" "packed bytes, zstd" "digest (zstd)"
for platform in "${wanted[@]}"; do
    folder="$work/$(label_of "$platform")"
    build "$platform" "$folder"
    repack gzip "$platform" "$folder"
    gzip_bytes="$packed_bytes"
    repack zstd "$platform" "$folder"
    row "$platform" "$(wc -c <"$folder/files/$package")" "$(wc -c <"$folder/layer.tar")" "$gzip_bytes" "$packed_bytes" "$manifest_digest"
    rm -rf "$folder"
done
finish gzip
gzip_index="$index_digest"
finish zstd
row index "" "" "" "" "$index_digest"
echo "written: ${layouts[zstd]} ($index_digest)"
echo "written: ${layouts[gzip]} ($gzip_index)"
