"""Runs the server over standard input and output or over HTTP, with reading and watching in the background."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeAlias

import uvicorn
from mcp.server.stdio import stdio_server

from a2c_documents.library.library import Library, News
from a2c_documents.server.server import DocumentServer
from a2c_documents.server.watching import watch as watch_folder
from a2c_documents.workers.pool import Progress
from a2c_smcp.utils.system.signals import STOP, on_signals

logger = logging.getLogger(__name__)

GRACE_SECONDS = 2
FIRST_PAUSE = 1.0
"""Seconds until the first new titles are announced."""
KEEP_ALIVE_SECONDS = 125
"""How long a connection may be idle: longer than MCP hosts and proxies keep theirs, so that they close it first."""
NEW_TITLES = News(True, frozenset())

Bar: TypeAlias = Callable[[str], AbstractContextManager[Progress | None]]


async def serve(library: Library, name: str, transport: str, host: str, port: int, *, watch: bool, bar: Bar) -> None:
    """Serve until the client disconnects or a signal arrives. `bar` shows the progress of reading."""
    server = DocumentServer(library, name)
    async with AsyncExitStack() as everything:
        # The stack unwinds in reverse order: the background tasks, which use the library, end before it is closed.
        everything.push_async_callback(library.close)
        # Scanned before the first request, so that a client that lists documents at once gets all of them. Reading them
        # takes longer and happens in the background.
        await library.look()
        await everything.enter_async_context(_behind(library, server, watch, bar))
        if transport == "stdio":
            await _over_stdio(server, everything.aclose)
        else:
            await _over_http(server, host, port)


async def _over_stdio(server: DocumentServer, close: Callable[[], Awaitable[None]]) -> None:
    stopped = asyncio.Event()
    with on_signals(STOP, stopped.set):
        async with stdio_server() as (incoming, outgoing):
            options = server.server.create_initialization_options()
            serving = asyncio.ensure_future(server.server.run(incoming, outgoing, options))
            stopping = asyncio.ensure_future(stopped.wait())
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
            if stopping.done():
                await close()
                # The MCP library reads standard input in a thread, which only the end of the input wakes. A normal exit
                # would wait for that thread forever.
                os._exit(0)
            stopping.cancel()
            await serving


async def _over_http(server: DocumentServer, host: str, port: int) -> None:
    app = server.server.streamable_http_app(host=host)
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", lifespan="on",
        timeout_keep_alive=KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=GRACE_SECONDS,
    )  # fmt: skip
    # Bound here and not by uvicorn: with port 0, `startup` has to know the number in order to print it.
    await _Uvicorn(config).serve(sockets=[config.bind_socket()])


class _Uvicorn(uvicorn.Server):
    """uvicorn that prints its address, and exits with code 0 on a signal."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = sockets[0].getsockname()[:2] if sockets else ("", 0)
        sys.stderr.write(f"documents at http://{f'[{host}]' if ':' in host else host}:{port}/mcp\n")
        sys.stderr.flush()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        # uvicorn's own version raises the signals again after the shutdown, which would end the process by signal
        # instead of code 0.
        previous = {number: signal.signal(number, self.handle_exit) for number in STOP}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


@asynccontextmanager
async def _behind(library: Library, server: DocumentServer, watch: bool, bar: Bar) -> AsyncGenerator[None]:
    """Read new files and watch the folder while clients are served."""
    tasks = [
        asyncio.create_task(_read_everything(library, server, bar)),
        asyncio.create_task(_read_slow(library, server)),
        asyncio.create_task(_announce_recognized(library, server)),
    ]
    if watch:
        tasks.append(asyncio.create_task(watch_folder(library, server.announce)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _announce_recognized(library: Library, server: DocumentServer) -> None:
    """Notify clients that got a scanned page before its text was recognized."""
    while True:
        news = News(False, await library.newly_recognized())
        try:
            await server.announce(news)
        except Exception:  # the next ones must still be announced
            logger.exception("recognized text could not be announced")


async def _read_everything(library: Library, server: DocumentServer, bar: Bar) -> None:
    """Read and index all files. Clients that listed documents before are notified that titles have changed."""
    try:
        with bar("reading") as progress:
            reading = asyncio.create_task(library.make_searchable(progress))
            try:
                await _announce_titles(library, server, reading)
            finally:
                reading.cancel()  # if it is not done, this task was cancelled
                await asyncio.gather(reading, return_exceptions=True)
        await reading
        await library.tidy()
        with bar("recognizing text") as progress:
            await library.recognize_all(progress)
    except Exception:
        logger.exception("reading the folder failed")


async def _announce_titles(library: Library, server: DocumentServer, reading: asyncio.Task[bool]) -> None:
    """Announce new titles while files are read, after pauses that get longer: each announcement makes clients list all
    documents."""
    announced, pause = library.titles_read, FIRST_PAUSE
    while not reading.done():
        await asyncio.wait([reading], timeout=pause)
        pause *= 2
        if library.titles_read > announced:
            announced = library.titles_read
            await server.announce(NEW_TITLES + library.take_news())


async def _read_slow(library: Library, server: DocumentServer) -> None:
    """Read documents that have to be converted, without delaying the others."""
    while True:
        try:
            await library.read_slow(server.announce)
        except Exception:  # one document must not stop the others
            logger.exception("reading a document that was converted failed")
