"""The API server over one aiohttp session, which kopf uses too.

Guarantees: requests that are not answered within a deadline fail; a failure carries the server's words. Leaves retries
to others.
"""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import kopf

TIMEOUT = aiohttp.ClientTimeout(total=30)
MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


class RequestFailed(Exception):
    """The API server has refused a request."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Cluster:
    """Paths start at the root of the API server."""

    def __init__(self, credentials: kopf.ConnectionInfo, connections: int) -> None:
        self.server = credentials.server.rstrip("/")
        self.namespace = credentials.default_namespace
        # kopf's own session has no limit. Each TLS connection has a buffer of 256 KiB.
        connector = aiohttp.TCPConnector(limit=connections, ssl=credentials.as_ssl_context())
        self.session = aiohttp.ClientSession(connector=connector, headers=credentials.as_http_headers())

    def as_login(self) -> kopf.AiohttpSession:
        """For kopf, which closes the session when it is done with it."""
        return kopf.AiohttpSession(server=self.server, default_namespace=self.namespace, aiohttp_session=self.session)

    async def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The answer's JSON."""
        async with self.session.request(method, self.server + path, json=body, timeout=TIMEOUT, **options) as answer:
            if answer.ok:
                return await answer.json()
            text = await answer.text()
            try:
                message = (await answer.json())["message"]
            except (ValueError, KeyError, aiohttp.ContentTypeError):
                message = text
            raise RequestFailed(answer.status, message)

    async def patch(self, path: str, body: Any) -> Any:
        return await self.request("PATCH", path, body, headers=MERGE_PATCH)

    async def list(self, path: str, page_items: int, selector: str) -> AsyncIterator[Any]:
        """All items, of which one page is in memory."""
        token = ""
        while True:
            query = {"limit": str(page_items), "labelSelector": selector} | ({"continue": token} if token else {})
            page = await self.request("GET", path, params=query)
            for item in page["items"]:
                yield item
            token = page["metadata"].get("continue")
            if not token:
                return
