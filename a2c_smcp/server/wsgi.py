"""The WSGI shell: it moves what the wire core says between clients and the hub, in threads.

A WebSocket has one thread, which reads and waits. Whoever has something to say to it sends that, as far as the client
takes it at once. No thread waits for the answer to a call.
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

from socketio.exceptions import TimeoutError as SocketIOTimeoutError

from a2c_smcp.errors import TimedOutError
from a2c_smcp.server.http import TOO_LARGE, TOO_SLOW, Header, Request, Response
from a2c_smcp.server.hub import GOODBYE_SECONDS, LAST_SECONDS, Client, Hub
from a2c_smcp.server.payload_text import read_ack
from a2c_smcp.server.wsgi_websocket import WebSocket
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
        self._news = threading.Condition(self.lock)
        self._polls = 0

    def flush(self) -> None:
        """Send what waits, as far as the client takes it."""
        with self.lock:
            websocket, session = self._websocket, self.wire.session
            if websocket is None:
                self._news.notify_all()
                return
            while websocket.is_idle and websocket.is_open and (frame := session.take_frame()) is not None:
                websocket.send(frame)

    def fit(self) -> None:
        """Read as much from the WebSocket as the wire core would."""
        with self.lock:
            if self._websocket is not None:
                self._websocket.limit(self.wire.largest_input)

    def finish(self) -> None:
        """Have the thread that carries it send the rest, and hang up."""
        with self.lock:
            self.flush()
            if self._websocket is not None:
                self._websocket.wake()

    def carry(self, websocket: WebSocket, frames: Iterable[str | bytes] = ()) -> None:
        """Carry the session until its end, and the client's; `frames` have come already."""
        with self.lock:
            self._websocket = websocket
            self.fit()
        self.flush()
        came = list(frames)
        while websocket.is_open and not self.is_ended:
            with self.lock:
                frames, came = came + websocket.take(), []
            for frame in frames:
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
        """Give the client some time to read the rest and to hang up."""
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
        """The body that answers a poll."""
        session = self.wire.session
        with self._news:
            self._polls += 1
            mine = self._polls
            self._news.notify_all()  # an older poll, which will find nothing
            self._news.wait_for(
                lambda: session.has_output() or session.is_probed or self.is_ended or self._polls != mine
            )
            if session.is_probed or self._polls != mine:
                return NOOP
            return session.take_payload() or NOOP


class ThreadHub(Hub[ThreadClient]):
    """The hub in threads. Its public methods are those of a `socketio.Server` that a program may use."""

    client_class = ThreadClient
    _timekeeper: threading.Thread | None = None

    def keep_time(self) -> None:
        """Look at the timers again and again, while there are any."""
        with self._lock:
            if self._timekeeper is None:
                self._timekeeper = threading.Thread(target=self._keep_time, daemon=True, name="a2c timers")
                self._timekeeper.start()

    def _keep_time(self) -> None:
        while True:
            time.sleep(SLOT)
            if not self.tick():
                with self._lock:
                    if not self._clock:
                        self._timekeeper = None
                        return

    # --------------------------------------------------------------------------------------------------------- requests

    def serve(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """A request to the Socket.IO path."""
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
        if environ.get("gunicorn.socket") is not None:
            raise StopIteration  # how gunicorn is told that the connection is not its own any more
        start_response("200 OK", [])
        return []

    def _read_body(self, environ: dict[str, Any], most: int) -> bytes | Response:
        length = environ.get("CONTENT_LENGTH") or "0"
        if not (length.isascii() and length.isdigit()) or int(length[:18]) > most:
            return TOO_LARGE
        stop = self.set_timer(self.limits.body_timeout, partial(_stop_reading, _socket_of(environ)))
        try:
            body = environ["wsgi.input"].read(int(length))
        except OSError:
            body = b""
        finally:
            stop()
        return body if len(body) == int(length) else TOO_SLOW

    def _upgrade(self, client: ThreadClient, websocket: WebSocket) -> list[str | bytes] | None:
        """Have a WebSocket take over from long-polling: the frames that came right behind, or None if it did not."""
        session = client.wire.session
        deadline = self.now() + self.wire_limits.entry_seconds
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
                    with client.lock:
                        websocket.send(PONG + "probe")
                    client.flush()  # the waiting poll is answered: the client asks for no more
                if not frames and websocket.is_open:
                    websocket.wait(max(0.0, deadline - self.now()))
            return None
        finally:
            if session.carrier == "polling":
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
            socketio.exceptions.TimeoutError: there is none in time.
        """
        reply = self.request(event, data, to, sid)
        if not reply.wait(timeout):
            reply.set_exception(TimedOutError())
        try:
            return read_ack(reply.result())
        except TimedOutError:
            raise SocketIOTimeoutError from None


def request_of(environ: dict[str, Any]) -> Request:
    """A request as the hub reads it."""
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
    """End the wait of whatever reads from a socket; it can still be written to."""
    with contextlib.suppress(OSError):
        if sock is not None:
            sock.shutdown(socket.SHUT_RD)


def _socket_of(environ: dict[str, Any]) -> Any:
    """The socket of a request, where the WSGI server gives it."""
    return environ.get("werkzeug.socket") or environ.get("gunicorn.socket")
