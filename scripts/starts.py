#!/usr/bin/env python3
"""What a start costs on a server that is full: scripts/starts.py --out DIR [--objects N] [--object-bytes N] [--starts N] NAME=BINARY...

For each named binary of tare: starts kube-apiserver on etcd, creates one EdgeApp, lets the binary bring it to Ready
and stops it. Then copies that EdgeApp and its children N times, with names and uids of their own, straight into etcd,
which takes a minute where creating them takes half an hour. When the server is idle, starts the binary several times
and measures each start until its first relist is complete.

Guarantees: DIR/starts.json has every start with the version and SHA-256 of its binary; a start that writes anything fails
the run, because the objects were not converged. DIR appears whole or not at all. All it starts is ended.
Needs loadgen built (target/release/loadgen) and a quiet machine: times and CPU are of the whole server process.
"""
import argparse
import base64
import hashlib
import http.client
import json
import os
import platform
import re
import socket
import subprocess
import tempfile
import time
import urllib.request

from plane import ADMIN, KUBECTL, control_plane, cpu_s, fail, new_folder, tare

FIRST = "app-000000"
EDGEAPP = {
    "apiVersion": "tare.dev/v1alpha1",
    "kind": "EdgeApp",
    "metadata": {"name": FIRST, "namespace": "default"},
    "spec": {"image": "registry.example.org/app:1.0", "replicas": 1, "port": 8080, "headless": True},
}
PADDING = "example.org/padding"
PREFIXES = [
    "/registry/tare.dev/edgeapps/default/",
    "/registry/deployments/default/",
    "/registry/services/specs/default/",
]
UID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def edgeapp(size_bytes):
    """The EdgeApp as it is created, so large as JSON."""
    padded = json.loads(json.dumps(EDGEAPP))
    padded["metadata"]["annotations"] = {PADDING: ""}
    padded["metadata"]["annotations"][PADDING] = "x" * max(0, size_bytes - len(json.dumps(padded)))
    return json.dumps(padded)


def children(parent):
    """Processes below `parent`: name of the program to (pid, arguments)."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                above = int(stat.read().rsplit(")", 1)[1].split()[1])
            if above == parent:
                with open(f"/proc/{pid}/cmdline") as line:
                    arguments = line.read().split("\0")
                found[os.path.basename(arguments[0])] = (int(pid), arguments)
        except OSError:
            continue
    return found


class Etcd:
    """The JSON interface of etcd, https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/."""

    def __init__(self, arguments):
        flag = "--listen-client-urls=unix://"
        sockets = [a.removeprefix(flag) for a in arguments if a.startswith(flag)]
        if not sockets:
            fail("etcd listens on no unix socket")
        self.socket = sockets[0]

    def call(self, path, body):
        connection = http.client.HTTPConnection("localhost", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.socket)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            fail(f"etcd answered {answer.status}: {text.decode(errors='replace')[:300]}")
        return json.loads(text)

    def get(self, key):
        values = self.call("/v3/kv/range", {"key": base64.b64encode(key.encode()).decode()}).get("kvs", [])
        if len(values) != 1:
            fail(f"etcd has {len(values)} values of {key}")
        return base64.b64decode(values[0]["value"])

    def copy(self, count):
        """Copies the first EdgeApp and its children, each with a name and uids of its own."""
        values = [self.get(prefix + FIRST) for prefix in PREFIXES]
        uids = sorted({uid for value in values for uid in UID.findall(value)})
        for begin in range(1, count, 40):
            puts = []
            for index in range(begin, min(begin + 40, count)):
                name = f"app-{index:06}"
                for prefix, value in zip(PREFIXES, values):
                    value = value.replace(FIRST.encode(), name.encode())
                    for number, uid in enumerate(uids):
                        value = value.replace(uid, uid[:24] + f"{number:03x}{index:09x}".encode())
                    puts.append({"requestPut": {
                        "key": base64.b64encode((prefix + name).encode()).decode(),
                        "value": base64.b64encode(value).decode(),
                    }})
            self.call("/v3/kv/txn", {"success": puts})


def metrics():
    """Metrics of the operator, or nothing while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{ADMIN}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return {}
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line and line[0] != "#"}


def relists(values):
    """Complete relists; the second name is that of 0.1.0."""
    return values.get("tare_relists_completed_total", values.get("tare_joins_done_total", 0))


def requests(values, wanted):
    """Requests whose verb is one of `wanted`."""
    return sum(v for k, v in values.items() if "_requests_total{" in k and re.search(f'verb="({wanted})"', k))


WRITES = "create|post|update|patch|delete"


def until(process, what, holds, seconds):
    """Waits until the metrics of the operator are so; these metrics."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            fail(f"{process.args[0]} ended with {process.returncode}")
        values = metrics()
        if values and holds(values):
            return values
        time.sleep(0.1)
    fail(f"no {what} within {seconds} s")


def memory_bytes(pid, field):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def until_idle(server, others):
    """Waits until these processes together use less than 15 % of a CPU over 10 s; the server's share of it, in percent.

    With 100,000 objects the garbage collector and the server's own collector never rest completely.
    """
    while True:
        before, own = sum(map(cpu_s, [server, *others])), cpu_s(server)
        time.sleep(10)
        if sum(map(cpu_s, [server, *others])) - before < 1.5:
            return round((cpu_s(server) - own) * 10, 1)


def measure(name, binary, options, folder):
    print(f"{name}: starting kube-apiserver on etcd", flush=True)
    kubeconfig = os.path.join(folder, "kubeconfig")
    with control_plane(kubeconfig) as plane:
        running = children(plane.pid)
        server, etcd = running["kube-apiserver"][0], running["etcd"][0]
        kubectl = [KUBECTL, "--kubeconfig", kubeconfig]
        with open(os.path.join(folder, f"{name}.log"), "w") as log:
            subprocess.run(kubectl + ["create", "-f", "-"], input=edgeapp(options.object_bytes), text=True, check=True, stdout=log)
            with tare(binary, kubeconfig, log):
                subprocess.run(
                    kubectl + ["wait", "--for=condition=Ready", f"edgeapp/{FIRST}", "--timeout=60s"], check=True, stdout=log)
                time.sleep(2)
            print(f"{name}: {options.objects} EdgeApps with two children each", flush=True)
            Etcd(running["etcd"][1]).copy(options.objects)
            others = [pid for pid, _ in running.values() if pid != server]
            starts = []
            for number in range(1, options.starts + 1):
                idle_percent = until_idle(server, others)
                before, began = (cpu_s(server), cpu_s(etcd)), time.monotonic()
                with tare(binary, kubeconfig, log) as process:
                    values = until(process, "relist", lambda values: relists(values) >= 1, 900)
                    start = {
                        "subject": name,
                        "start": number,
                        "seconds": round(time.monotonic() - began, 2),
                        "server_idle_cpu_percent": idle_percent,
                        "server_cpu_s": round(cpu_s(server) - before[0], 2),
                        "etcd_cpu_s": round(cpu_s(etcd) - before[1], 2),
                        "operator_cpu_s": round(cpu_s(process.pid), 2),
                        "peak_rss_bytes": memory_bytes(process.pid, "VmHWM"),
                        "rss_bytes": memory_bytes(process.pid, "VmRSS"),
                        "reads": int(requests(values, "list|get")),
                        "writes": int(requests(metrics(), WRITES)),
                    }
                print(json.dumps(start), flush=True)
                if start["writes"]:
                    fail(f"{name} wrote {start['writes']} times: its objects were not converged")
                starts.append(start)
        return starts


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def table(record):
    rows = [
        ("time, s", "seconds", 1), ("CPU of kube-apiserver, s", "server_cpu_s", 1),
        ("CPU of kube-apiserver before the start, % of one", "server_idle_cpu_percent", 1),
        ("CPU of etcd, s", "etcd_cpu_s", 1),
        ("CPU of the operator, s", "operator_cpu_s", 1), ("peak RSS, MB", "peak_rss_bytes", 1e6), ("reads", "reads", 1),
    ]
    names = [subject["name"] for subject in record["subjects"]]
    lines = [
        f"# One start on {record['objects']} EdgeApps of {record['object_bytes']} bytes", "",
        f"kube-apiserver on etcd, {record['machine']['cores']} cores, {record['machine']['cpu']}, {record['date']}. Medians of "
        f"{record['starts_each']} starts each, then the smallest and the largest. Made by `scripts/starts.py` from `starts.json`.", "",
        "| | " + " | ".join(names) + " |", "|---" + "|---:" * len(names) + "|",
    ]
    for title, key, unit in rows:
        cells = []
        for name in names:
            values = [start[key] / unit for start in record["starts"] if start["subject"] == name]
            cells.append(f"{median(values):.4g} ({min(values):.4g} to {max(values):.4g})")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    for subject in record["subjects"]:
        lines += ["", f"`{subject['name']}`: {subject['version']}, {subject['bytes']} bytes, SHA-256 `{subject['sha256']}`."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--object-bytes", type=int, default=2048, help="of an EdgeApp as it is created (2048)")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("subjects", nargs="+", metavar="NAME=BINARY")
    options = parser.parse_args()
    new_folder(options.out)
    if not 1 <= options.objects <= 999_999:
        fail("--objects takes 1 to 999999")
    subjects = []
    for text in options.subjects:
        name, equals, binary = text.partition("=")
        if not equals or not os.access(binary, os.X_OK):
            fail(f"\"{text}\" is not NAME=BINARY with a program that can be run")
        with open(binary, "rb") as program:
            content = program.read()
        version = subprocess.run([binary, "version"], capture_output=True, text=True, check=True).stdout.strip()
        subjects.append({
            "name": name, "path": binary, "version": version,
            "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(),
        })
    with open("/proc/cpuinfo") as cpuinfo:
        model = next((line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")), "unknown")
    record = {
        "objects": options.objects, "object_bytes": options.object_bytes, "starts_each": options.starts, "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": {"cores": os.cpu_count(), "cpu": model, "kernel": platform.release()}, "subjects": subjects, "starts": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        for subject in subjects:
            record["starts"] += measure(subject["name"], os.path.abspath(subject["path"]), options, folder)
    for subject in subjects:
        del subject["path"]
    made = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(options.out)))
    with open(os.path.join(made, "starts.json"), "w") as file:
        json.dump(record, file, indent=1)
        file.write("\n")
    with open(os.path.join(made, "README.md"), "w") as file:
        file.write(table(record))
    os.chmod(made, 0o755)
    os.rename(made, options.out)
    print(table(record))


main()
