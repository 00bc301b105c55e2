"""Real Servers on real sockets, asynchronous and in threads, for the duration of a test."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Generator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import uvicorn
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.serving import WSGIRequestHandler, make_server

from a2c_smcp.server.app import SMCPApp, SyncSMCPApp, create_app, create_wsgi_app
from a2c_smcp.server.serving import uvicorn_config
from a2c_smcp.server.settings import ServerSettings
from tests.support.balancing import balanced
from tests.support.programs import cluster_prefix, shared_redis
from tests.support.waiting import PATIENCE

Kind = Literal["async", "sync", "cluster"]
"""A Server on an event loop, one in threads, or three nodes of a cluster."""


@dataclass(frozen=True)
class Running:
    """A Server that answers at `url`."""

    kind: Kind
    url: str
    app: SMCPApp | SyncSMCPApp
    loop: asyncio.AbstractEventLoop | None = None

    async def shutdown(self, grace: float = PATIENCE) -> None:
        """Shut the application down where it runs."""
        if isinstance(self.app, SyncSMCPApp):
            await asyncio.to_thread(self.app.shutdown, grace)
        else:
            assert self.loop is not None
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.app.shutdown(grace), self.loop))


class RunningCluster(Running):
    """Three nodes. Every use of `url` leads to the next one, so that the members of an office are scattered; with
    A2C_TEST_NGINX=1, nginx decides that for each connection."""

    nodes: list[Running]

    def __init__(self, nodes: list[Running], proxy: str | None = None) -> None:
        super().__init__("cluster", "", nodes[0].app, nodes[0].loop)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "urls", cycle([proxy] if proxy else [node.url for node in nodes]))

    def __getattribute__(self, name: str) -> Any:
        return next(super().__getattribute__("urls")) if name == "url" else super().__getattribute__(name)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.is_up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        self.is_up.set()


@contextlib.contextmanager
def running(kind: Kind, auth_provider: Any = None, **options: Any) -> Generator[Running]:
    """Serve the application of one form while the block runs."""
    if kind == "cluster":
        with contextlib.ExitStack() as stack:
            options |= {"redis": shared_redis().url, "redis_prefix": cluster_prefix()}
            apps = [create_app(auth_provider, **options) for _ in range(3)]
            places = [stack.enter_context(serving_asgi(app, app)) for app in apps]
            nodes = [Running(kind, url, app, loop) for app, (url, loop) in zip(apps, places, strict=True)]
            proxy = None
            if os.environ.get("A2C_TEST_NGINX"):  # adds a process to each of many tests
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                ports = [int(node.url.rpartition(":")[2]) for node in nodes]
                proxy = stack.enter_context(balanced(folder, ports))
            yield RunningCluster(nodes, proxy)
    elif kind == "async":
        app = create_app(auth_provider, **options)
        with serving_asgi(app, app) as (url, loop):
            yield Running(kind, url, app, loop)
    else:
        wsgi = create_wsgi_app(auth_provider, **options)
        with serving_wsgi(wsgi) as url:
            yield Running(kind, url, wsgi)


@contextlib.contextmanager
def serving_asgi(asgi: Any, app: SMCPApp) -> Generator[tuple[str, asyncio.AbstractEventLoop | None]]:
    """Serve an ASGI application that contains `app`, with the options of `a2c server`."""
    config = uvicorn_config(app, ServerSettings.load({"max_message_bytes": app.namespace.limits.message_bytes}))
    config.app = asgi
    server = _Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        assert server.is_up.wait(PATIENCE)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", server.loop
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()
        assert not thread.is_alive(), "the Server did not stop"


class _QuietHandler(WSGIRequestHandler):
    def log(self, *args: Any, **kwargs: Any) -> None:
        pass


@contextlib.contextmanager
def serving_wsgi(app: Any) -> Generator[str]:
    """Serve a WSGI application in threads."""
    behind_proxy = ProxyFix(app)  # like uvicorn, believe what loopback says about the client that it forwards
    server = make_server("127.0.0.1", 0, behind_proxy, threaded=True, request_handler=_QuietHandler)
    server.daemon_threads = True  # pyright: ignore[reportAttributeAccessIssue]  # of socketserver.ThreadingMixIn
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        if isinstance(app, SyncSMCPApp):
            app.shutdown(grace=0)
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()
