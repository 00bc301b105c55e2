"""Makes an application a node of a cluster: its link to Redis, its node and its backend, with one start and stop."""

from __future__ import annotations

import asyncio
import contextlib

from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.cluster.address import RedisAddress
from a2c_smcp.server.cluster.backend import AsyncClusterBackend, HubHost
from a2c_smcp.server.cluster.forwarding import App, Forwarding
from a2c_smcp.server.cluster.node import LEASE, ClusterSize, Node
from a2c_smcp.server.cluster.overview import SUBJECT, Overview
from a2c_smcp.server.cluster.redis import RedisLink
from a2c_smcp.server.cluster.relay import Relay
from a2c_smcp.server.edge import Edge
from a2c_smcp.server.metrics import Metrics

_READY_SECONDS = 2.0
"""Time for the first connection to Redis before the Server listens."""
_RETIRE_SECONDS = 2.0
"""Time to tell Redis that a node stops. If that fails, its lease ends by itself."""


class ClusterService:
    """One Server as a node of a cluster."""

    overview: Overview | None = None
    """The metrics of all nodes."""

    def __init__(self, edge: Edge, hub: AsyncHub, url: str, prefix: str = "a2c", lease: float = LEASE) -> None:
        self.link = RedisLink(RedisAddress.parse(url), prefix)
        self._host = HubHost(edge, hub)
        self._node = Node(self.link, self._host, lease)
        self._relay = Relay(self._node, hub)
        self._host.answers |= self._relay.answers
        self.forwarding: Forwarding | None = None
        """Passes HTTP requests on to other nodes, once there is an application that answers theirs."""
        hub.elsewhere = self._relay.serve
        edge.join_cluster(self._node, AsyncClusterBackend(edge, hub, self._node, self.link))

    @property
    def is_ready(self) -> bool:
        """Whether this node serves and is connected to Redis."""
        return self._node.is_ready

    @property
    def size(self) -> ClusterSize:
        """The numbers of the whole cluster, a moment ago."""
        return self._node.size

    async def start(self) -> None:
        """Connect to Redis; if it cannot be reached, keep trying.

        Raises:
            UnusableRedis: this Redis cannot be used.
        """
        await self.link.start(self._node)
        # Clients that come before would be rejected. Without Redis the Server starts as well, and is ready later.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READY_SECONDS):
                await self._node.first_ready

    def show(self, metrics: Metrics) -> None:
        """Show the cluster in the metrics of this node, and these in the metrics of the cluster."""
        metrics.watch_cluster(self)
        self.overview = Overview(self._node, metrics)
        self._host.answers[SUBJECT] = self.overview.answer

    def forward_to(self, app: App) -> None:
        """Answer the HTTP requests that other nodes forward."""
        self.forwarding = Forwarding(self._node, app)
        self._host.answers |= self.forwarding.answers

    def release(self) -> None:
        """Answer the polls of other nodes' clients that wait here."""
        self._relay.release()

    async def stop(self) -> None:
        """Leave the cluster, and disconnect from Redis."""
        self.release()
        if self.forwarding is not None:
            await self.forwarding.aclose()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_RETIRE_SECONDS):
                await self._node.retire()
        await self.link.stop()
