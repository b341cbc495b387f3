#!/usr/bin/env python3
"""Functions that callgrind has seen, as patterns of names: order.py BINARY CALLGRIND-OUT...

One pattern a line: first those of the first profile, sorted, then what the second adds, and so on. Hashes in Rust's names differ between compilers and targets and are `*`:
`17h0123456789abcdefE` at the end of legacy names, `Cs1a2B_` before a crate in v0 names. Says on standard
error how many bytes of code they are.
"""
import re
import subprocess
import sys

HASHES = [(re.compile(r"17h[0-9a-f]{16}E"), "17h*E"), (re.compile(r"Cs[0-9a-zA-Z]+_"), "Cs*_")]
# `fn=(12) name` where a name is told for the first time, `cfn=` for one that is called.
TOLD = re.compile(r"^c?fn=\(\d+\) (\S+)")


def executed(file):
    with open(file, encoding="utf-8", errors="replace") as lines:
        told = (TOLD.match(line) for line in lines)
        # A recursive call is told as another function: `name'2`.
        return {re.sub(r"'\d+$", "", found.group(1)) for found in told if found}


def functions(binary):
    """Bytes of every function by name, and the names that each place has."""
    listed = subprocess.run(["nm", "--print-size", binary], capture_output=True, text=True, check=True)
    sizes, places = {}, {}
    for line in listed.stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            sizes[words[3]] = int(words[1], 16)
            places.setdefault(words[0], []).append(words[3])
    # A function of C may have several names, and its section is called after one of them.
    return sizes, {name: names for names in places.values() for name in names}


def pattern(name):
    # What the compiler appends when it splits or promotes a function.
    name = re.sub(r"\.(llvm|cold|isra|constprop|part)\b.*", "", name)
    for hashes, anything in HASHES:
        name = hashes.sub(anything, name)
    return name


def main():
    binary, files = sys.argv[1], sys.argv[2:]
    sizes, others = functions(binary)
    patterns, ran = {}, set()
    for file in files:
        new = {name for name in executed(file) if name in sizes} - ran
        ran |= new
        names = {pattern(other) for name in new for other in others[name]}
        # A dictionary keeps the order in which its keys came.
        patterns.update(dict.fromkeys(sorted(names - patterns.keys())))
    if not ran:
        sys.exit("error: none of the functions in the profiles is in the binary; is it stripped?")
    code = sum(sizes[name] for name in ran)
    print(f"{len(ran)} of {len(sizes)} functions ran, {code:,} of {sum(sizes.values()):,} bytes", file=sys.stderr)
    print("\n".join(patterns))


main()
