"""The Server's namespace for asyncio: on our own hub, or on a `socketio.AsyncServer` of the program's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import socketio

from a2c_smcp.protocol.flow import run_async
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Registry, ServerBackend, Written
from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.auth import AnonymousAuthenticationProvider, AuthenticationProvider, Headers
from a2c_smcp.server.edge import NamespaceCore, Observer
from a2c_smcp.server.handlers import ProtocolHandlers
from a2c_smcp.server.hub import HubWorld, read_ack
from a2c_smcp.server.reply import Reply
from a2c_smcp.server.world import AsyncLibraryWorld
from a2c_smcp.smcp import SMCP_NAMESPACE


class BaseNamespace(NamespaceCore, socketio.AsyncNamespace):
    """The base of `SMCPNamespace`: connections, authentication and the dispatch of events."""

    server: Any

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

    def _make_world(self) -> ServerBackend:
        return HubWorld(self, self.server) if isinstance(self.server, AsyncHub) else AsyncLibraryWorld(self)

    async def trigger_event(self, event: str, *args: Any) -> Any:
        """The one way in for every event of a `socketio.AsyncServer`."""
        return await run_async(self.triggered(event, *args), self.world)

    async def answer(self, event: str, sid: str, data: Any = None) -> Any:
        """Do what the protocol says about an event, and give its ack."""
        ack = await run_async(self._answer(event, sid, data), self.world)
        return read_ack(ack) if isinstance(ack, Written) else ack

    async def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        """Accept a client, or reject it with a message and a code."""
        return await run_async(self._let_in(sid, environ, auth), self.world)

    async def on_disconnect(self, sid: str, reason: Any = None) -> None:
        """Take a client that disconnected out of its office."""
        await run_async(self._let_go(sid, reason), self.world)

    async def shutdown(self, grace: float = 10.0) -> None:
        """Refuse newcomers, let running calls end within `grace` seconds, then disconnect everybody with notice."""
        await run_async(self._shut_down(grace), self.world)

    def _make_lock(self) -> asyncio.Lock:
        return asyncio.Lock()

    async def _ask_provider(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        async with asyncio.timeout(self.limits.authentication_timeout):
            return await self.auth_provider.grant(self.server, environ, auth, headers)

    async def _wait_for(self, replies: Sequence[Reply], seconds: float) -> None:
        async def wait() -> None:
            for reply in replies:
                await asyncio.wait([asyncio.ensure_future(_settled(reply))])

        try:
            await asyncio.wait_for(wait(), seconds)
        except TimeoutError:
            return


class SMCPNamespace(ProtocolHandlers, BaseNamespace):
    """A2C-SMCP on a `socketio.AsyncServer`: `sio.register_namespace(SMCPNamespace(auth_provider))`.

    A subclass may define or extend through `super()` any `on_client_*`, `on_server_*`, `on_connect`, `on_disconnect`.
    """


async def _settled(reply: Reply) -> None:
    try:
        await reply
    except Exception:
        return
