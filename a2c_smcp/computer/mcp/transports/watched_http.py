"""The HTTP client of the two HTTP transports. It reports failures to the owner of the connection."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.oauth.access import Access
from a2c_smcp.computer.mcp.oauth.demand import Demand
from a2c_smcp.computer.mcp.parsing import flattened

SESSION_HEADER = "mcp-session-id"
MOST_TOKENS = 3
"""Tokens that a request is sent with: the one that is known, one that another process may have stored meanwhile, which
the server may reject as well, and one that was renewed after that."""
_DEMAND, _NO_SESSION = secrets.token_hex(16), secrets.token_hex(16)
"""Mark errors of this module: an MCP server cannot imitate them."""
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""What ends an event of a stream."""
_SEPARATED = re.compile(r"(\n\n|\r\n\r\n|\r\r)")


class WatchedClient(httpx2.AsyncClient):
    """Reports rejected requests, broken connections and expired sessions to the link. It logs in with `access`."""

    def __init__(
        self, link: Link, headers: dict[str, Any] | None, timeout: float, read_timeout: float, access: Access | None
    ) -> None:
        super().__init__(
            headers={name: str(value) for name, value in (headers or {}).items()},
            timeout=httpx2.Timeout(timeout, read=read_timeout),
        )
        self._link = link
        self._access = access

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request."""
        if request.method == "DELETE" and self._link.demand is not None and self._link.lost.done():
            # The library ends its session. Without a login, the server would only reject that, too.
            return httpx2.Response(204, request=request)
        is_whole = not options.pop("stream", False)
        try:
            response = await self._send_with_login(request, options)
            try:
                if (demand := self._demand_of(response)) is not None:
                    await response.aclose()  # unread: the body of a rejection may never end
                    return self._demanded(request, response.status_code, demand)
                if is_whole:
                    await response.aread()
            except BaseException:
                await response.aclose()
                raise
        except httpx2.TransportError as error:
            self._link.doubt(f"the connection failed: {error}" if str(error) else "the connection failed")
            raise
        # 405 for GET is no failure: a server without an event stream of its own answers so.
        if response.status_code >= 400 and (request.method, response.status_code) != ("GET", 405):
            self._link.hint = f"HTTP {response.status_code} {response.reason_phrase}"
            # MCP: 404 for a request with a session id means that the session has expired, and a new one is needed.
            if response.status_code == 404 and SESSION_HEADER in request.headers:
                self._link.needs_session = True
                self._link.lose("ended the session")
                if request.method == "POST":
                    await response.aclose()
                    return _failed(request, 404, "the session has ended", _NO_SESSION)
        return await _readable(response)

    async def _send_with_login(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        """Send a request with the token of the login, and again with other ones if the server rejects it."""
        # Not as an `httpx2.Auth`: the library would read the whole rejection before the second attempt.
        token = await self._access.token() if self._access is not None else None
        for _ in range(MOST_TOKENS - 1):
            response = await self._send_with(token, request, options)
            if self._access is None or response.status_code not in (401, 403):
                return response
            try:
                other = await self._access.after(token, response)
            except BaseException:
                await response.aclose()
                raise
            if other is None:
                return response
            await response.aclose()
            token = other
        return await self._send_with(token, request, options)

    async def _send_with(self, token: str | None, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        if self._link.needs_session and request.method == "POST" and SESSION_HEADER in request.headers:
            # The session ended while the request waited for a token. The server would say so again, perhaps too late:
            # the connection is being closed, and then it would not be known whether the request was executed.
            return httpx2.Response(404, request=request)
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        return await super().send(request, stream=True, **options)

    def _demand_of(self, response: httpx2.Response) -> Demand | None:
        """What the server demands if it rejects a request, also with the newest token."""
        if self._access is None:
            return None
        if response.status_code < 300:
            self._access.accept()
            return None
        return self._access.reject(response)

    def _demanded(self, request: httpx2.Request, status: int, demand: Demand) -> httpx2.Response:
        """The answer to a request that needs a login: an error of MCP, by which the call recognizes the demand."""
        self._link.demand = demand
        if status == 401:  # a 403 concerns this request, and others may work
            self._link.lose(demand.reason)
        return _failed(request, status, demand.reason, _DEMAND)


def _failed(request: httpx2.Request, status: int, message: str, mark: str) -> httpx2.Response:
    """The answer to a request as an error of MCP, which reaches what waits for it."""
    error = {"code": INTERNAL_ERROR, "message": message, "data": mark}
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)


async def _readable(response: httpx2.Response) -> httpx2.Response:
    """A response without the parts of its JSON that are too deep to be read.

    The library parses JSON with a limit on nesting, and gives up a whole message: one tool with a deep schema would
    cost the list of all tools.
    """
    kind = response.headers.get("content-type", "").lower()
    if kind.startswith("text/event-stream") and response.is_success:
        return _replaced(response, stream=_Events(response))
    if not kind.startswith("application/json"):
        return response
    shallow = flattened((await response.aread()).decode(errors="replace"))
    return response if shallow is None else _replaced(response, content=shallow.encode())


def _replaced(response: httpx2.Response, **body: Any) -> httpx2.Response:
    # What these two say is true of the original body only.
    headers = [each for each in response.headers.multi_items() if each[0] not in ("content-encoding", "content-length")]
    return httpx2.Response(
        response.status_code, headers=headers, request=response.request, extensions=response.extensions, **body
    )


class _Events(httpx2.AsyncByteStream):
    """The events of a response, each as a whole: a part of one is of no use to a reader."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held = bytearray()
        async for chunk in self._response.aiter_bytes():
            searched = max(len(held) - 3, 0)  # the end of an event may be in two chunks
            held += chunk
            end = max((at + len(mark) for mark in _ENDS if (at := held.rfind(mark, searched)) >= 0), default=0)
            if end:
                yield _shallow(bytes(held[:end]))
                del held[:end]
        if held:
            yield _shallow(bytes(held))

    async def aclose(self) -> None:
        await self._response.aclose()


def _shallow(events: bytes) -> bytes:
    text = events.decode(errors="replace")
    if flattened(text) is None:
        return events
    # One by one: an event whose brackets do not match must not concern the next one.
    return "".join(flattened(each) or each for each in _SEPARATED.split(text)).encode()


def demand_in(response: httpx2.Response) -> dict[str, Any] | None:
    """The error for a request that was answered by `WatchedClient` itself."""
    try:
        error = json.loads(response.content)["error"]
        return error if error["data"] == _DEMAND else None
    except (httpx2.ResponseNotRead, ValueError, KeyError, TypeError):
        return None


def is_demand(error: MCPError) -> bool:
    """Whether a request failed because its server needs a login."""
    return error.data == _DEMAND


def is_without_session(error: MCPError) -> bool:
    """Whether the server rejected a request because it does not know the session: it did nothing of what was asked."""
    return error.data == _NO_SESSION
