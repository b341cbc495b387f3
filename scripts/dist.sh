#!/usr/bin/env bash
# Static musl binaries: scripts/dist.sh [OPTION...] [TARGET|all [PACKAGE [CARGO OPTION...]]]
#   --std rustup|debian   only this standard library
#   --out DIR             a copy in DIR/TARGET
#   --symbols yes         not stripped, for scripts/bloat.sh
#
# With `--example NAME` behind the package its examples are built, and no program.
# Where scripts/order/PACKAGE.txt lists functions that run (scripts/order.sh), the linker puts them side by
# side. The linker and C compiler is zig from PyPI, for every target. The standard library is rustup's;
# where rustup cannot get the target, Debian's rustc-web compiles it from source. Nothing needs root:
# what is missing goes into the user's cache folder. Prints path and size of every binary.
# TARE_COMMIT, or else REVISION, is the commit in `--version`; without them that is what git says (build.rs).
set -euo pipefail
[[ -z "${REVISION:-}" || -n "${TARE_COMMIT:-}" ]] || export TARE_COMMIT="$REVISION"

targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl armv7-unknown-linux-musleabihf riscv64gc-unknown-linux-musl)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/tare/static"
debian="$cache/debian"
tools="${XDG_CACHE_HOME:-$HOME/.cache}/tare/tools"
export PATH="$tools/bin:$PATH"

fail() { echo "error: $1" >&2; exit "${2:-1}"; }
say() { echo "dist: $*" >&2; }

checkout="$(cd "$(dirname "$0")/.." && pwd)"
requirements="$checkout/scripts/requirements/static.txt"
# One for each set of versions: checkouts that differ do not take it from each other.
venv="$cache/venv-$(cksum <"$requirements" | cut -d ' ' -f 1)"
# Apart from `target`: another compiler may have made these.
target_dir="$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-$checkout/target}/static")"
std="" out="" last=()
while [[ "${1:-}" == --* ]]; do
    case "$1" in
        --std) std="${2:-}" ;;
        --out) out="${2:+$(realpath --canonicalize-missing "$2")}" ;;
        --symbols) last=(-- -C strip=none) ;;
        *) fail "unknown option $1; there are --std rustup|debian, --out DIR, --symbols yes (cargo's come after the package)" 2 ;;
    esac
    [[ -n "${2:-}" ]] || fail "$1 needs a value" 2
    shift 2
done
[[ -z "$std" || "$std" == rustup || "$std" == debian ]] || fail "--std \"$std\": use rustup or debian" 2
target="${1:-${targets[0]}}"
package="${2:-tare}"
options=("${@:3}")
if [[ "$target" != all ]]; then
    [[ " ${targets[*]} " == *" $target "* ]] || fail "target \"$target\" is not one of ${targets[*]}, all" 2
    targets=("$target")
fi

# zig and cargo-zigbuild in an environment of their own.
zig() {
    [[ -e "$venv/.complete" ]] && return
    say "installing zig and cargo-zigbuild in $venv"
    rm -rf "$venv"
    mkdir -p "$cache"
    python3 -m venv "$venv" || fail "no Python virtual environment can be made; install python3-venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$requirements" \
        || fail "pip cannot install ziglang and cargo-zigbuild; is PyPI reachable?"
    touch "$venv/.complete"
}

# cargo-auditable, which puts the list of a program's crates into the program, for scanners.
auditable() {
    command -v cargo-auditable >/dev/null && return
    say "installing cargo-auditable in $tools"
    # It runs for a second and is compiled for minutes: not optimised.
    CARGO_TARGET_DIR="$tools/target" cargo install --debug --quiet --locked --root "$tools" --version '^0.7' cargo-auditable >&2 \
        || fail "cargo cannot install cargo-auditable"
    rm -rf "$tools/target"
}

# Whether rustup has the target's standard library, or can get it.
rustup_std() {
    command -v rustup >/dev/null || return 1
    rustup target list --installed | grep -qx "$1" && return
    say "rustup target add $1"
    timeout 300 rustup --quiet target add "$1" >&2
}

# Debian's compiler and the library's source, unpacked in the cache: no root, and /usr stays as it is.
debian_std() {
    [[ -e "$debian/.complete" ]] && return
    if ! { command -v apt-get && command -v dpkg-deb; } >/dev/null; then
        fail "rustup cannot get the target and this is not Debian; install rustup and run: rustup target add $1"
    fi
    local named=(rustc-web cargo-web libstd-rust-web-dev rust-web-src) all
    # Only what is not installed is listed, which is what is missing.
    all="$(apt-get --simulate --no-install-recommends install "${named[@]:0:3}" 2>/dev/null | awk '/^Inst/ { print $2 }')" \
        || fail "apt knows no ${named[*]}; as root run: apt-get update (Debian 12 or newer, with its security updates)"
    say "unpacking Debian's rustc-web in $debian"
    rm -rf "$debian"
    mkdir -p "$debian/packages"
    mapfile -t all < <(printf '%s\n' "${named[@]}" "$all" | sed '/^$/d' | sort -u)
    (cd "$debian/packages" && apt-get --quiet --quiet -o APT::Sandbox::User=root download "${all[@]}") || fail "apt-get download ${all[*]} failed"
    local package
    for package in "$debian"/packages/*.deb; do
        # Of the source only the library: the compiler's own is seven times as large.
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$debian" --no-wildcards-match-slash --exclude './usr/share' \
            --exclude './usr/src/*/compiler' --exclude './usr/src/*/src' --exclude './usr/src/*/vendor' \
            --exclude './usr/src/*/tests'
    done
    rm -r "$debian/packages"
    touch "$debian/.complete"
}

# Where the sources are is no business of a binary's: without it two checkouts make the same bytes.
unnamed=""
for folder in "$checkout" "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    if [[ "$folder" == *" "* ]]; then
        say "the binary will hold the path of $folder: it has a space in it"
    else
        unnamed+=" --remap-path-prefix=$folder=."
    fi
done

# A linker script that puts the functions of a list before all others: a part of one, which LLD
# takes beside its own layout.
order() {
    # First what has no section for each function, and so no name to find it by: assembler, and musl.
    awk 'BEGIN { print "SECTIONS {\n  .text.order : {\n    *(.text)" }
        { printf "    *(.text.%s .text.%s.* .text.unlikely.%s)\n", $0, $0, $0 }
        END { print "  }\n} INSERT BEFORE .text;" }' "$1"
}

# The words of the cargo call for a target; `env` carries what differs.
build() {
    local target="$1" from="$std" words=() own=("${options[@]}") flags="-C relocation-model=static$unnamed"
    if [[ "$from" != debian ]]; then
        if rustup_std "$target"; then
            from=rustup
        elif [[ "$from" == rustup ]]; then
            fail "rustup cannot get $target; leave out --std for the other way"
        else
            say "rustup cannot get $target: taking Debian's compiler"
            from=debian
        fi
    fi
    zig
    auditable
    local path="$venv/bin:$PATH"
    if [[ "$from" == debian ]]; then
        debian_std "$target"
        local libraries=("$debian"/usr/lib/*-linux-gnu*)
        path="$venv/bin:$debian/usr/bin:$PATH"
        words+=("LD_LIBRARY_PATH=${libraries[0]}" RUSTC_BOOTSTRAP=1)
        # The library was not made for this linker, which has its own start files. Symbols as a stable
        # compiler names them, which this one, told to be a nightly, would not do: the list of functions
        # that run has those names.
        flags+=" -C link-self-contained=no -Z unstable-options -C symbol-mangling-version=legacy"
        own+=("-Zbuild-std=std,panic_unwind")
    fi
    if [[ "$target" == aarch64-* ]]; then
        # Kernels with 16 KB (Raspberry Pi 5) and 64 KB pages refuse segments aligned to less.
        flags+=" -C link-arg=-Wl,-z,max-page-size=65536"
        words+=(JEMALLOC_SYS_WITH_LG_PAGE=16)
    fi
    # A panic never unwinds through C: its tables are 1.5 % of the binary.
    words+=("CFLAGS_${target//-/_}=-fno-unwind-tables -fno-asynchronous-unwind-tables")
    # Words for the linker go to one program; without them all programs of the package are made.
    local call=(build --bins) link=("${last[@]}")
    local programs=() word previous=""
    for word in "${own[@]}"; do
        [[ "$previous" != --example ]] || programs+=("examples/$word")
        previous="$word"
    done
    if [[ ${#programs[@]} -gt 0 ]]; then
        call=(build)
    else
        programs=("$package")
    fi
    # tare-runtime has an empty function in the place of jemalloc's printer of statistics. Flags for all crates would have
    # the next package compile them again, so only what cannot be named to cargo as one program gets it so.
    if [[ "$package" == tare && "$target" != *-gnu ]]; then
        local wrap="link-arg=-Wl,--wrap=_rjem_je_stats_print"
        if [[ "${programs[0]}" == "$package" ]]; then
            [[ ${#link[@]} -gt 0 ]] || link=(--)
            link+=(-C "$wrap")
        else
            flags+=" -C $wrap"
        fi
    fi
    # The list is of the package's own program.
    if [[ -e "scripts/order/$package.txt" && "${programs[0]}" == "$package" ]]; then
        # A path that is the same in every checkout: what cargo is told has a part in the names of symbols.
        local file="scripts/order/$package.ld" sum
        order "scripts/order/$package.txt" >"$file.new"
        mv "$file.new" "$file"
        # Cargo does not see what is in the script: its sum tells when to link again.
        sum="$(cksum <"$file")"
        [[ ${#link[@]} -gt 0 ]] || link=(--)
        link+=(-C "link-arg=-Wl,-T,$file" --cfg "order=\"${sum%% *}\"")
    fi
    [[ ${#link[@]} -eq 0 ]] || call=(rustc --bin "$package")
    say "$package for $target, standard library from $from"
    # cargo-auditable calls $CARGO with its words: `env`, which calls cargo-zigbuild, which calls cargo.
    env "${words[@]}" PATH="$path" RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target_dir" CARGO=env \
        cargo-auditable auditable -u CARGO cargo-zigbuild "${call[@]}" --locked --profile dist --target "$target" -p "$package" \
        "${own[@]}" "${link[@]}" >&2
    local program made
    for program in "${programs[@]}"; do
        made="$target_dir/$target/dist/$program"
        if [[ -n "$out" ]]; then
            mkdir -p "$out/$target"
            cp "$made" "$out/$target/"
            made="$out/$target/${program##*/}"
        fi
        printf '%s %s bytes\n' "$made" "$(wc -c <"$made" | tr -d ' ')"
    done
}

cd "$checkout"
for target in "${targets[@]}"; do
    build "$target"
done
