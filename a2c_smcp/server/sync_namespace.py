"""The Server's namespace for threads: the flows, run."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from typing import Any

import socketio

from a2c_smcp.errors import TimedOutError
from a2c_smcp.protocol.effects import Call, Registry
from a2c_smcp.protocol.flow import run
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server.auth import AnonymousSyncAuthenticationProvider, Headers, SyncAuthenticationProvider
from a2c_smcp.server.base import NamespaceCore, Observer
from a2c_smcp.server.handlers import ProtocolHandlers
from a2c_smcp.server.world import EdgeWorld, forget_callback, unwrap_ack
from a2c_smcp.smcp import SMCP_NAMESPACE

ACK_PAUSE = 0.1
"""Seconds that handler threads get, at shutdown, to send the acks of calls that just ended."""


class SyncBaseNamespace(NamespaceCore["Future[Any]"], socketio.Namespace):
    """Connections, authentication and dispatch on a `socketio.Server` in threading mode."""

    server: socketio.Server

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
        self._world = _SyncWorld(self)

    def trigger_event(self, event: str, *args: Any) -> Any:
        """The one way in for every event."""
        return run(self._dispatch(event, *args), self._world)

    def answer(self, event: str, sid: str, data: Any = None) -> Any:
        """Do what the protocol says about an event, and give its ack."""
        return run(self._answer(event, sid, data), self._world)

    def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        """Let a client in, or refuse it with a message and a code."""
        return run(self._let_in(sid, environ, auth), self._world)

    def on_disconnect(self, sid: str, reason: Any = None) -> None:
        """The implicit leave of a client that is gone."""
        run(self._let_go(sid), self._world)

    def shutdown(self, grace: float = 10.0) -> None:
        """Refuse newcomers, let running calls end within `grace` seconds, then disconnect everybody with notice."""
        run(self._shut_down(grace), self._world)

    def _make_lock(self) -> Any:
        return threading.Lock()

    def _ask_provider(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        return self.auth_provider.grant(self.server, environ, auth, headers)

    def _wait_for(self, futures: Sequence[Future[Any]], seconds: float) -> None:
        wait(futures, timeout=seconds)
        time.sleep(ACK_PAUSE)


class SyncSMCPNamespace(ProtocolHandlers, SyncBaseNamespace):
    """A2C-SMCP on a `socketio.Server`: `sio.register_namespace(SyncSMCPNamespace(auth_provider))`.

    A subclass may define or extend through `super()` any `on_client_*`, `on_server_*`, `on_connect`, `on_disconnect`.
    """


class _SyncWorld(EdgeWorld):
    """What a flow may ask for, done with a threaded Socket.IO server."""

    def call(self, call: Call) -> Any:
        server, namespace, in_flight = self._edge.server, self._edge.namespace, self._edge.in_flight
        future: Future[Any] = Future()

        def on_ack(*args: Any) -> None:
            in_flight.resolve(future, args)

        in_flight.add(call, future)
        try:
            self.require_both(call)
            server.emit(call.event, call.data, to=call.target, namespace=namespace, callback=on_ack)
            return unwrap_ack(future.result(call.timeout))
        except BaseException as error:
            forget_callback(server.manager, call.target, on_ack)
            if isinstance(error, TimeoutError):
                raise TimedOutError("no answer in time") from None
            raise
        finally:
            in_flight.remove(call, future)
