# Files of an OCI layout. To be sourced by bash, beside shipped.sh. Needs jq.
#
# Source: the OCI image specification 1.1, "OCI Image Layout" and "Guidelines for Artifact Usage"; the OCI
# distribution specification 1.1, "Referrers Tag Schema".
# shellcheck shell=bash

# The file of a digest in a layout.
blob() { echo "$1/blobs/sha256/${2#sha256:}"; }

# Moves a file into a layout; prints its digest and size as JSON.
add() {
    local layout="$1" file="$2" digest bytes
    digest="$(sha256sum "$file" | cut -d ' ' -f 1)"
    bytes="$(wc -c <"$file")"
    mv "$file" "$layout/blobs/sha256/$digest"
    jq -cn --arg digest "sha256:$digest" --argjson size "$bytes" '{digest: $digest, size: $size}'
}

# The tag under which a registry without the referrers API keeps what is attached to a digest.
referrers_tag() { echo "${1/:/-}"; }

# Attaches a file to the first image of a layout: an artifact that names the image as its subject, and an index of what is
# attached, under the tag that registries without the referrers API need.
attach() {
    local layout="$1" file="$2" type="$3" work subject empty layer artifact index tag
    work="$(mktemp)"
    subject="$(jq -c '.manifests[0] | {mediaType, digest, size}' "$layout/index.json")"
    printf '{}' >"$work"
    empty="$(add "$layout" "$work")"
    cp "$file" "$work"
    layer="$(add "$layout" "$work")"
    jq -cn --arg type "$type" --arg name "$(basename "$file")" --argjson subject "$subject" --argjson empty "$empty" --argjson layer "$layer" '
        {schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: $type,
         config: ({mediaType: "application/vnd.oci.empty.v1+json"} + $empty),
         layers: [{mediaType: $type} + $layer + {annotations: {"org.opencontainers.image.title": $name}}], subject: $subject}' >"$work"
    artifact="$(add "$layout" "$work")"
    jq -cn --arg type "$type" --argjson artifact "$artifact" '
        {schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
         manifests: [{mediaType: "application/vnd.oci.image.manifest.v1+json"} + $artifact + {artifactType: $type}]}' >"$work"
    index="$(add "$layout" "$work")"
    tag="$(referrers_tag "$(jq -r .digest <<<"$subject")")"
    jq -c --argjson index "$index" --arg tag "$tag" '
        .manifests += [{mediaType: "application/vnd.oci.image.index.v1+json"} + $index
            + {annotations: {"org.opencontainers.image.ref.name": $tag}}]' "$layout/index.json" >"$work"
    mv "$work" "$layout/index.json"
}
