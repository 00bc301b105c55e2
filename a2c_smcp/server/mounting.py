"""Applications that share the Server's port and its credentials, such as the gateway for MCP hosts.

The Server knows such an application by the name of its module, and loads it with the first request for it: a Server
that no MCP host uses does not pay for it.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Any, Protocol

from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.flow import run_async
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.asgi import AsyncHub, Receive, Scope, Send, request_of
from a2c_smcp.server.connections import client_of
from a2c_smcp.server.local import LocalMember
from a2c_smcp.server.namespace import SMCPNamespace


class MountedApp(Protocol):
    """An application below a path of the Server."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; its path starts after that of the mount."""
        ...

    async def aclose(self) -> None:
        """The Server shuts down."""
        ...


class Host:
    """What the Server offers to a mounted application."""

    def __init__(self, hub: AsyncHub, namespace: SMCPNamespace) -> None:
        self._hub = hub
        self._namespace = namespace

    async def authenticate(self, scope: Scope) -> Grant:
        """What the credential of a request allows.

        Raises:
            NotAuthenticatedError: it has none, or one that is not valid.
            ForbiddenError: the client is rejected.
        """
        environ = request_of(scope).environ
        address, headers = client_of(environ)
        try:
            return await run_async(self._namespace.authenticating(environ, None, headers), self._namespace.backend)
        except SMCPError as error:
            self._namespace.reject_connection(error, address)
            # As for clients of Socket.IO: guessing becomes slow.
            await asyncio.sleep(self._hub.delay_of_guess(address))
            raise

    def enter(
        self, grant: Grant, on_event: Callable[[str, list[Any]], None], on_closed: Callable[[], None]
    ) -> LocalMember:
        """Connect to the Server without a socket.

        Raises:
            InternalError: the Server accepts no connections now.
        """
        return LocalMember(self._hub, grant, on_event, on_closed)


class Mount:
    """A path, and the application below it, which is loaded when it is needed."""

    def __init__(self, path: str, module: str, options: dict[str, Any], host: Host) -> None:
        self.path = path.rstrip("/")
        self._module = module
        self._options = options
        self._host = host
        self._app: MountedApp | None = None
        self._loading = asyncio.Lock()

    def covers(self, path: str) -> bool:
        """Whether a request is for this application."""
        return path == self.path or path.startswith(self.path + "/")

    async def serve(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        """Serve a request."""
        if self._app is None:
            async with self._loading:
                if self._app is None:
                    # In a thread: the import takes a second, in which the Server must not stop.
                    module = await asyncio.to_thread(importlib.import_module, self._module)
                    self._app = module.mount(self._host, **self._options)
        app = self._app
        assert app is not None
        root = scope.get("root_path", "") + self.path
        await app({**scope, "path": path[len(self.path) :], "root_path": root}, receive, send)

    async def aclose(self) -> None:
        """End the application."""
        if self._app is not None:
            await self._app.aclose()
