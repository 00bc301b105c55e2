"""What a flow may ask for, done with a Socket.IO server; and what its acks and callbacks need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from socketio.base_manager import BaseManager

from a2c_smcp.errors import NotFoundError
from a2c_smcp.protocol.effects import Call, CallerGone, Registry
from a2c_smcp.protocol.flow import MaybeAwaitable
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.base import NamespaceCore
from a2c_smcp.transport.packet import Unreadable


class EdgeWorld(ABC):
    """What a flow may ask for, done with a Socket.IO server of either kind: what that returns is what the flow gets."""

    def __init__(self, edge: NamespaceCore[Any]) -> None:
        self._edge = edge

    @property
    def registry(self) -> Registry:
        return self._edge.registry

    def grant(self, sid: str) -> Grant:
        return self._edge.connections.grant(sid)

    def is_connected(self, sid: str) -> bool:
        return sid in self._edge.connections

    def can_be_room(self, sid: str, office_id: str) -> bool:
        return office_id == sid or not self._edge.server.manager.is_sid_room(self._edge.namespace, office_id)

    def enter(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        return self._edge.server.enter_room(sid, office_id, namespace=self._edge.namespace)

    def leave(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        return self._edge.server.leave_room(sid, office_id, namespace=self._edge.namespace)

    def notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None) -> MaybeAwaitable[None]:
        return self._edge.server.emit(event, data, room=to, skip_sid=skip, namespace=self._edge.namespace)

    def require_both(self, call: Call) -> None:
        """Check, once a call is in the table of running ones, that neither peer went before it got there.

        Raises:
            NotFoundError: the target is gone.
            CallerGone: the caller is gone.
        """
        if not self.is_connected(call.target):
            raise NotFoundError("the Computer disconnected")
        if not self.is_connected(call.caller):
            raise CallerGone

    @abstractmethod
    def call(self, call: Call) -> MaybeAwaitable[Any]:
        """Send to one connection and wait for its ack."""


def unwrap_ack(args: tuple[Any, ...]) -> Any:
    """A peer's ack in the form a handler returns it.

    Raises:
        SMCPError: the ack could not be read.
    """
    if len(args) != 1:
        return args or None
    if isinstance(args[0], Unreadable):
        raise args[0].error
    return args[0]


def forget_callback(manager: BaseManager, sid: str, callback: Callable[..., Any]) -> None:
    """Take back the callback of a call that got no ack; the library would keep it as long as the connection."""
    callbacks = manager.callbacks.get(sid, {})
    for number, waiting in list(callbacks.items()):
        if waiting is callback:
            callbacks.pop(number, None)
