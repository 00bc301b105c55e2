"""Connects a host that speaks over standard input and output to the gateway of a Server.

Messages pass unchanged. All hosts of an office then share one Agent seat, however many of them start a process of their
own. If the Server restarts, the bridge opens a new session, and the host notices nothing but the notifications that all
lists changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, cast

import httpx2
import mcp_types as types
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

logger = logging.getLogger(__name__)

_OUR_ID = "a2c-bridge"
"""The id of the bridge's own request. Hosts use numbers, or texts of their own."""
_LISTS = (
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/prompts/list_changed",
)


class Bridge:
    """Carries messages between a host and the gateway at a URL."""

    def __init__(self, url: str, client: httpx2.AsyncClient) -> None:
        self._url = url
        self._client = client
        self._from_host: asyncio.Queue[SessionMessage | None] = asyncio.Queue(64)
        self._opening: types.JSONRPCRequest | None = None
        """The host's `initialize`, which opens every session."""
        self._version: str | None = None
        """The protocol version of the session; None for hosts of 2026-07-28, which have none."""
        self._pending: dict[Any, SessionMessage] = {}
        """The requests of the host that wait for an answer, by their ids."""

    async def run(self, host_read: Any, host_write: Any) -> None:
        """Carry messages until the host closes its end."""
        reader = asyncio.create_task(self._read_host(host_read), name="read the host")
        try:
            while await self._carry(host_write):
                logger.info("the Server restarted: opening a new session")
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _read_host(self, host_read: Any) -> None:
        try:
            async for message in host_read:
                if isinstance(message, Exception):
                    logger.warning("the host sent what is not a message: %s", message)
                else:
                    await self._from_host.put(message)
        finally:
            await self._from_host.put(None)

    async def _carry(self, host_write: Any) -> bool:
        """Carry messages over one session; whether another one is needed."""
        async with streamable_http_client(self._url, http_client=self._client, max_sse_event_size=None) as (up, down):
            if self._opening is not None:
                await self._open_again(up, down, host_write)
            lost = asyncio.Event()
            tasks: list[asyncio.Task[Any]] = [
                asyncio.create_task(self._send(down), name="to the Server"),
                asyncio.create_task(self._receive(up, host_write, lost), name="from the Server"),
                asyncio.create_task(lost.wait(), name="session lost"),
            ]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                return lost.is_set()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _open_again(self, up: Any, down: Any, host_write: Any) -> None:
        """Open a session as the host did, and send again what waits for an answer: the old session never got it."""
        opening = self._opening
        assert opening is not None
        await down.send(SessionMessage(opening.model_copy(update={"id": _OUR_ID})))
        async for received in up:
            message = received.message if isinstance(received, SessionMessage) else None
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id == _OUR_ID:
                break
        initialized = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
        await down.send(self._addressed(SessionMessage(initialized)))
        for message in list(self._pending.values()):
            await down.send(message)
        for method in _LISTS:
            await host_write.send(SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method=method)))

    async def _send(self, down: Any) -> None:
        while (message := await self._from_host.get()) is not None:
            addressed = self._addressed(message)
            if isinstance(message.message, types.JSONRPCRequest):
                if message.message.method == "initialize":
                    self._opening = message.message
                self._pending[message.message.id] = addressed
            await down.send(addressed)

    def _addressed(self, message: SessionMessage) -> SessionMessage:
        """A message with the headers that HTTP needs for it."""
        body, headers = message.message, dict[str, str]()
        if self._version is not None:
            headers[MCP_PROTOCOL_VERSION_HEADER] = self._version
        if isinstance(body, types.JSONRPCRequest | types.JSONRPCNotification):
            params: Mapping[str, Any] = body.params or {}
            if (version := _version_in(params)) is not None:
                headers |= {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: body.method}
                name = params.get(NAME_BEARING_METHODS.get(body.method, ""))
                if isinstance(name, str):
                    headers[MCP_NAME_HEADER] = encode_header_value(name)
        return SessionMessage(body, ClientMessageMetadata(headers=headers or None))

    async def _receive(self, up: Any, host_write: Any, lost: asyncio.Event) -> None:
        async for received in up:
            if isinstance(received, Exception):
                logger.warning("the Server sent what is not a message: %s", received)
                continue
            message = received.message
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                # The Server does not know the session: it restarted. The request was not executed.
                if isinstance(message, types.JSONRPCError) and self._is_unknown_session(message):
                    lost.set()
                    return
                asked = self._pending.pop(message.id, None)
                if isinstance(message, types.JSONRPCResponse) and asked is not None:
                    self._note_version(asked, message)
            with contextlib.suppress(Exception):  # the host is gone: `_read_host` ends, too
                await host_write.send(SessionMessage(message))

    def _is_unknown_session(self, error: types.JSONRPCError) -> bool:
        words = error.error.message
        return (
            self._opening is not None
            and error.id in self._pending
            and words in ("Session terminated", "Session not found")
        )

    def _note_version(self, asked: SessionMessage, answer: types.JSONRPCResponse) -> None:
        if isinstance(asked.message, types.JSONRPCRequest) and asked.message.method == "initialize":
            version = answer.result.get("protocolVersion")
            self._version = version if isinstance(version, str) else None


def _version_in(params: Mapping[str, Any]) -> str | None:
    """The protocol version in a message of 2026-07-28."""
    meta = params.get("_meta")
    version = cast("Mapping[str, Any]", meta).get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, Mapping) else None
    return version if isinstance(version, str) else None
