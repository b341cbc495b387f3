#!/usr/bin/env python3
"""Which system calls the operator makes: scripts/syscalls.py --out FILE [--objects N] [BINARY]

Starts kube-apiserver on etcd and BINARY (target/static/x86_64-unknown-linux-musl/dist/tare, which scripts/dist.sh makes),
and counts its system calls with strace while a burst of EdgeApps converges. FILE gets a table: each call, how often, and
how often for one EdgeApp and for one request.

Guarantees: FILE appears whole or not at all; all it starts is ended. Limits: strace slows the operator, so that events
come in larger groups than without it. Needs strace, and loadgen built (target/release/loadgen).
"""
import argparse
import collections
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.request

from plane import ADMIN, CHECKOUT, LOADGEN, control_plane, end, fail, new_folder, tare

BINARY = os.path.join(CHECKOUT, "target/static/x86_64-unknown-linux-musl/dist/tare")
SHOWN = 12


def requests():
    """How many requests the operator has sent to the API server."""
    with urllib.request.urlopen(f"http://{ADMIN}/metrics") as page:
        values = re.findall(r"^tare_api_requests_total\S* (\d+)", page.read().decode(), re.M)
    return sum(map(int, values)) if values else fail("the operator's metrics have no tare_api_requests_total")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("binary", nargs="?", default=BINARY)
    options = parser.parse_args()
    new_folder(options.out)
    if not os.access(options.binary, os.X_OK):
        fail(f"{options.binary} is missing; see --help for how it is made")
    version = subprocess.run([options.binary, "version"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig, calls = os.path.join(folder, "kubeconfig"), os.path.join(folder, "calls")
        with control_plane(kubeconfig), tare(options.binary, kubeconfig) as operator:
            time.sleep(2)
            strace = subprocess.Popen(["strace", "-f", "-qq", "-p", str(operator.pid), "-o", calls], stderr=subprocess.DEVNULL)
            before = requests()
            try:
                subprocess.run(
                    [LOADGEN, "run", "--count", str(options.objects), "--kubeconfig", kubeconfig, "--yes", "--keep"],
                    check=True, stdout=subprocess.DEVNULL)
                sent = requests() - before
            finally:
                end(strace, signal.SIGINT)
        with open(calls) as lines:
            counted = collections.Counter(match[1] for match in (re.match(r"\d+ +(\w+)\(", line) for line in lines) if match)
    made = options.out + ".partial"
    text = [
        f"# {options.objects} EdgeApps created at once on kube-apiserver with etcd; {version}; {sent} requests. Made by scripts/syscalls.py.",
        f"{'call':<16}{'number':>10}{'per EdgeApp':>14}{'per request':>14}",
    ]
    text += [
        f"{name:<16}{number:>10}{number / options.objects:>14.2f}{number / sent:>14.2f}"
        for name, number in counted.most_common(SHOWN)
    ]
    rest = sum(counted.values()) - sum(number for _, number in counted.most_common(SHOWN))
    text += [f"{'connect':<16}{counted['connect']:>10}", f"{'all others':<16}{rest:>10}"]
    with open(made, "w") as file:
        file.write("\n".join(text) + "\n")
    os.rename(made, options.out)
    print("\n".join(text))


main()
