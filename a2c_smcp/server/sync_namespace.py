"""The Server's namespace for threads: on our own hub, or on a `socketio.Server` of the program's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import socketio

from a2c_smcp.errors import TimedOutError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Registry, ServerBackend, Written
from a2c_smcp.server.auth import AnonymousSyncAuthenticationProvider, Headers, SyncAuthenticationProvider
from a2c_smcp.server.driving import run_blocking
from a2c_smcp.server.edge import NamespaceCore, Observer
from a2c_smcp.server.handlers import ProtocolHandlers
from a2c_smcp.server.hub import HubWorld, read_ack
from a2c_smcp.server.reply import Reply
from a2c_smcp.server.threads import ThreadHub
from a2c_smcp.server.world import ThreadLibraryWorld
from a2c_smcp.smcp import SMCP_NAMESPACE


class SyncBaseNamespace(NamespaceCore, socketio.Namespace):
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
        self._turn = threading.RLock()

    def _make_world(self) -> ServerBackend:
        return HubWorld(self, self.server) if isinstance(self.server, ThreadHub) else ThreadLibraryWorld(self)

    def trigger_event(self, event: str, *args: Any) -> Any:
        """The one way in for every event of a `socketio.Server`."""
        return run_blocking(self.triggered(event, *args), self.world)

    def answer(self, event: str, sid: str, data: Any = None) -> Any:
        """Do what the protocol says about an event, and give its ack."""
        ack = run_blocking(self._answer(event, sid, data), self.world)
        return read_ack(ack) if isinstance(ack, Written) else ack

    def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        """Accept a client, or reject it with a message and a code."""
        return run_blocking(self._let_in(sid, environ, auth), self.world)

    def on_disconnect(self, sid: str, reason: Any = None) -> None:
        """Take a client that disconnected out of its office."""
        run_blocking(self._let_go(sid, reason), self.world)

    def shutdown(self, grace: float = 10.0) -> None:
        """Refuse newcomers, let running calls end within `grace` seconds, then disconnect everybody with notice."""
        run_blocking(self._shut_down(grace), self.world)

    def _make_lock(self) -> Any:
        return threading.Lock()

    def _ask_provider(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | Reply | None:
        grant = self._call_handler(self.auth_provider.grant, self.server, environ, auth, headers)
        if isinstance(grant, Reply):
            stop = self.server.set_timer(
                self.limits.authentication_timeout, partial(grant.set_exception, TimedOutError())
            )
            grant.then(lambda _: stop())
        return grant

    def _wait_for(self, replies: Sequence[Reply], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for reply in replies:
            reply.wait(max(0.0, deadline - time.monotonic()))

    def _call_handler(self, handler: Callable[..., Any], *args: Any) -> Any:
        """On our hub, in a thread of its own: it may wait, and the thread that reads must not."""
        if not isinstance(self.server, ThreadHub):
            return handler(*args)
        reply = Reply()

        def call() -> None:
            try:
                reply.set_result(handler(*args))
            except BaseException as error:
                reply.set_exception(error)

        threading.Thread(target=call, daemon=True).start()
        return reply


class SyncSMCPNamespace(ProtocolHandlers, SyncBaseNamespace):
    """A2C-SMCP on a `socketio.Server`: `sio.register_namespace(SyncSMCPNamespace(auth_provider))`.

    A subclass may define or extend through `super()` any `on_client_*`, `on_server_*`, `on_connect`, `on_disconnect`.
    """
