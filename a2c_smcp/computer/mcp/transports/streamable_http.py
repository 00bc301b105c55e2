"""MCP over streamable HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar
from datetime import timedelta
from typing import Any

import anyio
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import RequestId, jsonrpc_message_adapter

from a2c_smcp.computer.config.model import StreamableHttpParameters
from a2c_smcp.computer.mcp.client import filled
from a2c_smcp.computer.mcp.conversation import Conversation, Message
from a2c_smcp.computer.mcp.failures import CannotStart
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.transports.remote import RemoteClient
from a2c_smcp.computer.mcp.transports.watched_http import WatchedClient

# A server answers the POST of a request with a stream, in which it may also send requests of its own: they belong to
# that request. The transport of the library does not say which stream a message came from. But it runs each POST in the
# context of its message, and gives this context with everything that it receives.
_request: ContextVar[RequestId | None] = ContextVar("request", default=None)
"""The number of the request that is posted."""


class HttpClient(RemoteClient):
    """A server that is reached over streamable HTTP."""

    parameters = StreamableHttpParameters

    @asynccontextmanager
    async def _open(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Conversation]:
        wanted = filled(StreamableHttpParameters, parameters)
        timeout, read_timeout, terminate = wanted.timeout, wanted.sse_read_timeout, wanted.terminate_on_close
        if not isinstance(timeout, timedelta) or not isinstance(read_timeout, timedelta) or isinstance(terminate, str):
            raise CannotStart("a placeholder among its parameters has no value")
        async with (
            WatchedClient(
                link, wanted.headers, timeout.total_seconds(), read_timeout.total_seconds(), self.access(parameters)
            ) as client,
            # The library limits an event to 1 MiB by default, and a resource may be larger.
            streamable_http_client(
                wanted.url, http_client=client, terminate_on_close=terminate, max_sse_event_size=None
            ) as (read, write),
            anyio.create_task_group() as tasks,
        ):
            # `Conversation` hands over messages without waiting, and the transport of the library takes them from a
            # stream of length 0. A task for each message bridges the two.
            async def post(message: SessionMessage, number: RequestId | None) -> None:
                _request.set(number)
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await write.send(message)

            def send(message: Message, headers: Mapping[str, str] | None) -> None:
                metadata = ClientMessageMetadata(headers=dict(headers)) if headers else None
                number = message.get("id") if "method" in message else None  # the id of an answer is the server's
                ready = SessionMessage(jsonrpc_message_adapter.validate_python(message), metadata)
                tasks.start_soon(post, ready, number)

            async def read_on() -> None:
                try:
                    async for item in read:
                        if isinstance(item, SessionMessage):
                            context: Context | None = getattr(read, "last_context", None)
                            origin = context.get(_request) if context is not None else None
                            conversation.receive(item.message.model_dump(by_alias=True, exclude_unset=True), origin)
                finally:
                    conversation.end()

            conversation = Conversation(send, self._on_notice)
            tasks.start_soon(read_on)
            yield conversation
            tasks.cancel_scope.cancel()
