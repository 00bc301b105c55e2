"""Connects a host on standard input and output to the gateway of a Server.

Messages pass unchanged. All hosts of an office then share one Agent seat, however many of them start a process of their
own. If the Server restarts, the bridge opens a new session, and the host notices nothing but the notifications that
everything may have changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types
from anyio import BrokenResourceError, ClosedResourceError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import PROTOCOL_VERSION_META_KEY

from a2c_smcp.gateway.kept_session import FIRST_PAUSE, LONGEST_PAUSE, OPENING_ID, KeptSession, is_own
from a2c_smcp.gateway.patience import FIRST_DELAY, LONGEST_DELAY, PatientClient, marked
from a2c_smcp.gateway.pipes import FromHost, ToHost
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

STABLE_SECONDS = 30.0
"""A session that lasted longer is replaced at once."""
_LISTS = (
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/prompts/list_changed",
)
_LOST = types.ErrorData(
    code=types.CONNECTION_CLOSED,
    message="the Server restarted before it answered: it is not known whether the request was executed",
)


class Bridge:
    """Carries messages between a host and the gateway at a URL."""

    def __init__(self, url: str, client: PatientClient) -> None:
        self._url = url
        self._client = client
        self._from_host: asyncio.Queue[SessionMessage | None] = asyncio.Queue(64)
        self._pending: dict[Any, SessionMessage] = {}
        """The requests of the host that wait for an answer, by their ids."""
        self._asked = set[Any]()
        """The ids of the Server's requests that the host has not answered."""
        self._session = KeptSession()
        self._is_opened = asyncio.Event()
        """Cleared while a host's `initialize` is not answered. What follows needs the id of the session."""
        self._is_opened.set()

    async def run(self, from_host: FromHost, to_host: ToHost) -> None:
        """Carry messages until the host closes its end."""
        reader = asyncio.create_task(self._read_host(from_host), name="read the host")
        try:
            with contextlib.suppress(BrokenResourceError, ClosedResourceError):  # the host is gone
                # Where a session is lost at once, such as between Servers that do not share it, attempts slow down.
                backoff, began = Backoff(FIRST_DELAY, LONGEST_DELAY), time.monotonic()
                while await self._carry(to_host):
                    if time.monotonic() - began > STABLE_SECONDS:
                        backoff.reset()
                    await asyncio.sleep(backoff.next())
                    began = time.monotonic()
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _read_host(self, from_host: FromHost) -> None:
        try:
            async for message in from_host:
                if isinstance(message, SessionMessage):
                    await self._from_host.put(message)
        finally:
            await self._from_host.put(None)

    async def _carry(self, to_host: ToHost) -> bool:
        """Carry messages over one session; whether another one is needed."""
        lost = asyncio.Event()
        self._client.on_lost = lost.set
        async with streamable_http_client(self._url, http_client=self._client, max_sse_event_size=None) as (up, down):
            opening = self._session.opening
            if opening is not None and not await self._open_again(opening, up, down, to_host):
                return await self._wait_for_host(to_host)
            tasks: list[asyncio.Task[Any]] = [
                asyncio.create_task(self._send(down), name="to the Server"),
                asyncio.create_task(self._receive(up, to_host), name="from the Server"),
                asyncio.create_task(lost.wait(), name="session lost"),
                asyncio.create_task(self._repeat_rejected(down), name="repeat what was rejected"),
            ]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            self._is_opened.set()
            if tasks[2] in done:
                logger.info("the Server restarted: opening a new session")
                await self._give_up_calls(to_host)
                return True
            for task in done:
                task.result()
            return False

    # --------------------------------------------------------------------------------------------------------- sessions

    async def _give_up_calls(self, to_host: ToHost) -> None:
        """Answer the requests that the old session may have executed, and withdraw its questions."""
        for request_id in [each for each in self._pending if each not in self._client.unserved]:
            await self._fail(to_host, request_id, _LOST)
        for asked in self._asked:
            params = {"requestId": asked, "reason": "the Server restarted"}
            await to_host.send(_notification("notifications/cancelled", params))
        self._asked.clear()

    async def _open_again(self, opening: types.JSONRPCRequest, up: Any, down: Any, to_host: ToHost) -> bool:
        """Open a session as the host did; whether the Server agrees."""
        await down.send(SessionMessage(opening.model_copy(update={"id": OPENING_ID})))
        async for received in up:
            message = received.message if isinstance(received, SessionMessage) else None
            if isinstance(message, types.JSONRPCError) and message.id == OPENING_ID:
                for request_id in list(self._pending):
                    await self._fail(to_host, request_id, message.error)
                return False
            if isinstance(message, types.JSONRPCResponse) and message.id == OPENING_ID:
                break
        await down.send(self._addressed(_notification("notifications/initialized")))
        for request in self._session.begin():
            await down.send(self._addressed(SessionMessage(request)))
        for message in list(self._pending.values()):
            await down.send(self._addressed(message))
        # What the host knows is from the time before.
        for method in _LISTS:
            await to_host.send(_notification(method))
        return True

    async def _repeat_rejected(self, down: Any) -> None:
        backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            for request in await self._session.rejected(backoff):
                await down.send(self._addressed(SessionMessage(request)))

    async def _wait_for_host(self, to_host: ToHost) -> bool:
        """There is no session: wait until the host wants something, which is worth another attempt."""
        while (message := await self._from_host.get()) is not None:
            self._note(message)
            if isinstance(message.message, types.JSONRPCRequest):
                return True
        return False

    async def _fail(self, to_host: ToHost, request_id: Any, error: types.ErrorData) -> None:
        del self._pending[request_id]
        await to_host.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)))

    # --------------------------------------------------------------------------------------------------------- messages

    async def _send(self, down: Any) -> None:
        while (message := await self._from_host.get()) is not None:
            await self._is_opened.wait()
            if self._note(message):
                if _is_opening(message):
                    self._is_opened.clear()
                await down.send(self._addressed(message))

    def _note(self, message: SessionMessage) -> bool:
        """Remember what the host sent; whether the Server needs it."""
        match message.message:
            case types.JSONRPCRequest(id=request_id):
                self._pending[request_id] = message
                self._client.unserved.add(request_id)
            case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                request_id = (params or {}).get("requestId")
                self._pending.pop(request_id, None)
                self._client.unserved.discard(request_id)
            case types.JSONRPCResponse(id=request_id) | types.JSONRPCError(id=request_id):
                # A new session counts its questions from the start: the answer to an old one must not reach it.
                if request_id not in self._asked:
                    return False
                self._asked.discard(request_id)
            case _:
                pass
        return True

    def _addressed(self, message: SessionMessage) -> SessionMessage:
        """A message with the headers that HTTP needs for it."""
        body, headers = message.message, dict[str, str]()
        if self._session.version is not None:
            headers[MCP_PROTOCOL_VERSION_HEADER] = self._session.version
        if isinstance(body, types.JSONRPCRequest | types.JSONRPCNotification):
            params: Mapping[str, Any] = body.params or {}
            if (version := _version_in(params)) is not None:
                headers |= {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: body.method}
                name = params.get(NAME_BEARING_METHODS.get(body.method, ""))
                if isinstance(name, str):
                    headers[MCP_NAME_HEADER] = encode_header_value(name)
        if isinstance(body, types.JSONRPCRequest) and not is_own(body.id):
            headers = marked(headers, body.id)
        return SessionMessage(body, ClientMessageMetadata(headers=headers or None))

    async def _receive(self, up: Any, to_host: ToHost) -> None:
        async for received in up:
            if isinstance(received, Exception):
                logger.warning("the Server sent something that is not a message: %s", received)
                continue
            message = received.message
            if isinstance(message, types.JSONRPCRequest):
                self._asked.add(message.id)
            elif isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                if is_own(message.id):
                    uri = self._session.note_own_answer(message)
                    if uri is not None:
                        await to_host.send(_notification("notifications/resources/updated", {"uri": uri}))
                    continue
                if message.id in self._client.unserved:
                    continue
                asked = self._pending.pop(message.id, None)
                if asked is not None and _is_opening(asked):
                    self._is_opened.set()
                if isinstance(message, types.JSONRPCResponse) and asked is not None:
                    self._session.note_answer(cast("types.JSONRPCRequest", asked.message), message)
            await to_host.send(SessionMessage(message))


def _notification(method: str, params: dict[str, Any] | None = None) -> SessionMessage:
    if params is None:
        return SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method=method))
    return SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params))


def _is_opening(message: SessionMessage) -> bool:
    return isinstance(message.message, types.JSONRPCRequest) and message.message.method == "initialize"


def _version_in(params: Mapping[str, Any]) -> str | None:
    """The protocol version in a message of 2026-07-28."""
    meta = params.get("_meta")
    version = cast("Mapping[str, Any]", meta).get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, Mapping) else None
    return version if isinstance(version, str) else None
