"""Performs the effects of the Server's flows on a node: for its own members on its hub, for others through Redis."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, cast

from a2c_smcp import smcp
from a2c_smcp.errors import InternalError
from a2c_smcp.protocol.office import Office
from a2c_smcp.protocol.server_effects import Call
from a2c_smcp.server.backend import AsyncBackend, HubBackend
from a2c_smcp.server.cluster import messages
from a2c_smcp.server.cluster.link import Link
from a2c_smcp.server.cluster.node import Node
from a2c_smcp.server.cluster.registry import SID, node_of
from a2c_smcp.server.edge import Edge
from a2c_smcp.server.hub import Hub
from a2c_smcp.server.payload_text import rewrite, write_event
from a2c_smcp.server.reply import Reply
from a2c_smcp.utils.system.clock import elapsed

_ANNOUNCED = frozenset((smcp.ENTER_OFFICE_NOTIFICATION, smcp.LEAVE_OFFICE_NOTIFICATION))
"""Each node announces these itself when it learns of the change (`Node.announce`): exactly once, and in the order in
which Redis made the changes."""


class ClusterBackend(HubBackend):
    """For clients on the hub of a node."""

    def __init__(self, edge: Edge, hub: Hub[Any], node: Node, link: Link) -> None:
        super().__init__(edge, hub)
        self._node = node
        self._link = link

    def find(self, office_id: str, name: str) -> Office:
        return self._node.registry.picture(office_id, name)

    def is_connected(self, sid: str) -> bool:
        # Another node's connection counts as open: if it is not, the node answers so.
        return sid in self._edge.connections or node_of(sid) != self._node.id

    def can_be_room(self, sid: str, office_id: str) -> bool:
        return office_id == sid or SID.fullmatch(office_id) is None

    def _notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None, office_id: str | None) -> None:
        if event in _ANNOUNCED:
            return
        is_sid = SID.fullmatch(to) is not None
        if is_sid and node_of(to) != self._node.id:
            office = (office_id or "").encode()
            body = office + write_event(event, data).encode()
            self._link.publish(node_of(to), messages.write(messages.TELL, to, len(office), body=body))
            return
        super()._notify(to, event, data, skip, office_id)
        nodes = [] if is_sid else self._node.registry.other_nodes(to)
        if nodes:
            office = to.encode()
            message = messages.write(messages.NOTICE, len(office), body=office + write_event(event, data).encode())
            for node in nodes:
                self._link.publish(node, message)

    def _ask(self, call: Call, reply: Reply) -> Reply:
        if node_of(call.target) == self._node.id:
            return super()._ask(call, reply)
        text = call.text if call.text is not None else rewrite(call)
        self._node.calls.call(call, text, reply)
        return reply


class AsyncClusterBackend(AsyncBackend, ClusterBackend):
    """On an `AsyncHub`."""


class HubHost:
    """A `Host`: the Server that a node is part of."""

    def __init__(self, edge: Edge, hub: Hub[Any]) -> None:
        self._edge = edge
        self._hub = hub
        self.answers: dict[str, Callable[[list[str], bytes], Reply]] = {}
        """What answers the questions of other nodes, by subject."""

    now = staticmethod(elapsed)
    """The time in seconds, on a clock that also counts while the machine is suspended."""

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function later; the returned function cancels that."""
        return self._hub.set_timer(seconds, callback)

    def token_bytes(self, count: int) -> bytes:
        """Random bytes that cannot be guessed."""
        return secrets.token_bytes(count)

    def tell(self, to: str, event: str, data: Any, skip: str | None = None) -> None:
        """Send an event to the members of an office on this node."""
        self._hub.tell(to, event, data, skip)

    def tell_text(self, to: str, text: str) -> None:
        """Send an event, written as a JSON array, likewise."""
        self._hub.tell_text(to, text)

    def show_out(self, sid: str) -> None:
        """Disconnect a client of this node."""
        self._hub.show_out(sid)

    def close_all(self) -> None:
        """Disconnect every client of this node."""
        for client in list(self._hub.clients.values()):
            self._hub.close(client)
        # The members of this process, which have no client.
        for sid in list(self._hub.members):
            self._hub.show_out(sid)

    def call(self, caller: str, target: str, seconds: float, text: str) -> Reply:
        """Relay a call of another node's member to a member of this node.

        Raises:
            SMCPError: it cannot be relayed.
        """
        if self._edge.draining:
            raise InternalError("the Server of the Computer is shutting down")
        return cast("Reply", self._edge.backend.call(Call(caller, target, "", None, seconds, text)))

    def question(self, subject: str, fields: list[str], body: bytes) -> Reply:
        """Answer a question of another node, with bytes.

        Raises:
            InternalError: this node does not know the answer.
        """
        answer = self.answers.get(subject)
        if answer is None:
            raise InternalError(f"unknown question {subject!r}")
        return answer(fields, body)
