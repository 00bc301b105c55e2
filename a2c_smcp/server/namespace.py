"""The Server's namespace for asyncio, on our own hub or on a `socketio.AsyncServer` of a host program."""

from __future__ import annotations

from typing import Any

from a2c_smcp.protocol.flow import run_async
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Registry, Written
from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.auth import AnonymousAuthenticationProvider, AuthenticationProvider
from a2c_smcp.server.backend import AsyncHubBackend
from a2c_smcp.server.edge import Edge, Observer
from a2c_smcp.server.edge_effects import EdgeBackend
from a2c_smcp.server.event_methods import EventMethods
from a2c_smcp.server.library_backend import AsyncLibraryBackend
from a2c_smcp.server.payload_text import read_ack
from a2c_smcp.server.turns import Turns
from a2c_smcp.smcp import SMCP_NAMESPACE
from a2c_smcp.utils.light_socketio import socketio


class BaseNamespace(Edge, socketio.AsyncNamespace):
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

    def _make_backend(self) -> EdgeBackend:
        return AsyncHubBackend(self, self.server) if isinstance(self.server, AsyncHub) else AsyncLibraryBackend(self)

    async def trigger_event(self, event: str, *args: Any) -> Any:
        """Handle an event of a `socketio.AsyncServer`."""
        return await run_async(self.triggered(event, *args), self.backend)

    async def answer(self, event: str, sid: str, data: Any = None) -> Any:
        """Apply the protocol's rules to an event, and return its ack."""
        ack = await run_async(self._answer(event, sid, data), self.backend)
        return read_ack(ack) if isinstance(ack, Written) else ack

    async def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        """Accept a client, or reject it with a message and a code."""
        return await run_async(self._let_in(sid, environ, auth), self.backend)

    async def on_disconnect(self, sid: str, reason: Any = None) -> None:
        """Take a client that disconnected out of its office."""
        await run_async(self._let_go(sid, reason), self.backend)

    async def shutdown(self, grace: float = 10.0) -> None:
        """Reject new connections, let running calls end within `grace` seconds, then disconnect all clients."""
        await run_async(self._shut_down(grace), self.backend)

    def _make_lock(self) -> Turns:
        return Turns()


class SMCPNamespace(EventMethods, BaseNamespace):
    """A2C-SMCP on a `socketio.AsyncServer`: `sio.register_namespace(SMCPNamespace(auth_provider))`.

    A subclass may define or extend through `super()` any `on_client_*`, `on_server_*`, `on_connect`, `on_disconnect`.
    """
