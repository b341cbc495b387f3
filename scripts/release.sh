#!/usr/bin/env bash
# Fills dist/ with what is shipped: scripts/release.sh [PLATFORM...]
# Platforms: amd64 arm64 arm/v7 riscv64; without one, all four.
#
# For each package: a static binary per platform, and one OCI archive of all. For the operator: per
# platform an archive for the image folder of k3s. Manifests, the Helm chart, deploy/README.md, deploy/check.sh, SBOMs
# in CycloneDX, also attached to the images, SHA256SUMS over everything, and with SIGNING_KEY its signature (sign.sh).
#
# Guarantees: dist/ is made anew and appears whole or not at all; the same sources, compiler and
# revision give the same files. A platform that cannot be built is named, the others are packed, and
# the exit code is 1. Leaves to others: building (dist.sh), images (image.sh), publishing (push.sh).
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
# shellcheck source=scripts/layout.sh
source scripts/layout.sh
tools="${XDG_CACHE_HOME:-$HOME/.cache}/tare/tools"
export PATH="$tools/bin:$PATH" SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}"

wanted=("$@")
[[ ${#wanted[@]} -gt 0 ]] || wanted=("${platforms[@]}")
for platform in "${wanted[@]}"; do
    target_of "$platform" >/dev/null
done
need buildah skopeo jq zstd openssl

new="$(mktemp -d "$PWD/.dist.XXXXXX")"
binaries="$(mktemp -d)"
# cargo-cyclonedx writes a file of this name beside every Cargo.toml of the workspace.
sbom="sbom-of-release"
clean() {
    rm -rf "$new" "$binaries"
    git ls-files '*Cargo.toml' | while read -r manifest; do
        rm -f "$(dirname "$manifest")/$sbom.json"
    done
}
trap clean EXIT

built=() missing=()
for platform in "${wanted[@]}"; do
    target="$(target_of "$platform")"
    made=yes
    for package in "${packages[@]}"; do
        scripts/dist.sh --out "$binaries" "$target" "$package" || { made=no; break; }
    done
    if [[ "$made" == yes ]]; then
        built+=("$platform")
    else
        missing+=("$platform")
    fi
done
[[ ${#built[@]} -gt 0 ]] || fail "no platform could be built; the first error is above"

if ! cargo cyclonedx --version >/dev/null 2>&1; then
    CARGO_TARGET_DIR="$tools/target" cargo install --quiet --locked --root "$tools" --version '^0.5.9' cargo-cyclonedx
    rm -rf "$tools/target"
fi
cargo cyclonedx --quiet --format json --spec-version 1.5 --target all --override-filename "$sbom"
for package in "${packages[@]}"; do
    folder=.
    [[ "$package" == tare ]] || folder="$package"
    # What differs between two runs or tells of this machine goes: serial number, time, paths.
    jq --arg here "$PWD" 'del(.serialNumber, .metadata.timestamp)
        | walk(if type == "string" then split("file://" + $here) | join("file://.") else . end)' \
        "$folder/$sbom.json" >"$new/$package-$version.cdx.json"
done

# An uncompressed tar that depends on the files' content and names alone.
archive() {
    local folder="$1" file="$2"
    shift 2
    tar --create --file "$file" --directory "$folder" --format=ustar --sort=name \
        --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX "$@" .
}

for package in "${packages[@]}"; do
    for platform in "${built[@]}"; do
        install -m 0755 "$binaries/$(target_of "$platform")/$package" "$new/$package-$version-linux-$(label_of "$platform")"
    done
    scripts/image.sh --package "$package" --binaries "$binaries" "${built[@]}"
    attach "target/image/$package" "$new/$package-$version.cdx.json" application/vnd.cyclonedx+json
    archive "target/image/$package" "$new/$package-$version-oci.tar"
done

echo '{"default":[{"type":"insecureAcceptAnything"}]}' >"$binaries/policy.json"
for platform in "${built[@]}"; do
    variant=()
    [[ "$platform" != */* ]] || variant=(--override-variant "${platform#*/}")
    plain="$binaries/airgap.tar"
    rm -f "$plain"
    # The layers are not compressed in it, so that zstd sees the binary itself. From the gzip layout:
    # skopeo finds no Docker name for a layer of zstd.
    skopeo --policy "$binaries/policy.json" --override-os linux --override-arch "${platform%%/*}" "${variant[@]}" copy --quiet \
        "oci:target/image/tare-gzip:$version" "docker-archive:$plain:localhost/tare:$version"
    zstd --quiet -19 --no-progress "$plain" -o "$new/tare-$version-airgap-$(label_of "$platform").tar.zst"
done

scripts/install-yaml.sh --check
cp deploy/install.yaml "$new/"
scripts/install-yaml.sh deploy/k3s "$new/install-k3s.yaml"
# As `helm package` packs it, but without the time.
archive deploy/helm "$binaries/chart.tar" --transform='s,^\.,tare,'
gzip --no-name -9 --stdout "$binaries/chart.tar" >"$new/tare-$version.tgz"
cp deploy/sample.yaml deploy/check.sh scripts/verify.sh deploy/README.md LICENSE-APACHE LICENSE-MIT "$new/"

(cd "$new" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
chmod 0755 "$new"
rm -rf dist
mv "$new" dist
# Last: a key that cannot be used loses none of the work, and sign.sh signs later.
scripts/sign.sh
echo
echo "dist, bytes"
(cd dist && find . -type f -printf '%10s  %P\n' | LC_ALL=C sort -k 2)
[[ ${#missing[@]} -eq 0 ]] || fail "not built: ${missing[*]}; the reason is above, everything else is in dist/"
