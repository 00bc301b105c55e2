"""An HTTP client for the gateway of a Server that may restart, or be out of reach for a while.

It raises no error of the network for a message: MCP's library would end the whole session with it. A request fails
alone, with an answer in the form of JSON-RPC.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import orjson
from mcp.client.streamable_http import MCP_SESSION_ID
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, RequestId

from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.unreachable import why_unreachable

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 30.0
"""How long a request waits for a Server that cannot be reached: a restart takes a few seconds."""
SILENT_SECONDS = 60.0
"""How long a connection may be silent. The gateway sends something every 15 seconds, also during a long call; a
machine that was asleep finds its connections dead in this way."""
END_SECONDS = 2.0
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
_MARK = "a2c-request"
"""A header that says which request of the host an HTTP request carries. It does not leave this process."""


def marked(headers: dict[str, str], request_id: RequestId) -> dict[str, str]:
    """Headers for a request of the host."""
    return {**headers, _MARK: json.dumps(request_id)}


class PatientClient(httpx2.AsyncClient):
    """Waits for the Server, and notices that it does not know the session any more."""

    def __init__(self, **options: Any) -> None:
        super().__init__(timeout=httpx2.Timeout(CONNECT_SECONDS, read=SILENT_SECONDS), **options)
        self.unserved = set[RequestId]()
        """The host's requests of which it is certain that no session of the gateway got them."""
        self.on_lost: Callable[[], None] = lambda: None
        """Called when the Server does not know the session: it restarted."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; the answer may be one of this client."""
        if request.method == "DELETE":
            return await self._end(request, options)
        if request.method == "GET" and MCP_SESSION_ID in request.headers:
            return await self._listen(request, options)
        if request.method != "POST":
            return await super().send(request, **options)
        mark = request.headers.pop(_MARK, None)
        request_id: RequestId | None = json.loads(mark) if mark is not None else None
        return await self._post(request, options, request_id)

    async def _post(
        self, request: httpx2.Request, options: dict[str, Any], request_id: RequestId | None
    ) -> httpx2.Response:
        until, backoff = time.monotonic() + CONNECT_SECONDS, Backoff(FIRST_DELAY, LONGEST_DELAY)
        while True:
            self._note(request_id, is_unserved=False)
            try:
                response = await super().send(request, **options)
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
                if time.monotonic() > until:
                    reason = why_unreachable([error], None)[0]
                    return _failed(request, INTERNAL_ERROR, f"cannot reach {_place(request)}: {reason}")
                self._note(request_id, is_unserved=True)
                await asyncio.sleep(backoff.next())
                continue
            except httpx2.HTTPError as error:
                reason = str(error) or type(error).__name__
                return _failed(request, CONNECTION_CLOSED, f"the connection to {_place(request)} broke: {reason}")
            if response.status_code == 404 and MCP_SESSION_ID in request.headers:
                self._note(request_id, is_unserved=True)
                self.on_lost()
            elif response.status_code >= 400 and not _is_json(response):
                # Of a proxy, for example: the page that it shows people says nothing to a host.
                await response.aclose()
                return _failed(request, INTERNAL_ERROR, f"{_place(request)} answered HTTP {response.status_code}")
            return response

    def _note(self, request_id: RequestId | None, *, is_unserved: bool) -> None:
        if request_id is not None:
            (self.unserved.add if is_unserved else self.unserved.discard)(request_id)

    async def _listen(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        """Open the stream of notifications, however long that takes. The library would give up after two attempts."""
        backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
        while True:
            try:
                response = await super().send(request, **options)
            except httpx2.HTTPError as error:
                logger.debug("no stream of notifications: %s", error)
            else:
                if response.status_code == 404:
                    self.on_lost()
                if response.status_code < 400 or response.status_code in (404, 405):
                    response.stream = _Ending(response.stream)
                    return response
                await response.aclose()
            await asyncio.sleep(backoff.next())

    async def _end(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        """End the session, if that is quick. The gateway ends sessions without requests itself."""
        try:
            async with asyncio.timeout(END_SECONDS):
                response = await super().send(request, **options)
                await response.aclose()
        except (httpx2.HTTPError, TimeoutError) as error:
            logger.debug("the session was not ended: %s", error)
        return httpx2.Response(200, request=request)


class _Ending(httpx2.AsyncByteStream):
    """A stream that ends where its connection breaks: the library opens it again after an end, and not after errors."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                yield chunk
        except httpx2.HTTPError as error:
            logger.debug("the stream of notifications broke: %s", error)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _place(request: httpx2.Request) -> str:
    return str(request.url.copy_with(query=None))


def _is_json(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("application/json")


def _failed(request: httpx2.Request, code: int, message: str) -> httpx2.Response:
    """An answer that the library takes as the error of one request."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    headers = {"content-type": "application/json"}
    return httpx2.Response(503, headers=headers, content=orjson.dumps(body), request=request)
