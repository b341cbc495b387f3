#!/usr/bin/env bash
# Whether a release is whole and by whom it was made, without a network: ./verify.sh KEY [FOLDER]
#
# KEY is the public key in PEM, which must come from somebody you trust and not with the files. FOLDER is what was
# downloaded [the folder of this script]. Guarantees: exit 0 only if the key has signed SHA256SUMS and the provenance,
# both name the same files, and each of these that is there has its digest. A file that is not there is listed: nobody
# needs all platforms. Needs openssl, jq and sha256sum.
set -euo pipefail
shopt -s inherit_errexit
fail() { echo "error: $1" >&2; exit "${2:-1}"; }
[[ $# -ge 1 && $# -le 2 && "$1" != -* ]] || fail "name the public key: verify.sh KEY [FOLDER]" 2
[[ -r "$1" ]] || fail "$1 cannot be read" 2
key="$(realpath "$1")"
cd "${2:-$(dirname "$0")}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for file in SHA256SUMS SHA256SUMS.sig provenance.intoto.jsonl; do
    [[ -f "$file" ]] || fail "$PWD/$file is not there"
done

# Whether standard input is what the signature in base64 was made of.
signed() {
    base64 -d <<<"$1" >"$work/signature" 2>/dev/null || return 1
    openssl dgst -sha256 -verify "$key" -signature "$work/signature" >/dev/null 2>&1
}
signed "$(cat SHA256SUMS.sig)" <SHA256SUMS || fail "SHA256SUMS is not signed by $1"
jq -jr '.payload' provenance.intoto.jsonl | base64 -d >"$work/statement" || fail "provenance.intoto.jsonl is no DSSE envelope"
type="$(jq -r '.payloadType' provenance.intoto.jsonl)"
{
    printf 'DSSEv1 %d %s %d ' "${#type}" "$type" "$(wc -c <"$work/statement")"
    cat "$work/statement"
} >"$work/encoded"
signed "$(jq -r '.signatures[0].sig' provenance.intoto.jsonl)" <"$work/encoded" || fail "the provenance is not signed by $1"
jq -r '.subject[] | .digest.sha256 + "  " + .name' "$work/statement" | LC_ALL=C sort >"$work/subjects"
LC_ALL=C sort SHA256SUMS | diff --brief - "$work/subjects" >/dev/null || fail "the provenance is about other files than SHA256SUMS"
there=() absent=()
while read -r digest name; do
    if [[ ! -e "$name" ]]; then
        absent+=("$name")
    elif ! sha256sum --check --status <<<"$digest  $name"; then
        fail "$PWD/$name is not the file that was signed"
    else
        there+=("$name")
    fi
done <SHA256SUMS
[[ ${#there[@]} -gt 0 ]] || fail "none of the files of SHA256SUMS is in $PWD"
[[ ${#absent[@]} -eq 0 ]] || echo "not here, and not verified: ${absent[*]}"
jq -r '.predicate.buildDefinition | "version \(.externalParameters.version), commit \(.resolvedDependencies[0].digest.gitCommit)"' "$work/statement"
echo "verified: ${#there[@]} files, signed by $(openssl pkey -pubin -in "$key" -outform DER | sha256sum | cut -c 1-16)"
