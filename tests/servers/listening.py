"""Serve an ASGI application over HTTP and say where, for the servers of this folder that use an SDK."""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn


def serve(app: Any, path: str, port: int) -> None:
    """Listen on `port`, any free one for 0, and print one line once connections are accepted."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            sys.stdout.write(f"listening http://127.0.0.1:{listener.getsockname()[1]}{path}\n")
            sys.stdout.flush()

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        Server(config).run(sockets=[listener])
