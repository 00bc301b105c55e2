"""The subscriptions to resources of one connected MCP server, as far as all versions of MCP have them in common.

Content that is read before its changes are announced may be outdated, and no notification will ever say so. So the
audience learns of each step: `SOON` when the server is asked (what is read from now on is used, once), `YES` when it
has agreed (what was read before is read again), `NO` when it does not agree, or a subscription is lost (every request
reads again).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Set
from enum import Enum, auto
from typing import Protocol

import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.mcp.listing import Listing

WATCH_TIMEOUT = 10.0
"""Seconds for a server to agree to announce changes."""


class Watched(Enum):
    """Whether the server announces the changes of a resource."""

    NO = auto()
    SOON = auto()
    """It has been asked to."""
    YES = auto()


class Audience(Protocol):
    """The windows and documents of one connected server, as the layer above shows them."""

    def take(self, listing: Listing) -> None:
        """The server lists these."""
        ...

    def updated(self, uri: str) -> None:
        """The content of a resource changed."""
        ...

    def templates_changed(self) -> None:
        """The list of templates may have changed since it was read."""
        ...

    def prompts_changed(self) -> None:
        """The list of prompts may have changed since it was read; also called when the server begins or ends to offer
        prompts."""
        ...

    def watch(self, uris: Iterable[str], state: Watched) -> None:
        """Changes of these resources are announced from now on, will be soon, or are not."""
        ...

    async def look_again(self) -> None:
        """Read what was read before its changes were announced: it may have changed unnoticed."""
        ...

    def close(self) -> None:
        """The connection has ended."""
        ...


class Subscriptions(ABC):
    """Has a server announce the changes of the resources that are aimed at, and of no others."""

    def __init__(self) -> None:
        self._news = asyncio.Event()
        """Set, and replaced, whenever the state of a resource changes."""

    @abstractmethod
    async def run(self) -> None:
        """Follow the aim, until this is cancelled."""

    @abstractmethod
    def aim(self, shown: Mapping[str, object], wanted: Set[str]) -> None:
        """Changes are needed of what is shown, in this order, and of what is wanted beside it."""

    @abstractmethod
    def retry(self, uri: str | None = None) -> None:
        """Ask again for what the server did not agree to: one resource, or all."""

    @abstractmethod
    def close(self) -> None:
        """The connection has ended."""

    @abstractmethod
    def _is_open(self, uri: str) -> bool:
        """Whether the server announces the changes of a resource.

        Raises:
            MCPError, TimeoutError, SubscriptionLost: it does not agree to that.
        """

    async def agree(self, uri: str) -> None:
        """Wait until the server announces the changes of a resource.

        Raises:
            MCPError, TimeoutError, SubscriptionLost: the server does not agree, nobody needs the changes any more, or
                the connection has ended.
        """
        while not self._is_open(uri):
            await self._news.wait()

    def _tell_news(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def refusal() -> MCPError:
    """The error for a resource whose changes are not announced, if the server gives no reason."""
    return MCPError(code=types.INTERNAL_ERROR, message="the MCP server announces no changes of this resource")
