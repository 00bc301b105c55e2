"""The ASGI shell: it moves what the wire core says between clients and the hub, on an event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any, TypeAlias

from socketio.exceptions import TimeoutError as SocketIOTimeoutError

from a2c_smcp.errors import RateLimitedError, TimedOutError
from a2c_smcp.protocol.flow import Flow, run_async
from a2c_smcp.server import handshake
from a2c_smcp.server.handshake import Header, Refusal, Wanted
from a2c_smcp.server.hub import LAST_SECONDS, Client, Hub, read_ack
from a2c_smcp.server.reply import Reply
from a2c_smcp.utils.eager import begin, can_begin
from a2c_smcp.wire.clock import SLOT
from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.packets import arguments, write_json
from a2c_smcp.wire.session import NOOP, PONG, End, Fault

logger = logging.getLogger(__name__)

BODY_SECONDS = 10.0
"""For the body of a request to arrive."""
GOODBYE_SECONDS = 2.0
"""For a client that may not read it."""
LARGE = 2_000
"""Characters. After a longer message others have their turn: many of them in memory at a time would be slow."""
IN_A_ROW = 8
"""Messages of one client, after which others have their turn."""

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class AsgiClient(Client):
    """A client over WebSocket or long-polling."""

    def __init__(self, hub: Hub, wire: Connection, environ: dict[str, Any], address: str | None) -> None:
        super().__init__(hub, wire, environ, address)
        self._send: Send | None = None
        self._begin: Callable[[Any], asyncio.Future[None] | None] = begin
        self._late: asyncio.Future[None] | None = None
        """The frame that the client is not ready to take."""
        self._poll: asyncio.Future[None] | None = None
        self._reader: asyncio.Task[Any] | None = None
        self._goodbye: asyncio.Future[None] | None = None

    # ------------------------------------------------------------------------------------------------------- websocket

    def attach(self, send: Send) -> None:
        """From now on a WebSocket carries the session."""
        self._send = send
        self._begin = begin if can_begin(send) else asyncio.ensure_future
        self._reader = asyncio.current_task()

    def flush(self) -> None:
        """Send what waits, as far as the client takes it."""
        session = self.wire.session
        if self._send is None:
            if self._poll is not None and not self._poll.done() and (session.has_output() or session.is_probed):
                self._poll.set_result(None)
            return
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

    def _sent(self, late: asyncio.Future[None]) -> None:
        self._late = None
        if late.cancelled() or late.exception() is not None:
            self._send = None
            self.hub.end(self)
        else:
            self.flush()

    async def read(self, receive: Receive) -> None:
        """Take what the client sends, until the end."""
        hub, wire = self.hub, self.wire
        in_a_row = 0
        try:
            while not self.is_ended:
                message = await receive()
                frame = message.get("text")
                if frame is None:
                    frame = message.get("bytes")
                    if frame is None:
                        break
                with self.lock:
                    value = wire.receive_frame(frame, hub.now())
                hub.receive(self, (value,))
                in_a_row += 1
                if in_a_row == IN_A_ROW or len(frame) > LARGE:
                    in_a_row = 0
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.is_ended or task is None:
                raise
            task.uncancel()  # by `finish`: there is nothing more to read
        finally:
            self._reader = None
            hub.end(self)
        if self._goodbye is not None:
            await asyncio.wait([self._goodbye])

    def finish(self) -> None:
        """Send the rest, and hang up."""
        self.flush()
        if self._send is not None:
            self._goodbye = asyncio.ensure_future(self._hang_up(self._send))
        elif self._poll is not None and not self._poll.done():
            self._poll.set_result(None)

    async def _hang_up(self, send: Send) -> None:
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                while self._late is not None:
                    await asyncio.wait([self._late])
                    await asyncio.sleep(0)
                await send({"type": "websocket.close", "code": 1000})
        except Exception as error:  # it is gone, or does not read
            logger.debug("no goodbye: %s", error)
        if self._reader is not None:
            self._reader.cancel()

    # ----------------------------------------------------------------------------------------------------- long-polling

    async def poll(self, receive: Receive) -> str | None:
        """The body that answers a poll; None if the client hung up before there was one."""
        session = self.wire.session
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(None)
        self._poll = None  # an older poll finds that it is not the one any more
        if not session.has_output() and not session.is_probed and not self.is_ended:
            waiting = self._poll = asyncio.get_running_loop().create_future()
            gone = asyncio.ensure_future(_gone(receive))
            try:
                await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
            if self._poll is not waiting:
                return NOOP
            self._poll = None
            if not waiting.done():
                return None
        with self.lock:
            return NOOP if session.is_probed else session.take_payload() or NOOP


class AsyncHub(Hub):
    """The hub on an event loop. Its public methods are those of a `socketio.AsyncServer` that a program may use."""

    _ticking: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, cors: handshake.Origins = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cors = cors
        self._tasks: set[asyncio.Future[Any]] = set()
        self._emptied: asyncio.Future[None] | None = None
        self._over: dict[str, AsgiClient] = {}
        """Ended sessions of long-polling, for the last poll."""

    def now(self) -> float:
        """Seconds on a clock that does not go back."""
        return time.monotonic()

    def keep_time(self) -> None:
        """Look at the timers again and again, while there are any."""
        if self._ticking is None:
            self._ticking = asyncio.get_running_loop().call_later(SLOT, self._tick)

    def _tick(self) -> None:
        self._ticking = None
        if self.tick():
            self.keep_time()

    def start(self, flow: Flow[Any, Any], on_end: Callable[[Any, BaseException | None], None]) -> None:
        """Run a flow; in a task if the program has handlers, so that coroutines begin in the order of their events."""
        if not self.namespace.is_extended:
            super().start(flow, on_end)
            return
        task = asyncio.ensure_future(run_async(flow, self.namespace.world))
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
        """A request to the Socket.IO path."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        environ = environ_of(scope, headers)
        shared = handshake.cors(self._cors, headers, scope.get("scheme", "http"), environ)
        wanted = handshake.read_query(scope.get("query_string", b"")) if shared is not None else handshake.FOREIGN
        if scope["type"] == "websocket":
            await self._serve_websocket(wanted, environ, scope, receive, send)
        elif scope["method"] == "OPTIONS" and shared is not None:
            await respond(send, 200, b"", shared)
        elif isinstance(wanted, Refusal):
            await refuse(send, wanted, shared or [])
        else:
            await self._serve_polling(wanted, environ, scope["method"], headers, receive, send, shared or [])

    async def _serve_polling(
        self,
        wanted: Wanted,
        environ: dict[str, Any],
        method: str,
        headers: dict[str, str],
        receive: Receive,
        send: Send,
        shared: list[Header],
    ) -> None:
        if method not in ("GET", "POST"):
            await refuse(send, handshake.BAD_METHOD, shared)
        elif wanted.carrier != "polling":
            await refuse(send, handshake.NOT_THIS_WAY, shared)
        elif wanted.sid is None:
            if method == "POST":
                await refuse(send, handshake.BAD_METHOD, shared)
                return
            try:
                client = self.admit(AsgiClient, environ, "polling")
            except RateLimitedError:
                await refuse(send, handshake.TOO_MANY, shared)
                return
            await respond(send, 200, client.wire.session.take_payload().encode(), shared)
        else:
            client = self.clients.get(wanted.sid) or self._over.get(wanted.sid)
            if not isinstance(client, AsgiClient):
                await refuse(send, handshake.UNKNOWN_SESSION, shared)
            elif client.wire.session.carrier != "polling":
                await refuse(send, handshake.NOT_THIS_WAY, shared)
            elif method == "GET":
                body = await client.poll(receive)
                if body is not None:
                    await respond(send, 200, body.encode("utf-8", "replace"), shared)
            else:
                await self._take_body(client, headers, receive, send, shared)

    async def _take_body(
        self, client: AsgiClient, headers: dict[str, str], receive: Receive, send: Send, shared: list[Header]
    ) -> None:
        body = await _read_body(headers, client.wire.largest_input, receive)
        if isinstance(body, Refusal):
            self._note(client, Fault(body.message))
            self.end(client, End.FAULT)
            await refuse(send, body, shared)
            return
        with client.lock:
            values = client.wire.receive_body(body, self.now())
        self.receive(client, values)
        fault = next((value for value in values if isinstance(value, Fault)), None)
        if fault is not None:
            await refuse(send, Refusal(handshake.NOT_THIS_WAY.status, 3, f"Bad request: {fault.reason}"), shared)
        else:
            await respond(send, 200, b"ok", shared)

    async def _serve_websocket(
        self, wanted: Wanted | Refusal, environ: dict[str, Any], scope: Scope, receive: Receive, send: Send
    ) -> None:
        await receive()  # websocket.connect
        if isinstance(wanted, Refusal) or wanted.carrier != "websocket":
            await deny(scope, send, wanted if isinstance(wanted, Refusal) else handshake.NOT_THIS_WAY)
            return
        if wanted.sid is None:
            try:
                client: Any = self.admit(AsgiClient, environ, "websocket")
            except RateLimitedError:
                await deny(scope, send, handshake.TOO_MANY)
                return
            try:
                await send({"type": "websocket.accept"})
            except BaseException:
                self.end(client)
                raise
            client.attach(send)
        else:
            client = self.clients.get(wanted.sid)
            if not isinstance(client, AsgiClient) or client.wire.session.carrier != "polling":
                await deny(scope, send, handshake.UNKNOWN_SESSION)
                return
            await send({"type": "websocket.accept"})
            if not await self._upgrade(client, receive, send):
                await send({"type": "websocket.close", "code": 1000})
                return
            client.attach(send)
        client.flush()
        await client.read(receive)

    async def _upgrade(self, client: AsgiClient, receive: Receive, send: Send) -> bool:
        """Have a WebSocket take over from long-polling; whether it did."""
        session = client.wire.session
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
                    await send({"type": "websocket.send", "text": PONG + "probe"})
                    client.flush()  # the waiting poll is answered: the client asks for no more
        except TimeoutError:
            return False
        finally:
            if session.carrier == "polling":
                session.give_up_probe()

    def end(self, client: Client, end: End = End.LOST) -> None:
        """A client's session is over, or shall be; its last words wait for a poll."""
        is_first = not client.is_ended
        super().end(client, end)
        if is_first and isinstance(client, AsgiClient) and client.wire.session.carrier == "polling":
            sid = client.wire.session.sid
            self._over[sid] = client
            self.set_timer(LAST_SECONDS, partial(self._forget_session, sid))

        if not self.clients and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    async def emptied(self) -> None:
        """Wait until every client is gone."""
        if self.clients:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    def _forget_session(self, sid: str) -> None:
        self._over.pop(sid, None)

    # ----------------------------------------------------------------------------------------------------- for programs

    async def emit(
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

    async def call(
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
        stop = self.set_timer(timeout, lambda: reply.set_exception(TimedOutError()))
        self.ask(to or sid or "", written(event, data), reply)
        try:
            return read_ack(await reply)
        except TimedOutError:
            raise SocketIOTimeoutError from None
        finally:
            stop()

    async def enter_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Let a client hear a room."""
        self.join_room(sid, room)

    async def leave_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Let it hear the room no longer."""
        self.quit_room(sid, room)

    async def disconnect(self, sid: str, namespace: str | None = None, **_: Any) -> None:
        """Show a client out."""
        self.show_out(sid)


def written(event: str, data: Any) -> str:
    """An event as a JSON array."""
    return write_json([event, *arguments(data)])


def calling(callback: Callable[..., Any]) -> Reply:
    """A reply that hands the ack to a callback."""

    def settled(reply: Reply) -> None:
        if reply.has_failed:  # the client is gone: there is no ack
            return
        try:
            callback(*arguments(read_ack(reply.result())))
        except Exception:  # of the host program: it must not end the client whose ack this is
            logger.exception("the callback of an emit failed")

    reply = Reply()
    reply.then(settled)
    return reply


def environ_of(scope: Scope, headers: dict[str, str]) -> dict[str, Any]:
    """A request as programs know it from WSGI, with the ASGI scope inside."""
    environ = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    client = scope.get("client")
    return {
        **environ,
        "REQUEST_METHOD": scope.get("method", "GET"),
        "PATH_INFO": scope.get("path", ""),
        "QUERY_STRING": scope.get("query_string", b"").decode("latin-1"),
        "REMOTE_ADDR": client[0] if client else "",
        "asgi.scope": scope,
    }


async def respond(
    send: Send, status: int, body: bytes, headers: list[Header], content_type: str = "text/plain; charset=UTF-8"
) -> None:
    """Answer an HTTP request."""
    fields = [
        ("Content-Type", content_type),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        *headers,
    ]
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in fields]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, refusal: Refusal, headers: list[Header]) -> None:
    """Answer an HTTP request that is not served."""
    await respond(send, refusal.status.value, refusal.body, headers, "application/json")


async def deny(scope: Scope, send: Send, refusal: Refusal) -> None:
    """Refuse a WebSocket, with a reason where the server passes one on."""
    if "websocket.http.response" in scope.get("extensions", {}):
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(refusal.body)).encode())]
        await send({"type": "websocket.http.response.start", "status": refusal.status.value, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": refusal.body})
    else:
        await send({"type": "websocket.close", "code": 1000})


async def _gone(receive: Receive) -> None:
    """Wait until the client of a request hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read_body(headers: dict[str, str], most: int, receive: Receive) -> bytes | Refusal:
    length = headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and int(length[:18]) > most:
        return handshake.TOO_LARGE
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return handshake.TOO_SLOW  # it hung up
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > most:
                    return handshake.TOO_LARGE
                parts.append(part)
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        return handshake.TOO_SLOW
