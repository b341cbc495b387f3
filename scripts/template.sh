#!/usr/bin/env bash
# That operators and tests begin with the packaged crates: scripts/template.sh
#
# Packages the libraries, and works in a folder of its own beside nothing of this checkout: runs the tests and the program of
# runtime/template, and compiles what the READMEs of kubesim and controlplane show, pasted; kubesim's also runs. Guarantees: what is
# compiled are the packages, not the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
target="$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")"
crates=(tare-procstat kubesim controlplane tare-runtime)
cargo package --quiet --no-verify --allow-dirty "${crates[@]/#/--package=}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
{
    echo
    echo "[patch.crates-io]"
    for crate in "${crates[@]}"; do
        package=("$target/package/$crate-"*.crate)
        tar -xf "${package[-1]}" -C "$folder"
        unpacked=("$folder/$crate-"*)
        echo "$crate = { path = \"${unpacked[0]}\" }"
    done
} >"$folder/packages.toml"
cp -r runtime/template "$folder/notes"
cat "$folder/packages.toml" >>"$folder/notes/Cargo.toml"

# The first block of a README whose language is one of `$2`.
block() { awk -v fence="^\`\`\`($2)\$" '$0 ~ fence { in_it = 1; next } in_it && /^```/ { exit } in_it' "$1/README.md"; }
for crate in kubesim controlplane; do
    pasted="$folder/readme-of-$crate"
    mkdir -p "$pasted/src" "$pasted/examples"
    touch "$pasted/src/lib.rs"
    {
        printf '[package]\nname = "pasted"\nversion = "0.1.0"\nedition = "2024"\n\n[workspace]\n\n'
        block "$crate" toml
        cat "$folder/packages.toml"
    } >"$pasted/Cargo.toml"
    # Lines that the page hides begin with `#`.
    block "$crate" 'rust|no_run' | sed 's/^# //' >"$pasted/examples/readme.rs"
done
echo 'fn main() {}' >>"$folder/readme-of-controlplane/examples/readme.rs"

export CARGO_TARGET_DIR="$target/template"
cd "$folder/notes"
cargo test --quiet
cargo run --quiet -- crd | grep --quiet '"notes.example.com"'
cd "$folder/readme-of-kubesim"
cargo run --quiet --example readme
cd "$folder/readme-of-controlplane"
cargo build --quiet --example readme
echo "operators and tests begin with the packages of ${crates[*]}"
