#!/usr/bin/env bash
# That a new operator begins with the packaged crates: scripts/template.sh
#
# Packages tare-runtime and kubesim, copies runtime/template to a folder of its own beside nothing of this checkout, and runs its
# tests and its program there. Guarantees: what is compiled are the packages, not the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
target="$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")"
cargo package --quiet --no-verify --allow-dirty -p tare-runtime -p kubesim
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cp -r runtime/template "$folder/notes"
{
    echo
    echo "[patch.crates-io]"
    for crate in tare-runtime kubesim; do
        package=("$target/package/$crate-"*.crate)
        tar -xf "${package[-1]}" -C "$folder"
        unpacked=("$folder/$crate-"*)
        echo "$crate = { path = \"${unpacked[0]}\" }"
    done
} >>"$folder/notes/Cargo.toml"
cd "$folder/notes"
export CARGO_TARGET_DIR="$target/template" CARGO_PROFILE_DEV_DEBUG=0
cargo test --quiet
# The program that the tests have run: `cargo run` would compile half of its crates again, without the tests' features.
"$CARGO_TARGET_DIR/debug/notes" crd | grep --quiet '"notes.example.com"'
echo "an operator begins with runtime/template and the packaged crates"
