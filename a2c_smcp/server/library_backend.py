"""Performs the effects of the Server's flows on a Socket.IO server of python-socketio that a host program brings.

It uses only the documented interface of python-socketio.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

from a2c_smcp.protocol.flow import MaybeAwaitable
from a2c_smcp.protocol.server_effects import Call
from a2c_smcp.server.backend import AsyncBackend, Backend, ThreadBackend
from a2c_smcp.server.reply import Reply
from a2c_smcp.wire.packets import unwrap


class LibraryBackend(Backend):
    """For clients of a server of python-socketio, whose results, awaitable or not, are passed on to the flow."""

    @property
    def message_bytes(self) -> int:
        # The server of the host program has a limit of its own, 1 MB by default: it disconnects the sender of more.
        return min(super().message_bytes, self._edge.server.eio.max_http_buffer_size)

    def enter(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        return self._edge.server.enter_room(sid, office_id, namespace=self._edge.namespace)

    def leave(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        return self._edge.server.leave_room(sid, office_id, namespace=self._edge.namespace)

    def disconnect(self, sid: str) -> MaybeAwaitable[None]:
        return self._edge.server.disconnect(sid, self._edge.namespace)

    def _notify(
        self, to: str, event: str, data: Mapping[str, Any], skip: str | None, office_id: str | None
    ) -> MaybeAwaitable[None]:
        return self._edge.server.emit(event, data, room=to, skip_sid=skip, namespace=self._edge.namespace)

    def _emit(self, call: Call, reply: Reply) -> MaybeAwaitable[None]:
        # Not `server.call`, which waits by itself: it would neither end when a peer disconnects nor count towards the
        # calls in flight.
        def on_ack(*args: Any) -> None:
            reply.set_result(unwrap(args))

        server, namespace = self._edge.server, self._edge.namespace
        return server.emit(call.event, call.data, to=call.target, namespace=namespace, callback=on_ack)


class AsyncLibraryBackend(AsyncBackend, LibraryBackend):
    """On a `socketio.AsyncServer`."""

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(seconds, callback).cancel

    async def _ask(self, call: Call, reply: Reply) -> Any:
        await self._emit(call, reply)  # pyright: ignore[reportGeneralTypeIssues]
        return await reply


class ThreadLibraryBackend(ThreadBackend, LibraryBackend):
    """On a `socketio.Server`."""

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        # A daemon, so that a call that waits for an hour does not keep the process from ending.
        timer = threading.Timer(seconds, callback)
        timer.daemon = True
        timer.start()
        return timer.cancel

    def _ask(self, call: Call, reply: Reply) -> Reply:
        self._emit(call, reply)
        return reply
