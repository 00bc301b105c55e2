"""The requests of hosts that are being served, each of which can be ended from outside: because its credential is not
valid any more, or because the gateway stops.

A stream that is ended is completed, so that the host sees its end, and not a broken connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable, MutableMapping
from typing import Any, TypeAlias

import anyio
import orjson

from a2c_smcp.errors import NotAuthenticatedError, NotConnectedError, SMCPError
from a2c_smcp.gateway.head import Header
from a2c_smcp.gateway.request_scope import Gone
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits

logger = logging.getLogger(__name__)

CHECK_SECONDS = Limits().grant_interval
"""Between two checks of the credentials of open requests, as for clients of Socket.IO."""
FINISH_SECONDS = 2.0
"""Time for the answers of calls that have just ended, when the gateway stops."""

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class Answer:
    """The response to one request, as an ASGI `send`."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.headers: list[Header] = []
        """Added to the response."""
        self.status = 0
        """0 until the response begins."""
        self._is_finished = False

    async def __call__(self, message: Message) -> None:
        """Send a message."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.headers:
                message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
        elif message["type"] == "http.response.body":
            self._is_finished = not message.get("more_body", False)
        await self._send(message)

    async def respond(self, status: int, headers: Iterable[Header] = (), body: bytes = b"") -> None:
        """Send a whole response."""
        length = (b"content-length", str(len(body)).encode())
        await self({"type": "http.response.start", "status": status, "headers": [*headers, length]})
        await self({"type": "http.response.body", "body": body})

    async def respond_error(self, status: int, headers: Iterable[Header], error: SMCPError) -> None:
        """Send an error in the form of JSON-RPC, without an id: the message of the host was not read."""
        body = {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32000, "message": error.message, "data": {"code": error.code}},
        }
        await self.respond(status, [(b"content-type", b"application/json"), *headers], orjson.dumps(body))

    async def complete(self) -> None:
        """End a response that has begun."""
        if self.status and not self._is_finished:
            await self({"type": "http.response.body", "body": b""})


class Visit:
    """One request that is being served."""

    def __init__(self, grant: Grant, *, is_stream: bool) -> None:
        self.grant = grant
        self.is_stream = is_stream
        self.gone = Gone()
        self.problem: SMCPError | None = None
        """Why it was ended."""
        self.scope = anyio.CancelScope()

    def end(self, problem: SMCPError) -> None:
        """End it now."""
        self.problem = self.problem or problem
        self.gone.set()  # with a session, the call runs in another task
        self.scope.cancel()


class Visits:
    """All of them."""

    def __init__(self) -> None:
        self._open: set[Visit] = set()
        self._changed = asyncio.Event()
        self._checking: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    @contextlib.contextmanager
    def open(self, visit: Visit) -> Generator[None]:
        """Keep a visit while it is served.

        Raises:
            SMCPError: it was ended.
        """
        self._open.add(visit)
        if visit.grant.holds is not None and (self._checking is None or self._checking.done()):
            self._checking = asyncio.create_task(self._check(), name="gateway: check credentials")
        try:
            with visit.scope:
                yield
        finally:
            self._open.discard(visit)
            self._changed.set()
        if visit.problem is not None:
            raise visit.problem

    async def _check(self) -> None:
        while any(visit.grant.holds is not None for visit in self._open):
            await asyncio.sleep(CHECK_SECONDS)
            for visit in list(self._open):
                if not _holds(visit.grant):
                    visit.end(NotAuthenticatedError("the credential expired, was changed or was removed"))

    async def aclose(self) -> None:
        """End the streams, let other requests finish for a moment, then end them too."""
        if self._checking is not None:
            self._checking.cancel()
        stopping = NotConnectedError("this Server is shutting down")
        for visit in list(self._open):
            if visit.is_stream:
                visit.end(stopping)
        with anyio.move_on_after(FINISH_SECONDS):
            while any(not visit.is_stream for visit in self._open):
                self._changed.clear()
                await self._changed.wait()
        for visit in list(self._open):
            visit.end(stopping)


def _holds(grant: Grant) -> bool:
    try:
        return grant.holds is None or grant.holds()
    except Exception:  # a function of the host program; the checks must go on
        logger.exception("a credential could not be checked")
        return True
