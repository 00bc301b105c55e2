"""The Server as an application: `create_app()` for ASGI, `create_wsgi_app()` for WSGI.

Each serves Socket.IO and the pages that an operator needs: `/healthz`, `/readyz`, `/metrics`,
and `/metrics/cluster` on a node of a cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from a2c_smcp.protocol.dialects.versions import AllowedVersions
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Registry
from a2c_smcp.server import signals, wsgi
from a2c_smcp.server.administration import Administration
from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.asgi_requests import Receive, Scope, Send, respond
from a2c_smcp.server.auth import AuthenticationProvider, CredentialAuthenticationProvider, SyncAuthenticationProvider
from a2c_smcp.server.authorization.access import OfficeAccess
from a2c_smcp.server.authorization.logins import Logins
from a2c_smcp.server.authorization.store import MemoryStore
from a2c_smcp.server.http import Origins, Response
from a2c_smcp.server.key_file import KeyFile
from a2c_smcp.server.metrics import CONTENT_TYPE, Metrics
from a2c_smcp.server.mounting import Host, Mount, Siblings
from a2c_smcp.server.namespace import SMCPNamespace
from a2c_smcp.server.openid import OpenIDVerifier
from a2c_smcp.server.public_url import PublicURL
from a2c_smcp.server.setting_definitions import SettingDefinitions
from a2c_smcp.server.sync_namespace import SyncSMCPNamespace
from a2c_smcp.server.wsgi import ThreadHub
from a2c_smcp.wire.limits import WireLimits

if TYPE_CHECKING:
    from a2c_smcp.server.cluster.service import ClusterService

DEFAULT_PATH = SettingDefinitions.socketio_path
DEFAULT_MCP_PATH = "/mcp"
GATEWAY = "a2c_smcp.gateway.mounting"
"""The module that shows offices to MCP hosts."""
LOGINS = "a2c_smcp.server.authorization.app"
"""The module with the pages on which they log in."""
CONSOLE = "a2c_smcp.console.hub.mounting"
"""The module with the operator's pages and their API."""
CONSOLE_PATHS = ("/console", "/api/v1")
LOGIN_PATHS = (
    # Where hosts expect them that have stored tokens, but not the metadata.
    "/authorize",
    "/token",
    "/register",
    "/revoke",
    "/login",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
)
GRACE = SettingDefinitions.grace
"""Seconds that running calls get to end at shutdown."""
CLOSE_TIMEOUT = 1.0
"""Seconds that clients get to close their connections at the end of a shutdown."""

NamespaceT = TypeVar("NamespaceT", SMCPNamespace, SyncSMCPNamespace)


def create_app(
    auth_provider: AuthenticationProvider | None = None,
    *,
    limits: Limits | None = None,
    registry: Registry | None = None,
    socketio_path: str = DEFAULT_PATH,
    cors_allowed_origins: Origins = None,
    metrics: bool = True,
    metrics_by_office: bool = False,
    namespace_class: type[SMCPNamespace] = SMCPNamespace,
    grace: float = GRACE,
    ping_interval: float = 25,
    ping_timeout: float = 20,
    redis: str | None = None,
    redis_prefix: str = SettingDefinitions.redis_prefix,
    lease: float = SettingDefinitions.lease,
    mcp_path: str | None = DEFAULT_MCP_PATH,
    mcp_options: Mapping[str, Any] | None = None,
    mcp_login: bool = True,
    public_url: str | None = None,
    versions: str | None = None,
    console: bool = True,
    console_options: Mapping[str, Any] | None = None,
) -> SMCPApp:
    """Make the Server as an ASGI application. Without an `auth_provider`, every client may connect.

    To mount it into FastAPI or Starlette:

        smcp = create_app(provider)
        app = FastAPI(lifespan=smcp.lifespan)
        …                                         # your own routes first: mounted at "/", it takes all that follow
        app.mount("/", smcp)
        a2c_smcp.server.run(smcp, inside=app)

    At shutdown, running calls get `grace` seconds to end. With the URL of a `redis`, the Server shares its offices with
    every other that has the same `redis_prefix` there. A Server that loses Redis stops before its `lease` ends.

    MCP hosts use an office as an MCP server at `mcp_path/OFFICE`; None turns this off. `mcp_options` are fields of
    `GatewaySettings`. Hosts that support only OAuth log in at `public_url`, the URL of this application: with a key of
    a `KeyFile` or `SharedSecret`, unless `mcp_login` is off, or at the provider of an `OpenIDVerifier`.

    `versions` are the versions of A2C-SMCP that clients may speak, such as `0.4` or `0.2-0.4`. By default all may, in
    one office.

    An operator uses the pages at `/console` and the API at `/api/v1` with a credential whose grant says `admin`;
    `console` turns both off. `console_options` are arguments of `console.hub.mounting.mount`.

    Raises:
        ValueError: `redis` is not the URL of a Redis, `public_url` is none with TLS, or `versions` is not valid.
    """
    limits = limits or Limits()
    observer = Metrics(by_office=metrics_by_office) if metrics else None
    namespace = namespace_class(auth_provider, registry=registry, limits=limits, observer=observer)
    namespace.versions = AllowedVersions.parse(versions) if versions is not None else None
    sio = AsyncHub(namespace, limits, wire_limits(limits, ping_interval, ping_timeout), cors_allowed_origins)
    cluster = None
    if redis is not None:
        # Imported here: a Server without Redis needs none of it.
        from a2c_smcp.server.cluster.service import ClusterService

        cluster = ClusterService(namespace, sio, redis, redis_prefix, lease)
    app = SMCPApp(sio, namespace, observer, socketio_path, grace, cluster)
    if mcp_path is not None:
        hosts = (mcp_options or {}).get("allowed_hosts", ())
        places = PublicURL(public_url, hosts, mcp_path)
        app.access = access = _access(places, auth_provider, cluster, has_logins=mcp_login)
        its_limits = {
            "body_bytes": limits.message_bytes,
            "restored_bytes": limits.message_bytes,
            "body_seconds": limits.body_timeout,
            "requests_per_second": limits.requests_per_second,
            "request_burst": limits.request_burst,
        }
        app.mount(mcp_path, GATEWAY, settings={**its_limits, **(mcp_options or {})})
        if access.has_logins:
            app.mount("", LOGINS, LOGIN_PATHS)
    if console:
        app.mount("", CONSOLE, CONSOLE_PATHS, **{"public_url": public_url, **(console_options or {})})
    return app


def _access(
    places: PublicURL, auth_provider: AuthenticationProvider | None, cluster: ClusterService | None, *, has_logins: bool
) -> OfficeAccess:
    """How MCP hosts log in."""
    if not isinstance(auth_provider, CredentialAuthenticationProvider):
        return OfficeAccess(places)
    for verifier in auth_provider.async_verifiers:
        if isinstance(verifier, OpenIDVerifier):
            return OfficeAccess(places, provider=verifier)
    verifiers = auth_provider.lasting_verifiers
    if not has_logins or not verifiers:
        return OfficeAccess(places)
    if cluster is not None:
        from a2c_smcp.server.authorization.redis_store import RedisStore

        return OfficeAccess(places, logins=Logins(RedisStore(cluster.link), verifiers))
    files = [verifier.path for verifier in verifiers if isinstance(verifier, KeyFile)]
    folder = files[0].with_name(files[0].name + ".logins") if files else None
    return OfficeAccess(places, logins=Logins(MemoryStore(folder), verifiers))


def create_wsgi_app(
    auth_provider: SyncAuthenticationProvider | None = None,
    *,
    limits: Limits | None = None,
    registry: Registry | None = None,
    socketio_path: str = DEFAULT_PATH,
    cors_allowed_origins: Origins = None,
    metrics: bool = True,
    metrics_by_office: bool = False,
    namespace_class: type[SyncSMCPNamespace] = SyncSMCPNamespace,
    grace: float = GRACE,
    ping_interval: float = 25,
    ping_timeout: float = 20,
    versions: str | None = None,
) -> SyncSMCPApp:
    """Make the Server as a WSGI application, for a threaded server with one thread per connection.

    It has no gateway for MCP hosts, no console, and cannot be a node of a cluster: these need the event loop of
    `create_app`.

    `gunicorn --worker-class gthread --threads 100 'a2c_smcp.server.app:create_wsgi_app()'` serves it; one worker only.
    """
    limits = limits or Limits()
    observer = Metrics(by_office=metrics_by_office) if metrics else None
    namespace = namespace_class(auth_provider, registry=registry, limits=limits, observer=observer)
    namespace.versions = AllowedVersions.parse(versions) if versions is not None else None
    sio = ThreadHub(namespace, limits, wire_limits(limits, ping_interval, ping_timeout), cors_allowed_origins)
    return SyncSMCPApp(sio, namespace, observer, socketio_path, grace)


class _Application(ABC, Generic[NamespaceT]):
    """The base of both applications: their parts, and the pages."""

    cluster: ClusterService | None = None

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

    def limit(self, limits: Limits) -> None:
        """Change the limits, also of open connections."""
        before = self.sio.wire_limits
        self.sio.limit(limits, wire_limits(limits, before.ping_interval, before.ping_timeout))

    @abstractmethod
    def shutdown(self, grace: float | None = None) -> Any:
        """Let running calls end within `grace` seconds, then disconnect all clients."""

    def _is_socketio(self, path: str) -> bool:
        # With the slash, so that "/socket.iox" is a page and "/socket.io" is not.
        return (path + "/").startswith(self._prefix)

    def _page(self, method: str, path: str) -> Response:
        """The response to a request for a page."""
        if method not in ("GET", "HEAD"):
            return Response(HTTPStatus.METHOD_NOT_ALLOWED, b"only GET\n", "text/plain")
        if path == "/healthz":
            return Response(HTTPStatus.OK, b'{"status":"ok"}\n', "application/json")
        if path == "/readyz":
            # Not ready, while /healthz stays OK: a load balancer sends new clients elsewhere, and a supervisor does not
            # kill a Server that is finishing its calls.
            if self.namespace.draining:
                return Response(HTTPStatus.SERVICE_UNAVAILABLE, b'{"status":"shutting down"}\n', "application/json")
            if self.cluster is not None and not self.cluster.is_ready:
                return Response(
                    HTTPStatus.SERVICE_UNAVAILABLE, b'{"status":"no connection to Redis"}\n', "application/json"
                )
            return Response(HTTPStatus.OK, b'{"status":"ready"}\n', "application/json")
        if path == "/metrics" and self.metrics is not None:
            return Response(HTTPStatus.OK, self.metrics.page(), CONTENT_TYPE)
        home = b"A2C-SMCP Server: connect with Socket.IO, namespace /smcp\n"
        return Response(HTTPStatus.NOT_FOUND, home, "text/plain")


class SMCPApp(_Application[SMCPNamespace]):
    """The Server as an application: `SMCPApp` for ASGI, `SyncSMCPApp` for WSGI. `create_app` makes it."""

    sio: AsyncHub

    def __init__(
        self,
        sio: AsyncHub,
        namespace: SMCPNamespace,
        metrics: Metrics | None,
        socketio_path: str,
        grace: float,
        cluster: ClusterService | None = None,
    ) -> None:
        super().__init__(sio, namespace, metrics, socketio_path, grace)
        self.cluster = cluster
        if cluster is not None and metrics is not None:
            cluster.show(metrics)
        self._carried = 0
        self._is_quiet = asyncio.Event()
        self._ending: asyncio.Future[None] | None = None
        self._mounts: list[Mount] = []
        if cluster is not None:
            cluster.forward_to(self)
        self.access: OfficeAccess | None = None
        """How MCP hosts log in."""
        self.administration = Administration(sio, namespace, metrics)
        """What an operator may see and do."""

    def mount(self, root: str, module: str, paths: Sequence[str] = ("",), **options: Any) -> None:
        """Serve an application at some paths below `root`, which it does not see. Its module is loaded by the first
        request, and its function `mount` is called with a `Host` and the options."""
        root = root.rstrip("/")
        nodes = self.cluster.forwarding if self.cluster is not None else None
        host = Host(
            self.sio,
            self.namespace,
            root,
            self.access,
            self.metrics,
            nodes,
            self.administration,
            Siblings(self._mounts),
        )
        self._mounts.append(Mount(root, [root + path for path in paths], module, options, host))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection, a page, or the lifespan of the application."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        # ASGI's `path` contains the prefix under which the application is mounted (`root_path`).
        path: str = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/")) or "/"
        if self._is_socketio(path):
            self._carried += 1
            self._is_quiet.clear()
            try:
                await self.sio.serve(scope, receive, send)
            finally:
                self._carried -= 1
                if not self._carried:
                    self._is_quiet.set()
        elif scope["type"] == "http" and (mount := next((each for each in self._mounts if each.covers(path)), None)):
            await mount.serve(scope, receive, send, path)
        # A WebSocket that is closed before it is accepted is answered with 403.
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            overview = self.cluster.overview if self.cluster is not None and path == "/metrics/cluster" else None
            if overview is not None and scope["method"] in ("GET", "HEAD"):
                await respond(send, Response(HTTPStatus.OK, await overview.page(), CONTENT_TYPE))
            else:
                await respond(send, self._page(scope["method"], path))

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncGenerator[None]:
        """For the application that this one is mounted in: `FastAPI(lifespan=smcp.lifespan)`, or within a lifespan of
        its own `async with smcp.lifespan(): …`.

        On a signal, the Server shuts down first and the ASGI server afterwards, so that running calls keep their
        connections.
        """
        await self.startup()
        try:
            async with signals.after(self.shutdown):
                yield
        finally:
            await self.shutdown()

    async def startup(self) -> None:
        """Connect to the cluster, if the Server is a node of one. A lifespan does this.

        Raises:
            UnusableRedis: its Redis cannot be used.
        """
        if self.cluster is not None:
            await self.cluster.start()

    async def shutdown(self, grace: float | None = None) -> None:
        """Let running calls end within `grace` seconds, then disconnect all clients. A second call waits for the same
        shutdown."""
        # The lifespan, a signal and the program itself may all ask for it. The first caller owns the task: cancelling
        # it (a second Ctrl-C) ends the shutdown. Others are shielded, and only stop waiting.
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(self.grace if grace is None else grace))
            await self._ending
        else:
            await asyncio.shield(self._ending)

    async def _end(self, grace: float) -> None:
        await self.namespace.shutdown(grace)
        for mount in self._mounts:
            await mount.aclose()
        if self.access is not None and self.access.logins is not None:
            await self.access.logins.store.aclose()
        if self.cluster is not None:
            self.cluster.release()
        # Clients close their connections when they read that they are disconnected. Closing first could cut off what
        # they have not read yet, such as the answers of the last calls.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self.sio.emptied()
                if self._carried:
                    await self._is_quiet.wait()
        # Clients that are still there do not read, or do not close.
        for client in list(self.sio.clients.values()):
            self.sio.close(client)
        if self.cluster is not None:
            await self.cluster.stop()

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

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve a connection or a page."""
        path: str = environ.get("PATH_INFO") or "/"
        if self._is_socketio(path):
            return self.sio.serve(environ, start_response)
        return wsgi.respond(start_response, self._page(environ["REQUEST_METHOD"], path))

    def shutdown(self, grace: float | None = None) -> None:
        """Let running calls end within `grace` seconds, then disconnect all clients. A second call does nothing."""
        if self.namespace.draining:
            return
        self.namespace.shutdown(self.grace if grace is None else grace)
        for client in list(self.sio.clients.values()):
            self.sio.close(client)


def wire_limits(limits: Limits, ping_interval: float, ping_timeout: float) -> WireLimits:
    """The limits of each connection, from those of the Server."""
    return WireLimits(
        message_bytes=limits.message_bytes,
        transport_bytes=transport_limit(limits),
        # A few of the largest messages, so that a client may be behind for a moment. More would let clients that never
        # read take the memory of the Server.
        unread=4 * limits.message_bytes,
        entry_seconds=limits.entry_timeout,
        ping_interval=ping_interval,
        ping_timeout=ping_timeout,
    )


def transport_limit(limits: Limits) -> int:
    """The largest message that the transport reads, in bytes: twice what is accepted, so that a message that is too
    large can be answered with an error instead of a closed connection."""
    return 2 * limits.message_bytes
