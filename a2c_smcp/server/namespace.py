"""The Server's namespace for asyncio: the flows, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import socketio

from a2c_smcp.errors import TimedOutError
from a2c_smcp.protocol.effects import Call, Registry
from a2c_smcp.protocol.flow import run_async
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server.auth import AnonymousAuthenticationProvider, AuthenticationProvider, Headers
from a2c_smcp.server.base import NamespaceCore, Observer
from a2c_smcp.server.handlers import ProtocolHandlers
from a2c_smcp.server.world import EdgeWorld, forget_callback, unwrap_ack
from a2c_smcp.smcp import SMCP_NAMESPACE

AUTHENTICATION_TIMEOUT = 10.0
"""Seconds an authentication provider may take."""


class BaseNamespace(NamespaceCore["asyncio.Future[Any]"], socketio.AsyncNamespace):
    """Connections, authentication and dispatch on a `socketio.AsyncServer`."""

    server: socketio.AsyncServer

    def __init__(
        self,
        auth_provider: AuthenticationProvider | None = None,
        *,
        namespace: str = SMCP_NAMESPACE,
        registry: Registry | None = None,
        limits: Limits | None = None,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(namespace, registry, limits, observer)
        self.auth_provider = auth_provider if auth_provider is not None else AnonymousAuthenticationProvider()
        self._world = _AsyncWorld(self)

    async def trigger_event(self, event: str, *args: Any) -> Any:
        """The one way in for every event."""
        return await run_async(self._dispatch(event, *args), self._world)

    async def answer(self, event: str, sid: str, data: Any = None) -> Any:
        """Do what the protocol says about an event, and give its ack."""
        return await run_async(self._answer(event, sid, data), self._world)

    async def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        """Let a client in, or refuse it with a message and a code."""
        return await run_async(self._let_in(sid, environ, auth), self._world)

    async def on_disconnect(self, sid: str, reason: Any = None) -> None:
        """The implicit leave of a client that is gone."""
        await run_async(self._let_go(sid), self._world)

    async def shutdown(self, grace: float = 10.0) -> None:
        """Refuse newcomers, let running calls end within `grace` seconds, then disconnect everybody with notice."""
        await run_async(self._shut_down(grace), self._world)

    def _make_lock(self) -> asyncio.Lock:
        return asyncio.Lock()

    async def _ask_provider(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        async with asyncio.timeout(AUTHENTICATION_TIMEOUT):
            return await self.auth_provider.grant(self.server, environ, auth, headers)

    async def _wait_for(self, futures: Sequence[asyncio.Future[Any]], seconds: float) -> None:
        # A call's own task waits for its future longer than this one does: its ack is sent when this returns.
        await asyncio.wait(futures, timeout=seconds)


class SMCPNamespace(ProtocolHandlers, BaseNamespace):
    """A2C-SMCP on a `socketio.AsyncServer`: `sio.register_namespace(SMCPNamespace(auth_provider))`.

    A subclass may define or extend through `super()` any `on_client_*`, `on_server_*`, `on_connect`, `on_disconnect`.
    """


class _AsyncWorld(EdgeWorld):
    """What a flow may ask for, done with an async Socket.IO server."""

    async def call(self, call: Call) -> Any:
        server, namespace, in_flight = self._edge.server, self._edge.namespace, self._edge.in_flight
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def on_ack(*args: Any) -> None:
            in_flight.resolve(future, args)

        def on_timeout() -> None:
            in_flight.fail(future, TimedOutError("no answer in time"))

        in_flight.add(call, future)
        timer = loop.call_later(call.timeout, on_timeout)
        try:
            self.require_both(call)
            await server.emit(call.event, call.data, to=call.target, namespace=namespace, callback=on_ack)
            return unwrap_ack(await future)
        except BaseException:
            forget_callback(server.manager, call.target, on_ack)
            raise
        finally:
            timer.cancel()
            in_flight.remove(call, future)
