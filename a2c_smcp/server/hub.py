"""The Socket.IO servers of `create_app()` and `create_wsgi_app()`: nobody lingers at the door, nobody hoards.

Over the library they bound the transport connections of one address, end those that enter no namespace in time, and end
peers that do not read what they are sent. In threads, a socket that closes while a room is told something harms nobody
else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from typing import Any, cast

import engineio
import socketio
from engineio.exceptions import SocketIsClosedError

from a2c_smcp.errors import RateLimitedError
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server.connections import AddressCounter, client_of
from a2c_smcp.server.sync_namespace import SyncBaseNamespace
from a2c_smcp.server.websocket import DirectWebSocket
from a2c_smcp.smcp import SMCP_NAMESPACE
from a2c_smcp.transport.direct import Outbox

logger = logging.getLogger(__name__)

TOO_MANY = "too many connections from one address"


class _Door:
    """The transport connections of each address; twice as many as may enter: one too many gets a proper answer."""

    def __init__(self, limits: Limits) -> None:
        self._addresses = AddressCounter(2 * limits.connections_per_ip)
        self._inside: dict[str, str | None] = {}
        self._timers: dict[str, asyncio.TimerHandle | threading.Timer] = {}

    def admit(self, eio_sid: str, environ: dict[str, Any]) -> bool:
        """Count a connection; False if its address has too many."""
        address, _ = client_of(environ)
        try:
            self._addresses.reserve(address)
        except RateLimitedError:
            logger.warning("connection from %s refused: %s", address, TOO_MANY)
            return False
        self._inside[eio_sid] = address
        return True

    def watch(self, eio_sid: str, timer: asyncio.TimerHandle | threading.Timer) -> None:
        """Keep the timer that will ask whether the connection has entered, instead of any before it."""
        self._stop_timer(eio_sid)
        self._timers[eio_sid] = timer

    def _stop_timer(self, eio_sid: str) -> None:
        timer = self._timers.pop(eio_sid, None)
        if timer is not None:
            timer.cancel()

    def dismiss(self, eio_sid: str) -> None:
        """Forget a connection."""
        self._stop_timer(eio_sid)
        if eio_sid in self._inside:
            self._addresses.release(self._inside.pop(eio_sid))


class _Measured:
    """A queue of packets, sync or async, that knows how many characters wait in it."""

    backlog = 0

    def _put(self, item: Any) -> None:
        super()._put(item)  # pyright: ignore  # of the queue it is mixed into, which offers it for overriding
        self.backlog += _size(item)

    def _get(self) -> Any:
        item = cast("Any", super()._get())  # pyright: ignore  # as above
        self.backlog -= _size(item)
        return item


class _AsyncQueue(_Measured, Outbox):
    pass


class _ThreadQueue(_Measured, queue.Queue[Any]):
    pass


class _AsyncEngine(engineio.AsyncServer):
    max_backlog = 0

    def create_queue(self, *args: Any, **kwargs: Any) -> _AsyncQueue:
        """The queue of one connection."""
        return _AsyncQueue(*args, **kwargs)

    async def send_packet(self, sid: str, pkt: Any) -> None:
        """Send, unless the peer has left too much unread: then it is ended."""
        connection = self.sockets.get(sid)
        if connection is None or connection.closed:
            return
        if connection.upgraded and connection.last_ping is None and connection.queue.post(pkt.encode()):
            return  # while a pong is due, the library looks at the time
        if connection.queue.backlog > self.max_backlog:
            logger.warning("%s does not read what it is sent: disconnected", sid)
            await connection.close(wait=False)
            _empty(connection.queue)
            if connection.queue.outlet is not None:
                connection.queue.outlet.close()
        else:
            await connection.send(pkt)


class _ThreadEngine(engineio.Server):
    max_backlog = 0

    def create_queue(self, *args: Any, **kwargs: Any) -> _ThreadQueue:
        """The queue of one connection."""
        return _ThreadQueue(*args, **kwargs)

    def send_packet(self, sid: str, pkt: Any) -> None:
        """Send, unless the peer has left too much unread: then it is ended."""
        connection = self.sockets.get(sid)
        if connection is None or connection.closed:
            return
        with contextlib.suppress(SocketIsClosedError):  # in this moment
            if connection.queue.backlog > self.max_backlog:
                logger.warning("%s does not read what it is sent: disconnected", sid)
                connection.close(wait=False)
                _empty(connection.queue)
            else:
                connection.send(pkt)


class AsyncHub(socketio.AsyncServer):
    """A `socketio.AsyncServer` with a door."""

    eio: _AsyncEngine

    def __init__(self, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        DirectWebSocket.install(self)
        self.eio.max_backlog = 4 * limits.message_bytes
        self._door = _Door(limits)
        self._entry_timeout = limits.entry_timeout
        self._farewells: set[asyncio.Task[None]] = set()

    def _engineio_server_class(self) -> type[_AsyncEngine]:
        return _AsyncEngine

    async def _handle_eio_connect(self, eio_sid: str, environ: dict[str, Any]) -> str | None:
        if not self._door.admit(eio_sid, environ):
            return TOO_MANY
        self._expect_entry(eio_sid)
        return await super()._handle_eio_connect(eio_sid, environ)

    async def _handle_disconnect(self, eio_sid: str, namespace: str | None, reason: Any = None) -> None:
        await super()._handle_disconnect(eio_sid, namespace, reason)
        if _lingering(self, eio_sid) is not None:
            self._expect_entry(eio_sid)  # it may come in again

    def _expect_entry(self, eio_sid: str) -> None:
        loop = asyncio.get_running_loop()
        self._door.watch(eio_sid, loop.call_later(self._entry_timeout, self._check_entry, eio_sid))

    async def _handle_eio_disconnect(self, eio_sid: str, reason: Any) -> None:
        self._door.dismiss(eio_sid)
        await super()._handle_eio_disconnect(eio_sid, reason)

    def _check_entry(self, eio_sid: str) -> None:
        connection = _lingering(self, eio_sid)
        if connection is not None:
            logger.info("%s entered no namespace in time: disconnected", eio_sid)
            farewell = asyncio.ensure_future(connection.close(wait=False))
            self._farewells.add(farewell)
            farewell.add_done_callback(self._farewells.discard)


class ThreadHub(socketio.Server):
    """A `socketio.Server` with a door."""

    eio: _ThreadEngine

    def __init__(self, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        self.eio.max_backlog = 4 * limits.message_bytes
        self._door = _Door(limits)
        self._entry_timeout = limits.entry_timeout

    def _engineio_server_class(self) -> type[_ThreadEngine]:
        return _ThreadEngine

    def _handle_eio_connect(self, eio_sid: str, environ: dict[str, Any]) -> str | None:
        if not self._door.admit(eio_sid, environ):
            return TOO_MANY
        self._expect_entry(eio_sid)
        return super()._handle_eio_connect(eio_sid, environ)

    def _handle_disconnect(self, eio_sid: str, namespace: str | None, reason: Any = None) -> None:
        super()._handle_disconnect(eio_sid, namespace, reason)
        if _lingering(self, eio_sid) is not None:
            self._expect_entry(eio_sid)  # it may come in again

    def _expect_entry(self, eio_sid: str) -> None:
        timer = threading.Timer(self._entry_timeout, self._check_entry, (eio_sid,))
        timer.daemon = True
        self._door.watch(eio_sid, timer)
        timer.start()

    def _handle_eio_disconnect(self, eio_sid: str, reason: Any) -> None:
        self._door.dismiss(eio_sid)
        super()._handle_eio_disconnect(eio_sid, reason)
        sid = self.manager.sid_from_eio_sid(eio_sid, SMCP_NAMESPACE)
        namespace = self.namespace_handlers.get(SMCP_NAMESPACE)
        if sid is not None and isinstance(namespace, SyncBaseNamespace):
            # It went just as another thread let it in: the library tells nobody.
            namespace.on_disconnect(sid)

    def _check_entry(self, eio_sid: str) -> None:
        connection = _lingering(self, eio_sid)
        if connection is not None:
            logger.info("%s entered no namespace in time: disconnected", eio_sid)
            connection.close(wait=False)


def _lingering(sio: AsyncHub | ThreadHub, eio_sid: str) -> Any:
    """The connection, if it is in no namespace and has not ended."""
    connection = sio.eio.sockets.get(eio_sid)
    if connection is None or connection.closing or connection.closed:
        return None
    is_inside = any(sio.manager.sid_from_eio_sid(eio_sid, each) for each in list(sio.manager.get_namespaces()))
    return None if is_inside else connection


def _size(packet: Any) -> int:
    return len(packet.data) if packet is not None and type(packet.data) is str else 0


def _empty(packets: _AsyncQueue | _ThreadQueue) -> None:
    """Let go of what will not be read, but for the last packet: it is the end, which a waiting writer must hear."""
    with contextlib.suppress(queue.Empty, asyncio.QueueEmpty):  # a writer was faster
        while packets.qsize() > 1:
            packets.get_nowait()
