#!/usr/bin/env bash
# The Go module of another version of Kubernetes: scripts/kubernetes-module.sh VERSION...      such as 1.35.4
#
# Writes controlplane/kubernetes/MINOR/go.mod and go.sum, from which `loadgen control-plane build --kubernetes MINOR` builds
# kube-apiserver, kube-controller-manager and kubectl. Guarantees: the files of a version are replaced together; every
# module has its hash. Needs Go, jq and the module proxy.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=scripts/shipped.sh
source scripts/shipped.sh
need go jq
[[ $# -gt 0 ]] || fail "name a version, such as 1.35.4" 2
export GOFLAGS=-mod=mod GOWORK=off
go_version="$(sed -n 's/^go //p' controlplane/go.mod)"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for version in "$@"; do
    [[ "$version" =~ ^1\.[0-9]+\.[0-9]+$ ]] || fail "\"$version\" is no version such as 1.35.4" 2
    minor="${version%.*}"
    module="$work/$minor"
    mkdir "$module"
    sources="$(go mod download -json "k8s.io/kubernetes@v$version" | jq -r .GoMod)"
    (
        cd "$module"
        go mod init "tare.dev/kubernetes-$minor"
        go mod edit "-go=$go_version" "-require=k8s.io/kubernetes@v$version"
        for program in kube-apiserver kube-controller-manager kubectl; do
            go mod edit "-tool=k8s.io/kubernetes/cmd/$program"
        done
        # Kubernetes names its libraries by their folders; each is published as v0.MINOR.PATCH, too.
        sed -n 's,^[[:space:]]*\(k8s\.io/[a-z-]*\) => \./staging/.*,\1,p' "$sources" | while read -r library; do
            go mod edit "-replace=$library=$library@v0.${version#1.}"
        done
        go mod tidy
    ) >&2
    folder="controlplane/kubernetes/$minor"
    mkdir -p "$folder"
    cp "$module/go.mod" "$module/go.sum" "$folder/"
    echo "$folder: k8s.io/kubernetes v$version, $(grep -c ' // indirect' "$folder/go.mod") modules"
done
