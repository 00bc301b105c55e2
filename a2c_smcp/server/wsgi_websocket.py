"""A WebSocket on the socket that a WSGI server hands over, without blocking; its thread waits with a selector."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import ssl
from typing import Any

from a2c_smcp.wire.frames import (
    NORMAL,
    PONG,
    TEXT,
    Closed,
    FrameReader,
    Ping,
    write_acceptance,
    write_close,
    write_frame,
)

logger = logging.getLogger(__name__)

READ_BYTES = 65_536
READS_AT_ONCE = 16
"""Reads without a whole message, after which the caller gets its turn."""
NOTHING = memoryview(b"")
_NOT_NOW = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # needs no file of its own; not on Windows


class WebSocket:
    """One WebSocket on the socket of a WSGI server."""

    def __init__(self, environ: dict[str, Any], sock: socket.socket, max_size: int) -> None:
        self._socket = sock
        self._reader = FrameReader(max_size)
        self._unsent = NOTHING
        self._is_closing = False
        self.is_open = True
        # For `wake`. A socket pair and not a pipe, because `select` accepts only sockets on Windows.
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._socket.setblocking(False)
        self._transmit(write_acceptance(environ.get("HTTP_SEC_WEBSOCKET_KEY", "")))

    # ------------------------------------------------------------------------------------- under the lock of the client

    @property
    def is_idle(self) -> bool:
        """Whether the socket took everything that was sent."""
        return not self._unsent

    def send(self, frame: str) -> None:
        """Send a frame, as much of it as the socket takes now."""
        if not self._is_closing:
            self._transmit(write_frame(TEXT, frame.encode("utf-8", "replace")))

    def close(self, code: int = NORMAL) -> None:
        """Send a close frame."""
        if not self._is_closing:
            self._is_closing = True
            self._transmit(write_close(code))

    def push(self) -> None:
        """Send more of what is left."""
        self._transmit(b"")

    def limit(self, max_bytes: int) -> None:
        """Change the largest message that is read."""
        self._reader.max_bytes = max_bytes

    def take(self) -> list[str | bytes]:
        """Read messages that have arrived; others may be left for the next time."""
        found: list[str | bytes] = []
        # Bounded: a client that sends as fast as it is read would otherwise fill the memory, and hold the lock that
        # other threads need to send to it.
        for _ in range(READS_AT_ONCE):
            if not self.is_open:
                break
            try:
                data = self._socket.recv(READ_BYTES)
            except _NOT_NOW:
                break
            except OSError:
                data = b""
            if not data:
                self.is_open = False
            for message in self._reader.receive(data):
                if isinstance(message, Ping):
                    if not self._unsent and not self._is_closing:  # a client that does not read gets no pongs
                        self._transmit(write_frame(PONG, message.data))
                elif isinstance(message, Closed):
                    if message.fault:
                        logger.info("WebSocket closed: %s", message.fault)
                    self.close(message.code)
                    self.is_open = False
                else:
                    found.append(message)
            # A short read means that the socket is empty, and saves the next `recv`, which would only say so. TLS
            # returns one record at a time: read until there is a message, or until it asks to wait.
            if found or (len(data) < READ_BYTES and not isinstance(self._socket, ssl.SSLSocket)):
                break
        return found

    def _transmit(self, data: bytes) -> None:
        if not self.is_open:
            return
        if data:
            self._unsent = memoryview(bytes(self._unsent) + data if self._unsent else data)
        try:
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]  # a view: nothing is copied
        # The caller may be the thread of another client, which must not wait. The client's own thread sends the rest:
        # it is woken to wait until the socket takes more.
        except _NOT_NOW:
            self.wake()
        except OSError:
            self._unsent = NOTHING
            self.is_open = False
            self.wake()

    # -------------------------------------------------------------------------------------------------------- elsewhere

    def wake(self) -> None:
        """Make `wait` return in the client's own thread. It takes a byte in a socket pair, because a selector cannot
        wait for a condition variable."""
        with contextlib.suppress(OSError):
            self._waker.send(b"!")

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the client sent something, the socket takes more, or another thread called `wake`."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return  # it holds decrypted bytes, which a selector does not see
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        with contextlib.suppress(OSError, ValueError):  # one of them is closed: there is something to do
            _wait_for({self._socket: events, self._woken: selectors.EVENT_READ}, seconds)
            # Read the bytes of all `wake` calls at once. If only the client's socket is ready, there are none.
            self._woken.recv(READ_BYTES)

    def shut(self) -> None:
        """Shut the TCP stream down: a WSGI server may keep it open, and the client would wait for its end."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for end in (self._woken, self._waker):
            end.close()


def _wait_for(sockets: dict[socket.socket, int], seconds: float | None) -> None:
    """Wait until one of the sockets is ready for what it is registered for."""
    with _Selector() as selector:
        for each, events in sockets.items():
            selector.register(each, events)
        selector.select(seconds)
