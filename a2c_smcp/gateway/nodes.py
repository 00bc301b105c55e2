"""In a cluster: which node serves a request of a host.

An office has one Agent seat in the whole cluster, and the node that holds it for the gateway serves all hosts of the
office. Any node can receive a request, and forwards it there. A session of the protocols before 2026-07-28 lives on one
node, whose name is part of the session's id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from a2c_smcp.errors import NotConnectedError, NotFoundError, OfficeFullError, SMCPError
from a2c_smcp.gateway.head import Scope, header
from a2c_smcp.gateway.views import Views
from a2c_smcp.gateway.visits import Message, Receive, Send

AGENT_NAME = "mcp-gateway"
"""The name of the shared Agent in an office."""
FORWARDED = "a2c.forwarded"
"""Key in the scope of a request that another node forwarded: it is not forwarded again."""
_SESSION = b"mcp-session-id"


class OtherNodes(Protocol):
    """The other Servers of a cluster."""

    @property
    def own(self) -> str:
        """The id of this node."""
        ...

    async def agent_of(self, office_id: str, /) -> tuple[str, str] | None:
        """The name and the node of the Agent of an office.

        Raises:
            InternalError: this node has no connection to its cluster.
        """
        ...

    async def forward(self, node: str, scope: Scope, body: bytes, receive: Receive, send: Send, /) -> None:
        """Have another node serve a request.

        Raises:
            NotFoundError: there is no such node.
            SMCPError: the node did not answer, and may have executed the request.
        """
        ...


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another node serves a request."""

    nodes: OtherNodes
    node: str
    is_of_session: bool = False

    async def forward(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Have the node serve the request.

        Raises:
            NotFoundError: the session is lost with its node: the host opens another one.
            SMCPError: the node did not answer.
        """
        try:
            await self.nodes.forward(self.node, scope, body, receive, send)
        except NotFoundError:
            if self.is_of_session:
                raise NotFoundError("Session not found") from None
            raise NotConnectedError("the node that serves this office is gone: try again") from None


@dataclass(frozen=True, slots=True)
class Here:
    """This node serves a request."""

    scope: Scope
    """The request as MCP's library has to get it."""
    nodes: OtherNodes | None = None

    def naming(self, send: Send) -> Send:
        """Sends a response, with the name of this node in the id of the session."""
        nodes = self.nodes
        if nodes is None:
            return send

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = nodes.own.encode() + b"."
                headers = [(key, own + value if key == _SESSION else value) for key, value in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        return named


class Placing:
    """Decides where requests are served."""

    def __init__(self, views: Views, nodes: Callable[[], OtherNodes | None]) -> None:
        self._views = views
        self._nodes = nodes

    async def place(self, office_id: str, scope: Scope) -> Here | Elsewhere:
        """The place of a request.

        Raises:
            NotFoundError: the session is on this node, but another one serves the office now.
            InternalError: this node has no connection to its cluster.
        """
        nodes = self._nodes()
        if nodes is None:
            return Here(scope)
        session = header(scope, _SESSION)
        if session is None:
            here = Here(scope, nodes)
            if scope.get(FORWARDED):
                return here
            node = await self._node_of_office(office_id, nodes)
            return here if node is None else Elsewhere(nodes, node)
        node, _, name = session.rpartition(".")
        if node not in ("", nodes.own) and not scope.get(FORWARDED):
            return Elsewhere(nodes, node, is_of_session=True)
        if node == nodes.own and await self._node_of_office(office_id, nodes) is not None:
            # The session was idle for so long that its node released the seat.
            raise NotFoundError("Session not found")
        headers = [(key, name.encode("latin-1") if key == _SESSION else value) for key, value in scope["headers"]]
        return Here({**scope, "headers": headers}, nodes)

    async def _node_of_office(self, office_id: str, nodes: OtherNodes) -> str | None:
        """The other node that serves an office; None if this one has to."""
        seat = self._views.office(office_id).seat
        if seat.current is not None:
            return None
        node = await self._holder(office_id, nodes)
        if node is None:
            try:
                await seat.agent()
            except OfficeFullError:  # another node may have been quicker
                node = await self._holder(office_id, nodes)
            except SMCPError:  # the host gets the error as the answer to its message
                return None
        return node

    @staticmethod
    async def _holder(office_id: str, nodes: OtherNodes) -> str | None:
        found = await nodes.agent_of(office_id)
        if found is None:
            return None
        name, node = found
        return node if name == AGENT_NAME and node != nodes.own else None
