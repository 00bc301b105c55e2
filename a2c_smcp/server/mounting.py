"""Applications that share the Server's port and its credentials, such as the gateway for MCP hosts.

The Server knows such an application by the name of its module, and loads it with the first request for it: a Server
that no MCP host uses does not pay for it.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from a2c_smcp.errors import ForbiddenError, NotAuthenticatedError, SMCPError
from a2c_smcp.protocol.flow import run_async
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.administration import Administration
from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.asgi_requests import Receive, Scope, Send, request_of
from a2c_smcp.server.auth import RESOURCE, CredentialAuthenticationProvider, Headers
from a2c_smcp.server.authorization.access import OfficeAccess
from a2c_smcp.server.authorization.logins import TokenExpired
from a2c_smcp.server.connections import client_of
from a2c_smcp.server.edge import MountObserver
from a2c_smcp.server.local import LocalMember
from a2c_smcp.server.metrics import Metrics
from a2c_smcp.server.namespace import SMCPNamespace

_MISSING = "a key is required: send it as Authorization: Bearer KEY"
_WRONG = "the key or token is not accepted"
_OUTER = "a2c.outer"
"""Key in the scope of an application: the scope as the Server got it."""


class MountedApp(Protocol):
    """An application below a path of the Server."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; its path starts after that of the mount."""
        ...

    async def aclose(self) -> None:
        """The Server shuts down."""
        ...


class OtherNodes(Protocol):
    """The other Servers of a cluster, which can serve a request."""

    @property
    def own(self) -> str:
        """The id of this node."""
        ...

    async def agent_of(self, office_id: str, /) -> tuple[str, str] | None:
        """The name and the node of the Agent of an office."""
        ...

    async def forward(self, node: str, scope: Scope, body: bytes, receive: Receive, send: Send, /) -> None:
        """Have another node serve a request."""
        ...


class _Outside:
    """The other nodes, as an application below a path sees them."""

    def __init__(self, nodes: OtherNodes) -> None:
        self._nodes = nodes
        self.agent_of = nodes.agent_of

    @property
    def own(self) -> str:
        """The id of this node."""
        return self._nodes.own

    async def forward(self, node: str, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Have another node serve a request, with the path that the Server got."""
        await self._nodes.forward(node, scope[_OUTER], body, receive, send)


class Host:
    """What the Server offers to an application that is mounted at `root`."""

    def __init__(
        self,
        hub: AsyncHub,
        namespace: SMCPNamespace,
        root: str,
        access: OfficeAccess | None,
        metrics: Metrics | None,
        nodes: OtherNodes | None,
        administration: Administration,
        siblings: Siblings,
    ) -> None:
        self.administration = administration
        """What an operator may see and do."""
        self.siblings = siblings
        self._hub = hub
        self._namespace = namespace
        self._root = root
        self._metrics = metrics
        observer = namespace.observer
        # Asked once: to compare an object with a protocol takes as long as to authenticate it.
        self._observer = observer if isinstance(observer, MountObserver) else None
        self.access = access
        """How MCP hosts log in; None if there are none."""
        self.other_nodes = _Outside(nodes) if nodes is not None else None
        """The other Servers of its cluster; None if it is alone."""

    @property
    def is_draining(self) -> bool:
        """Whether the Server shuts down."""
        return self._namespace.draining

    def has_sibling(self, module: str) -> bool:
        """Whether the Server has another application."""
        return self.siblings.has(module)

    async def authenticate(self, scope: Scope, office_id: str) -> Grant:
        """What the credential of a request for an office allows.

        Raises:
            NotAuthenticatedError: it has none, or one that is not valid.
            ForbiddenError: the client is rejected.
            NotConnectedError: the credential cannot be checked now.
        """
        try:
            return await self.identify(scope, office_id)
        except SMCPError as error:
            if error.message != NotAuthenticatedError.summary:
                raise
            # The person who configured the host reads it.
            raise NotAuthenticatedError(_WRONG if self._has_credential(list(scope["headers"])) else _MISSING) from None

    async def identify(self, scope: Scope, office_id: str | None = None) -> Grant:
        """What the credential of a request allows: for an office, also one from its login; without, whatever offices
        that are.

        Raises:
            NotAuthenticatedError: it has none, or one that is not valid.
            ForbiddenError: the client is rejected.
            NotConnectedError: the credential cannot be checked now.
        """
        environ = request_of(scope).environ
        _, headers = client_of(environ)
        try:
            if office_id is not None and self.access is not None and self.access.has_logins:
                resource = environ[RESOURCE] = self.access.resource(scope, self._above(scope), office_id)
                grant = await self.access.grant_of(scope, resource)
                if grant is not None:
                    return grant
            return await run_async(self._namespace.authenticating(environ, None, headers), self._namespace.backend)
        except SMCPError as error:
            # A host that has no credential yet asks where to get one. That is no guess; and neither is a token that was
            # valid, of which the users of a hosted program send many from one address.
            if self._has_credential(headers) and not isinstance(error, TokenExpired):
                await self.reject_guess(scope, error)
            raise

    def has_credential(self, scope: Scope) -> bool:
        """Whether a request has a key, valid or not."""
        headers: Headers = list(scope["headers"])
        if isinstance(self._namespace.auth_provider, CredentialAuthenticationProvider):
            return self._has_credential(headers)
        return any(name in (b"authorization", b"x-api-key") for name, _ in headers)

    def restore(self, reference: str) -> Grant | None:
        """What a key allows now, by what identified it before; None if it is not valid any more."""
        provider = self._namespace.auth_provider
        if not isinstance(provider, CredentialAuthenticationProvider):
            return None
        found = (verifier.grant_of(reference) for verifier in provider.lasting_verifiers)
        return next((grant for grant in found if grant is not None), None)

    def reference(self, key: str) -> str | None:
        """What identifies a valid key later, without the key itself; None if nothing does."""
        provider = self._namespace.auth_provider
        if not isinstance(provider, CredentialAuthenticationProvider):
            return None
        found = (verifier.reference(key) for verifier in provider.lasting_verifiers)
        return next((each for each in found if each is not None), None)

    def count(self, principal: str, method: str, outcome: str) -> None:
        """Count a request that an application answered for a user, if the observer of the Server counts those."""
        if self._observer is not None:
            self._observer.mount_answered(principal, method, outcome)

    async def reject_guess(self, scope: Scope, error: SMCPError) -> None:
        """Log and count a rejected credential, and wait: as for clients of Socket.IO, guessing becomes slow."""
        address, _ = client_of(request_of(scope).environ)
        self._namespace.reject_connection(error, address)
        if isinstance(error, NotAuthenticatedError | ForbiddenError):
            await asyncio.sleep(self._hub.delay_of_guess(address))

    def challenge(self, scope: Scope, office_id: str, error: SMCPError) -> str | None:
        """The `WWW-Authenticate` header for a rejected request, which tells an MCP host where to log in."""
        if self.access is None or not office_id:
            return None
        root: str = scope.get("root_path", "")
        raw = scope.get("raw_path")
        path = raw.decode("latin-1") if isinstance(raw, bytes) else quote(root + scope["path"])
        below = path.strip("/").split("/")[len([part for part in root.split("/") if part]) :]
        return self.access.challenge(scope, self._above(scope), "/".join(below), error)

    def _has_credential(self, headers: Headers) -> bool:
        provider = self._namespace.auth_provider
        return not isinstance(provider, CredentialAuthenticationProvider) or provider.has_credential(headers)

    def _above(self, scope: Scope) -> str:
        """The path under which the Server is mounted."""
        return scope.get("root_path", "").removesuffix(self._root)

    def rejected(self, scope: Scope, error: SMCPError, principal: str | None) -> None:
        """Log and count a request that was rejected for another reason than its credential."""
        self._namespace.reject_request(error, client_of(request_of(scope).environ)[0], principal)

    def show(self, name: str, about: str, count: Callable[[], int]) -> None:
        """Show a number in the metrics."""
        if self._metrics is not None:
            self._metrics.show(name, about, count)

    def enter(
        self, grant: Grant, on_event: Callable[[str, list[Any]], None], on_closed: Callable[[], None]
    ) -> LocalMember:
        """Connect to the Server without a socket.

        Raises:
            InternalError: the Server accepts no connections now.
        """
        return LocalMember(self._hub, grant, on_event, on_closed)


class Mount:
    """An application, which is loaded when it is needed, and the paths that it serves. They start with `root`, which
    the application does not see."""

    def __init__(self, root: str, paths: Sequence[str], module: str, options: dict[str, Any], host: Host) -> None:
        self._root = root
        self._paths = tuple(paths)
        self._module = module
        self._options = options
        self._host = host
        self._app: MountedApp | None = None
        self._loading = asyncio.Lock()

    def covers(self, path: str) -> bool:
        """Whether a request is for this application."""
        return any(path == each or path.startswith(each + "/") for each in self._paths)

    @property
    def module(self) -> str:
        """The module of the application."""
        return self._module

    async def serve(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        """Serve a request."""
        app = self._app or await self.load()
        root = scope.get("root_path", "") + self._root
        await app({**scope, "path": path[len(self._root) :], "root_path": root, _OUTER: scope}, receive, send)

    async def load(self) -> MountedApp:
        """The application, which is loaded if it is not yet."""
        async with self._loading:
            app = self._app
            if app is None:
                # In a thread: the import takes a second, in which the Server must not stop.
                module = await asyncio.to_thread(importlib.import_module, self._module)
                app = self._app = module.mount(self._host, **self._options)
        return app

    async def aclose(self) -> None:
        """End the application."""
        if self._app is not None:
            await self._app.aclose()


class Siblings:
    """The applications of a Server, as they see each other."""

    def __init__(self, mounts: Sequence[Mount]) -> None:
        self._mounts = mounts

    async def load(self, module: str) -> MountedApp | None:
        """The application with this module; None if the Server has none."""
        mount = next((each for each in self._mounts if each.module == module), None)
        return await mount.load() if mount is not None else None

    def has(self, module: str) -> bool:
        """Whether the Server has an application with this module."""
        return any(each.module == module for each in self._mounts)
