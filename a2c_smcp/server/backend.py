"""Performs the effects of the Server's flows for connections on our own hub, and contains the part that is the same for
connections on a server of python-socketio (`library_backend`)."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from a2c_smcp.errors import TimedOutError
from a2c_smcp.protocol.dialects.recognition import SILENT
from a2c_smcp.protocol.flow import MaybeAwaitable
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.handshake import Handshake
from a2c_smcp.protocol.office import Office
from a2c_smcp.protocol.server_effects import Call, Registry, Written
from a2c_smcp.server.auth import Headers
from a2c_smcp.server.edge import Edge
from a2c_smcp.server.hub import Hub
from a2c_smcp.server.payload_text import read_ack, rewrite, size_of
from a2c_smcp.server.reply import Reply


class Backend(ABC):
    """The part of every backend that needs only the edge: its registry, connections and calls in flight."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    @property
    def registry(self) -> Registry:
        return self._edge.registry

    def find(self, office_id: str, name: str) -> MaybeAwaitable[Office]:
        return self._edge.registry.office(office_id, name)

    def grant(self, sid: str) -> Grant:
        return self._edge.connections.grant(sid)

    @property
    def message_bytes(self) -> int:
        """The largest message that clients may send."""
        return self._edge.limits.message_bytes

    def handshake(self, sid: str) -> Handshake:
        connection = self._edge.connections.get(sid)
        greeting = connection.greeting if connection is not None else SILENT
        return Handshake(self.message_bytes, self._edge.limits.tool_timeout, greeting.stack, greeting.version)

    def is_connected(self, sid: str) -> bool:
        return sid in self._edge.connections

    def can_be_room(self, sid: str, office_id: str) -> bool:
        # Its own id is allowed: what is sent to that room reaches the connection anyway.
        return office_id == sid or office_id not in self._edge.connections

    def notify(
        self, to: str, event: str, data: Mapping[str, Any], skip: str | None, office_id: str | None
    ) -> MaybeAwaitable[None]:
        if self._edge.observer is not None:
            self._edge.observer.notified(event)
        return self._notify(to, event, data, skip, office_id)

    def call(self, call: Call) -> Any:
        return self._ask(call, self._edge.in_flight.start(call, self.is_connected, self._set_timer))

    def end_call(self, caller: str, req_id: str) -> None:
        self._edge.in_flight.cancel(caller, req_id, self._set_timer)

    def read_ack(self, ack: Any) -> Any:
        return read_ack(ack) if isinstance(ack, Written) else ack

    def size_of(self, ack: Any) -> int:
        return size_of(ack)

    def now(self) -> float:
        return time.monotonic()

    @abstractmethod
    def enter(self, sid: str, office_id: str) -> MaybeAwaitable[None]: ...

    @abstractmethod
    def leave(self, sid: str, office_id: str) -> MaybeAwaitable[None]: ...

    @abstractmethod
    def disconnect(self, sid: str) -> MaybeAwaitable[None]: ...

    @abstractmethod
    def authenticate(self, environ: dict[str, Any], auth: Any, headers: Headers) -> MaybeAwaitable[Grant | None]: ...

    @abstractmethod
    def wait_for(self, replies: Sequence[Reply], seconds: float) -> MaybeAwaitable[None]: ...

    def call_handler(self, handler: Callable[..., Any], *args: Any) -> Any:
        return handler(*args)

    # In one process, the office of a connection cannot change between the decision to notify it and this call. Only a
    # cluster looks at `office_id`.
    @abstractmethod
    def _notify(
        self, to: str, event: str, data: Mapping[str, Any], skip: str | None, office_id: str | None
    ) -> MaybeAwaitable[None]: ...

    @abstractmethod
    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function later; the returned function cancels that."""

    @abstractmethod
    def _ask(self, call: Call, reply: Reply) -> Any:
        """Send the event, whose ack settles the reply; returns the reply, or an awaitable that waits for it."""


class AsyncBackend(Backend):
    """The part that all backends on an event loop share."""

    async def authenticate(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        async with asyncio.timeout(self._edge.limits.authentication_timeout):
            return await self._edge.auth_provider.grant(self._edge.server, environ, auth, headers)

    async def wait_for(self, replies: Sequence[Reply], seconds: float) -> None:
        async def wait() -> None:
            # One after another, each in a task: every turn of the loop is one in which the flows that the replies
            # woke can send their acks, and the Server must not hang up before they have.
            for reply in replies:
                await asyncio.wait([asyncio.ensure_future(_settled(reply))])

        try:
            await asyncio.wait_for(wait(), seconds)
        except TimeoutError:
            return


class ThreadBackend(Backend):
    """The part that all backends in threads share."""

    def authenticate(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Any:
        return self.call_handler(self._edge.auth_provider.grant, self._edge.server, environ, auth, headers)

    def wait_for(self, replies: Sequence[Reply], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for reply in replies:
            reply.wait(max(0.0, deadline - time.monotonic()))


class HubBackend(Backend):
    """For clients on our own hub. It calls the hub directly, and nothing has to be awaited."""

    def __init__(self, edge: Edge, hub: Hub[Any]) -> None:
        super().__init__(edge)
        self._hub = hub

    def now(self) -> float:
        return self._hub.now()

    def enter(self, sid: str, office_id: str) -> None:
        self._hub.join_room(sid, office_id)

    def leave(self, sid: str, office_id: str) -> None:
        self._hub.quit_room(sid, office_id)

    def disconnect(self, sid: str) -> None:
        self._hub.show_out(sid)

    def _notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None, office_id: str | None) -> None:
        self._hub.tell(to, event, data, skip)

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        return self._hub.set_timer(seconds, callback)

    def _ask(self, call: Call, reply: Reply) -> Reply:
        # The fast path of a relayed call: a request that was not changed goes to the Computer as the text that came,
        # and is never written again. Only a request whose `agent` was corrected is.
        text = call.text if call.text is not None else rewrite(call)
        number = self._hub.ask(call.target, text, reply)
        if number is not None:
            reply.then(partial(self._forget, call.target, number))
        return reply

    def _forget(self, target: str, number: int, reply: Reply) -> None:
        # After a timeout the Computer may never answer. Without this, its table of pending acks would grow until it is
        # full, and reject calls. An ack that came has been removed already.
        if reply.has_failed:
            self._hub.forget(target, number)


class AsyncHubBackend(AsyncBackend, HubBackend):
    """On an `AsyncHub`."""


class ThreadHubBackend(ThreadBackend, HubBackend):
    """On a `ThreadHub`."""

    def authenticate(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Reply:
        # A thread cannot be cancelled. After the time limit the client is rejected, and the thread of the provider goes
        # on by itself; its decision comes too late to settle the reply.
        reply: Reply = super().authenticate(environ, auth, headers)
        stop = self._hub.set_timer(
            self._edge.limits.authentication_timeout, partial(reply.set_exception, TimedOutError())
        )
        reply.then(lambda _: stop())
        return reply

    def call_handler(self, handler: Callable[..., Any], *args: Any) -> Reply:
        """Call the handler in a new thread: it may wait, and the thread that reads the connection must not."""
        reply = Reply()

        def call() -> None:
            try:
                reply.set_result(handler(*args))
            except BaseException as error:
                reply.set_exception(error)

        threading.Thread(target=call, daemon=True).start()
        return reply


async def _settled(reply: Reply) -> None:
    try:
        await reply
    except Exception:
        return
