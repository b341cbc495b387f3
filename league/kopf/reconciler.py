"""The tuned operator's work: what is known of each EdgeApp, a queue of names, and workers that bring children about.

Guarantees: idempotent; one worker at a time has an EdgeApp; a name waits once, however many events ask for it; a child
that is not ours is neither changed nor deleted; what failed is tried again, after pauses that double. Leaves watches to
kopf, and the plan to `edgeapp`.
"""

import asyncio
import json
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp

import edgeapp
from cluster import Cluster, RequestFailed
from edgeapp import DEPLOYMENT, SERVICE, Failure, Kind

logger = logging.getLogger("edgeapp")

RETRY_S, RETRY_MOST_S = 1.0, 300.0

# Answers that the user can do something about.
REASONS = {400: "Rejected", 403: "Forbidden", 422: "Rejected"}


class Refused(Exception):
    """A child cannot be brought about, and the user can do something about it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class Child:
    """What is known of a Deployment or a Service."""

    uid: str
    version: int = field(compare=False)
    controller: str | None
    fingerprint: bytes
    has_no_cluster_ip: bool
    # None for a Service, which has none.
    progress: edgeapp.Progress | None
    # A watch has shown it, not only the list before the watch began.
    watched: bool = field(compare=False)


@dataclass(slots=True)
class Known:
    """What is known of an EdgeApp and of the children of its name."""

    # What `pack` leaves of it; None while there are children alone.
    app: bytes | None = None
    version: int = 0
    deployment: Child | None = None
    service: Child | None = None
    failure: Failure | None = None
    failures: int = 0

    def child(self, kind: Kind) -> Child | None:
        return self.deployment if kind is DEPLOYMENT else self.service

    def learn(self, kind: Kind, child: Child) -> bool:
        """Unless something newer is known: an event may overtake the answer to a request. Says whether it is news."""
        before = self.child(kind)
        if before is not None and child.version < before.version:
            return False
        self._set(kind, child)
        return child != before

    def forget(self, kind: Kind) -> None:
        self._set(kind, None)

    def _set(self, kind: Kind, child: Child | None) -> None:
        if kind is DEPLOYMENT:
            self.deployment = child
        else:
            self.service = child


class Reconciler:
    def __init__(self) -> None:
        # Set before there is work, and again whenever the credentials are new.
        self.cluster: Cluster
        self.known: dict[str, Known] = {}
        self.queue = Workqueue()

    # What the watches tell.

    def see_app(self, app: Any, gone: bool) -> None:
        key, known = self._known(app)
        if version(app) < known.version:
            return
        known.version, packed = version(app), None if gone else pack(app)
        if packed != known.app:
            known.app, known.failure = packed, known.failure if packed else None
            self._settle(key, known)

    def see_child(self, kind: Kind, body: Any, gone: bool, watched: bool = True) -> None:
        key, known = self._known(body)
        before = known.child(kind)
        if gone and (before is None or version(body) >= before.version):
            known.forget(kind)
            self._settle(key, known)
        elif not gone and known.learn(kind, child_of(kind, body, watched)):
            self._settle(key, known)

    def doubt_unwatched(self) -> None:
        """Children that were gone before their watch began: no event tells of their end."""
        for key, known in list(self.known.items()):
            for kind in (DEPLOYMENT, SERVICE):
                child = known.child(kind)
                if child is not None and not child.watched:
                    known.forget(kind)
                    self._settle(key, known)

    def _known(self, body: Any) -> tuple[str, Known]:
        meta = body["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        return key, self.known.setdefault(key, Known())

    def _settle(self, key: str, known: Known) -> None:
        if known.app is not None:
            self.queue.add(key)
        elif known.deployment is None and known.service is None:
            self.known.pop(key, None)

    # What follows.

    async def work(self) -> None:
        """Reconciles what the queue holds, for ever."""
        while True:
            key = await self.queue.get()
            try:
                await self.reconcile(self.cluster, key)
            except (RequestFailed, aiohttp.ClientError, TimeoutError) as error:
                self._retry(key, error)
            except Exception as error:
                # One EdgeApp must not end the work on the others.
                logger.exception("%s: reconcile failed", key)
                self._retry(key, error)
            finally:
                self.queue.done(key)

    def _retry(self, key: str, error: Exception) -> None:
        if (known := self.known.get(key)) is None:
            return
        delay_s = min(RETRY_S * 2**known.failures, RETRY_MOST_S)
        known.failures += 1
        logger.warning("%s: %s; next attempt in %.0f s", key, error, delay_s)
        self.queue.add_after(delay_s, key)

    async def reconcile(self, cluster: Cluster, key: str) -> None:
        known = self.known.get(key)
        if known is None or known.app is None:
            return
        app = json.loads(known.app)
        if app["metadata"].get("deletionTimestamp"):
            # The garbage collector deletes the children.
            return
        refused = None
        try:
            await bring_about(cluster, known, DEPLOYMENT, app)
            await bring_about(cluster, known, SERVICE, app)
            known.failure = None
        except Refused as error:
            refused, known.failure = error, error.failure
        await write_status(cluster, known, app)
        if refused:
            self._retry(key, refused)
        else:
            known.failures = 0


async def bring_about(cluster: Cluster, known: Known, kind: Kind, app: Any) -> None:
    """Brings one child to its plan. An answer tells of it at once, an event may later."""
    meta, child = app["metadata"], known.child(kind)
    plan = kind.plan(meta["name"], app["spec"])
    if child is not None and child.controller != meta["uid"]:
        child = None
    try:
        if child is None:
            if plan is not None:
                known.learn(kind, await create(cluster, kind, app, edgeapp.to_create(plan)))
        elif plan is None or child.has_no_cluster_ip != edgeapp.has_no_cluster_ip(plan):
            # A Service can neither gain nor give up a cluster IP. Its end brings an event, and that the next one.
            this_one = {"preconditions": {"uid": child.uid}, "propagationPolicy": "Background"}
            await cluster.request("DELETE", path(kind, meta), this_one)
        elif child.fingerprint != kind.fingerprint(edgeapp.to_create(plan)):
            known.learn(kind, child_of(kind, await cluster.patch(path(kind, meta), plan)))
    except RequestFailed as error:
        if error.code in REASONS:
            raise Refused(Failure(REASONS[error.code], str(error))) from error
        if error.code == 404:
            # It is gone by now, or the EdgeApp's namespace is.
            known.forget(kind)
        raise


async def create(cluster: Cluster, kind: Kind, app: Any, child: dict[str, Any]) -> Child:
    meta = app["metadata"]
    owner = {"apiVersion": f"{edgeapp.GROUP}/{edgeapp.VERSION}", "kind": edgeapp.KIND}
    owner |= {"name": meta["name"], "uid": meta["uid"]}
    child["metadata"] |= {
        "name": meta["name"],
        "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
    }
    try:
        return child_of(kind, await cluster.request("POST", path(kind, meta, named=False), child))
    except RequestFailed as error:
        if error.code != 409:
            raise
        there = await cluster.request("GET", path(kind, meta))
        other = edgeapp.controller(there)
        if other and other["uid"] == meta["uid"]:
            return child_of(kind, there)
        if other and (other["kind"], other["name"]) == (edgeapp.KIND, meta["name"]):
            # No failure of the EdgeApp: the garbage collector deletes it.
            raise
        raise Refused(edgeapp.collision(kind.name, there)) from error


async def write_status(cluster: Cluster, known: Known, app: Any) -> None:
    meta, deployment = app["metadata"], known.deployment
    progress = edgeapp.Progress()
    if deployment is not None and deployment.controller == meta["uid"] and deployment.progress:
        progress = deployment.progress
    status = edgeapp.status(app, progress, known.failure)
    patch = edgeapp.status_patch(status, app.get("status"), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    if patch is None:
        return
    base = f"/apis/{edgeapp.GROUP}/{edgeapp.VERSION}/namespaces/{meta['namespace']}/{edgeapp.PLURAL}/{meta['name']}"
    try:
        written = await cluster.patch(f"{base}/status", {"status": patch})
    except RequestFailed as error:
        if error.code != 404:
            raise
        return
    if known.app is not None and version(written) > known.version:
        known.app, known.version = pack(written), version(written)


def pack(app: Any) -> bytes:
    """What work needs of an EdgeApp, as JSON: objects of Python take several times as much."""
    meta = app["metadata"]
    names = ("name", "namespace", "uid", "generation", "deletionTimestamp")
    needed = {"metadata": {name: meta[name] for name in names if name in meta}, "spec": app["spec"]}
    return json.dumps(needed | {"status": app.get("status")}, separators=(",", ":")).encode()


def child_of(kind: Kind, body: Any, watched: bool = True) -> Child:
    owner = edgeapp.controller(body)
    return Child(
        uid=body["metadata"]["uid"],
        version=version(body),
        controller=owner["uid"] if owner else None,
        fingerprint=kind.fingerprint(body),
        has_no_cluster_ip=edgeapp.has_no_cluster_ip(body),
        progress=edgeapp.progress(body) if kind is DEPLOYMENT else None,
        watched=watched,
    )


def version(body: Any) -> int:
    """Events come later than answers to requests: those that are older tell nothing. Versions of one kind can be
    compared: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
    """
    return int(body["metadata"]["resourceVersion"])


def path(kind: Kind, meta: Any, named: bool = True) -> str:
    base = f"{root(kind)}/namespaces/{meta['namespace']}/{kind.plural}"
    return f"{base}/{meta['name']}" if named else base


def root(kind: Kind) -> str:
    return f"/apis/{kind.group}/v1" if kind.group else "/api/v1"


class Workqueue:
    """Names that wait for a worker. One that is added while a worker has it waits until the worker is done."""

    def __init__(self) -> None:
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._taken: set[str] = set()
        self._delayed: set[str] = set()

    def add(self, key: str) -> None:
        if key not in self._waiting:
            self._waiting.add(key)
            if key not in self._taken:
                self._ready.put_nowait(key)

    def add_after(self, delay_s: float, key: str) -> None:
        """Once, however often it is asked for in the meantime."""
        if key not in self._delayed:
            self._delayed.add(key)
            asyncio.get_running_loop().call_later(delay_s, self._add_delayed, key)

    def _add_delayed(self, key: str) -> None:
        self._delayed.discard(key)
        self.add(key)

    async def get(self) -> str:
        key = await self._ready.get()
        self._waiting.discard(key)
        self._taken.add(key)
        return key

    def done(self, key: str) -> None:
        self._taken.discard(key)
        if key in self._waiting:
            self._ready.put_nowait(key)
