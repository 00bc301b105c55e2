"""Who is connected to an MCP server of ours, and which resources each wants to hear of."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any
from weakref import WeakKeyDictionary

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

logger = logging.getLogger(__name__)


class Audience:
    """Tells of changes, by `resources/subscribe` and, to clients of MCP 2026-07-28, by `subscriptions/listen`.

    `listener` answers the latter. A client is told that the list changed once `meet` has seen it.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.listener = ListenHandler(self._bus)
        self._wishes: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()

    def meet(self, context: Any) -> set[str]:
        """Remember who asks; what they want to hear of, to be changed."""
        return self._wishes.setdefault(context.session._connection, set())  # a session lasts for one request only

    async def tell_list_changed(self) -> None:
        """There are other resources than before."""
        await self._bus.publish(ResourcesListChanged())
        for connection in list(self._wishes):
            await _tell(connection.send_resource_list_changed())

    async def tell_updated(self, uri: str, wish: str | None = None) -> None:
        """A resource changed. Told is who has `wish` among its wishes; by default that is the address itself."""
        await self._bus.publish(ResourceUpdated(uri=uri))
        for connection, wishes in list(self._wishes.items()):
            if (uri if wish is None else wish) in wishes:
                await _tell(connection.send_resource_updated(uri))


async def _tell(telling: Awaitable[None]) -> None:
    try:
        await telling
    except Exception:  # it has gone
        logger.debug("somebody cannot be told", exc_info=True)
