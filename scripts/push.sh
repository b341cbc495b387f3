#!/usr/bin/env bash
# Publishes the images of dist/: scripts/push.sh REGISTRY[/PATH]
#
# localhost/tare:VERSION becomes REGISTRY/PATH/tare:VERSION, all platforms; so does loadgen, each with its SBOM. Beside it
# dist/install-registry.yaml is install.yaml with that name. Credentials are skopeo's (`skopeo login`);
# PUSH_OPTIONS are words for `skopeo copy`, such as --dest-tls-verify=false.
# Guarantees: what is pushed has the digests that `just release` printed.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
# shellcheck source=scripts/layout.sh
source scripts/layout.sh
registry="${1:-}"
registry="${registry%/}"
[[ -n "$registry" && "$registry" != *://* && $# -eq 1 ]] || fail "name one registry, without a scheme: scripts/push.sh registry.example/team" 2
need skopeo jq
read -ra options <<<"${PUSH_OPTIONS:-}"

policy="$(mktemp)"
trap 'rm -f "$policy"' EXIT
echo '{"default":[{"type":"insecureAcceptAnything"}]}' >"$policy"
for package in "${packages[@]}"; do
    archive="dist/$package-$version-oci.tar"
    [[ -f "$archive" ]] || fail "$archive is not there; run: just release"
    skopeo --policy "$policy" copy --all --preserve-digests "${options[@]}" "oci-archive:$archive:$version" "docker://$registry/$package:$version"
    # What is attached to it, such as its SBOM; with the tag also on registries without the referrers API.
    tag="$(referrers_tag "$(tar -xOf "$archive" ./index.json | jq -r '.manifests[0].digest')")"
    skopeo --policy "$policy" copy --all --preserve-digests "${options[@]}" "oci-archive:$archive:$tag" "docker://$registry/$package:$tag"
    echo "pushed: $registry/$package:$version"
done
sed "s#image: localhost/tare:#image: $registry/tare:#" dist/install.yaml >dist/install-registry.yaml
echo "apply: kubectl apply -f dist/install-registry.yaml"
