#!/usr/bin/env python3
"""Where the CPU of the operator goes: scripts/profile.py --out DIR [--objects N] [BINARY]

Starts kube-apiserver on etcd and BINARY (target/static/symbols/x86_64-unknown-linux-musl/tare, which
scripts/dist.sh --symbols yes --out target/static/symbols makes), samples it with perf while a burst of EdgeApps
converges, and groups the samples by what their function belongs to.

Guarantees: DIR/symbols.txt has the share of every function, DIR/README.md the groups; DIR appears whole or not at all; all it
starts is ended. A function counts for itself and not for those it calls. Needs perf, and loadgen built (target/release/loadgen).
"""
import collections
import os
import re
import signal
import subprocess
import tempfile
import time

from plane import CHECKOUT, burst, control_plane, end, one_burst, tare

BINARY = os.path.join(CHECKOUT, "target/static/symbols/x86_64-unknown-linux-musl/tare")
# The first that fits names the group.
GROUPS = [
    ("kernel: sockets, scheduling", r"\[k\]"),
    ("TLS (rustls, ring)", r"rustls|ring::|webpki|aes|chacha|gcm|ghash|poly1305"),
    ("allocator", r"rjem|malloc|rallocx|dalloc|__rust_alloc|RawVec|calloc|edata|eset"),
    ("trees of JSON values", r"btree|BTreeMap|serde_json::value|value::Value|serde_json::map"),
    ("JSON text", r"serde_json|serde_core|itoa|escape"),
    ("HTTP (hyper, http, httparse)", r"hyper|http::|httparse|http_body|bytes::|header"),
    ("tokio, futures, mutexes, clocks", r"tokio|futures|mio|[wW]aker|vdso|pthread|clock"),
    ("copying and comparing bytes, strings", r"memcpy|bcmp|memset|memmove|memchr|core::|alloc::"),
    ("tare itself", r"tare"),
]


def main():
    options, version = one_burst(__doc__, BINARY, 3000)
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig, data = os.path.join(folder, "kubeconfig"), os.path.join(folder, "perf.data")
        with control_plane(kubeconfig), tare(options.binary, kubeconfig) as operator:
            time.sleep(2)
            perf = subprocess.Popen(
                ["perf", "record", "-e", "cpu-clock", "-F", "499", "-p", str(operator.pid), "-o", data],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                burst(kubeconfig, options.objects)
            finally:
                end(perf, signal.SIGINT)
        report = subprocess.run(
            ["perf", "report", "-i", data, "--no-children", "--sort", "sym", "--stdio"],
            capture_output=True, text=True, check=True).stdout
    lines = [line.strip() for line in report.splitlines() if re.match(r"\s+[\d.]+%", line)]
    shares = collections.Counter()
    for line in lines:
        percent, symbol = line.split("%", 1)
        group = next((name for name, pattern in GROUPS if re.search(pattern, symbol)), "others")
        shares[group] += float(percent)
    text = [
        "# Where the CPU of the operator goes", "",
        f"{options.objects} EdgeApps created at once on kube-apiserver with etcd; {version}. Made by `scripts/profile.py` with `perf`: each "
        "function counts for itself. [symbols.txt](symbols.txt) has them all.", "",
        "| | share, % |", "|---|---:|",
    ]
    text += [f"| {name} | {share:.1f} |" for name, share in shares.most_common()]
    made = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(options.out)))
    for name, content in (("symbols.txt", lines), ("README.md", text)):
        with open(os.path.join(made, name), "w") as file:
            file.write("\n".join(content) + "\n")
    os.chmod(made, 0o755)
    os.rename(made, options.out)
    print("\n".join(text))


main()
