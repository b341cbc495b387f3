#!/usr/bin/env bash
# What each program of a results folder weighs as an image from scratch: scripts/image-sizes.sh FOLDER
#
# Guarantees: the binaries that were measured, by their SHA-256, or none; each alone in an image like
# those of scripts/image.sh (one layer with one file, a configuration, a manifest), all packed by the same
# compressors. Writes FOLDER/images.json, from which `loadgen report FOLDER` takes the sizes (zstd), and prints
# a table. A program that is not static cannot run from scratch and is left out, with a line that says so.
# Needs jq and zstd.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
need jq zstd file

folder="${1:-}"
[[ -f "$folder/experiment.json" ]] || fail "\"$folder\" is no folder of results: it has no experiment.json; give one like results/kube/memory" 2
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Bytes of an image whose layer is packed as $1: manifest, configuration, layer.
packed() {
    local layer="$work/layer.$1" config="$work/config.json" manifest
    manifest="$(jq -cn --arg format "$1" --arg layer "sha256:$(sha256sum "$layer" | cut -d ' ' -f 1)" \
        --arg config "sha256:$(sha256sum "$config" | cut -d ' ' -f 1)" \
        --argjson layer_size "$(wc -c <"$layer")" --argjson config_size "$(wc -c <"$config")" '
        {schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
         config: {mediaType: "application/vnd.oci.image.config.v1+json", digest: $config, size: $config_size},
         layers: [{mediaType: ("application/vnd.oci.image.layer.v1.tar+" + $format), digest: $layer, size: $layer_size}]}')"
    echo $((${#manifest} + $(wc -c <"$config") + $(wc -c <"$layer")))
}

row() { printf '%-30s  %14s  %14s  %18s  %18s\n' "$@"; }
row subject "binary bytes" "unpacked bytes" "packed bytes, gzip" "packed bytes, zstd"
images="{}"
while IFS=$'\t' read -r id binary sha256; do
    # A program of this machine, such as an interpreter, is named as a shell finds it.
    binary="$(command -v "$binary" || printf '%s' "$binary")"
    [[ -f "$binary" ]] || fail "$id: $binary is not there any more; measure again, or give back the binary with SHA-256 $sha256"
    if ! file --brief "$binary" | grep -q 'static'; then
        echo "$id: not static, so not from scratch: left out"
        continue
    fi
    [[ "$(sha256sum "$binary" | cut -d ' ' -f 1)" == "$sha256" ]] || fail "$id: $binary is not the program that was measured (SHA-256 $sha256)"
    rm -rf "$work/files"
    mkdir "$work/files"
    install -m 0755 "$binary" "$work/files/$(basename "$binary")"
    tar --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/layer.tar" -C "$work/files" "$(basename "$binary")"
    gzip -9 --no-name --stdout "$work/layer.tar" >"$work/layer.gzip"
    zstd --quiet -19 --single-thread --force -o "$work/layer.zstd" "$work/layer.tar"
    jq -cn --arg diff "sha256:$(sha256sum "$work/layer.tar" | cut -d ' ' -f 1)" --arg entry "/$(basename "$binary")" '
        {created: "1970-01-01T00:00:00Z", architecture: "amd64", os: "linux",
         config: {User: "65532:65532", Entrypoint: [$entry]}, rootfs: {type: "layers", diff_ids: [$diff]}}' >"$work/config.json"
    unpacked="$(wc -c <"$work/layer.tar")"
    gzip="$(packed gzip)"
    zstd="$(packed zstd)"
    row "$id" "$(wc -c <"$binary")" "$unpacked" "$gzip" "$zstd"
    images="$(jq -c --arg id "$id" --argjson unpacked "$unpacked" --argjson gzip "$gzip" --argjson zstd "$zstd" \
        '. + {($id): {unpacked_bytes: $unpacked, gzip_bytes: $gzip, zstd_bytes: $zstd}}' <<<"$images")"
done < <(jq -r '.subjects[] | [.subject.name + "/" + .subject.variant, .binary, .binary_sha256] | @tsv' "$folder/experiment.json")
jq . <<<"$images" >"$folder/images.json"
echo "written: $folder/images.json; next: loadgen report $folder"
