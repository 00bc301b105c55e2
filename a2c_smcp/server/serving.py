"""Serves the ASGI application with uvicorn, and stops it without losing a call."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from functools import partial
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Registry
from a2c_smcp.server.app import DEFAULT_MCP_PATH, SMCPApp, create_app, transport_limit
from a2c_smcp.server.auth import AuthenticationProvider
from a2c_smcp.server.namespace import SMCPNamespace
from a2c_smcp.server.one_time import ComputerPage, OneTimeToken
from a2c_smcp.server.reloading import Reload, key_files
from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.server.tcp_gate import TcpGate, proxies
from a2c_smcp.server.uvicorn_protocols import Http, WebSocket
from a2c_smcp.utils.system.resources import keep_freed_memory, raise_open_files
from a2c_smcp.utils.system.signals import HANGUP, STOP, Hangup
from a2c_smcp.utils.system.sockets import LOOP_OF_SHARED_LISTENER, bind

logger = logging.getLogger(__name__)

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
"""What a client on this machine may send as `Host`."""
KEEP_ALIVE_SECONDS = 125
"""How long an HTTP connection may be idle. Proxies and clients should close it first: a request fails if it meets a
connection that the Server is closing. nginx closes them after 60 s, Caddy after 120."""
ENOUGH_FILES = 4_096
"""Open files below which an operator is warned."""


def serve(
    settings: ServerSettings,
    auth_provider: AuthenticationProvider | None,
    on_ready: Callable[[str], None],
    *,
    namespace_class: type[SMCPNamespace] = SMCPNamespace,
    registry: Registry | None = None,
    listener: socket.socket | None = None,
    load: Callable[[], ServerSettings] | None = None,
    one_time: OneTimeToken | None = None,
    computer_page: ComputerPage | None = None,
) -> None:
    """Run the Server until SIGINT or SIGTERM, then let running calls end, announce the leaves and return.

    `load` reads the settings again, or raises why they are invalid; with it, SIGHUP reloads what can change while the
    Server runs. `on_ready` gets the Server's URL once it accepts connections and a signal stops it gracefully. A
    `listener` replaces the address in the settings. Whoever has the `one_time` token may log in to the console once,
    and gets from there to the `computer_page`.

    Raises:
        OSError: the address cannot be bound, or a TLS file cannot be read.
    """
    cors: Any = None
    if settings.cors_origins is not None:
        cors = [origin.strip() for origin in settings.cors_origins.split(",")]
    # Without authentication, the origin is the only protection against a web page that the user happens to open.
    elif auth_provider is None and settings.is_local:
        cors = is_local_origin
    app = create_app(
        auth_provider,
        limits=settings.limits,
        socketio_path=settings.socketio_path,
        cors_allowed_origins="*" if cors == ["*"] else cors,
        metrics=settings.metrics,
        metrics_by_office=settings.metrics_by_office,
        namespace_class=namespace_class,
        registry=registry,
        grace=settings.grace,
        redis=settings.redis.get_secret_value() if settings.redis is not None else None,
        redis_prefix=settings.redis_prefix,
        lease=settings.lease,
        mcp_path=DEFAULT_MCP_PATH if settings.mcp else None,
        mcp_options=_gateway_options(settings, is_open=auth_provider is None),
        mcp_login=settings.mcp_login,
        public_url=settings.public_url,
        versions=settings.versions,
        console=settings.console,
        console_options={**_console_options(settings), "one_time": one_time, "computer_page": computer_page},
    )
    config = uvicorn_config(app, settings)
    config.lifespan = "off"  # `GracefulServer` shuts the application down itself
    if listener is not None:
        config.loop = LOOP_OF_SHARED_LISTENER
    # Loaded and bound here, so that the caller can report a mistake. uvicorn logs that it cannot bind, and exits.
    config.load()
    with contextlib.closing(listener or bind(settings.host, settings.port)) as listener:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"{'https' if config.is_ssl else 'http'}://{host}:{listener.getsockname()[1]}"
        reload = Reload(settings, load, app, config, auth_provider) if load is not None else None
        try:
            GracefulServer(config, app, lambda: on_ready(url), reload).run(sockets=[listener])
        finally:
            for keys in key_files(auth_provider):
                keys.close()


def run(app: SMCPApp, *, inside: Any = None, host: str = "127.0.0.1", port: int = 8000, **uvicorn_options: Any) -> None:
    """Serve an application, or the one it is mounted `inside`, until SIGINT or SIGTERM; then let running calls end,
    announce the leaves and return.

    Further options are those of `uvicorn.Config`, such as `ssl_certfile`. It is always one process.
    """
    forwarded = uvicorn_options.get("forwarded_allow_ips")
    options = {**transport_options(app.namespace.limits, forwarded), **uvicorn_options}
    if inside is None:
        options["lifespan"] = "off"  # as above
    config = uvicorn.Config(app if inside is None else inside, host=host, port=port, **options)
    GracefulServer(config, app).run()


def uvicorn_config(app: SMCPApp, settings: ServerSettings) -> uvicorn.Config:
    """The configuration of uvicorn for `a2c server`."""
    return uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        log_level="warning",  # at lower levels uvicorn logs frames with their content
        access_log=False,
        forwarded_allow_ips=settings.forwarded_allow_ips,
        ssl_certfile=settings.ssl_certfile,
        ssl_keyfile=settings.ssl_keyfile,
        **transport_options(settings.limits, settings.forwarded_allow_ips),
    )


def transport_options(limits: Limits, forwarded_allow_ips: str | list[str] | None) -> dict[str, Any]:
    """The options of uvicorn for every Server: no compression on the event loop, no heartbeat beside Engine.IO's."""
    return {
        **_protocols(limits, forwarded_allow_ips),
        "ws_max_size": transport_limit(limits),
        "ws_ping_interval": None,
        "ws_per_message_deflate": False,
        "server_header": False,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        # By then all calls have ended and all clients are disconnected (`GracefulServer.shutdown`). This bounds clients
        # that do not close their connections.
        "timeout_graceful_shutdown": 5,
    }


def _gateway_options(settings: ServerSettings, *, is_open: bool) -> dict[str, Any]:
    """The options of the gateway for MCP hosts."""
    hosts = _listed(settings.mcp_allowed_hosts)
    # As for `is_local_origin`: without authentication, a page whose host name resolves to this machine must not get in.
    if not hosts and is_open and settings.is_local:
        hosts = LOOPBACK
    return {
        "allowed_hosts": hosts,
        "allowed_origins": _listed(settings.mcp_allowed_origins),
        "profiles": settings.profiles(),
    }


def _console_options(settings: ServerSettings) -> dict[str, Any]:
    """The options of the operator's pages."""
    kept = settings.keys_file.with_name(settings.keys_file.name + ".sessions") if settings.keys_file else None
    return {"sessions_file": settings.console_sessions or kept}


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def is_local_origin(origin: str | None, environ: Any = None) -> bool:
    """Whether a web page comes from this machine. A page from elsewhere must not reach a Server without authentication,
    also if its host name resolves to this machine (DNS rebinding)."""
    return urlsplit(origin or "").hostname in ("localhost", "127.0.0.1", "::1")


def _protocols(limits: Limits, forwarded_allow_ips: str | list[str] | None) -> dict[str, Any]:
    """The protocol classes for uvicorn, with the `TcpGate` that all connections of one Server share."""
    is_proxy = proxies(forwarded_allow_ips or os.environ.get("FORWARDED_ALLOW_IPS"))  # as uvicorn has it
    # Half of the files may be connections without a request; the other half stays for clients. uvicorn creates a
    # protocol for each connection, so the gate is an attribute of a class that is made for this Server.
    gate = TcpGate(limits.connections_per_ip, raise_file_limit() // 2, is_proxy)
    shared = {"gate": gate, "__slots__": ()}
    return {"http": type("Http", (Http,), {"gate": gate}), "ws": type("WebSocket", (WebSocket,), shared)}


def raise_file_limit() -> int:
    """Allow this process as many open files as it may have; how many that is."""
    allowed = raise_open_files()
    if allowed < ENOUGH_FILES:
        logger.warning("this process may have only %d open files: raise the limit (ulimit -n) to serve more", allowed)
    return allowed


class GracefulServer(uvicorn.Server):
    """uvicorn, with running calls finished before connections are closed, and a signal that ends in exit code 0.

    It does what the lifespan of `app` does for other servers, and stops listening first.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: SMCPApp,
        on_ready: Callable[[], None] = lambda: None,
        reload: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self._app = app
        self._on_ready = on_ready
        self._reload = reload
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Future[None] | None = None
        app.administration.stop = self._stop

    def _stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `on_ready`."""
        keep_freed_memory()
        if self.config.lifespan == "off":
            await self._app.startup()
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, drain, then close; a second Ctrl-C ends the draining."""
        # uvicorn would close every connection first and tell the application afterwards, so that running calls would
        # lose their answers.
        for server in self.servers:
            server.close()
        self._draining = asyncio.ensure_future(self._app.shutdown())
        if self.force_exit:  # uvicorn looks for signals every 0.1 s only: the second one may have come meanwhile
            self._draining.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._draining
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A first signal stops gracefully, a second Ctrl-C at once."""
        # A signal handler runs between any two instructions of the main thread. It must not touch tasks itself.
        super().handle_exit(sig, frame)
        if self.force_exit and self._draining is not None:
            self._draining.get_loop().call_soon_threadsafe(self._draining.cancel)

    def _hang_up(self, hangup: Hangup, reload: Callable[[], None], sig: int, frame: FrameType | None) -> None:
        # SIGHUP means "reload" for a service, and "the terminal was closed" for a Server in a shell.
        if hangup.ends_the_program:
            self.handle_exit(sig, frame)
        elif self._loop is not None:
            self._loop.call_soon_threadsafe(reload)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """As uvicorn does, without raising the signal again at the end: a graceful stop is a success."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers: dict[int, Callable[[int, FrameType | None], None]] = dict.fromkeys(STOP, self.handle_exit)
        if HANGUP is not None and self._reload is not None:
            handlers[HANGUP] = partial(self._hang_up, Hangup(), self._reload)
        previous = {sig: signal.signal(sig, handler) for sig, handler in handlers.items()}
        try:
            yield
        finally:
            for sig, handler in previous.items():
                signal.signal(sig, handler)
