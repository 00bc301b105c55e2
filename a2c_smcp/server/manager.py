"""The Socket.IO managers of one process: with a short way for calls, and safe in threads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from socketio import AsyncManager, Manager
from socketio.packet import EVENT

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


class DirectManager(AsyncManager):
    """Sends a call to its one recipient at once; the library makes a task of it, as for a room."""

    async def emit(
        self,
        event: str,
        data: Any,
        namespace: str,
        room: str | None = None,
        skip_sid: str | list[str] | None = None,
        callback: Callable[..., Any] | None = None,
        to: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Send an event."""
        recipient = to or room
        eio_sid = self.eio_sid_from_sid(recipient, namespace) if callback is not None and recipient else None
        if callback is None or recipient is None or eio_sid is None or isinstance(data, tuple):
            await super().emit(event, data, namespace, room, skip_sid, callback, to, **kwargs)
            return
        number = self._generate_ack_id(recipient, callback)
        packet = self.server.packet_class(EVENT, namespace=namespace, data=[event, data], id=number)
        await self.server._send_packet(eio_sid, packet)  # pyright: ignore[reportPrivateUsage]  # a manager's own way


def _one_at_a_time(method: MethodT) -> MethodT:
    @functools.wraps(method)
    def locked(self: LockedManager, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            return method(self, *args, **kwargs)

    return cast("Any", locked)


class LockedManager(Manager):
    """The library's manager of rooms and acks, whose steps threads take one at a time. Sending needs no lock."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()

    pre_connect = _one_at_a_time(Manager.pre_connect)
    connect = _one_at_a_time(Manager.connect)
    pre_disconnect = _one_at_a_time(Manager.pre_disconnect)
    is_connected = _one_at_a_time(Manager.is_connected)
    is_pre_connected = _one_at_a_time(Manager.is_pre_connected)
    basic_disconnect = _one_at_a_time(Manager.basic_disconnect)
    basic_enter_room = _one_at_a_time(Manager.basic_enter_room)
    basic_leave_room = _one_at_a_time(Manager.basic_leave_room)
    eio_sid_from_sid = _one_at_a_time(Manager.eio_sid_from_sid)
    _generate_ack_id = _one_at_a_time(Manager._generate_ack_id)  # pyright: ignore[reportPrivateUsage]  # its own

    def get_participants(self, namespace: str, room: Any) -> Iterable[tuple[str, str]]:
        """Who is in a room at this moment."""
        with self.lock:
            return list(super().get_participants(namespace, room))
