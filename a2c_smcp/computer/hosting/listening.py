"""Listening for changes of lists on a connection of MCP 2026-07-28, whose servers announce nothing to a client that
does not. `streams` does so for resources.

A server of an older version sends notifications instead; `mcp.client` turns them into the same events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import anyio
import mcp_types as types
from mcp.client.subscriptions import ServerEvent, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.utils.backoff import Backoff


class Wanted(TypedDict, total=False):
    """What a subscription is about."""

    tools_list_changed: bool
    prompts_list_changed: bool
    resources_list_changed: bool


async def keep_listening(
    session: Session,
    backoff: Backoff,
    wanted: Callable[[], Wanted | None],
    *,
    on_open: Callable[[types.SubscriptionFilter], None],
    on_event: Callable[[ServerEvent], None],
    on_end: Callable[[Exception | None], None],
) -> None:
    """Subscribe, and subscribe again whenever that ends, until `wanted` gives None.

    `on_open` gets what the server agrees to announce, `on_end` why the subscription ended. Between the two ends of a
    gap nothing is announced: a caller that keeps anything must read it again when the next subscription opens.
    """
    while (subject := wanted()) is not None:
        problem: Exception | None = None
        try:
            async with listen(session, **subject) as subscription:
                on_open(subscription.honored)
                async for event in subscription:
                    # Reset by an event, not by a successful subscription: a server that closes each one at once would
                    # otherwise be asked again at the shortest interval, for ever.
                    backoff.reset()
                    on_event(event)
        except (MCPError, SubscriptionLost, TimeoutError) as error:
            problem = error
        on_end(problem)
        await anyio.sleep(backoff.next())
