"""The Server as an application: `create_app()` for ASGI, `create_wsgi_app()` for WSGI.

Each carries Socket.IO and the pages an operator needs: `/healthz`, `/readyz`, `/metrics`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import parse_qs

import socketio
from engineio.payload import Payload

from a2c_smcp.protocol.effects import Registry
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server import signals
from a2c_smcp.server.auth import AuthenticationProvider, SyncAuthenticationProvider
from a2c_smcp.server.hub import AsyncHub, ThreadHub
from a2c_smcp.server.manager import DirectManager, LockedManager
from a2c_smcp.server.metrics import CONTENT_TYPE, Metrics
from a2c_smcp.server.namespace import SMCPNamespace
from a2c_smcp.server.sync_namespace import SyncSMCPNamespace
from a2c_smcp.server.sync_websocket import GuardedWebSocket
from a2c_smcp.transport.packet import SMCPPacket

DEFAULT_PATH = "/socket.io"
GRACE = 10.0
"""Seconds that running calls get to end."""
CLOSE_TIMEOUT = 1.0
"""Seconds to say goodbye to what is still connected at the very end."""

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
NamespaceT = TypeVar("NamespaceT", SMCPNamespace, SyncSMCPNamespace)


def create_app(
    auth_provider: AuthenticationProvider | None = None,
    *,
    limits: Limits | None = None,
    registry: Registry | None = None,
    socketio_path: str = DEFAULT_PATH,
    cors_allowed_origins: str | list[str] | None = None,
    metrics: bool = True,
    namespace_class: type[SMCPNamespace] = SMCPNamespace,
    grace: float = GRACE,
    **socketio_options: Any,
) -> SMCPApp:
    """The Server as an ASGI application. Without an `auth_provider` everybody may connect.

    To mount it into FastAPI or Starlette:

        smcp = create_app(provider)
        app = FastAPI(lifespan=smcp.lifespan)
        …                                         # the routes of your own; at "/" it takes whatever comes after it
        app.mount("/", smcp)
        a2c_smcp.server.run(smcp, inside=app)

    At shutdown, running calls get `grace` seconds to end.
    """
    limits = limits or Limits()
    observer = Metrics() if metrics else None
    socketio_options.setdefault("client_manager", DirectManager())
    sio = AsyncHub(limits, async_mode="asgi", **_socketio_options(limits, cors_allowed_origins, socketio_options))
    namespace = namespace_class(auth_provider, registry=registry, limits=limits, observer=observer)
    sio.register_namespace(namespace)
    return SMCPApp(sio, namespace, observer, socketio_path, grace)


def create_wsgi_app(
    auth_provider: SyncAuthenticationProvider | None = None,
    *,
    limits: Limits | None = None,
    registry: Registry | None = None,
    socketio_path: str = DEFAULT_PATH,
    cors_allowed_origins: str | list[str] | None = None,
    metrics: bool = True,
    namespace_class: type[SyncSMCPNamespace] = SyncSMCPNamespace,
    grace: float = GRACE,
    **socketio_options: Any,
) -> SyncSMCPApp:
    """The Server as a WSGI application, for a threaded server: one thread per connection.

    `gunicorn --worker-class gthread --threads 100 'a2c_smcp.server.app:create_wsgi_app()'` serves it; one worker only.
    """
    limits = limits or Limits()
    observer = Metrics() if metrics else None
    socketio_options.setdefault("client_manager", LockedManager())
    sio = ThreadHub(limits, async_mode="threading", **_socketio_options(limits, cors_allowed_origins, socketio_options))
    namespace = namespace_class(auth_provider, registry=registry, limits=limits, observer=observer)
    sio.register_namespace(namespace)
    return SyncSMCPApp(sio, namespace, observer, socketio_path, grace)


class _Application(ABC, Generic[NamespaceT]):
    """What both applications have: their parts, and the pages."""

    def __init__(
        self, sio: Any, namespace: NamespaceT, metrics: Metrics | None, socketio_path: str, grace: float
    ) -> None:
        self.sio = sio
        self.namespace: NamespaceT = namespace
        self.metrics = metrics
        self.grace = grace
        """Seconds that running calls get at shutdown."""
        self._prefix = "/" + socketio_path.strip("/") + "/"
        if metrics is not None:
            metrics.watch(namespace)

    @abstractmethod
    def shutdown(self, grace: float | None = None) -> Any:
        """Let running calls end within `grace` seconds, then disconnect everybody with notice."""

    def _is_socketio(self, path: str) -> bool:
        return (path + "/").startswith(self._prefix)

    def _page(self, method: str, path: str) -> tuple[HTTPStatus, str, bytes]:
        """Status, content type and body of a page."""
        if method not in ("GET", "HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"only GET\n"
        if path == "/healthz":
            return HTTPStatus.OK, "application/json", b'{"status":"ok"}\n'
        if path == "/readyz":
            if self.namespace.draining:
                return HTTPStatus.SERVICE_UNAVAILABLE, "application/json", b'{"status":"shutting down"}\n'
            return HTTPStatus.OK, "application/json", b'{"status":"ready"}\n'
        if path == "/metrics" and self.metrics is not None:
            return HTTPStatus.OK, CONTENT_TYPE, self.metrics.page()
        return HTTPStatus.NOT_FOUND, "text/plain", b"A2C-SMCP Server: connect with Socket.IO, namespace /smcp\n"


class SMCPApp(_Application[SMCPNamespace]):
    """An ASGI application; `sio` and `namespace` are its parts."""

    sio: AsyncHub

    def __init__(
        self, sio: AsyncHub, namespace: SMCPNamespace, metrics: Metrics | None, socketio_path: str, grace: float
    ) -> None:
        super().__init__(sio, namespace, metrics, socketio_path, grace)
        self._carried = 0
        self._is_quiet = asyncio.Event()
        self._ending: asyncio.Future[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection, a page, or the application's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path: str = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/")) or "/"
        if self._is_socketio(path):
            self._carried += 1
            self._is_quiet.clear()
            try:
                await self._carry(scope, receive, send)
            finally:
                self._carried -= 1
                if not self._carried:
                    self._is_quiet.set()
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            await _respond(send, self._page(scope["method"], path))

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncGenerator[None]:
        """For the application that this one is mounted in: `FastAPI(lifespan=smcp.lifespan)`, or within a lifespan of
        its own `async with smcp.lifespan(): …`.

        A signal first shuts the Server down, and then whatever serves it: until then, running calls have connections.
        """
        try:
            async with signals.after(self.shutdown):
                yield
        finally:
            await self.shutdown()

    async def shutdown(self, grace: float | None = None) -> None:
        """Let running calls end within `grace` seconds, then disconnect everybody with notice. Whoever asks again waits
        for the same end."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(self.grace if grace is None else grace))
            await self._ending
        else:
            await asyncio.shield(self._ending)

    async def _end(self, grace: float) -> None:
        await self.namespace.shutdown(grace)
        if self._carried:
            # Clients hang up when they read that they are disconnected; hanging up first could cost them last words.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_quiet.wait(), CLOSE_TIMEOUT)
        for connection in list(self.sio.eio.sockets.values()):
            await connection.close(wait=False)
        await self.sio.shutdown()

    async def _carry(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to Socket.IO."""
        session = self.sio.eio.sockets.get(parse_qs(scope["query_string"]).get(b"sid", [b""])[0].decode("latin-1"))
        if scope["type"] == "websocket":
            await self.sio.handle_request(scope, receive, send)
            if session is not None and not session.upgraded:
                session.upgrading = False  # the upgrade came to nothing: long-polling goes on
            return
        await self.sio.handle_request(scope, receive, send)
        if session is not None and session.closed:
            # The client said goodbye by POST: end its waiting GET, which the library forgets for a minute.
            session.queue.put_nowait(None)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()  # lifespan.startup
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()  # lifespan.shutdown
        await send({"type": "lifespan.shutdown.complete"})


class SyncSMCPApp(_Application[SyncSMCPNamespace]):
    """A WSGI application; `sio` and `namespace` are its parts."""

    sio: ThreadHub

    def __init__(
        self, sio: ThreadHub, namespace: SyncSMCPNamespace, metrics: Metrics | None, socketio_path: str, grace: float
    ) -> None:
        super().__init__(sio, namespace, metrics, socketio_path, grace)
        self._socketio = socketio.WSGIApp(sio, socketio_path=socketio_path)
        GuardedWebSocket.install(sio)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve a connection or a page."""
        path: str = environ.get("PATH_INFO") or "/"
        if self._is_socketio(path):
            return self._socketio(environ, start_response)
        status, content_type, body = self._page(environ["REQUEST_METHOD"], path)
        headers = [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]

    def shutdown(self, grace: float | None = None) -> None:
        """Let running calls end within `grace` seconds, then disconnect everybody with notice. Once is enough."""
        if self.namespace.draining:
            return
        self.namespace.shutdown(self.grace if grace is None else grace)
        for connection in list(self.sio.eio.sockets.values()):
            connection.close(wait=False)
        self.sio.shutdown()


def _socketio_options(limits: Limits, cors: str | list[str] | None, options: dict[str, Any]) -> dict[str, Any]:
    # python-socketio adds a handler of its own unless it is given a logger, and logs every packet at INFO.
    transport_logger = logging.getLogger("a2c_smcp.transport")
    if transport_logger.level == logging.NOTSET:
        transport_logger.setLevel(logging.ERROR)
    # A long-polling client sends what it has at once. By default the library drops a payload of more than 16 packets;
    # here its size in bytes is bounded, and the rate limit answers each packet that is too many.
    Payload.max_decode_packets = sys.maxsize
    return {
        "serializer": SMCPPacket.limited_to(limits.message_bytes),
        # Room to read, and answer, what is too large; over this the transport closes the connection.
        "max_http_buffer_size": transport_limit(limits),
        "http_compression": False,  # it would run on the event loop
        "cors_allowed_origins": cors,
        "logger": transport_logger,
        "engineio_logger": transport_logger,
        **options,
    }


def transport_limit(limits: Limits) -> int:
    """The largest message the transport lets through, in bytes."""
    return 2 * limits.message_bytes


async def _respond(send: Send, page: tuple[HTTPStatus, str, bytes]) -> None:
    status, content_type, body = page
    headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": body})
