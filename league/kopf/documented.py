"""The EdgeApp operator as kopf's documentation teaches it, for `kopf run`.

The tutorial's handlers bring the children about and adopt them; indices mirror the cluster, and low-level handlers
follow what happens to the children, as the page on reconciliation has it. The official client makes the requests.

Guarantees: idempotent; a child that is not ours is neither changed nor deleted; no finalizer, because there is no
handler of deletions, no daemon and no timer: the garbage collector deletes the children by their owner references.
Leaves watches, queues and retries to kopf.
"""

import functools
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import kopf
import kubernetes
from kubernetes.client import ApiException

import edgeapp
from edgeapp import DEPLOYMENT, SERVICE, Failure, Kind

EDGEAPPS = (edgeapp.GROUP, edgeapp.VERSION, edgeapp.PLURAL)
OURS: dict[str, Any] = {edgeapp.OWNER_LABEL: kopf.PRESENT, edgeapp.MANAGED_BY_LABEL: edgeapp.MANAGER}

# A plan is a merge patch: a list in it replaces the one that is there.
MERGE_PATCH = "application/merge-patch+json"

# Between two attempts at what the API server refuses.
RETRY_S = 10

# One client for all handlers, and its connections with it; the tutorial makes one in each handler.
apps_v1 = functools.cache(kubernetes.client.AppsV1Api)
core_v1 = functools.cache(kubernetes.client.CoreV1Api)
custom_objects = functools.cache(kubernetes.client.CustomObjectsApi)


class Refused(Exception):
    """A child cannot be brought about, and the user can do something about it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@kopf.on.startup()
def prepare(memo: Any, **_: Any) -> None:
    # Shared by the handlers of all resources: why an EdgeApp could not be brought about, by uid.
    memo.failures = {}


@kopf.index(*EDGEAPPS)
def edgeapps(namespace: str | None, name: str, body: kopf.Body, **_: Any) -> Any:
    return {(namespace, name): body}


@kopf.index("apps", "v1", "deployments", labels=OURS)
def deployments(namespace: str | None, name: str, body: kopf.Body, **_: Any) -> Any:
    return {(namespace, name): body}


@kopf.index("", "v1", "services", labels=OURS)
def services(namespace: str | None, name: str, body: kopf.Body, **_: Any) -> Any:
    return {(namespace, name): body}


@kopf.on.resume(*EDGEAPPS)
@kopf.on.create(*EDGEAPPS)
@kopf.on.update(*EDGEAPPS)
def bring_about(body: kopf.Body, patch: kopf.Patch, memo: Any, deployments: Any, services: Any, **_: Any) -> None:
    """The spec is new, or has changed, or the operator has started."""
    try:
        reconcile(DEPLOYMENT, body, found(deployments, body))
        reconcile(SERVICE, body, found(services, body))
    except Refused as refused:
        memo.failures[body["metadata"]["uid"]] = refused.failure
        raise kopf.TemporaryError(str(refused), delay=RETRY_S) from refused
    else:
        memo.failures.pop(body["metadata"]["uid"], None)
    finally:
        report(body, patch, memo, deployments)


@kopf.on.event(*EDGEAPPS)
def edgeapp_changed(type: str, body: kopf.Body, patch: kopf.Patch, memo: Any, deployments: Any, **_: Any) -> None:
    """Somebody has written the EdgeApp, this operator included: its status may be one of an older Deployment."""
    if type == "DELETED":
        memo.failures.pop(body["metadata"]["uid"], None)
    elif type == "MODIFIED":
        # What is new or listed at the start, is reported once its children are there.
        report(body, patch, memo, deployments)


@kopf.on.event("apps", "v1", "deployments", labels=OURS)
def deployment_changed(type: str, body: kopf.Body, memo: Any, edgeapps: Any, deployments: Any, **_: Any) -> None:
    app = found(edgeapps, body)
    if app is None:
        return
    reconcile(DEPLOYMENT, app, None if type == "DELETED" else body)
    if type == "ADDED":
        # It tells nothing yet, and whoever created it reports.
        return
    if status := status_patch(app, memo, deployments):
        write_status(app, status)


@kopf.on.event("", "v1", "services", labels=OURS)
def service_changed(type: str, body: kopf.Body, edgeapps: Any, **_: Any) -> None:
    app = found(edgeapps, body)
    if app is not None:
        reconcile(SERVICE, app, None if type == "DELETED" else body)


def reconcile(kind: Kind, app: Mapping[str, Any], child: Mapping[str, Any] | None) -> None:
    """Brings one child to its plan. `child` is what an index or an event shows of it."""
    meta = app["metadata"]
    if meta.get("deletionTimestamp"):
        # The garbage collector deletes the children.
        return
    name, namespace = meta["name"], meta["namespace"]
    plan = kind.plan(name, app["spec"])
    if child is not None and not edgeapp.belongs_to(child, meta["uid"]):
        child = None
    try:
        if plan is None:
            if child is not None:
                delete(kind, child)
        elif child is None:
            create(kind, app, plan)
        elif edgeapp.must_be_replaced(plan, child):
            # Its end brings an event, and that the next one.
            delete(kind, child)
        elif kind.fingerprint(child) != kind.fingerprint(edgeapp.to_create(plan)):
            request("patch", kind, name, namespace, plan, _content_type=MERGE_PATCH)
    except ApiException as error:
        raise_refusal(error)


def create(kind: Kind, app: Mapping[str, Any], plan: dict[str, Any]) -> None:
    name, namespace = app["metadata"]["name"], app["metadata"]["namespace"]
    child = edgeapp.to_create(plan)
    child["metadata"]["name"] = name
    kopf.adopt(child, owner=app)  # type: ignore[arg-type]
    try:
        request("create", kind, namespace, child)
    except ApiException as error:
        if error.status != 409:
            raise
        # The index does not show it yet, or it is not ours.
        there = request("read", kind, name, namespace, _preload_content=False).json()
        owner = edgeapp.controller(there)
        if owner and owner["uid"] == app["metadata"]["uid"]:
            return
        if owner and (owner["kind"], owner["name"]) == (edgeapp.KIND, name):
            message = f"{kind.name} {name!r} belongs to an earlier EdgeApp; the garbage collector deletes it"
            raise kopf.TemporaryError(message, delay=1) from error
        raise Refused(edgeapp.collision(kind.name, there)) from error


def delete(kind: Kind, child: Mapping[str, Any]) -> None:
    """Deletes the very object that was looked at."""
    meta = child["metadata"]
    this_one = {"preconditions": {"uid": meta["uid"]}, "propagationPolicy": "Background"}
    request("delete", kind, meta["name"], meta["namespace"], body=this_one)


def request(verb: str, kind: Kind, *args: Any, **options: Any) -> Any:
    """A method of the client, such as create_namespaced_deployment."""
    api = apps_v1() if kind is DEPLOYMENT else core_v1()
    return getattr(api, f"{verb}_namespaced_{kind.name.lower()}")(*args, **options)


def raise_refusal(error: ApiException) -> None:
    """What the user can do something about becomes a failure; what is gone by now is none."""
    reasons = {400: "Rejected", 403: "Forbidden", 422: "Rejected"}
    if error.status in reasons:
        raise Refused(Failure(reasons[error.status], f"{error.reason}: {error.body}")) from error
    if error.status not in (404, 409):
        raise error


def report(app: kopf.Body, patch: kopf.Patch, memo: Any, deployments: Any) -> None:
    """Leaves the status to kopf, which writes it after the handlers."""
    if status := status_patch(app, memo, deployments):
        patch.status.update(status)


def write_status(app: Mapping[str, Any], status: dict[str, Any]) -> None:
    group, version, plural = EDGEAPPS
    namespace, name = app["metadata"]["namespace"], app["metadata"]["name"]
    write = custom_objects().patch_namespaced_custom_object_status
    try:
        write(group, version, namespace, plural, name, {"status": status}, _content_type=MERGE_PATCH)
    except ApiException as error:
        if error.status != 404:
            raise


def status_patch(app: Mapping[str, Any], memo: Any, deployments: Any) -> dict[str, Any] | None:
    deployment = found(deployments, app)
    if deployment is not None and not edgeapp.belongs_to(deployment, app["metadata"]["uid"]):
        deployment = None
    failure = memo.failures.get(app["metadata"]["uid"])
    status = edgeapp.status(app, edgeapp.progress(deployment), failure)
    return edgeapp.status_patch(status, app.get("status"), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def found(index: Any, named: Mapping[str, Any]) -> Any:
    """The object of that name and namespace; None if the index has none."""
    meta = named["metadata"]
    return next(iter(index.get((meta["namespace"], meta["name"]), ())), None)
