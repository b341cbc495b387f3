#!/usr/bin/env bash
# What the bytes of the static binary are: scripts/bloat.sh [TARGET [PACKAGE]]
#
# Code by crate and the largest functions, from the symbols of the binary as it is shipped, before
# it is stripped. A generic function counts for the crate that it is written in, not for the one that
# instantiates it; constants (.rodata) have no symbols and are one line.
set -euo pipefail
scripts="$(cd "$(dirname "$0")" && pwd)"
target="${1:-x86_64-unknown-linux-musl}"
package="${2:-tare}"
folder="$scripts/../target/static/symbols"
"$scripts/dist.sh" --symbols yes --out "$folder" "$target" "$package" >/dev/null
binary="$folder/$target/$package"

echo "$package for $target"
echo
echo "sections, bytes"
# What has an address is loaded; strip takes the rest.
size --format=sysv --radix=10 "$binary" | awk '$1 ~ /^\./ && $1 !~ /bss$/ && $3 > 0 {
        printf "%10d  %s\n", $2, $1
        total += $2
    }
    END { printf "%10d  all, to which headers come\n", total }'

echo
echo "code by crate, bytes"
nm --print-size --size-sort --radix=d --demangle "$binary" | awk '
    $3 ~ /^[tTwWvV]$/ {
        bytes = $2 + 0
        name = $0
        sub(/^[^ ]+ [^ ]+ . /, "", name)
        path = name
        # <T as Trait>::f and <T>::f belong to T where T has a path, otherwise to the trait.
        while (path ~ /^(<|&|mut |dyn |\(|\[|\*const |\*mut )/) sub(/^(<|&|mut |dyn |\(|\[|\*const |\*mut )/, "", path)
        if (path !~ /^[A-Za-z_0-9]+::/ && match(path, / as [A-Za-z_0-9]+::/)) path = substr(path, RSTART + 4)
        crate = match(path, /^[A-Za-z_0-9]+::/) ? substr(path, 1, RLENGTH - 2) : "C and assembler"
        by[crate] += bytes
        total += bytes
    }
    END {
        for (crate in by) printf "%10d %5.1f %%  %s\n", by[crate], 100 * by[crate] / total, crate
        printf "%10d 100.0 %%  all\n", total
    }' | sort -rn | sed -n '1,60p'

echo
echo "largest functions, bytes"
nm --print-size --size-sort --reverse-sort --radix=d --demangle "$binary" | awk '$3 ~ /^[tTwWvV]$/' | sed -n '1,50p' |
    sed -E 's/^[^ ]+ 0*([0-9]+) . (.{0,140}).*/\1 \2/' | awk '{ bytes = $1; $1 = ""; printf "%10d %s\n", bytes, $0 }'
