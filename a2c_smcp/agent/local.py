"""An Agent without a socket: for a program that runs in the process of the Server, such as the gateway.

It is the asynchronous client with another link below it. Requests reach the Server as values, and are not written and
read again on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import NotConnectedError, TimedOutError
from a2c_smcp.protocol.seat import check_seconds


class Link(Protocol):
    """A connection to the Server of this process."""

    def request(self, event: str, data: Any, /) -> Any:
        """Send an event; an awaitable of its ack.

        Raises:
            NotConnectedError: the connection is closed.
        """
        ...

    def close(self) -> None:
        """Leave the Server."""
        ...


OpenLink: TypeAlias = Callable[[Callable[[str, list[Any]], None], Callable[[], None]], Link]
"""Connects, with a function that gets each event and its data, and one that is called when the Server disconnects."""


class LocalAgentClient(AsyncSMCPAgentClient):
    """An Agent in the process of the Server. When the Server disconnects it, it is of no further use."""

    def __init__(self, open_link: OpenLink, office_id: str, name: str, **options: Any) -> None:
        super().__init__(DefaultAgentAuthProvider(name, office_id), reconnection=False, dialect="s", **options)
        self._open_link = open_link
        self._link: Link | None = None

    @property
    def is_open(self) -> bool:
        """Whether the Agent is connected."""
        return self._link is not None

    async def connect_to_server(self, url: str = "", namespace: str = "", **kwargs: Any) -> None:
        """Connect to the Server of this process; the arguments are ignored.

        Raises:
            SMCPError: the Server accepts no connections now.
        """
        self._link = self._open_link(self._on_event, self._on_closed)
        self._on_admitted()

    def _on_closed(self) -> None:
        self._link = None
        self._is_established = True  # so that waiting programs learn that it ends for good
        self._on_disconnected()

    async def _ask(self, event: str, data: Any, timeout: float) -> Any:  # noqa: ASYNC109 - as in the base class
        seconds = check_seconds(timeout)
        if self._link is None:
            raise NotConnectedError
        try:
            async with asyncio.timeout(seconds):
                return await self._link.request(event, data)
        except TimeoutError:
            raise TimedOutError(f"{event}: no answer within {seconds:g} s") from None

    async def _tell(self, event: str, data: Any) -> None:
        if self._link is None:
            raise NotConnectedError
        self._link.request(event, data)

    async def _hang_up(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()
