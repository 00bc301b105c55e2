"""uvicorn's protocols as the Server needs them; nothing else depends on how uvicorn works inside.

`Http` is uvicorn's own, with a time limit for the head of a request. `WebSocket` is ours, on `wire.frames`; an ASGI
extension hands each frame to the application at once, without a queue and a task between.
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

from a2c_smcp.server.asgi import FRAMES
from a2c_smcp.server.connections import LAST_SECONDS
from a2c_smcp.server.tcp_gate import HEAD_SECONDS, TcpGate
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
"""Messages of one client, after which others have their turn."""
GOING_AWAY = 1012
"""The code of a close: the Server restarts."""


class Http(HttpToolsProtocol):
    """uvicorn's fastest HTTP, whose requests have a limited time to arrive."""

    gate: TcpGate

    def connection_made(self, transport: Any) -> None:
        """A connection: its first request is due."""
        super().connection_made(transport)
        if self.gate.enter(transport):
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self.gate.leave(self.transport)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        """Its head is here."""
        self.gate.arrive(self.transport)
        super().on_headers_complete()

    def _await_head(self) -> None:
        self.gate.wait(self.transport, self.loop.call_later(HEAD_SECONDS, self._give_up).cancel)

    def _give_up(self) -> None:
        self.gate.arrive(self.transport)
        self.transport.abort()


class WebSocket(asyncio.Protocol):
    """One WebSocket, for any ASGI application. uvicorn hands it the transport and the head of a request."""

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
        """Whether the application has not been told of the WebSocket yet."""
        self._is_answered = False
        """Whether the application has accepted it, or refused it."""
        self._refused_with: tuple[int, Any] | None = None
        self._is_closing = False
        """Whether a close was sent, or need not be any more."""
        self._lost_with: int | None = None
        """The code of the end; None while the client is there."""
        self._is_paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._drained: asyncio.Event | None = None
        self._on_frame: Callable[[str | bytes], None] | None = None
        self._on_writable: Callable[[], None] | None = None
        self.is_writable = True
        """Whether the client keeps up with what it is sent."""

    # ------------------------------------------------------------------------------------ what asyncio and uvicorn call

    def connection_made(self, transport: Any) -> None:
        """The transport that was HTTP's."""
        self._transport: asyncio.Transport = transport
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self.gate.leave(self._transport)
        self._server.connections.discard(self)
        self._is_answered = self._is_closing = True
        self._lose(1006)
        self.resume_writing()

    def pause_writing(self) -> None:
        """The client does not keep up."""
        self.is_writable = False
        self._drained = asyncio.Event()

    def resume_writing(self) -> None:
        """The client takes more, or nothing any more."""
        self.is_writable = True
        if self._drained is not None:
            self._drained.set()
            self._drained = None
        if self._on_writable is not None:
            self._on_writable()

    def data_received(self, data: bytes) -> None:
        """The head of the request comes first; then frames."""
        if self._key is None:
            self._begin(data)
            return
        for message in self._reader.receive(data):
            if isinstance(message, Ping):
                if self.is_writable:
                    self._transport.write(write_frame(PONG, message.data))
            elif isinstance(message, Closed):
                if message.fault:
                    logger.info("a WebSocket of %s ends: %s", get_remote_addr(self._transport), message.fault)
                if not self._is_closing:
                    self._close(message.code)
                self._lose(message.code)
                self._transport.close()
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
        """Have every frame handed over at once; `receive` waits for the end alone. `on_writable` is called when the
        client takes more."""
        self._on_frame, self._on_writable = on_frame, on_writable
        self._loop.call_soon(self._deliver)

    def post(self, frame: str) -> None:
        """Send a frame now; it is for the caller to look at `is_writable` first."""
        if not self._is_closing:
            self._transport.write(write_frame(TEXT, frame.encode("utf-8", "replace")))

    def limit(self, max_bytes: int) -> None:
        """Read no larger message from now on."""
        self._reader.max_bytes = max_bytes

    # ------------------------------------------------------------------------------------------------------------- ASGI

    async def receive(self) -> dict[str, Any]:
        """The next event."""
        if self._is_connecting:
            self._is_connecting = False
            return {"type": "websocket.connect"}
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
            ConnectionError: the client is gone, or the WebSocket is closed.
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
        request, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        headers = [(name.lower(), value) for name, _, value in (line.partition(": ") for line in lines)]
        fields = dict(headers)
        self._key = fields.get("sec-websocket-key", "")
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
            logger.debug("a WebSocket of the application: %s", error)
        except Exception:
            logger.exception("a WebSocket of the application failed")
        if not self._is_answered:
            self._respond(HTTPStatus.INTERNAL_SERVER_ERROR)
        elif not self._is_closing:
            self._close(NORMAL)

    def _deliver(self) -> None:
        """Hand over what has come; after some of it, others have their turn."""
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
        """Say goodbye. A client that does not read it has some time for what it has not read."""
        self._is_closing = True
        self._transport.write(write_close(code))
        self._inbox.clear()
        self._resume()
        self._loop.call_later(LAST_SECONDS, self._transport.abort)

    def _respond(self, status: int, headers: Iterable[tuple[bytes, bytes]] = (), body: bytes = b"") -> None:
        """Answer with something else than a WebSocket."""
        self._is_answered = self._is_closing = True
        self._transport.write(write_refusal(HTTPStatus(status), headers, body))
        self._transport.close()
