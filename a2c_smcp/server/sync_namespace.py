"""The Server's namespace for threads, on our own hub or on a `socketio.Server` of a host program."""

from __future__ import annotations

import threading
from typing import Any

from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Registry, Written
from a2c_smcp.server.auth import AnonymousSyncAuthenticationProvider, SyncAuthenticationProvider
from a2c_smcp.server.backend import ThreadHubBackend
from a2c_smcp.server.edge import Edge, Observer
from a2c_smcp.server.edge_effects import EdgeBackend
from a2c_smcp.server.event_methods import EventMethods
from a2c_smcp.server.flow_runner import run_blocking
from a2c_smcp.server.library_backend import ThreadLibraryBackend
from a2c_smcp.server.payload_text import read_ack
from a2c_smcp.server.wsgi import ThreadHub
from a2c_smcp.smcp import SMCP_NAMESPACE
from a2c_smcp.utils.light_socketio import socketio


class SyncBaseNamespace(Edge, socketio.Namespace):
    """The base of `SyncSMCPNamespace`: connections, authentication and the dispatch of events."""

    server: Any

    def __init__(
        self,
        auth_provider: SyncAuthenticationProvider | None = None,
        *,
        namespace: str = SMCP_NAMESPACE,
        registry: Registry | None = None,
        limits: Limits | None = None,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(namespace, registry, limits, observer)
        self.auth_provider = auth_provider if auth_provider is not None else AnonymousSyncAuthenticationProvider()
        # Reentrant: the announcement of a leave may find a client that does not read, and end it in the same thread.
        # Its own leave then takes the lock again.
        self._turn = threading.RLock()

    def _make_backend(self) -> EdgeBackend:
        return ThreadHubBackend(self, self.server) if isinstance(self.server, ThreadHub) else ThreadLibraryBackend(self)

    def trigger_event(self, event: str, *args: Any) -> Any:
        """Handle an event of a `socketio.Server`."""
        return run_blocking(self.triggered(event, *args), self.backend)

    def answer(self, event: str, sid: str, data: Any = None) -> Any:
        """Apply the protocol's rules to an event, and return its ack."""
        ack = run_blocking(self._answer(event, sid, data), self.backend)
        return read_ack(ack) if isinstance(ack, Written) else ack

    def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        """Accept a client, or reject it with a message and a code."""
        return run_blocking(self._let_in(sid, environ, auth), self.backend)

    def on_disconnect(self, sid: str, reason: Any = None) -> None:
        """Take a client that disconnected out of its office."""
        run_blocking(self._let_go(sid, reason), self.backend)

    def shutdown(self, grace: float = 10.0) -> None:
        """Reject new connections, let running calls end within `grace` seconds, then disconnect all clients."""
        run_blocking(self._shut_down(grace), self.backend)

    def _make_lock(self) -> Any:
        return threading.Lock()


class SyncSMCPNamespace(EventMethods, SyncBaseNamespace):
    """A2C-SMCP on a `socketio.Server`: `sio.register_namespace(SyncSMCPNamespace(auth_provider))`.

    A subclass may define or extend through `super()` any `on_client_*`, `on_server_*`, `on_connect`, `on_disconnect`.
    """
