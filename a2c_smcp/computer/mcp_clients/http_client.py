"""MCP over streamable HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from mcp.client.streamable_http import streamable_http_client

from a2c_smcp.computer.mcp_clients.base_client import CannotStart, MCPClient, Streams
from a2c_smcp.computer.mcp_clients.http import WatchedClient
from a2c_smcp.computer.mcp_clients.link import Link
from a2c_smcp.computer.mcp_clients.model import StreamableHttpParameters


class HttpClient(MCPClient):
    """A server elsewhere, or on this machine, that answers over streamable HTTP."""

    @asynccontextmanager
    async def _connect(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Streams]:
        wanted = StreamableHttpParameters.model_validate(parameters)
        timeout, read_timeout, terminate = wanted.timeout, wanted.sse_read_timeout, wanted.terminate_on_close
        if not isinstance(timeout, timedelta) or not isinstance(read_timeout, timedelta) or isinstance(terminate, str):
            raise CannotStart("a placeholder among its parameters has no value")
        async with (
            WatchedClient(link, wanted.headers, timeout.total_seconds(), read_timeout.total_seconds()) as client,
            streamable_http_client(
                wanted.url, http_client=client, terminate_on_close=terminate, max_sse_event_size=None
            ) as streams,
        ):
            yield streams
