"""What a flow may ask for, done with a Socket.IO server of the library's, by its documented interface."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from a2c_smcp.errors import NotFoundError, TimedOutError
from a2c_smcp.protocol.flow import MaybeAwaitable
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.server_effects import Call, CallerGone, Registry
from a2c_smcp.server.edge import NamespaceCore
from a2c_smcp.server.reply import Reply


class EdgeWorld(ABC):
    """What every world knows from the edge."""

    def __init__(self, edge: NamespaceCore) -> None:
        self._edge = edge

    @property
    def registry(self) -> Registry:
        return self._edge.registry

    def grant(self, sid: str) -> Grant:
        return self._edge.connections.grant(sid)

    def is_connected(self, sid: str) -> bool:
        return sid in self._edge.connections

    def can_be_room(self, sid: str, office_id: str) -> bool:
        return office_id == sid or office_id not in self._edge.connections

    def call(self, call: Call) -> Any:
        """Send to one connection; its ack comes as a reply."""
        reply, in_flight = Reply(), self._edge.in_flight
        in_flight.add(call, reply)
        try:
            if not self.is_connected(call.target):  # looked at once the call can be found by its peers' loss
                raise NotFoundError("the Computer disconnected")
            if not self.is_connected(call.caller):
                raise CallerGone
            stop = self._set_timer(call.timeout, lambda: reply.set_exception(TimedOutError("no answer in time")))
        except BaseException:
            in_flight.remove(call, reply)
            raise

        def end(_: Reply) -> None:
            stop()
            in_flight.remove(call, reply)

        reply.then(end)
        return self._ask(call, reply)

    @abstractmethod
    def enter(self, sid: str, office_id: str) -> MaybeAwaitable[None]: ...

    @abstractmethod
    def leave(self, sid: str, office_id: str) -> MaybeAwaitable[None]: ...

    def notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None) -> MaybeAwaitable[None]:
        if self._edge.observer is not None:
            self._edge.observer.notified(event)
        return self._notify(to, event, data, skip)

    @abstractmethod
    def _notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None) -> MaybeAwaitable[None]: ...

    @abstractmethod
    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Have something called later; what cancels it."""

    @abstractmethod
    def _ask(self, call: Call, reply: Reply) -> Any:
        """Send the event, whose ack settles the reply; the reply, or something that waits for it."""


class LibraryWorld(EdgeWorld):
    """A namespace on a server of python-socketio: what its methods return is what the flow gets."""

    def enter(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        return self._edge.server.enter_room(sid, office_id, namespace=self._edge.namespace)

    def leave(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        return self._edge.server.leave_room(sid, office_id, namespace=self._edge.namespace)

    def _notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None) -> MaybeAwaitable[None]:
        return self._edge.server.emit(event, data, room=to, skip_sid=skip, namespace=self._edge.namespace)


class AsyncLibraryWorld(LibraryWorld):
    """On a `socketio.AsyncServer`."""

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(seconds, callback).cancel

    async def _ask(self, call: Call, reply: Reply) -> Any:
        server, namespace = self._edge.server, self._edge.namespace
        await server.emit(call.event, call.data, to=call.target, namespace=namespace, callback=_settling(reply))
        return await reply


class ThreadLibraryWorld(LibraryWorld):
    """On a `socketio.Server`."""

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        timer = threading.Timer(seconds, callback)
        timer.daemon = True
        timer.start()
        return timer.cancel

    def _ask(self, call: Call, reply: Reply) -> Reply:
        server, namespace = self._edge.server, self._edge.namespace
        server.emit(call.event, call.data, to=call.target, namespace=namespace, callback=_settling(reply))
        return reply


def _settling(reply: Reply) -> Callable[..., None]:
    def on_ack(*args: Any) -> None:
        reply.set_result(unwrap_ack(args))

    return on_ack


def unwrap_ack(args: Any) -> Any:
    """A peer's ack in the form a handler returns it: one value, several as a tuple, or None."""
    return args[0] if len(args) == 1 else tuple(args) or None
