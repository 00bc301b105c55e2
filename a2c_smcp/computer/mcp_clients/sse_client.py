"""MCP over SSE: one event stream from the server, one POST for each message to it.

Ours rather than the `mcp` package's: that one cuts events at 1 MiB, and leaves a request without an answer for ever
when its POST fails.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCRequest, jsonrpc_message_adapter

from a2c_smcp.computer.mcp_clients.base_client import CannotStart, MCPClient, Streams
from a2c_smcp.computer.mcp_clients.http import WatchedClient
from a2c_smcp.computer.mcp_clients.link import Link
from a2c_smcp.computer.mcp_clients.model import SseParameters
from a2c_smcp.computer.mcp_clients.streams import Inbox, Outbox

_HEADERS = {"Accept": "text/event-stream", "Cache-Control": "no-store"}


class SseClient(MCPClient):
    """A server elsewhere, or on this machine, that answers over SSE."""

    @asynccontextmanager
    async def _connect(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Streams]:
        wanted = SseParameters.model_validate(parameters)
        if isinstance(wanted.timeout, str) or isinstance(wanted.sse_read_timeout, str):
            raise CannotStart("a placeholder among its parameters has no value")
        async with (
            WatchedClient(link, wanted.headers, wanted.timeout, wanted.sse_read_timeout) as client,
            client.stream("GET", wanted.url, headers=_HEADERS) as response,
        ):
            if response.status_code >= 300:
                raise ConnectionError(f"answered HTTP {response.status_code} {response.reason_phrase}")
            inbox = Inbox()
            events = aiter(httpx2.EventSource(response, max_event_size=None))
            with anyio.fail_after(self._policy.start_timeout):
                endpoint = await self._endpoint(events, wanted.url)
            async with anyio.create_task_group() as posts:

                async def post(message: SessionMessage) -> None:
                    try:
                        body = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                        (await client.post(endpoint, json=body)).raise_for_status()
                    except httpx2.HTTPError as error:
                        if isinstance(message.message, JSONRPCRequest):
                            problem = ErrorData(
                                code=CONNECTION_CLOSED, message=f"the request was not delivered: {error}"
                            )
                            reply = JSONRPCError(jsonrpc="2.0", id=message.message.id, error=problem)
                            inbox.put(SessionMessage(reply))

                async def send(message: SessionMessage) -> None:
                    posts.start_soon(post, message)

                posts.start_soon(self._read, events, inbox, link)
                try:
                    yield inbox, Outbox(send)
                finally:
                    posts.cancel_scope.cancel()

    async def _endpoint(self, events: Any, url: str) -> str:
        """Where messages go: the server says so first, and it must be the same server."""
        async for event in events:
            if event.event == "endpoint":
                endpoint = urljoin(url, event.data)
                if urlsplit(endpoint)[:2] != urlsplit(url)[:2]:
                    raise ConnectionError("names an endpoint on another server")
                return endpoint
        raise ConnectionError("closed the connection before it named its endpoint")

    async def _read(self, events: Any, inbox: Inbox, link: Link) -> None:
        """Take messages from the stream until it ends."""
        reason = "closed the connection"
        try:
            async for event in events:
                if event.event != "message" or not event.data:
                    continue
                try:
                    inbox.put(SessionMessage(jsonrpc_message_adapter.validate_json(event.data, by_name=False)))
                except ValueError:
                    self._on_noise(event.data[:200])
        except httpx2.HTTPError as error:
            reason = f"lost the connection: {error}" if str(error) else "lost the connection"
        finally:
            link.lose(reason)
            inbox.end()
