# What is shipped: version, platforms and their names. To be sourced by bash, from the repository's root.
#
# Guarantees: one place for each; nothing is done. Leaves to others: building and packing.
# shellcheck shell=bash disable=SC2034

# The version of all packages, and so the tag of every image.
version="$(sed -n '/^\[workspace\.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)"
packages=(tare loadgen)
# Operators that others know, each with a page of its own (operators/): images, not part of the release.
operators=(tare-helm-controller)
# As image indexes call them, in the order in which they stand there.
platforms=(amd64 arm64 arm/v7 riscv64)

fail() { echo "error: $1" >&2; exit "${2:-1}"; }

# The name that scripts/dist.sh knows a platform by.
target_of() {
    case "$1" in
        amd64) echo x86_64-unknown-linux-musl ;;
        arm64) echo aarch64-unknown-linux-musl ;;
        arm/v7) echo armv7-unknown-linux-musleabihf ;;
        riscv64) echo riscv64gc-unknown-linux-musl ;;
        *) fail "platform \"$1\" is not one of ${platforms[*]}" 2 ;;
    esac
}

# A platform in a file's name: armv7.
label_of() { echo "${1//\//}"; }

# Ends with the line that installs what is missing.
need() {
    local tool missing=()
    for tool in "$@"; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    [[ ${#missing[@]} -eq 0 ]] || fail "missing: ${missing[*]}; on Debian, as root: apt-get install --no-install-recommends ${missing[*]}"
}
