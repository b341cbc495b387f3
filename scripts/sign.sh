#!/usr/bin/env bash
# Says who has made a release, and from what: scripts/sign.sh [FOLDER]     [dist]
#
# Reads FOLDER/SHA256SUMS. Writes beside it:
#   provenance.json           an in-toto statement (SLSA provenance 1) about every file that is listed there
#   provenance.intoto.jsonl   the same, signed: a DSSE envelope
#   SHA256SUMS.sig            a signature of SHA256SUMS, as `cosign sign-blob` writes it
#   tare.pub                  the public key
#
# SIGNING_KEY is a private key, P-256 in PEM: openssl ecparam -name prime256v1 -genkey -noout -out release.pem
# Without it nothing is signed, which is said: the statement alone is written.
# Guarantees: what is signed verifies with scripts/verify.sh before this ends; the statement depends on the files and the
# commit alone. Sources: in-toto attestation framework v1, SLSA v1.0 provenance, DSSE v1.0.0.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
folder="${1:-dist}"
[[ -f "$folder/SHA256SUMS" ]] || fail "$folder/SHA256SUMS is not there; run: just release"
need jq openssl
key="${SIGNING_KEY:-}"
[[ -z "$key" || -r "$key" ]] || fail "SIGNING_KEY: $key cannot be read" 2

revision="${REVISION:-$(git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null || echo unknown)}"
jq -cRn --arg version "$version" --arg revision "$revision" --arg lock "$(sha256sum <Cargo.lock | cut -d ' ' -f 1)" \
    --arg tools "$(sha256sum <scripts/requirements/static.txt | cut -d ' ' -f 1)" '
    [inputs | capture("^(?<digest>[0-9a-f]{64})  (?<name>.+)$")] as $files
    | {_type: "https://in-toto.io/Statement/v1",
       subject: [$files[] | {name, digest: {sha256: .digest}}],
       predicateType: "https://slsa.dev/provenance/v1",
       predicate: {
         buildDefinition: {
           buildType: "https://tare.dev/build/release/v1",
           externalParameters: {command: "scripts/release.sh", version: $version},
           resolvedDependencies: [
             {name: "source", digest: {gitCommit: $revision}},
             {name: "Cargo.lock", digest: {sha256: $lock}},
             {name: "scripts/requirements/static.txt", digest: {sha256: $tools}}]},
         runDetails: {builder: {id: "https://tare.dev/build/local"}}}}' "$folder/SHA256SUMS" >"$folder/provenance.json"
rm -f "$folder/provenance.intoto.jsonl" "$folder/SHA256SUMS.sig" "$folder/tare.pub"
if [[ -z "$key" ]]; then
    echo "not signed: SIGNING_KEY names no private key; scripts/sign.sh says how to make one, and signs later"
    exit
fi

sign() { openssl dgst -sha256 -sign "$key" | base64 --wrap=0; }
public="$(openssl pkey -in "$key" -pubout 2>/dev/null)" || fail "SIGNING_KEY: $key is no private key in PEM" 2
openssl pkey -pubin -noout -text <<<"$public" | grep -q prime256v1 || fail "SIGNING_KEY: $key is not of the curve prime256v1 (P-256)" 2
echo "$public" >"$folder/tare.pub"
sign <"$folder/SHA256SUMS" >"$folder/SHA256SUMS.sig"
type="application/vnd.in-toto+json"
signature="$({
    printf 'DSSEv1 %d %s %d ' "${#type}" "$type" "$(wc -c <"$folder/provenance.json")"
    cat "$folder/provenance.json"
} | sign)"
# The payload is no argument, which has a greatest length.
base64 --wrap=0 "$folder/provenance.json" | jq -cR --arg type "$type" --arg signature "$signature" \
    '{payloadType: $type, payload: ., signatures: [{sig: $signature}]}' >"$folder/provenance.intoto.jsonl"
scripts/verify.sh "$folder/tare.pub" "$folder"
