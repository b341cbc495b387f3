"""The EdgeApp operator on kopf with the published ways to save memory and requests, for `kopf run`.

Only low-level handlers, which keep nothing on the objects: no annotation, no progress, no finalizer. A handler notes
what an event tells and puts the name into a queue; a few workers do the rest (`reconciler`).

Guarantees: as `reconciler`. Leaves watches and re-authentication to kopf.
"""

import asyncio
from typing import Any

import kopf

import edgeapp
from cluster import Cluster
from edgeapp import DEPLOYMENT, SERVICE, Kind
from reconciler import Reconciler, root

EDGEAPPS = (edgeapp.GROUP, edgeapp.VERSION, edgeapp.PLURAL)
OURS = f"{edgeapp.OWNER_LABEL},{edgeapp.MANAGED_BY_LABEL}={edgeapp.MANAGER}"

# Python runs on one core: more requests at a time make no work faster.
WORKERS = 4
# The watches of EdgeApps, Deployments, Services and CRDs have one each.
CONNECTIONS = WORKERS + 4

PAGE_ITEMS = 50

# By then every watch has begun.
DOUBT_S = 30

RECONCILER = Reconciler()


class NoDiffBase(kopf.DiffBaseStorage):
    """There are no handlers of changes, so nothing is compared; kopf would copy each object for it, in each event."""

    def build(self, **_: Any) -> Any:
        return {}

    def fetch(self, **_: Any) -> Any:
        return None

    def store(self, **_: Any) -> None:
        pass


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: Any, **_: Any) -> None:
    settings.watching.label_selectors["apps", "v1", DEPLOYMENT.plural] = OURS
    settings.watching.label_selectors["", "v1", SERVICE.plural] = OURS
    settings.watching.chunk_size = PAGE_ITEMS
    settings.queueing.idle_timeout = 0.02
    settings.persistence.diffbase_storage = NoDiffBase()

    # Before the watches: an EdgeApp whose children are not known yet would have them created again.
    cluster = Cluster(credentials(settings), 1)
    async with cluster.session:
        for kind in (DEPLOYMENT, SERVICE):
            async for child in cluster.list(f"{root(kind)}/{kind.plural}", PAGE_ITEMS, OURS):
                RECONCILER.see_child(kind, child, gone=False, watched=False)
    asyncio.get_running_loop().call_later(DOUBT_S, RECONCILER.doubt_unwatched)
    memo.workers = [asyncio.create_task(RECONCILER.work()) for _ in range(WORKERS)]


@kopf.on.login()
async def login(settings: kopf.OperatorSettings, **_: Any) -> kopf.AiohttpSession:
    """At the start, and where the API server no longer accepts the credentials."""
    RECONCILER.cluster = Cluster(credentials(settings), CONNECTIONS)
    return RECONCILER.cluster.as_login()


@kopf.on.cleanup()
async def stop(memo: Any, **_: Any) -> None:
    for worker in memo.workers:
        worker.cancel()
    await asyncio.gather(*memo.workers, return_exceptions=True)


@kopf.on.event(*EDGEAPPS)
async def edgeapp_event(event: kopf.RawEvent, **_: Any) -> None:
    RECONCILER.see_app(event["object"], gone=event["type"] == "DELETED")


@kopf.on.event("apps", "v1", DEPLOYMENT.plural)
async def deployment_event(event: kopf.RawEvent, **_: Any) -> None:
    see_child(DEPLOYMENT, event)


@kopf.on.event("", "v1", SERVICE.plural)
async def service_event(event: kopf.RawEvent, **_: Any) -> None:
    see_child(SERVICE, event)


def see_child(kind: Kind, event: kopf.RawEvent) -> None:
    RECONCILER.see_child(kind, event["object"], gone=event["type"] == "DELETED", watched=True)


def credentials(settings: kopf.OperatorSettings) -> kopf.ConnectionInfo:
    found = kopf.login_with_service_account(settings=settings) or kopf.login_with_kubeconfig(settings=settings)
    if found is None:
        raise kopf.LoginError("there is neither a service account nor a kubeconfig")
    return found
