"""The Server's seat: any number of Servers, each at an address of its own, which it gives when it is made."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import socketio
import uvicorn
from driver import Driver, start
from werkzeug.serving import WSGIRequestHandler, make_server

from a2c_smcp import server as sdk
from a2c_smcp.server import (
    AuthenticationProvider,
    DefaultAuthenticationProvider,
    DefaultSyncAuthenticationProvider,
    SMCPNamespace,
    SyncAuthenticationProvider,
    SyncSMCPNamespace,
)


class Everybody(AuthenticationProvider):
    """Lets everybody in."""

    async def authenticate(self, *_: Any, **__: Any) -> bool:
        return True


class EverybodySync(SyncAuthenticationProvider):
    """Lets everybody in."""

    def authenticate(self, *_: Any, **__: Any) -> bool:
        return True


class _Quiet(WSGIRequestHandler):
    def log(self, *args: Any, **kwargs: Any) -> None:
        pass


class Servers(Driver):
    """Makes Servers. They end with the process."""

    async def make(self, form: str, secret: str | None, checks_versions: bool) -> str:
        """A Server with the default options of its libraries; without a secret it lets everybody in."""
        listener = socket.create_server(("127.0.0.1", 0))
        serve = self._on_a_loop if form == "async" else self._in_threads
        await serve(listener, secret, checks_versions)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def _on_a_loop(self, listener: socket.socket, secret: str | None, checks_versions: bool) -> None:
        sio = socketio.AsyncServer(async_mode="asgi", cors_allowed_origins="*")
        sio.register_namespace(SMCPNamespace(DefaultAuthenticationProvider(secret) if secret else Everybody()))
        app: Any = socketio.ASGIApp(sio)
        if checks_versions:
            app = getattr(sdk, "A2CProtocolVersionASGIMiddleware")(app)  # noqa: B009  # not every release has it
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        self.objects[str(listener.getsockname()[1])] = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.01)

    async def _in_threads(self, listener: socket.socket, secret: str | None, checks_versions: bool) -> None:
        sio = socketio.Server(async_mode="threading", cors_allowed_origins="*")
        provider = DefaultSyncAuthenticationProvider(secret) if secret else EverybodySync()
        sio.register_namespace(SyncSMCPNamespace(provider))
        app: Any = socketio.WSGIApp(sio)
        if checks_versions:
            app = getattr(sdk, "A2CProtocolVersionWSGIMiddleware")(app)  # noqa: B009  # not every release has it
        host, port = listener.getsockname()[:2]
        server = make_server(host, port, app, threaded=True, request_handler=_Quiet, fd=listener.fileno())
        server.daemon_threads = True  # pyright: ignore[reportAttributeAccessIssue]  # of socketserver.ThreadingMixIn
        self.objects[str(port)] = listener
        threading.Thread(target=server.serve_forever, daemon=True).start()


if __name__ == "__main__":
    start(Servers())
