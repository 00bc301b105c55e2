"""The hosts of a view that keep a session (protocols before 2026-07-28): which there are, what each watches, and
notifications for them. Hosts of 2026-07-28 listen on streams, which MCP's library serves."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias, cast

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.session import ServerSession

from a2c_smcp.errors import RateLimitedError
from a2c_smcp.gateway.addresses import Address
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

MAX_WATCHES = 100
"""Resources that one host may watch."""
NOTIFY_SECONDS = 10.0
"""How long a notification may take. After that, the host does not read."""

DEFAULT_LEVEL: types.LoggingLevel = "info"
"""The level of hosts with a session that name none."""

ListName: TypeAlias = Literal["tools", "resources", "prompts"]
LISTS: tuple[ListName, ...] = ("tools", "resources", "prompts")
_SENDERS: dict[str, Callable[[ServerSession], Awaitable[None]]] = {
    "tools": ServerSession.send_tool_list_changed,
    "resources": ServerSession.send_resource_list_changed,
    "prompts": ServerSession.send_prompt_list_changed,
}


class HostSession:
    """A host with a session, and the resources that it watches, by the address that it used."""

    def __init__(self, session: ServerSession, principal: str) -> None:
        self.principal = principal
        self.is_ready = False
        """Whether the host has said so: until then, it gets no notifications."""
        self.watched: dict[str, Address] = {}
        self.log_level: types.LoggingLevel = DEFAULT_LEVEL
        """The lowest level of the log messages that it gets."""
        self._session = session
        self._due: dict[tuple[str, str], None] = {}
        """Notifications that are due. The same one twice is sent once, so a host that does not read takes no memory."""
        self._sender: asyncio.Task[None] | None = None

    def tell_changed(self, name: ListName) -> None:
        """Tell the host that a list changed."""
        self._tell((name, ""))

    def tell_updated(self, uri: str) -> None:
        """Tell the host that a resource changed."""
        self._tell(("updated", uri))

    def close(self) -> None:
        """The session has ended."""
        self._due.clear()
        if self._sender is not None:
            self._sender.cancel()

    def _tell(self, news: tuple[str, str]) -> None:
        if not self.is_ready:
            return
        self._due[news] = None
        if self._sender is None or self._sender.done():
            # A task for each host: one that does not read must not keep the others waiting.
            self._sender = asyncio.create_task(self._send_all(), name="notify a host")

    async def _send_all(self) -> None:
        while self._due:
            what, uri = next(iter(self._due))
            del self._due[what, uri]
            send = _SENDERS.get(what) or partial(ServerSession.send_resource_updated, uri=uri)
            try:
                async with asyncio.timeout(NOTIFY_SECONDS):
                    await send(self._session)
            except Exception as error:  # it is gone, or does not read
                logger.debug("a host was not notified: %s", error)


class HostSessions:
    """All sessions of a view."""

    def __init__(self, office_id: str, unwatch: Callable[[Iterable[Address]], Awaitable[None]]) -> None:
        self._office_id = office_id
        self._unwatch = unwatch
        self._hosts: dict[Connection, HostSession] = {}
        self._principals: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._hosts)

    def count(self, principal: str) -> int:
        """The sessions of a principal."""
        return self._principals[principal]

    def open(self, session: ServerSession, principal: str, opening: Mapping[str, Any]) -> None:
        """A host opened a session, with these parameters."""
        connection = connection_of(session)
        if connection not in self._hosts:
            self._hosts[connection] = HostSession(session, principal)
            self._principals[principal] += 1
            logger.info(
                "an MCP host of %r opened a session in office %r (%s)", principal, self._office_id, _program(opening)
            )
            connection.exit_stack.push_async_callback(self._end, connection)

    def get(self, session: ServerSession) -> HostSession | None:
        """The host that a request belongs to, if it has a session."""
        return self._hosts.get(connection_of(session))

    async def _end(self, connection: Connection) -> None:
        host = self._hosts.pop(connection, None)
        if host is not None:
            self._principals -= Counter((host.principal,))
            logger.info("a session of %r in office %r ended", host.principal, self._office_id)
            host.close()
            await self._unwatch(host.watched.values())

    def tell_changed(self, name: ListName) -> None:
        """Tell every host that a list changed."""
        for host in self._hosts.values():
            host.tell_changed(name)

    def tell_updated(self, computer: str, uri: str, server: str | None) -> None:
        """Tell the hosts that watch a resource."""
        for host in self._hosts.values():
            for theirs in addresses_of(host.watched.items(), computer, uri, server):
                host.tell_updated(theirs)


def addresses_of(watched: Iterable[tuple[str, Address]], computer: str, uri: str, server: str | None) -> Iterable[str]:
    """The addresses under which a resource is watched. The MCP server is None where the Computer does not name it."""
    return [
        theirs
        for theirs, address in watched
        if (address.computer, address.uri) == (computer, uri) and (server is None or address.server in ("", server))
    ]


def check_room(watched: int) -> None:
    """Raise `RateLimitedError` if a host watches too many resources."""
    if watched >= MAX_WATCHES:
        raise RateLimitedError(f"a host can watch {MAX_WATCHES} resources: unsubscribe from one first")


def _program(opening: Mapping[str, Any]) -> str:
    """The program that a host says it is."""
    info: Any = opening.get("clientInfo")
    told: Mapping[str, Any] = cast("Mapping[str, Any]", info) if isinstance(info, Mapping) else dict[str, Any]()
    return one_line(f"{told.get('name')} {told.get('version')}", 100)


def connection_of(session: ServerSession) -> Connection:
    """The connection of a session, which outlives its requests."""
    # The library hands handlers a session for each request, and keeps the connection behind it private;
    # `tests/gateway/test_contract.py` checks that it is there.
    connection: Any = session._connection  # pyright: ignore[reportPrivateUsage]
    return connection
