"""The metrics of all nodes on one page."""

from __future__ import annotations

import asyncio
import contextlib

from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.server_effects import CallLost
from a2c_smcp.server.cluster.link import CommandFailed, LinkLost
from a2c_smcp.server.cluster.node import Node
from a2c_smcp.server.metrics import Metrics, merge
from a2c_smcp.server.reply import Reply

SUBJECT = "metrics"
_SECONDS = 1.0
"""Time for the other nodes to answer."""


class Overview:
    """Asks the nodes for their pages, and answers their questions with the page of this one."""

    def __init__(self, node: Node, metrics: Metrics) -> None:
        self._node = node
        self._metrics = metrics

    def answer(self, fields: list[str], body: bytes) -> Reply:
        """Answer another node's question for this node's page."""
        return Reply.of(self._metrics.page())

    async def page(self) -> bytes:
        """The metrics of all nodes that answer in time."""
        pages: dict[str, bytes] = {self._node.id: self._metrics.page()}
        replies: dict[str, Reply] = {}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS):
                for node in await self._nodes():
                    if node not in pages:
                        replies[node] = Reply()
                        self._node.calls.question(node, replies[node], SUBJECT)
                for reply in replies.values():
                    with contextlib.suppress(SMCPError):
                        await reply
        for node, reply in replies.items():
            reply.set_exception(CallLost("no answer"))  # unless it came
            if not reply.has_failed:
                pages[node] = reply.result()
        # Without Redis, this node knows only how many others there were.
        known = len(replies) + 1 if replies else self._node.size.nodes
        return merge(pages, max(0, known - len(pages)))

    async def _nodes(self) -> list[str]:
        try:
            return await self._node.read("ZRANGE", "nodes", 0, -1)
        except (SMCPError, LinkLost, CommandFailed):
            return []
