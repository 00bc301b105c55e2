"""A plain Socket.IO client, like that of a program in another language: of this package it knows only event names."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

import socketio
from socketio.exceptions import ConnectionError as SocketIOConnectionError

from tests.support.waiting import PATIENCE

NAMESPACE = "/smcp"
Notice = tuple[str, Any]


class Address(Protocol):
    """Any Server: clients need only its address."""

    @property
    def url(self) -> str: ...


class Peer:
    """One connection: asks, answers, and remembers what it heard."""

    def __init__(self) -> None:
        self._client = socketio.AsyncClient(
            reconnection=False, websocket_extra_options={"max_msg_size": 0}, handle_sigint=False
        )
        self._client.on("*", self._on_event, namespace=NAMESPACE)
        self._client.on("connect_error", self._on_connect_error, namespace=NAMESPACE)
        self._client.on("disconnect", self._on_disconnect, namespace=NAMESPACE)
        self._changed = asyncio.Condition()
        self.heard: list[Notice] = []
        self.asked: list[Notice] = []
        self.answer: Callable[[str, Any], Any] = lambda event, data: {"echo": event, "data": data}
        self.refusal: Any = None
        self.is_gone = asyncio.Event()

    @property
    def sid(self) -> str:
        sid = self._client.get_sid(NAMESPACE)
        assert sid is not None
        return sid

    async def connect(
        self,
        url: str,
        *,
        auth: Any = None,
        headers: dict[str, str] | None = None,
        transport: str = "websocket",
        query: str = "",
    ) -> bool:
        """Connect; False, with `refusal` set, when the Server rejects the connection."""
        try:
            await self._client.connect(
                f"{url}?{query}" if query else url,
                headers=headers or {},
                auth=auth,
                transports=[transport],
                namespaces=[NAMESPACE],
                wait_timeout=PATIENCE,
            )
        except SocketIOConnectionError:
            # The library keeps the session of a request that was answered with an error.
            if self._client.eio.http is not None:
                await self._client.eio.http.close()
            return False
        return True

    async def connect_at(self, url: str, path: str, auth: Any) -> None:
        """Connect to a Server that is mounted at another path than `/socket.io`."""
        await self._client.connect(
            url, auth=auth, transports=["websocket"], namespaces=[NAMESPACE], socketio_path=path, wait_timeout=PATIENCE
        )

    async def ask(self, event: str, *args: Any) -> Any:
        """Send an event and wait for its ack; several ack arguments come as a tuple."""
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def on_ack(*ack: Any) -> None:
            if not answered.done():  # `ask` may have timed out
                answered.set_result(ack[0] if len(ack) == 1 else ack or None)

        await self._client.emit(event, args, namespace=NAMESPACE, callback=on_ack)
        async with asyncio.timeout(PATIENCE):
            return await answered

    async def tell(self, event: str, data: Any) -> None:
        """Send an event without asking for an ack."""
        await self._client.emit(event, data, namespace=NAMESPACE)

    async def join(self, role: str, name: str, office_id: str) -> tuple[Any, ...]:
        return await self.ask("server:join_office", {"role": role, "name": name, "office_id": office_id})

    async def hear(self, event: str) -> Any:
        """The data of the next notification with this name, which is removed from `heard`."""
        return (await self._next(self.heard, event))[1]

    async def be_asked(self, event: str) -> Any:
        """The data of the next request with this name, which is removed from `asked`."""
        return (await self._next(self.asked, event))[1]

    async def has_heard(self) -> list[Notice]:
        """The notifications in `heard`, once everything that the Server has sent so far has arrived."""
        await self.ask("server:nothing-of-the-kind", {})
        return list(self.heard)

    async def disconnect(self) -> None:
        if self._client.eio.current_transport == "polling":
            # The library sends nothing after a packet that is on its way: the Server would notice the end 25 s later.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._client.eio.queue.join(), PATIENCE)
        await self._client.disconnect()

    async def _next(self, notices: list[Notice], event: str) -> Notice:
        def find() -> Notice | None:
            return next((notice for notice in notices if notice[0] == event), None)

        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(find)
        notice = find()
        assert notice is not None
        notices.remove(notice)
        return notice

    async def _on_event(self, event: str, data: Any = None) -> Any:
        is_request = event.startswith("client:")
        (self.asked if is_request else self.heard).append((event, data))
        async with self._changed:
            self._changed.notify_all()
        if not is_request:
            return None
        answer = self.answer(event, data)
        return await answer if inspect.isawaitable(answer) else answer

    def _on_connect_error(self, data: Any) -> None:
        self.refusal = data

    def _on_disconnect(self, *_: Any) -> None:
        self.is_gone.set()


class Crowd:
    """Makes peers of one Server and disconnects them at the end."""

    def __init__(self, server: Address, transport: str, stack: AsyncExitStack) -> None:
        self.server = server
        self._transport = transport
        self._stack = stack

    async def newcomer(self, **credentials: Any) -> Peer:
        """A connected peer that has not joined."""
        peer = Peer()
        assert await peer.connect(self.server.url, transport=self._transport, **credentials), peer.refusal
        self._stack.push_async_callback(peer.disconnect)
        return peer

    async def refused(self, **credentials: Any) -> Any:
        """The answer to a connection that the Server rejects."""
        peer = Peer()
        assert not await peer.connect(self.server.url, transport=self._transport, **credentials)
        return peer.refusal

    async def member(
        self,
        role: str,
        name: str,
        office_id: str,
        answer: Callable[[str, Any], Any] | None = None,
        /,
        **credentials: Any,
    ) -> Peer:
        """A peer in an office. `answer` is set before it joins, because an Agent in the office may ask at once."""
        peer = await self.newcomer(**credentials)
        if answer is not None:
            peer.answer = answer
        assert await peer.join(role, name, office_id) == (True, None)
        return peer

    async def office(self, office_id: str = "office", *computers: str) -> tuple[Peer, ...]:
        """An Agent named `agent` and Computers in one office; the Agent has been notified of each Computer."""
        agent = await self.member("agent", "agent", office_id)
        members = [await self.member("computer", name, office_id) for name in computers or ("pc",)]
        for _ in members:
            await agent.hear("notify:enter_office")
        return agent, *members


@asynccontextmanager
async def crowd(server: Address, transport: str = "websocket") -> AsyncGenerator[Crowd]:
    async with AsyncExitStack() as stack:
        yield Crowd(server, transport, stack)


def request(computer: str = "pc", *, agent: str = "agent", req_id: str = "r1", **fields: Any) -> dict[str, Any]:
    """The payload of a `client:*` event."""
    return {"agent": agent, "computer": computer, "req_id": req_id, **fields}


def tool_call(computer: str = "pc", **fields: Any) -> dict[str, Any]:
    """The payload of a `client:tool_call`."""
    return {**request(computer), "tool_name": "echo", "params": {"text": "hi"}, "timeout": 30, **fields}
