"""The clients of an MCP server of ours, and the resources that each of them subscribed to."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any
from weakref import WeakKeyDictionary

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

logger = logging.getLogger(__name__)


class Audience:
    """Announces changes: by `resources/subscribe` and, to clients of MCP 2026-07-28, by `subscriptions/listen`.

    `listener` answers the latter. A client receives changes of the list after `meet` has registered it.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.listener = ListenHandler(self._bus)
        # Weak, so that a connection that has ended is forgotten with all its subscriptions.
        self._wishes: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()

    def meet(self, context: Any) -> set[str]:
        """Register the client of a request; return its subscriptions, which the caller may change."""
        # By the connection, because a session lasts for one request only.
        return self._wishes.setdefault(context.session._connection, set())

    async def tell_list_changed(self) -> None:
        """Announce that the list of resources changed."""
        await self._bus.publish(ResourcesListChanged())
        for connection in list(self._wishes):
            await _tell(connection.send_resource_list_changed())

    async def tell_updated(self, uri: str, wish: str | None = None) -> None:
        """Announce that a resource changed, to clients that subscribed to `wish`; by default, that is the address."""
        await self._bus.publish(ResourceUpdated(uri=uri))
        for connection, wishes in list(self._wishes.items()):
            if (uri if wish is None else wish) in wishes:
                await _tell(connection.send_resource_updated(uri))


async def _tell(telling: Awaitable[None]) -> None:
    # A client that has disconnected must not keep the others from being notified.
    try:
        await telling
    except Exception:
        logger.debug("somebody cannot be told", exc_info=True)
