"""The asyncio protocols that uvicorn runs for the Server; nothing else here depends on how uvicorn works inside.

`Http` is uvicorn's own, with a time limit for the head of a request, and for a client that does not read its response:
without them, a client that sends a byte a minute, or reads nothing, holds its connection and its memory for ever. It
also writes the head of a response together with the body.

`WebSocket` replaces uvicorn's, which puts each message into a queue, from where a task takes it. Ours serves any ASGI
application, and an ASGI extension (`asgi.Frames`) hands each frame to our own hub directly, in the callback that read
it from the socket. That saves a third of the CPU time of a relayed call and half the memory of an idle member. It also
bounds the time that a closing connection may take.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import unquote

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl

from a2c_smcp.server.asgi_client import FRAMES
from a2c_smcp.server.connections import LAST_SECONDS
from a2c_smcp.server.tcp_gate import HEAD_SECONDS, TcpGate
from a2c_smcp.server.whole_responses import WholeResponse
from a2c_smcp.wire.frames import (
    BINARY,
    NORMAL,
    PONG,
    TEXT,
    Closed,
    FrameReader,
    Ping,
    write_acceptance,
    write_close,
    write_frame,
    write_refusal,
)

logger = logging.getLogger(__name__)

IN_A_ROW = 8
"""Messages of one client after which the event loop turns to others: a flood must not delay them."""
READ_SECONDS = 30.0
"""Time for a client to read something of a response that waits for it."""
GOING_AWAY = 1012
"""Close code: the Server restarts."""


class Http(HttpToolsProtocol):
    """uvicorn's fastest HTTP protocol, with a time limit for the head of each request, and for reading the response."""

    gate: TcpGate
    _reading: asyncio.TimerHandle | None = None
    _unread: int = 0

    def connection_made(self, transport: Any) -> None:
        """A TCP connection was accepted: its first request is awaited."""
        super().connection_made(transport)
        if self.gate.enter(transport):
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection was closed."""
        # Not called for a WebSocket: its transport has another protocol by then, which calls `leave` itself.
        self.gate.leave(self.transport)
        self._stop_reading()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads more slowly than it is sent to."""
        super().pause_writing()
        # Also after the response is complete: uvicorn waits for the client to read it before it closes the connection.
        self._await_reading()

    def resume_writing(self) -> None:
        """The client has read."""
        self._stop_reading()
        super().resume_writing()

    def _await_reading(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(READ_SECONDS, self._check_reading)

    def _check_reading(self) -> None:
        # A slow network may take longer for all of it.
        if self.transport.get_write_buffer_size() < self._unread:
            self._await_reading()
        else:
            self._reading = None
            self.transport.abort()

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        # Again for each request of a connection that is kept alive. Between two requests, uvicorn's own timeout
        # applies.
        self._await_head()

    def on_headers_complete(self) -> None:
        """The head of the request has arrived."""
        self.gate.arrive(self.transport)
        before: Any = self.cycle
        super().on_headers_complete()
        cycle: Any = self.cycle
        if cycle is not before:  # no WebSocket
            cycle.transport = WholeResponse(self.transport, self.loop)

    def _await_head(self) -> None:
        self.gate.wait(self.transport, self.loop.call_later(HEAD_SECONDS, self._give_up).cancel)

    def _give_up(self) -> None:
        self.gate.arrive(self.transport)
        self.transport.abort()


class WebSocket(asyncio.Protocol):
    """A WebSocket for any ASGI application. uvicorn's HTTP protocol hands it the transport and the request's head."""

    __slots__ = (
        "_app_state",
        "_config",
        "_drained",
        "_inbox",
        "_is_answered",
        "_is_closing",
        "_is_connecting",
        "_is_paused",
        "_key",
        "_loop",
        "_lost_with",
        "_on_frame",
        "_on_writable",
        "_reader",
        "_refused_with",
        "_server",
        "_transport",
        "_waiter",
        "is_writable",
    )

    gate: TcpGate

    def __init__(self, config: uvicorn.Config, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        self._config = config
        self._server = server_state
        self._app_state = app_state
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(config.ws_max_size)
        self._inbox: deque[str | bytes] = deque()
        self._key: str | None = None
        self._is_connecting = True
        """Whether the application has yet to receive `websocket.connect`."""
        self._is_answered = False
        """Whether the application has accepted or rejected it."""
        self._refused_with: tuple[int, Any] | None = None
        self._is_closing = False
        """Whether a close frame was sent, or the connection is closed."""
        self._lost_with: int | None = None
        """The close code; None while the client is connected."""
        self._is_paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._drained: asyncio.Event | None = None
        self._on_frame: Callable[[str | bytes], None] | None = None
        self._on_writable: Callable[[], None] | None = None
        self.is_writable = True
        """Whether the socket's buffer has room: False while the client reads more slowly than it is sent to."""

    # ------------------------------------------------------------------------------------ what asyncio and uvicorn call

    def connection_made(self, transport: Any) -> None:
        """Take over the transport from the HTTP protocol."""
        self._transport: asyncio.Transport = transport
        # uvicorn calls `shutdown` on the members of this set when it stops, and waits until it is empty.
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection was closed."""
        self.gate.leave(self._transport)
        self._server.connections.discard(self)
        # An application that waits in `send` for room in the buffer is woken, and gets a ConnectionError.
        self._is_answered = self._is_closing = True
        self._lose(1006)
        self.resume_writing()

    def pause_writing(self) -> None:
        """asyncio's write buffer is full: the client does not keep up."""
        self.is_writable = False
        self._drained = asyncio.Event()

    def resume_writing(self) -> None:
        """The write buffer has room again, or the connection is closed."""
        self.is_writable = True
        if self._drained is not None:
            self._drained.set()
            self._drained = None
        if self._on_writable is not None:
            self._on_writable()

    def data_received(self, data: bytes) -> None:
        """Receive the head of the request, which uvicorn passes first, and then frames."""
        if self._key is None:
            self._begin(data)
            return
        for message in self._reader.receive(data):
            if isinstance(message, Ping):
                # A client that sends pings and reads nothing would otherwise fill asyncio's buffer with pongs.
                if self.is_writable:
                    self._transport.write(write_frame(PONG, message.data))
            elif isinstance(message, Closed):
                if message.fault:
                    logger.info("WebSocket of %s closed: %s", get_remote_addr(self._transport), message.fault)
                if not self._is_closing:
                    self._close(message.code)
                self._lose(message.code)
                self._transport.close()
            # After the Server's close frame, messages may still arrive that the client sent before it read the frame.
            # The application has finished by then.
            elif not self._is_closing:
                self._inbox.append(message)
        self._deliver()

    def shutdown(self) -> None:
        """uvicorn stops."""
        if not self._is_answered:
            self._respond(HTTPStatus.SERVICE_UNAVAILABLE)
        elif not self._is_closing:
            self._close(GOING_AWAY)
        self._lose(GOING_AWAY)
        self._transport.close()

    # ---------------------------------------------------------------------------------------------------- the extension

    def listen(self, on_frame: Callable[[str | bytes], None], on_writable: Callable[[], None]) -> None:
        """Have every frame handed over at once; `receive` then waits only for the end. `on_writable` is called when the
        write buffer has room again."""
        # Frames may have arrived between the handshake and this call. They are delivered in the next turn of the loop:
        # the caller is not ready before it returns.
        self._on_frame, self._on_writable = on_frame, on_writable
        self._loop.call_soon(self._deliver)

    def post(self, frame: str) -> None:
        """Send a frame now. The caller checks `is_writable` first: a write beyond it would grow asyncio's buffer, which
        has no limit. The caller's outbox has one."""
        if not self._is_closing:
            self._transport.write(write_frame(TEXT, frame.encode("utf-8", "replace")))

    def limit(self, max_bytes: int) -> None:
        """Change the largest message that is read."""
        self._reader.max_bytes = max_bytes

    # ------------------------------------------------------------------------------------------------------------- ASGI

    async def receive(self) -> dict[str, Any]:
        """The next event."""
        if self._is_connecting:
            self._is_connecting = False
            return {"type": "websocket.connect"}
        # With the extension, the inbox is emptied by `_deliver`. Messages that came before the end are handed over
        # first.
        while self._on_frame is not None or not self._inbox:
            if self._lost_with is not None and not self._inbox:
                return {"type": "websocket.disconnect", "code": self._lost_with}
            self._waiter = self._loop.create_future()
            await self._waiter
        frame = self._inbox.popleft()
        if not self._inbox:
            self._resume()
        return {"type": "websocket.receive", "text" if isinstance(frame, str) else "bytes": frame}

    async def send(self, message: dict[str, Any]) -> None:
        """Send an event.

        Raises:
            ConnectionError: the WebSocket is closed.
        """
        while self._drained is not None:
            await self._drained.wait()
        if self._is_closing:
            raise ConnectionResetError("the WebSocket is closed")
        match message["type"]:
            case "websocket.send":
                text = message.get("text")
                if text is not None:
                    self.post(text)
                else:
                    self._transport.write(write_frame(BINARY, message["bytes"]))
            case "websocket.accept":
                headers = [*self._server.default_headers, *message.get("headers", ())]
                if subprotocol := message.get("subprotocol"):
                    headers.append((b"Sec-WebSocket-Protocol", subprotocol.encode("latin-1")))
                self._is_answered = True
                self._transport.write(write_acceptance(self._key or "", headers))
            case "websocket.close":
                if not self._is_answered:
                    self._respond(HTTPStatus.FORBIDDEN)
                else:
                    self._close(message.get("code", NORMAL))
            case "websocket.http.response.start":
                self._refused_with = message["status"], message.get("headers", ())
            case "websocket.http.response.body" if self._refused_with is not None:
                self._respond(*self._refused_with, message.get("body", b""))
            case kind:
                raise RuntimeError(f"unexpected ASGI message {kind!r}")

    # --------------------------------------------------------------------------------------------------------- the rest

    def _begin(self, head: bytes) -> None:
        # uvicorn has parsed and validated the head, and hands over a copy that it writes itself: one line for each
        # header, with ": " between name and value.
        request, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        headers = [(name.lower(), value) for name, _, value in (line.partition(": ") for line in lines)]
        fields = dict(headers)
        self._key = fields.get("sec-websocket-key", "")
        # The header names the version that the Server supports, as RFC 6455 requires (section 4.4).
        if not request.startswith("GET ") or not self._key or fields.get("sec-websocket-version") != "13":
            self._respond(HTTPStatus.BAD_REQUEST, [(b"Sec-WebSocket-Version", b"13")])
            return
        path, _, query = request.split(" ")[1].partition("?")
        transport, root = self._transport, self._config.root_path
        scope = {
            "type": "websocket",
            "asgi": {"version": self._config.asgi_version, "spec_version": "2.4"},
            "http_version": "1.1",
            "scheme": "wss" if is_ssl(transport) else "ws",
            "server": get_local_addr(transport),
            "client": get_remote_addr(transport),
            "root_path": root,
            "path": root + unquote(path),
            "raw_path": (root + path).encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
            "subprotocols": [each.strip() for each in fields.get("sec-websocket-protocol", "").split(",") if each],
            "state": self._app_state.copy(),
            "extensions": {"websocket.http.response": {}, FRAMES: {"connection": self}},
        }
        task = self._loop.create_task(self._run(scope))
        self._server.tasks.add(task)
        task.add_done_callback(self._server.tasks.discard)

    async def _run(self, scope: dict[str, Any]) -> None:
        try:
            app = cast("Any", self._config.loaded_app)  # pyright: ignore[reportUnknownMemberType]
            await app(scope, self.receive, self.send)
        except ConnectionError as error:
            logger.debug("the application sent to a closed WebSocket: %s", error)
        except Exception:
            logger.exception("the application failed on a WebSocket")
        if not self._is_answered:
            self._respond(HTTPStatus.INTERNAL_SERVER_ERROR)
        elif not self._is_closing:
            self._close(NORMAL)

    def _deliver(self) -> None:
        """Hand over the messages in the inbox, a few at a time."""
        # Backpressure towards the client: while messages wait, nothing more is read from the socket. TCP then slows the
        # client down, and its unread messages stay in its own memory instead of the Server's.
        inbox, on_frame = self._inbox, self._on_frame
        if on_frame is None:
            if inbox:
                self._pause()
                self._wake()
            return
        for _ in range(min(len(inbox), IN_A_ROW)):
            try:
                on_frame(inbox.popleft())
            except Exception:
                logger.exception("a frame could not be handled")
        if inbox:
            self._pause()
            self._loop.call_soon(self._deliver)
            return
        self._resume()
        if self._lost_with is not None:
            self._wake()

    def _lose(self, code: int) -> None:
        if self._lost_with is None:
            self._lost_with = code
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _pause(self) -> None:
        if not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._is_paused and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()

    def _close(self, code: int) -> None:
        """Send a close frame. A client that does not answer it is disconnected after a while."""
        self._is_closing = True
        self._transport.write(write_close(code))
        # Reading must go on, or the client's own close frame would never be seen.
        self._inbox.clear()
        self._resume()
        self._loop.call_later(LAST_SECONDS, self._transport.abort)

    def _respond(self, status: int, headers: Iterable[tuple[bytes, bytes]] = (), body: bytes = b"") -> None:
        """Answer the request with an HTTP response instead of a WebSocket."""
        self._is_answered = self._is_closing = True
        self._transport.write(write_refusal(HTTPStatus(status), headers, body))
        self._transport.close()
