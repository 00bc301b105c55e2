"""The ASGI shell: it carries bytes between clients and the hub, on an event loop.

Under `a2c server` a WebSocket hands its frames over directly (`Frames`). Under any other ASGI server, frames come
through `receive` and go through `send`, like in every ASGI application.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from functools import partial
from typing import Any, Protocol, TypeAlias

from a2c_smcp.errors import TimedOutError
from a2c_smcp.protocol.flow import Flow, run_async
from a2c_smcp.server.http import TOO_LARGE, TOO_SLOW, UNKNOWN_SESSION, Header, Request, Response, announced_size
from a2c_smcp.server.hub import GOODBYE_SECONDS, Hub
from a2c_smcp.server.payload_text import read_ack
from a2c_smcp.server.sending import Client
from a2c_smcp.utils.eager import begin, can_begin
from a2c_smcp.utils.light_socketio import socketio
from a2c_smcp.wire.clock import SLOT
from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.session import NOOP, PONG, End, Fault

logger = logging.getLogger(__name__)

FRAMES = "a2c.frames"
"""The name of an ASGI extension, see `Frames`."""
LARGE = 2_000
"""Characters. After a longer message the loop turns to other clients: reading many large messages in a row would delay
them, and would keep all of these messages in memory at the same time."""
IN_A_ROW = 8
"""Messages of one client after which the loop turns to others."""

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Frames(Protocol):
    """The ASGI extension of `a2c server`: frames without a queue, a task and a coroutine for each of them."""

    is_writable: bool
    """Whether the socket's buffer has room."""

    def listen(self, on_frame: Callable[[str | bytes], None], on_writable: Callable[[], None]) -> None:
        """Have every frame handed over at once; `receive` then waits only for the end."""
        ...

    def post(self, frame: str) -> None:
        """Send a frame now."""
        ...

    def limit(self, max_bytes: int) -> None:
        """Change the largest message that is read."""
        ...


class AsgiClient(Client):
    """A client over WebSocket or long-polling."""

    def __init__(self, hub: Hub[Any], wire: Connection, environ: dict[str, Any], address: str | None) -> None:
        super().__init__(hub, wire, environ, address)
        self._send: Send | None = None
        self._frames: Frames | None = None
        self._begin: Callable[[Any], asyncio.Future[None] | None] = begin
        self._late: asyncio.Future[None] | None = None
        """The frame that is being sent to a client that does not take it at once."""
        self._poll: asyncio.Future[None] | None = None
        self._newest_poll = 0
        self._reader: asyncio.Task[Any] | None = None
        self._goodbye: asyncio.Future[None] | None = None

    # -------------------------------------------------------------------------------------------------------- websocket

    def attach(self, send: Send, frames: Frames | None) -> None:
        """Let a WebSocket carry the session."""
        self._send = send
        self._frames = frames
        self.fit()
        # `begin` runs `send` at once in this turn of the loop, and makes a task only if it has to wait. With a function
        # that does not allow that, each frame gets a task.
        self._begin = begin if can_begin(send) else asyncio.ensure_future
        self._reader = asyncio.current_task()

    def flush(self) -> None:
        """Send what is in the outbox, as far as the client takes it without waiting."""
        # A client that does not take more keeps its packets in the outbox, whose size is limited (`WireLimits.unread`).
        session = self.wire.session
        if self._frames is not None:
            while self._frames.is_writable and (frame := session.take_frame()) is not None:
                self._frames.post(frame)
            return
        # Long-polling: the packets stay in the outbox, and the poll that waits is woken to take them.
        if self._send is None:
            if self._poll is not None and not self._poll.done() and (session.has_output() or session.is_probed):
                self._poll.set_result(None)
            return
        # One `send` at a time: ASGI does not promise an order of concurrent ones. `_sent` continues here.
        while self._late is None and (frame := session.take_frame()) is not None:
            try:
                late = self._begin(self._send({"type": "websocket.send", "text": frame}))
            except Exception as error:
                logger.debug("a message could not be sent: %s", error)
                self._send = None
                self.hub.end(self)
                return
            if late is not None:
                self._late = late
                late.add_done_callback(self._sent)

    def fit(self) -> None:
        """Let the WebSocket read messages as large as the wire core does."""
        if self._frames is not None:
            self._frames.limit(self.wire.largest_input)

    def _sent(self, late: asyncio.Future[None]) -> None:
        self._late = None
        if late.cancelled() or late.exception() is not None:
            self._send = None
            self.hub.end(self)
        else:
            self.flush()

    async def read(self, receive: Receive) -> None:
        """Receive what the client sends, until the end."""
        in_a_row = 0
        try:
            if self._frames is not None:
                self._frames.listen(self._take, self.flush)
                await receive()  # the end
            while self._frames is None and not self.is_ended:
                message = await receive()
                frame = message.get("text")
                if frame is None:
                    frame = message.get("bytes")
                    if frame is None:
                        break
                self._take(frame)
                # `receive` of some servers returns without waiting while messages are there: without this turn of the
                # loop, one client that floods would stop all others.
                in_a_row += 1
                if in_a_row == IN_A_ROW or len(frame) > LARGE:
                    in_a_row = 0
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.is_ended or task is None:
                raise
            # The session ended and `_hang_up` cancelled the task, because `receive` may never return if the client does
            # not close. While the session is open, the ASGI server cancels the task, and that is passed on.
            task.uncancel()
        finally:
            self._reader = None
            self.hub.end(self)
        # An ASGI server closes the connection when the application returns, and would cut off the last frames.
        if self._goodbye is not None:
            await asyncio.wait([self._goodbye])

    def _take(self, frame: str | bytes) -> None:
        if self.is_ended:
            return
        with self.lock:
            value = self.wire.receive_frame(frame, self.hub.now())
        self.hub.receive(self, (value,))

    def finish(self) -> None:
        """Send the rest, then close."""
        self.flush()
        if self._send is not None:
            self._goodbye = asyncio.ensure_future(self._hang_up(self._send))
        elif self._poll is not None and not self._poll.done():
            self._poll.set_result(None)

    async def _hang_up(self, send: Send) -> None:
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                # The callback of a frame that was sent may begin the next one. It runs in the turn after the wait.
                while self._late is not None:
                    await asyncio.wait([self._late])
                    await asyncio.sleep(0)
                await send({"type": "websocket.close", "code": 1000})
        except Exception as error:  # the client is gone, or does not read
            logger.debug("a WebSocket was not closed in good order: %s", error)
        if self._reader is not None:
            self._reader.cancel()

    # ----------------------------------------------------------------------------------------------------- long-polling

    async def poll(self, receive: Receive) -> str | None:
        """Wait for packets, and return the body that answers a poll; None if the client hung up before."""
        number = self.begin_poll()
        waiting = self.expect(number)
        if waiting is not None:
            gone = asyncio.ensure_future(hung_up(receive))
            try:
                await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
            if not waiting.done():
                return None
        return self.take(number)

    def begin_poll(self) -> int:
        """Note that a poll came; its number.

        Only the newest poll is answered with packets. A client whose poll was cut by a proxy sends another, and packets
        that went into the old answer would be lost.
        """
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(None)
        self._newest_poll += 1
        return self._newest_poll

    def expect(self, number: int) -> asyncio.Future[None] | None:
        """Done when a poll can be answered; None if it can be at once."""
        session = self.wire.session
        if session.has_output() or session.is_probed or self.is_ended or number != self._newest_poll:
            return None
        self._poll = asyncio.get_running_loop().create_future()
        return self._poll

    def take(self, number: int, most: int | None = None) -> str:
        """The body that answers a poll, with packets of about `most` characters."""
        session = self.wire.session
        # Replaced by a newer poll. Its answer still has to be a valid payload, since the client may be reading it.
        if number != self._newest_poll:
            return NOOP
        # During an upgrade the answer is empty: the packets are for the WebSocket. If it fails, the next poll gets
        # them.
        with self.lock:
            return NOOP if session.is_probed else session.take_payload(most) or NOOP


class AsyncHub(Hub[AsgiClient]):
    """The hub on an event loop, with the methods of a `socketio.AsyncServer` that a host program may call."""

    client_class = AsgiClient
    _ticking: asyncio.TimerHandle | None = None
    _emptied: asyncio.Future[None] | None = None
    elsewhere: Callable[[Request, Receive], Awaitable[Response | None]] | None = None
    """Serves requests of sessions that this hub does not know; None when the client hung up."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._tasks: set[asyncio.Future[Any]] = set()

    def keep_time(self) -> None:
        """Tick on the event loop while there are timers."""
        if self._ticking is None:
            self._ticking = asyncio.get_running_loop().call_later(SLOT, self._tick)

    def _tick(self) -> None:
        self._ticking = None
        if self.tick():
            self.keep_time()

    def start(self, flow: Flow[Any, Any], on_end: Callable[[Any, BaseException | None], None]) -> None:
        """Run a flow; in a task if the host program has handlers, so that they start in the order of their events."""
        if not self.namespace.is_extended:
            super().start(flow, on_end)
            return
        # Kept in a set: the event loop has only a weak reference to a task, which could be collected while it runs.
        task = asyncio.ensure_future(run_async(flow, self.namespace.backend))
        self._tasks.add(task)
        task.add_done_callback(partial(self._end_task, on_end))

    def _end_task(self, on_end: Callable[[Any, BaseException | None], None], task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            on_end(None, asyncio.CancelledError())
        else:
            error = task.exception()
            on_end(None if error is not None else task.result(), error)

    # --------------------------------------------------------------------------------------------------------- requests

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request to the Socket.IO path."""
        request = request_of(scope)
        found, shared = self.route(request)
        if found is UNKNOWN_SESSION and self.elsewhere is not None:
            found = await self.elsewhere(request, receive)
        if found is None:
            return
        if request.is_websocket:
            await receive()  # websocket.connect
            if isinstance(found, Response):
                await deny(scope, send, found)
            else:
                frames = scope.get("extensions", {}).get(FRAMES)
                await self._serve_websocket(found, receive, send, frames["connection"] if frames else None)
        elif isinstance(found, Response):
            await respond(send, found, shared)
        elif request.method == "POST":
            body = await read_body(request.headers, found.wire.largest_input, self.limits.body_timeout, receive)
            await respond(send, self.post(found, body), shared)
        else:
            payload = await found.poll(receive)
            if payload is not None:
                await respond(send, Response(body=payload.encode("utf-8", "replace")), shared)

    async def _serve_websocket(self, client: AsgiClient, receive: Receive, send: Send, frames: Frames | None) -> None:
        is_upgrade = client.wire.session.carrier == "polling"
        try:
            await send({"type": "websocket.accept"})
        # The client hung up during the handshake. A new session ends with it; one that polls lives on.
        except BaseException:
            if not is_upgrade:
                self.end(client)
            raise
        if is_upgrade and not await self._upgrade(client, receive, send):
            await send({"type": "websocket.close", "code": 1000})
            return
        client.attach(send, frames)
        client.flush()
        await client.read(receive)

    async def _upgrade(self, client: AsgiClient, receive: Receive, send: Send) -> bool:
        """Let a WebSocket take over from long-polling; whether it did."""
        session = client.wire.session
        has_probed = False
        try:
            async with asyncio.timeout(self.wire_limits.entry_seconds):
                while True:
                    message = await receive()
                    frame = message.get("text")
                    with client.lock:
                        is_over = session.receive_probe(frame) if frame is not None else Fault("no probe")
                    if is_over is True:
                        return True
                    if isinstance(is_over, Fault):
                        return False
                    has_probed = True
                    await send({"type": "websocket.send", "text": PONG + "probe"})
                    client.flush()  # answers the waiting poll, after which the client upgrades
        except TimeoutError:
            return False
        finally:
            # Only its own probe: another WebSocket may be in the middle of the same upgrade.
            if has_probed and session.carrier == "polling":
                session.give_up_probe()

    def end(self, client: AsgiClient, end: End = End.LOST) -> None:
        """End a client's session."""
        super().end(client, end)
        if not self.clients and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    async def emptied(self) -> None:
        """Wait until every session has ended."""
        if self.clients:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    # ----------------------------------------------------------------------------------------------------- for programs

    async def emit(self, event: str, data: Any = None, *args: Any, **options: Any) -> None:
        """Send an event; see `Hub.send`."""
        self.send(event, data, *args, **options)

    async def call(
        self, event: str, data: Any = None, to: str | None = None, sid: str | None = None, timeout: float = 60, **_: Any
    ) -> Any:
        """Send an event to a client and wait for its ack.

        Raises:
            socketio.exceptions.TimeoutError: no ack in time.
        """
        reply = self.request(event, data, to, sid)
        stop = self.set_timer(timeout, lambda: reply.set_exception(TimedOutError()))
        try:
            return read_ack(await reply)
        except TimedOutError:
            raise socketio.exceptions.TimeoutError from None
        finally:
            stop()

    async def enter_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Let a client receive what is sent to a room."""
        self.join_room(sid, room)

    async def leave_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Stop sending a client what is sent to a room."""
        self.quit_room(sid, room)

    async def disconnect(self, sid: str, namespace: str | None = None, **_: Any) -> None:
        """Disconnect a client from the namespace."""
        self.show_out(sid)


def request_of(scope: Scope) -> Request:
    """An ASGI request in the form that the hub reads."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
    method, query, client = scope.get("method", "GET"), scope.get("query_string", b""), scope.get("client")
    environ = {
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
        "REQUEST_METHOD": method,
        "PATH_INFO": scope.get("path", ""),
        "QUERY_STRING": query.decode("latin-1"),
        "REMOTE_ADDR": client[0] if client else "",
        "asgi.scope": scope,
    }
    return Request(method, query, headers, scope.get("scheme", "http"), environ, scope["type"] == "websocket")


async def respond(send: Send, response: Response, headers: Iterable[Header] = ()) -> None:
    """Answer an HTTP request."""
    await _respond(send, "http.response", response, headers)


async def deny(scope: Scope, send: Send, response: Response) -> None:
    """Reject a WebSocket, with an HTTP response if the ASGI server supports that."""
    if "websocket.http.response" in scope.get("extensions", {}):
        await _respond(send, "websocket.http.response", response)
    else:
        await send({"type": "websocket.close", "code": 1000})


async def _respond(send: Send, kind: str, response: Response, headers: Iterable[Header] = ()) -> None:
    fields = [*response.headers, *headers]
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in fields]
    await send({"type": f"{kind}.start", "status": response.status.value, "headers": raw})
    await send({"type": f"{kind}.body", "body": response.body})


async def hung_up(receive: Receive) -> None:
    """Wait until the client of a request hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def read_body(headers: Mapping[str, str], most: int, seconds: float, receive: Receive) -> bytes | Response:
    """The body of a request, or the response if it is too large or too slow."""
    # A body that announces its size is rejected before it is read.
    if (announced_size(headers) or 0) > most:
        return TOO_LARGE
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return TOO_SLOW  # it hung up
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > most:
                    return TOO_LARGE
                parts.append(part)
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        return TOO_SLOW
