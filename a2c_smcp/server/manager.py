"""The async Socket.IO manager of one process, with a short way for calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from socketio import AsyncManager
from socketio.packet import EVENT


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
