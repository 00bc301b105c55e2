"""The ASGI shell: it carries bytes between clients and the hub, on an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from a2c_smcp.errors import TimedOutError
from a2c_smcp.protocol.flow import Flow, run_async
from a2c_smcp.server.asgi_client import FRAMES, AsgiClient, Frames
from a2c_smcp.server.asgi_requests import Receive, Scope, Send, deny, read_body, request_of, respond
from a2c_smcp.server.http import UNKNOWN_SESSION, Request, Response
from a2c_smcp.server.hub import Hub
from a2c_smcp.server.payload_text import read_ack
from a2c_smcp.utils.light_socketio import socketio
from a2c_smcp.wire.clock import SLOT
from a2c_smcp.wire.session import PONG, End, Fault


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
            NotFoundError: there is no such client, or it disconnected.
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
