"""The WSGI shell: it carries bytes between clients and the hub, in threads.

A WebSocket has one thread (the WSGI server gives one to each request), which reads and waits. Other threads that send
to its client write to the socket themselves, as far as it takes the bytes without blocking; the rest is left to the
client's own thread. No thread waits for the answer to a call: the flow of a call is resumed by the thread that reads
the ack.

All sockets are non-blocking, so that a lock is never held while a thread waits for a client.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from a2c_smcp.errors import TimedOutError
from a2c_smcp.server.connections import LAST_SECONDS
from a2c_smcp.server.http import TOO_LARGE, TOO_SLOW, Header, Request, Response
from a2c_smcp.server.hub import GOODBYE_SECONDS, Hub
from a2c_smcp.server.payload_text import read_ack
from a2c_smcp.server.sending import Client
from a2c_smcp.server.wsgi_websocket import WebSocket
from a2c_smcp.utils.light_socketio import socketio
from a2c_smcp.wire.clock import SLOT
from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.session import NOOP, PONG, Fault

logger = logging.getLogger(__name__)

StartResponse = Callable[..., Any]


class ThreadClient(Client):
    """A client over WebSocket or long-polling."""

    def __init__(self, hub: Hub[Any], wire: Connection, environ: dict[str, Any], address: str | None) -> None:
        super().__init__(hub, wire, environ, address)
        self._websocket: WebSocket | None = None
        # On the lock of the client: a poll checks the outbox and starts to wait in one step, so that no packet is
        # missed.
        self._news = threading.Condition(self.lock)
        self._polls = 0

    def flush(self) -> None:
        """Send what is in the outbox, as far as the socket takes it."""
        with self.lock:
            websocket, session = self._websocket, self.wire.session
            if websocket is None:
                self._news.notify_all()
                return
            while websocket.is_idle and websocket.is_open and (frame := session.take_frame()) is not None:
                websocket.send(frame)

    def fit(self) -> None:
        """Let the WebSocket read messages as large as the wire core does."""
        with self.lock:
            if self._websocket is not None:
                self._websocket.limit(self.wire.largest_input)

    def finish(self) -> None:
        """Have the client's own thread send the rest and close."""
        with self.lock:
            self.flush()
            if self._websocket is not None:
                self._websocket.wake()

    def carry(self, websocket: WebSocket, frames: Iterable[str | bytes] = ()) -> None:
        """Carry the session until it ends; `frames` were read during the upgrade."""
        with self.lock:
            self._websocket = websocket
            self.fit()
        self.flush()
        # The frames that followed the upgrade packet in the same read. They are lost if they are not handled here.
        came = list(frames)
        while websocket.is_open and not self.is_ended:
            with self.lock:
                frames, came = came + websocket.take(), []
            for frame in frames:
                # Released between the two: `receive` runs flows, which take the locks of other clients. Two threads
                # that each held the lock of their own client could wait for each other.
                with self.lock:
                    value = self.wire.receive_frame(frame, self.hub.now())
                self.hub.receive(self, (value,))
                if self.is_ended:
                    break
            if not frames:
                self._push(websocket)
                if websocket.is_open and not self.is_ended:
                    websocket.wait()
        self.hub.end(self)
        self._see_off(websocket)

    def _push(self, websocket: WebSocket) -> None:
        with self.lock:
            websocket.push()
            self.flush()

    def _see_off(self, websocket: WebSocket) -> None:
        """Give the client some time to read the rest and to close."""
        # Two time limits: one to send what is left, one for the client to answer the close frame. Without them, a
        # client that does not read would keep this thread for ever.
        deadline = time.monotonic() + GOODBYE_SECONDS
        while websocket.is_open and time.monotonic() < deadline:
            self._push(websocket)
            with self.lock:
                if websocket.is_idle and not self.wire.session.has_output():
                    break
            websocket.wait(0.1)
        with self.lock:
            websocket.close()
        deadline = time.monotonic() + LAST_SECONDS
        while websocket.is_open and time.monotonic() < deadline:
            with self.lock:
                websocket.take()
                websocket.push()
            if websocket.is_open:
                websocket.wait(0.2)
        websocket.shut()

    def poll(self) -> str:
        """Wait for packets, and return the body that answers a poll.

        Only the newest poll is answered with packets. A client whose poll was cut by a proxy sends another, and packets
        that went into the old answer would be lost.
        """
        session = self.wire.session
        with self._news:
            self._polls += 1
            mine = self._polls
            self._news.notify_all()  # wakes an older poll, which returns empty
            self._news.wait_for(
                lambda: session.has_output() or session.is_probed or self.is_ended or self._polls != mine
            )
            if session.is_probed or self._polls != mine:
                return NOOP
            return session.take_payload() or NOOP


class ThreadHub(Hub[ThreadClient]):
    """The hub in threads, with the methods of a `socketio.Server` that a host program may call."""

    client_class = ThreadClient
    _timekeeper: threading.Thread | None = None

    def keep_time(self) -> None:
        """Tick in a thread while there are timers."""
        with self._lock:
            if self._timekeeper is None:
                self._timekeeper = threading.Thread(target=self._keep_time, daemon=True, name="a2c timers")
                self._timekeeper.start()

    def _keep_time(self) -> None:
        while True:
            time.sleep(SLOT)
            if not self.tick():
                # Checked again under the lock under which `keep_time` starts a thread. A timer that was set since
                # `tick` would otherwise be left without one.
                with self._lock:
                    if not self._clock:
                        self._timekeeper = None
                        return

    # --------------------------------------------------------------------------------------------------------- requests

    def serve(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Serve a request to the Socket.IO path."""
        request = request_of(environ)
        found, shared = self.route(request)
        if isinstance(found, Response):
            return respond(start_response, found, shared)
        if request.is_websocket:
            return self._serve_websocket(found, environ, start_response)
        if request.method == "POST":
            body = self._read_body(environ, found.wire.largest_input)
            return respond(start_response, self.post(found, body), shared)
        return respond(start_response, Response(body=found.poll().encode("utf-8", "replace")), shared)

    def _serve_websocket(
        self, client: ThreadClient, environ: dict[str, Any], start_response: StartResponse
    ) -> Iterable[bytes]:
        is_upgrade = client.wire.session.carrier == "polling"
        websocket = WebSocket(environ, _socket_of(environ), client.wire.largest_input)
        came = self._upgrade(client, websocket) if is_upgrade else []
        if came is not None:
            client.carry(websocket, came)
        else:
            with client.lock:
                websocket.close()
            websocket.shut()
        # gunicorn would write an HTTP response to the socket. It takes StopIteration as the end of the connection.
        if environ.get("gunicorn.socket") is not None:
            raise StopIteration
        start_response("200 OK", [])
        return []

    def _read_body(self, environ: dict[str, Any], most: int) -> bytes | Response:
        length = environ.get("CONTENT_LENGTH") or "0"
        if not (length.isascii() and length.isdigit()) or int(length[:18]) > most:
            return TOO_LARGE
        # `wsgi.input` blocks, without a time limit. The timer closes the reading side of the socket, which ends the
        # read; the response can still be written.
        stop = self.set_timer(self.limits.body_timeout, partial(_stop_reading, _socket_of(environ)))
        try:
            body = environ["wsgi.input"].read(int(length))
        except OSError:
            body = b""
        finally:
            stop()
        return body if len(body) == int(length) else TOO_SLOW

    def _upgrade(self, client: ThreadClient, websocket: WebSocket) -> list[str | bytes] | None:
        """Let a WebSocket take over from long-polling: the frames that followed at once, or None if it did not."""
        session = client.wire.session
        deadline = self.now() + self.wire_limits.entry_seconds
        has_probed = False
        try:
            while websocket.is_open and self.now() < deadline and not client.is_ended:
                with client.lock:
                    frames = websocket.take()
                for number, frame in enumerate(frames, 1):
                    with client.lock:
                        is_over = session.receive_probe(frame)
                    if is_over is True:
                        return frames[number:]
                    if isinstance(is_over, Fault):
                        return None
                    has_probed = True
                    with client.lock:
                        websocket.send(PONG + "probe")
                    client.flush()  # answers the waiting poll, after which the client upgrades
                if not frames and websocket.is_open:
                    websocket.wait(max(0.0, deadline - self.now()))
            return None
        finally:
            # Only its own probe: another WebSocket may be in the middle of the same upgrade.
            if has_probed and session.carrier == "polling":
                session.give_up_probe()

    # ----------------------------------------------------------------------------------------------------- for programs

    emit = Hub[Any].send
    enter_room = Hub[Any].join_room
    leave_room = Hub[Any].quit_room
    disconnect = Hub[Any].show_out

    def call(
        self, event: str, data: Any = None, to: str | None = None, sid: str | None = None, timeout: float = 60, **_: Any
    ) -> Any:
        """Send an event to a client and wait for its ack.

        Raises:
            socketio.exceptions.TimeoutError: no ack in time.
            NotFoundError: there is no such client, or it disconnected.
        """
        reply = self.request(event, data, to, sid)
        if not reply.wait(timeout):
            reply.set_exception(TimedOutError())
        # The ack may have come between the two lines above. Then it has settled the reply, and is the result.
        try:
            return read_ack(reply.result())
        except TimedOutError:
            raise socketio.exceptions.TimeoutError from None


def request_of(environ: dict[str, Any]) -> Request:
    """A WSGI request in the form that the hub reads."""
    headers = {
        key[5:].replace("_", "-").lower(): str(value) for key, value in environ.items() if key.startswith("HTTP_")
    }
    method, query = environ.get("REQUEST_METHOD", "GET"), environ.get("QUERY_STRING", "").encode("latin-1", "replace")
    is_websocket = headers.get("upgrade", "").lower() == "websocket" and _socket_of(environ) is not None
    return Request(method, query, headers, environ.get("wsgi.url_scheme", "http"), environ, is_websocket)


def respond(start_response: StartResponse, response: Response, headers: Iterable[Header] = ()) -> Iterable[bytes]:
    """Answer an HTTP request."""
    start_response(f"{response.status.value} {response.status.phrase}", [*response.headers, *headers])
    return [response.body]


def _stop_reading(sock: socket.socket | None) -> None:
    """End a read that blocks on a socket; it can still be written to."""
    with contextlib.suppress(OSError):
        if sock is not None:
            sock.shutdown(socket.SHUT_RD)


def _socket_of(environ: dict[str, Any]) -> Any:
    """The socket of a request, if the WSGI server provides it; None otherwise, and then there is no WebSocket."""
    return environ.get("werkzeug.socket") or environ.get("gunicorn.socket")
