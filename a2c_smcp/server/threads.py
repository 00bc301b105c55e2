"""The WSGI shell: it moves what the wire core says between clients and the hub, in threads.

A WebSocket has one thread, which reads and waits. Whoever has something to say to it sends that, as far as the client
takes it at once. No thread waits for the answer to a call.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import logging
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import Any

from socketio.exceptions import TimeoutError as SocketIOTimeoutError
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State

from a2c_smcp.errors import RateLimitedError, TimedOutError
from a2c_smcp.server import handshake
from a2c_smcp.server.asgi import BODY_SECONDS, GOODBYE_SECONDS, calling, written
from a2c_smcp.server.handshake import Header, Refusal, Wanted
from a2c_smcp.server.hub import LAST_SECONDS, Client, Hub, read_ack
from a2c_smcp.server.reply import Reply
from a2c_smcp.wire.clock import SLOT
from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.session import NOOP, PONG, End, Fault

logger = logging.getLogger(__name__)

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""Of RFC 6455."""
READ_BYTES = 65_536
NOTHING = memoryview(b"")
_NOT_NOW = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # needs no file of its own; not on Windows

StartResponse = Callable[..., Any]


class WebSocket:
    """One WebSocket on the socket of a WSGI server."""

    def __init__(self, environ: dict[str, Any], sock: socket.socket, max_size: int) -> None:
        self._socket = sock
        self._protocol = Protocol(Side.SERVER, state=State.OPEN, max_size=max_size)
        self._fragments: list[bytes] = []
        self._is_text = True
        self._unsent = NOTHING
        self.is_open = True
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._socket.setblocking(False)
        key = environ.get("HTTP_SEC_WEBSOCKET_KEY", "")
        accepted = base64.b64encode(hashlib.sha1((key + GUID).encode("latin-1", "replace")).digest()).decode()
        answer = (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accepted}\r\n\r\n"
        )
        self._unsent = memoryview(answer.encode())
        self._transmit()

    # --------------------------------------------------------------------------------- under the lock of the client

    @property
    def is_idle(self) -> bool:
        """Whether everything that was sent is on its way."""
        return not self._unsent

    def send(self, frame: str) -> None:
        """Send a frame, as much of it as the client takes now."""
        if self.is_open:
            self._protocol.send_text(frame.encode("utf-8", "replace"))
            self._transmit()

    def close(self) -> None:
        """Say goodbye."""
        if self.is_open:
            with contextlib.suppress(Exception):  # the client was faster
                self._protocol.send_close(1000)
            self._transmit()

    def push(self) -> None:
        """The client takes more."""
        self._transmit()

    def take(self) -> list[str | bytes]:
        """The frames that have come."""
        found: list[str | bytes] = []
        while self.is_open:
            try:
                data = self._socket.recv(READ_BYTES)
            except _NOT_NOW:
                break
            except OSError:
                data = b""
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
                self.is_open = False
            found += [message for event in self._protocol.events_received() for message in self._messages(event)]
            self._transmit()
            if self._protocol.close_expected() and not self._unsent:
                self.is_open = self.is_open and self._protocol.parser_exc is None
            if len(data) < READ_BYTES and not isinstance(self._socket, ssl.SSLSocket):
                break
        return found

    def _messages(self, event: Any) -> Iterable[str | bytes]:
        if not isinstance(event, Frame):
            return
        if event.opcode is Opcode.CLOSE:
            self.is_open = False
            return
        if event.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._fragments, self._is_text = [bytes(event.data)], event.opcode is Opcode.TEXT
        elif event.opcode is Opcode.CONT:
            self._fragments.append(bytes(event.data))
        else:
            return
        if event.fin:
            data, self._fragments = b"".join(self._fragments), []
            yield data.decode("utf-8", "replace") if self._is_text else data

    def _transmit(self) -> None:
        new = b"".join(self._protocol.data_to_send())
        if new:
            self._unsent = memoryview(bytes(self._unsent) + new if self._unsent else new)
        try:
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]  # a view: nothing is copied
        except _NOT_NOW:
            self.wake()
        except OSError:
            self._unsent = NOTHING
            self.is_open = False
            self.wake()

    # ------------------------------------------------------------------------------------------------------- elsewhere

    def wake(self) -> None:
        """Have `wait` return: there is something to do."""
        with contextlib.suppress(OSError):
            self._waker.send(b"!")

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the client sent something, takes more, or somebody wakes this thread."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        with contextlib.suppress(OSError, ValueError):  # one of them is closed: there is something to do
            _wait_for({self._socket: events, self._woken: selectors.EVENT_READ}, seconds)
            self._woken.recv(READ_BYTES)

    def shut(self) -> None:
        """End the TCP stream: a WSGI server may keep it open, and the client would wait for its end."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for end in (self._woken, self._waker):
            end.close()


def _wait_for(sockets: dict[socket.socket, int], seconds: float | None) -> None:
    """Wait until something happens to one of these sockets that it is registered for."""
    with _Selector() as selector:
        for each, events in sockets.items():
            selector.register(each, events)
        selector.select(seconds)


class ThreadClient(Client):
    """A client over WebSocket or long-polling."""

    def __init__(self, hub: Hub, wire: Connection, environ: dict[str, Any], address: str | None) -> None:
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


class ThreadHub(Hub):
    """The hub in threads. Its public methods are those of a `socketio.Server` that a program may use."""

    def __init__(self, *args: Any, cors: handshake.Origins = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cors = cors
        self._over: dict[str, ThreadClient] = {}
        self._timekeeper: threading.Thread | None = None

    def now(self) -> float:
        """Seconds on a clock that does not go back."""
        return time.monotonic()

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
        headers = {
            key[5:].replace("_", "-").lower(): str(value) for key, value in environ.items() if key.startswith("HTTP_")
        }
        shared = handshake.cors(self._cors, headers, environ.get("wsgi.url_scheme", "http"), environ)
        query = environ.get("QUERY_STRING", "").encode("latin-1", "replace")
        wanted = handshake.read_query(query) if shared is not None else handshake.FOREIGN
        method = environ.get("REQUEST_METHOD", "GET")
        if method == "OPTIONS" and shared is not None:
            return respond(start_response, HTTPStatus.OK, b"", shared)
        if isinstance(wanted, Refusal):
            return refuse(start_response, wanted, shared or [])
        if wanted.carrier == "websocket":
            return self._serve_websocket(wanted, environ, headers, start_response, shared or [])
        return self._serve_polling(wanted, environ, method, start_response, shared or [])

    def _serve_polling(
        self, wanted: Wanted, environ: dict[str, Any], method: str, start_response: StartResponse, shared: list[Header]
    ) -> Iterable[bytes]:
        if method not in ("GET", "POST") or (wanted.sid is None and method == "POST"):
            return refuse(start_response, handshake.BAD_METHOD, shared)
        if wanted.sid is None:
            try:
                opened = self.admit(ThreadClient, environ, "polling")
            except RateLimitedError:
                return refuse(start_response, handshake.TOO_MANY, shared)
            return respond(start_response, HTTPStatus.OK, opened.wire.session.take_payload().encode(), shared)
        client = self.clients.get(wanted.sid) or self._over.get(wanted.sid)
        if not isinstance(client, ThreadClient):
            return refuse(start_response, handshake.UNKNOWN_SESSION, shared)
        if client.wire.session.carrier != "polling":
            return refuse(start_response, handshake.NOT_THIS_WAY, shared)
        if method == "GET":
            return respond(start_response, HTTPStatus.OK, client.poll().encode("utf-8", "replace"), shared)
        return self._take_body(client, environ, start_response, shared)

    def _take_body(
        self, client: ThreadClient, environ: dict[str, Any], start_response: StartResponse, shared: list[Header]
    ) -> Iterable[bytes]:
        body = _read_body(environ, client.wire.largest_input)
        if isinstance(body, Refusal):
            self._note(client, Fault(body.message))
            self.end(client, End.FAULT)
            return refuse(start_response, body, shared)
        with client.lock:
            values = client.wire.receive_body(body, self.now())
        self.receive(client, values)
        fault = next((value for value in values if isinstance(value, Fault)), None)
        if fault is not None:
            return refuse(start_response, Refusal(HTTPStatus.BAD_REQUEST, 3, f"Bad request: {fault.reason}"), shared)
        return respond(start_response, HTTPStatus.OK, b"ok", shared)

    def _serve_websocket(
        self,
        wanted: Wanted,
        environ: dict[str, Any],
        headers: dict[str, str],
        start_response: StartResponse,
        shared: list[Header],
    ) -> Iterable[bytes]:
        sock = environ.get("werkzeug.socket") or environ.get("gunicorn.socket")
        if headers.get("upgrade", "").lower() != "websocket" or sock is None:
            return refuse(start_response, handshake.NOT_THIS_WAY, shared)
        if wanted.sid is None:
            try:
                client: Any = self.admit(ThreadClient, environ, "websocket")
            except RateLimitedError:
                return refuse(start_response, handshake.TOO_MANY, shared)
        else:
            client = self.clients.get(wanted.sid)
            if not isinstance(client, ThreadClient) or client.wire.session.carrier != "polling":
                return refuse(start_response, handshake.UNKNOWN_SESSION, shared)
        websocket = WebSocket(environ, sock, self.wire_limits.transport_bytes)
        came = () if wanted.sid is None else self._upgrade(client, websocket)
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

    def end(self, client: Client, end: End = End.LOST) -> None:
        """A client's session is over, or shall be; its last words wait for a poll."""
        is_first = not client.is_ended
        super().end(client, end)
        if is_first and isinstance(client, ThreadClient) and client.wire.session.carrier == "polling":
            sid = client.wire.session.sid
            self._over[sid] = client
            self.set_timer(LAST_SECONDS, partial(self._forget_session, sid))

    def _forget_session(self, sid: str) -> None:
        self._over.pop(sid, None)

    # ----------------------------------------------------------------------------------------------------- for programs

    def emit(
        self,
        event: str,
        data: Any = None,
        to: str | None = None,
        room: str | None = None,
        skip_sid: Any = None,
        namespace: str | None = None,
        callback: Callable[..., Any] | None = None,
        **_: Any,
    ) -> None:
        """Send an event to a room or a client; `callback` gets the ack of one client."""
        recipient = to or room
        if callback is None or recipient is None:
            self.tell(recipient, event, data, skip_sid)
        else:
            self.ask(recipient, written(event, data), calling(callback))

    def call(
        self,
        event: str,
        data: Any = None,
        to: str | None = None,
        sid: str | None = None,
        namespace: str | None = None,
        timeout: float = 60,
        **_: Any,
    ) -> Any:
        """Send an event to a client and wait for its ack.

        Raises:
            socketio.exceptions.TimeoutError: there is none in time.
        """
        reply = Reply()
        self.ask(to or sid or "", written(event, data), reply)
        if not reply.wait(timeout):
            reply.set_exception(TimedOutError())
        try:
            return read_ack(reply.result())
        except TimedOutError:
            raise SocketIOTimeoutError from None

    def enter_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Let a client hear a room."""
        self.join_room(sid, room)

    def leave_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Let it hear the room no longer."""
        self.quit_room(sid, room)

    def disconnect(self, sid: str, namespace: str | None = None, **_: Any) -> None:
        """Show a client out."""
        self.show_out(sid)


def respond(
    start_response: StartResponse,
    status: HTTPStatus,
    body: bytes,
    headers: list[Header],
    content_type: str = "text/plain; charset=UTF-8",
) -> Iterable[bytes]:
    """Answer an HTTP request."""
    fields = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
    start_response(f"{status.value} {status.phrase}", [*fields, *headers])
    return [body]


def refuse(start_response: StartResponse, refusal: Refusal, headers: list[Header]) -> Iterable[bytes]:
    """Answer an HTTP request that is not served."""
    return respond(start_response, refusal.status, refusal.body, headers, "application/json")


def _read_body(environ: dict[str, Any], most: int) -> bytes | Refusal:
    length = environ.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()) or int(length[:18]) > most:
        return handshake.TOO_LARGE
    left, parts = int(length), list[bytes]()
    sock = environ.get("werkzeug.socket") or environ.get("gunicorn.socket")
    deadline = time.monotonic() + BODY_SECONDS
    before = sock.gettimeout() if sock is not None else None
    try:
        if sock is not None:
            sock.settimeout(BODY_SECONDS)
        while left and time.monotonic() < deadline:
            part = environ["wsgi.input"].read(min(left, READ_BYTES))
            if not part:
                return handshake.TOO_SLOW
            parts.append(part)
            left -= len(part)
        return handshake.TOO_SLOW if left else b"".join(parts)
    except OSError:
        return handshake.TOO_SLOW
    finally:
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.settimeout(before)
