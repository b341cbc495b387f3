"""What becomes of an EdgeApp: its children and its status, as JSON.

Guarantees: pure, no I/O and no clock; the plan is that of every other operator for EdgeApps, which the fixtures in
`league/fixtures` tell. Leaves to others: owner references, requests, and when to send them.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

GROUP, VERSION, PLURAL, KIND = "tare.dev", "v1alpha1", "edgeapps", "EdgeApp"

OWNER_LABEL = "tare.dev/owner"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGER = "edgeapp-kopf"
# Tells a Service that was made headless from one that was not.
HEADLESS_LABEL = "tare.dev/headless"

SERVICE_PORT = 80

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Failure:
    """Why the children cannot be brought about: the reason and the message of a condition."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a Deployment has come; the default is that of none."""

    exists: bool = False
    generation: int = 0
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    # Its controller gave up waiting: the condition Progressing is False.
    stalled: bool = False


def deployment_plan(name: str, spec: Json) -> dict[str, Any]:
    """The fields of the Deployment that are ours, for a merge patch: None removes, a list is ours as a whole."""
    port = spec.get("port")
    container = {
        "name": "app",
        "image": spec["image"],
        "ports": [{"containerPort": port, "protocol": "TCP"}] if port else None,
        "env": [{"name": v["name"], "value": v.get("value", "")} for v in spec.get("env") or []] or None,
        "resources": _resources(spec),
    }
    return {
        "metadata": {"labels": {OWNER_LABEL: name, MANAGED_BY_LABEL: MANAGER}},
        "spec": {
            "replicas": spec.get("replicas", 1),
            "selector": {"matchLabels": {OWNER_LABEL: name}},
            "template": {"metadata": {"labels": {OWNER_LABEL: name}}, "spec": {"containers": [container]}},
        },
    }


def service_plan(name: str, spec: Json) -> dict[str, Any] | None:
    """The same for the Service; None without a port."""
    if not spec.get("port"):
        return None
    headless = bool(spec.get("headless"))
    labels = {OWNER_LABEL: name, MANAGED_BY_LABEL: MANAGER, HEADLESS_LABEL: "true" if headless else None}
    port = {"port": SERVICE_PORT, "targetPort": spec["port"], "protocol": "TCP"}
    body: dict[str, Any] = {
        "metadata": {"labels": labels},
        "spec": {"selector": {OWNER_LABEL: name}, "ports": [port]},
    }
    if headless:
        body["spec"]["clusterIP"] = "None"
    return body


def must_be_replaced(plan: Json, child: Json) -> bool:
    """A Service has a cluster IP and must not, or the other way round: neither can be changed."""
    return has_no_cluster_ip(plan) != has_no_cluster_ip(child)


def has_no_cluster_ip(child: Json) -> bool:
    return bool(child["spec"].get("clusterIP") == "None")


def to_create(plan: Any) -> Any:
    """The plan as a new object: without the fields that it removes."""
    if isinstance(plan, Mapping):
        return {key: to_create(value) for key, value in plan.items() if value is not None}
    return [to_create(item) for item in plan] if isinstance(plan, list) else plan


def deployment_fingerprint(deployment: Json) -> bytes:
    """A digest of what a plan decides: the same for a Deployment that is as planned and for the plan, as it is created.

    What a plan does not name belongs to others, and is not in it.
    """
    spec, template = deployment["spec"], deployment["spec"]["template"]
    containers = [
        {
            "name": container["name"],
            "image": container.get("image"),
            "ports": _ports(container, "containerPort"),
            # The API server leaves an empty value out.
            "env": [{"value": "", **variable} for variable in container.get("env") or []],
            "resources": {
                part: {name: _quantity(text) for name, text in quantities.items()}
                for part, quantities in (container.get("resources") or {}).items()
                if part in ("requests", "limits") and quantities
            },
        }
        for container in template["spec"]["containers"]
    ]
    selector, pods = spec["selector"].get("matchLabels"), _labels(template, OWNER_LABEL)
    return _digest([_labels(deployment), spec.get("replicas"), selector, pods, containers])


def service_fingerprint(service: Json) -> bytes:
    """The same for a Service."""
    ports = _ports(service["spec"], "port", "targetPort")
    selector, no_cluster_ip = service["spec"].get("selector"), has_no_cluster_ip(service)
    return _digest([_labels(service, HEADLESS_LABEL), selector, ports, no_cluster_ip])


def controller(child: Json) -> Json | None:
    """The owner reference of the object that controls the child."""
    owners = child.get("metadata", {}).get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def belongs_to(child: Json, uid: str) -> bool:
    owner = controller(child)
    return owner is not None and owner["uid"] == uid


def collision(kind: str, child: Json) -> Failure:
    """A child of the right name that is not ours."""
    name, owner = child["metadata"]["name"], controller(child)
    belongs = f'belongs to {owner["kind"]} "{owner["name"]}"' if owner else "was not made by this operator"
    return Failure("Collision", f'{kind} "{name}" {belongs}; rename the EdgeApp or remove that {kind}')


def progress(deployment: Json | None) -> Progress:
    if deployment is None:
        return Progress()
    status = deployment.get("status") or {}
    conditions = status.get("conditions") or []
    return Progress(
        exists=True,
        generation=deployment["metadata"].get("generation", 0),
        observed_generation=status.get("observedGeneration", 0),
        replicas=status.get("replicas", 0),
        updated_replicas=status.get("updatedReplicas", 0),
        ready_replicas=status.get("readyReplicas", 0),
        stalled=any(c["type"] == "Progressing" and c["status"] == "False" for c in conditions),
    )


def status(app: Json, seen: Progress, failure: Failure | None = None) -> dict[str, Any]:
    """The status of an EdgeApp, without transition times."""
    meta, spec = app["metadata"], app["spec"]
    name, generation, wanted = meta["name"], meta.get("generation", 0), spec.get("replicas", 1)
    # A Deployment tells of its own newest spec only once its controller has seen it.
    current = seen.exists and seen.observed_generation >= seen.generation
    # While a pod of the old template is left, nothing tells which of them are ready.
    ready = (
        current and seen.updated_replicas >= wanted and seen.replicas <= seen.updated_replicas <= seen.ready_replicas
    )
    if failure is not None:
        phase, degraded = "Failed", failure.message
        reason, message = failure.reason, failure.message
    elif ready:
        phase, reason, message, degraded = "Running", "AllReplicasReady", "", None
    elif current and seen.stalled:
        phase, reason = "Failed", "ProgressDeadlineExceeded"
        message = degraded = f'Deployment "{name}" made no progress within its deadline; see its pods'
    else:
        phase, reason, degraded = "Progressing", "WaitingForReplicas", None
        message = f"waiting for {wanted} ready replicas"

    # The spec of a failed EdgeApp is not observed: the generation stays what it was.
    before = (app.get("status") or {}).get("observedGeneration")
    observed = generation if failure is None else before
    whole = {
        "phase": phase,
        "replicas": seen.replicas,
        "readyReplicas": seen.ready_replicas,
        "selector": f"{OWNER_LABEL}={name}",
        "endpoint": _endpoint(app),
        "observedGeneration": observed,
        "conditions": [
            _condition("Ready", phase == "Running", reason, message, generation),
            _condition("Progressing", phase == "Progressing", reason, "", generation),
            _condition("Degraded", degraded is not None, reason, degraded or "", generation),
        ],
    }
    return {key: value for key, value in whole.items() if value is not None}


def status_patch(status: Json, before: Json | None, now: str) -> dict[str, Any] | None:
    """What to write to get from the status before to this one; None where nothing but times would change.

    A condition keeps its transition time while its status stays what it was.
    """
    before = before or {}
    old = {condition["type"]: condition for condition in before.get("conditions") or []}
    conditions, changed = [], len(old) != len(status["conditions"])
    for condition in status["conditions"]:
        last = old.get(condition["type"], {})
        same = last.get("status") == condition["status"]
        conditions.append({**condition, "lastTransitionTime": last.get("lastTransitionTime", now) if same else now})
        changed = changed or any(last.get(key) != value for key, value in condition.items())
    changed = changed or any(before.get(key) != status.get(key) for key in STATUS_FIELDS)
    if not changed:
        return None
    return {"endpoint": None, **status, "conditions": conditions}


@dataclass(frozen=True)
class Kind:
    """A kind of child."""

    name: str
    group: str
    plural: str
    plan: Callable[[str, Json], dict[str, Any] | None]
    fingerprint: Callable[[Json], bytes]


DEPLOYMENT = Kind("Deployment", "apps", "deployments", deployment_plan, deployment_fingerprint)
SERVICE = Kind("Service", "", "services", service_plan, service_fingerprint)

STATUS_FIELDS = ("phase", "replicas", "readyReplicas", "selector", "endpoint", "observedGeneration")


def _endpoint(app: Json) -> str | None:
    meta, spec = app["metadata"], app["spec"]
    if not spec.get("port"):
        return None
    # A headless Service maps no ports.
    port = spec["port"] if spec.get("headless") else SERVICE_PORT
    return f"{meta['name']}.{meta['namespace']}.svc:{port}"


def _condition(kind: str, holds: bool, reason: str, message: str, generation: int) -> dict[str, Any]:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
    }


def _labels(thing: Json, *names: str) -> list[str | None]:
    labels = (thing.get("metadata") or {}).get("labels") or {}
    return [labels.get(name) for name in (OWNER_LABEL, MANAGED_BY_LABEL, *names)]


def _ports(thing: Json, *numbers: str) -> list[Any]:
    return [[port.get("protocol"), *map(port.get, numbers)] for port in thing.get("ports") or []]


def _digest(planned: Any) -> bytes:
    text = json.dumps(planned, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _resources(spec: Json) -> dict[str, Any]:
    asked = spec.get("resources") or {}
    requests = {name: str(quantity) for name, quantity in (asked.get("requests") or {}).items()}
    limits = {name: str(quantity) for name, quantity in (asked.get("limits") or {}).items()}
    if accelerator := spec.get("accelerator"):
        # An extended resource is not overcommitted, so its request follows from the limit.
        limits[accelerator["resource"]] = str(accelerator.get("count", 1))
    return {"requests": requests or None, "limits": limits or None}


_SUFFIXES = {suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)}
_SUFFIXES |= {suffix + "i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)}
_SUFFIXES |= {suffix: Decimal(1000) ** -power for power, suffix in enumerate("mun", start=1)}


def _quantity(text: Any) -> str:
    """The number that a quantity stands for: the API server writes 1000m as 1. What is none stays as it is."""
    written = str(text)
    digits = written.rstrip("kKMGTPEimun")
    try:
        return str((Decimal(digits) * _SUFFIXES.get(written[len(digits) :], Decimal(1))).normalize())
    except InvalidOperation:
        return written
