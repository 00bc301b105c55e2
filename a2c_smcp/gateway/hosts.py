"""The hosts of a view that keep a session (protocols before 2026-07-28): which there are, what each watches, and
notifications for them. Hosts of 2026-07-28 listen on streams, which MCP's library serves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from mcp.server.connection import Connection
from mcp.server.session import ServerSession

from a2c_smcp.errors import RateLimitedError
from a2c_smcp.gateway.addresses import Address

logger = logging.getLogger(__name__)

MAX_WATCHES = 100
"""Resources that one host may watch."""
NOTIFY_SECONDS = 10.0
"""How long a notification may take. A host that does not read must not keep the others waiting."""


class HostSession:
    """A host with a session, and the resources that it watches, by the address that it used."""

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self.watched: dict[str, Address] = {}


class HostSessions:
    """All sessions of a view."""

    def __init__(self, unwatch: Callable[[list[Address]], Awaitable[None]]) -> None:
        self._unwatch = unwatch
        self._hosts: dict[Connection, HostSession] = {}

    def of(self, session: ServerSession) -> HostSession:
        """The session that a request belongs to."""
        connection = connection_of(session)
        host = self._hosts.get(connection)
        if host is None:
            host = self._hosts[connection] = HostSession(session)
            connection.exit_stack.push_async_callback(self._end, connection)
        return host

    async def _end(self, connection: Connection) -> None:
        host = self._hosts.pop(connection, None)
        if host is not None:
            await self._unwatch(list(host.watched.values()))

    def check_room(self, session: ServerSession) -> None:
        """Raise `RateLimitedError` if the host watches too many resources."""
        if len(self.of(session).watched) >= MAX_WATCHES:
            raise RateLimitedError(f"{MAX_WATCHES} resources are watched already")

    async def tell(self, send: Callable[[ServerSession], Awaitable[None]]) -> None:
        """Send a notification to every host."""
        await self._tell(list(self._hosts.values()), send)

    async def tell_updated(self, computer: str, uri: str, server: str | None) -> None:
        """Tell the hosts that watch a resource. The MCP server is None where the Computer does not name it."""
        for host in list(self._hosts.values()):
            for theirs, address in list(host.watched.items()):
                is_meant = address.computer == computer and address.uri == uri
                if is_meant and (server is None or address.server in ("", server)):
                    await self._tell([host], partial(_send_updated, uri=theirs))

    async def _tell(self, hosts: list[HostSession], send: Callable[[ServerSession], Awaitable[None]]) -> None:
        async def tell_one(host: HostSession) -> None:
            try:
                async with asyncio.timeout(NOTIFY_SECONDS):
                    await send(host.session)
            except Exception as error:  # it is gone, or does not read
                logger.debug("a host was not notified: %s", error)

        await asyncio.gather(*map(tell_one, hosts))


def connection_of(session: ServerSession) -> Connection:
    """The connection of a session, which outlives its requests."""
    # The library hands handlers a session for each request, and keeps the connection behind it private;
    # `tests/gateway/test_contract.py` checks that it is there.
    connection: Any = session._connection  # pyright: ignore[reportPrivateUsage]
    return connection


async def _send_updated(session: ServerSession, uri: str) -> None:
    await session.send_resource_updated(uri)
