#!/usr/bin/env bash
# What is shipped, with its bytes and digests: CAMPAIGN_FOLDER=FOLDER scripts/release-sizes.sh
#
# Fills dist/ anew (release.sh, all platforms) and writes FOLDER/README.md from it.
# Guarantees: the page appears only when every platform was built.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
folder="${CAMPAIGN_FOLDER:?set CAMPAIGN_FOLDER to the folder that is written}"
scripts/release.sh

mkdir -p "$folder"
{
    echo "# Release $version"
    echo
    echo "All files of \`dist/\` as \`just release\` writes it for ${platforms[*]}, and the digests of the images."
    echo
    echo "| file | bytes | SHA-256 |"
    echo "|---|---:|---|"
    while read -r sum file; do
        printf '| %s | %s | `%s` |\n' "$file" "$(stat --format=%s "dist/$file")" "$sum"
    done <dist/SHA256SUMS
    echo
    echo "| image, all platforms in one | digest |"
    echo "|---|---|"
    for package in "${packages[@]}"; do
        printf '| %s | `%s` |\n' "localhost/$package:$version" "$(jq --raw-output '.manifests[0].digest' "target/image/$package/index.json")"
    done
} >"$folder/README.md.partial"
mv "$folder/README.md.partial" "$folder/README.md"
