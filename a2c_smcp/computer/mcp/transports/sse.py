"""MCP over SSE: one event stream from the server, one POST for each message to it.

This replaces the transport of the `mcp` package, which limits events to 1 MiB and never answers a request whose POST
fails.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from mcp_types import INTERNAL_ERROR

from a2c_smcp.computer.config.model import SseParameters
from a2c_smcp.computer.mcp.client import filled
from a2c_smcp.computer.mcp.conversation import Conversation, Message
from a2c_smcp.computer.mcp.failures import CannotStart
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.parsing import parse
from a2c_smcp.computer.mcp.transports.remote import RemoteClient
from a2c_smcp.computer.mcp.transports.watched_http import WatchedClient, demand_in

MAX_REDIRECTS = 5
_HEADERS = {"Accept": "text/event-stream", "Cache-Control": "no-store"}


@asynccontextmanager
async def _open(client: httpx2.AsyncClient, url: str, seconds: float) -> AsyncGenerator[httpx2.Response]:
    """Open the stream, and follow redirects on the same server only."""
    with anyio.fail_after(seconds):
        response = await client.send(client.build_request("GET", url, headers=_HEADERS), stream=True)
        # Followed here, not by the client: the headers may hold a key, which only this server may get.
        for _ in range(MAX_REDIRECTS):
            following = response.next_request
            if following is None or urlsplit(str(following.url))[:2] != urlsplit(str(response.url))[:2]:
                break
            await response.aclose()
            response = await client.send(following, stream=True)
    try:
        yield response
    finally:
        await response.aclose()


class SseClient(RemoteClient):
    """A server that is reached over SSE."""

    parameters = SseParameters

    @asynccontextmanager
    async def _open(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Conversation]:
        wanted = filled(SseParameters, parameters)
        if isinstance(wanted.timeout, str) or isinstance(wanted.sse_read_timeout, str):
            raise CannotStart("a placeholder among its parameters has no value")
        async with (
            WatchedClient(
                link, wanted.headers, wanted.timeout, wanted.sse_read_timeout, self.access(parameters)
            ) as client,
            _open(client, wanted.url, self._policy.start_timeout) as response,
        ):
            if response.status_code >= 300:
                raise ConnectionError(f"answered HTTP {response.status_code} {response.reason_phrase}")
            events = aiter(httpx2.EventSource(response, max_event_size=None))
            # The read timeout of the client is for a silent stream, and too long here: the endpoint is the first event.
            with anyio.fail_after(self._policy.start_timeout):
                endpoint = await self._endpoint(events, str(response.url))
            async with anyio.create_task_group() as posts:
                # A request and its answer travel on different connections. If the POST fails, no answer will ever come
                # on the stream, so the failure is turned into one.
                async def post(message: Message) -> None:
                    try:
                        (await client.post(endpoint, json=message)).raise_for_status()
                    except httpx2.HTTPStatusError as error:
                        answered = f"HTTP {error.response.status_code} {error.response.reason_phrase}"
                        problem = demand_in(error.response) or {
                            "code": INTERNAL_ERROR,
                            "message": f"the request was refused: {answered}",
                        }
                        conversation.receive({"jsonrpc": "2.0", "id": message.get("id"), "error": problem})
                    except httpx2.HTTPError as error:
                        problem = {"code": INTERNAL_ERROR, "message": f"the request was lost: {type(error).__name__}"}
                        conversation.receive({"jsonrpc": "2.0", "id": message.get("id"), "error": problem})

                def send(message: Message, _: Mapping[str, str] | None) -> None:
                    posts.start_soon(post, message)

                conversation = Conversation(send, self._on_notice)
                posts.start_soon(self._read, events, conversation, link)
                try:
                    yield conversation
                finally:
                    posts.cancel_scope.cancel()

    async def _endpoint(self, events: Any, url: str) -> str:
        """The address for messages, from the first event."""
        async for event in events:
            if event.event == "endpoint":
                endpoint = urljoin(url, event.data)
                # Each message carries the configured headers, and with them the key for this server. Another server
                # must not get it.
                if urlsplit(endpoint)[:2] != urlsplit(url)[:2]:
                    raise ConnectionError("names an endpoint on another server")
                return endpoint
        raise ConnectionError("closed the connection before it named its endpoint")

    async def _read(self, events: Any, conversation: Conversation, link: Link) -> None:
        """Take messages from the stream until it ends."""
        reason = "closed the connection"
        try:
            async for event in events:
                if event.event != "message" or not event.data:
                    continue
                if not conversation.receive(parse(event.data)):
                    self._on_noise(event.data[:4_000])
        except httpx2.HTTPError as error:
            reason = f"lost the connection: {error}" if str(error) else "lost the connection"
        finally:
            link.lose(reason)
            conversation.end()
