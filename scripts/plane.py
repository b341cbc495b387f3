"""A control plane of loadgen's and CPU of processes, for the scripts here that measure."""
import argparse
import contextlib
import os
import signal
import subprocess
import sys

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOADGEN = os.path.join(CHECKOUT, "target/release/loadgen")
KUBECTL = os.environ.get("KUBECTL", "kubectl")
ADMIN = "127.0.0.1:18080"


def fail(message):
    sys.exit(f"error: {message}")


def cpu_s(pid):
    """CPU of a process and its threads so far, in seconds."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def end(process, with_signal):
    """Ends a process that still runs and waits for it."""
    if process.poll() is None:
        process.send_signal(with_signal)
    process.wait(timeout=60)


def new_folder(out):
    """Refuses a folder that exists, and a checkout without loadgen."""
    if os.path.exists(out):
        fail(f"{out} exists; name a new folder")
    if not os.access(LOADGEN, os.X_OK):
        fail(f"{LOADGEN} is missing; run: cargo build --release -p loadgen")


def one_burst(description, binary, objects):
    """The arguments of a script that measures BINARY in one burst of EdgeApps, checked, and what BINARY says it is."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--objects", type=int, default=objects)
    parser.add_argument("binary", nargs="?", default=binary)
    options = parser.parse_args()
    new_folder(options.out)
    if not os.access(options.binary, os.X_OK):
        fail(f"{options.binary} is missing; see --help for how it is made")
    version = subprocess.run([options.binary, "version"], capture_output=True, text=True, check=True).stdout.strip()
    return options, version


def burst(kubeconfig, objects):
    """Creates EdgeApps at once and waits until the operator has made all of them ready."""
    subprocess.run(
        [LOADGEN, "run", "--count", str(objects), "--kubeconfig", kubeconfig, "--yes", "--keep"],
        check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def control_plane(kubeconfig):
    """kube-apiserver on etcd while the block runs; the process whose children they are."""
    plane = subprocess.Popen(
        [LOADGEN, "control-plane", "up", "--kubeconfig", kubeconfig], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT)
    try:
        if not any("Ctrl-C" in line for line in plane.stdout):
            fail("the control plane did not start")
        yield plane
    finally:
        end(plane, signal.SIGINT)


@contextlib.contextmanager
def tare(binary, kubeconfig, log=subprocess.DEVNULL):
    """The operator in cache mode none while the block runs."""
    process = subprocess.Popen(
        [binary, "run", "--cache", "none", "--admin", ADMIN],
        env=dict(os.environ, KUBECONFIG=kubeconfig), stdout=subprocess.DEVNULL, stderr=log)
    try:
        yield process
    finally:
        end(process, signal.SIGTERM)
