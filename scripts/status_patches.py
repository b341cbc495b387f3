#!/usr/bin/env python3
"""What a status patch costs kube-apiserver: the whole status against the members that differ.

scripts/status_patches.py --out FILE [--patches N] [--rounds N]

Starts kube-apiserver on etcd, creates an EdgeApp, and patches its status in alternating rounds: with one JSON patch of
the whole status, as tare does, and with one operation for each member whose value changes. Writes one line of JSON for
each round.

Guarantees: every patch is answered with 200; all it starts is ended. Needs loadgen built (target/release/loadgen),
kubectl, and a quiet machine.
"""
import argparse
import base64
import http.client
import json
import os
import re
import ssl
import subprocess
import tempfile
import time

from plane import KUBECTL, control_plane, cpu_s, fail, new_folder

PATH = "/apis/tare.dev/v1alpha1/namespaces/default/edgeapps/app"
EDGEAPP = {
    "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp", "metadata": {"name": "app", "namespace": "default"},
    "spec": {"image": "registry.example.org/app:1.0", "replicas": 1, "port": 8080, "headless": True},
}
TIME = "2026-01-01T00:00:00Z"


def status(number):
    """A status whose phase, count and messages differ from that of the number before."""
    ready = number % 2 == 0
    text = "True" if ready else "False"
    condition = {"lastTransitionTime": TIME, "message": f"{number % 2} of 1", "observedGeneration": 1, "reason": "Deployment"}
    return {
        "phase": "Running" if ready else "Progressing", "observedGeneration": 1, "readyReplicas": int(ready), "replicas": 1,
        "endpoint": "app.default.svc:80", "selector": "tare.dev/owner=app",
        "conditions": [dict(condition, type=name, status=text) for name in ("Ready", "Progressing", "Degraded")],
    }


def kube_apiserver(parent):
    """The process id of the API server below `parent`."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                name, rest = re.match(r"\d+ \((.*)\) (.*)", stat.read(), re.S).groups()
        except OSError:
            continue
        if name.startswith("kube-apiserver") and int(rest.split()[1]) == parent:
            return pid
    fail("no kube-apiserver runs")


def patch(members):
    """A JSON patch that sets members of the status, by their path below it."""
    return json.dumps([{"op": "add", "path": "/status" + path, "value": value} for path, value in members.items()])


class Client:
    """Requests as the administrator of a kubeconfig."""

    def __init__(self, kubectl):
        view = subprocess.run(kubectl + ["config", "view", "--raw", "-o", "json"], capture_output=True, check=True)
        config = json.loads(view.stdout)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        self.headers = {"Content-Type": "application/json-patch+json", "Authorization": f"Bearer {user['token']}"}
        self.connection = http.client.HTTPSConnection(cluster["server"].removeprefix("https://"), context=context)

    def patch(self, body):
        self.connection.request("PATCH", PATH + "/status", body=body, headers=self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            fail(f"{answer.status}: {text.decode()[:300]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--patches", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    new_folder(options.out)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = os.path.join(folder, "kubeconfig")
        with control_plane(kubeconfig) as plane:
            kubectl = [KUBECTL, "--kubeconfig", kubeconfig]
            subprocess.run(kubectl + ["create", "-f", "-"], input=json.dumps(EDGEAPP), text=True, check=True)
            client, server = Client(kubectl), kube_apiserver(plane.pid)
            client.patch(patch({"": status(0)}))
            changing = [key for key, value in status(0).items() if value != status(1)[key]]
            for round_ in range(1, options.rounds + 1):
                for kind in ("whole", "differences"):
                    before, began = cpu_s(server), time.monotonic()
                    for number in range(1, options.patches + 1):
                        body = status(number)
                        members = {"": body} if kind == "whole" else {f"/{key}": body[key] for key in changing}
                        body = patch(members)
                        client.patch(body)
                    line = {
                        "round": round_, "patch": kind, "bytes": len(body), "patches": options.patches,
                        "server_cpu_ms_per_patch": round((cpu_s(server) - before) * 1000 / options.patches, 3),
                        "ms_per_patch": round((time.monotonic() - began) * 1000 / options.patches, 3),
                    }
                    lines.append(json.dumps(line))
                    print(lines[-1], flush=True)
    with open(options.out, "x") as file:
        file.write("\n".join(lines) + "\n")


main()
