#!/usr/bin/env python3
"""Prints the heap at its peak by who asked for it: heap.py dhat-heap.json

A site's owner is the innermost function that is neither the allocator's nor the standard library's;
sites of one owner are added up. Reads the format of dhat-rs (version 2).
"""
import json
import re
import sys

# Frames of dhat, of the allocator's interface and of the standard library, whose paths dhat-rs cuts to
# their last parts.
NOT_OWNERS = re.compile(
    r"dhat|\((?:alloc|core|std)/src|hashbrown|\[root\]|/rustc/|library/"
    r"|\(src/(?:raw_vec|vec|boxed|string|sync|slice|iter|option|result|collections|ops|alloc|convert|clone"
    r"|borrow|str|hash|macros|future|panic|thread|rt|ptr|mem|num|array|fmt)(?:/[a-z_/]*)?(?:\.rs)?:"
    r"|\(collections/"
)


def function(frame):
    """`0x55…: tare::queue::Queue::offer (src/queue.rs:120:5)` without its address."""
    return re.sub(r"^0x[0-9a-f]+: ", "", frame)


def owner(frames):
    for frame in frames:
        if not NOT_OWNERS.search(frame):
            return frame
    return frames[0] if frames else "(unknown)"


def main(path):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    table = [function(frame) for frame in profile["ftbl"]]
    by_owner = {}
    for point in profile["pps"]:
        held = point.get("gb", 0)
        if held == 0:
            continue
        name = owner([table[index] for index in point["fs"]])
        total, blocks = by_owner.get(name, (0, 0))
        by_owner[name] = (total + held, blocks + point.get("gbk", 0))
    whole = sum(total for total, _ in by_owner.values())
    print(f"heap at its peak: {whole:,} bytes in {sum(b for _, b in by_owner.values()):,} blocks\n")
    print(f"{'bytes':>12} {'blocks':>8} {'share':>6}  asked for by")
    shown = 0
    for name, (total, blocks) in sorted(by_owner.items(), key=lambda item: -item[1][0]):
        if total < whole / 200:
            break
        shown += total
        print(f"{total:>12,} {blocks:>8,} {total / whole:>6.1%}  {name[:150]}")
    print(f"{whole - shown:>12,} {'':>8} {(whole - shown) / whole:>6.1%}  sites below 0.5 % each")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: heap.py dhat-heap.json")
    main(sys.argv[1])
