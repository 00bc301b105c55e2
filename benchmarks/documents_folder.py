"""A folder of many small files: its catalogue, the server's memory, and what one change leads to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import psutil
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from a2c_documents.folder.files import Folder
from a2c_documents.library.library import Library, News
from a2c_documents.server.watching import watch
from a2c_documents.store.store import Store
from a2c_documents.workers.pool import Reply, Workers
from benchmarks.documents_files import make_folder
from benchmarks.mcp_servers import children
from benchmarks.servers import resident_bytes
from benchmarks.support import Row

CATALOGUE_TARGET = 1.0
"""Seconds."""
FIRST_SEARCH_TARGET = 1.0
"""Seconds."""
MEMORY_TARGET = 300.0
"""Megabytes."""
NOTICE_TARGET = 1_000.0
"""Milliseconds."""

_WARM_ROUNDS = 5
_CHANGES = 3
_PATIENCE = 10.0
_SETTLE = 1.0
"""Seconds of silence after which no further notice comes."""
_LOOK = 0.05


class CountingWorkers(Workers):
    """Workers that remember which files were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Path]] = []

    async def do(self, what: str, path: Path, *details: Any) -> Reply:
        self.asked.append((what, path))
        return await super().do(what, path, *details)

    @property
    def files(self) -> set[Path]:
        """All files that were opened."""
        return {path for _, path in self.asked}


class WatchedLibrary(Library):
    """A library that tells when it has looked at its folder."""

    def __init__(self, folder: Folder, store: Store, workers: Workers) -> None:
        super().__init__(folder, "lib", store, workers)
        self.has_looked = asyncio.Event()

    async def look(self) -> News:
        news = await super().look()
        self.has_looked.set()
        return news


async def measure(place: Path, files: int) -> list[Row]:
    """Cold, again, and after restarts; then the server, which knows nothing either; then changes."""
    folder = await asyncio.to_thread(make_folder, place / "folder", files)
    store = place / "folder.db"
    what = f"{files:,} files"
    rows = await _measure_catalogue(folder, store, files, what)
    rows += await _measure_server(folder, place / "cache", files, what)
    return rows + await _measure_changes(folder, store, what)


@contextlib.asynccontextmanager
async def _opened(folder: Path, store: Path) -> AsyncGenerator[tuple[WatchedLibrary, CountingWorkers]]:
    workers = CountingWorkers()
    library = WatchedLibrary(Folder(folder), Store(store), workers)
    try:
        yield library, workers
    finally:
        await library.close()


def _told(what: str, unit: str, value: float, target: float | None) -> Row:
    """No floor: the ratio is the number itself."""
    return Row(f"{what} (ratio: {unit})", "-", f"{value:,.2f} {unit}", value, target)


# ------------------------------------------------------------------------------------------------------------ catalogue


async def _measure_catalogue(folder: Path, store: Path, files: int, what: str) -> list[Row]:
    async with _opened(folder, store) as (library, _):
        cold = await _catalogue(library, files)
        unread = [each.relative for each in library.documents.values() if each.problem is not None]
        if unread:
            raise RuntimeError(f"{len(unread)} files were not read, {unread[0]} among them")
        warm = min([await _again(library) for _ in range(_WARM_ROUNDS)])
    restarts: list[float] = []
    asked = 0
    for _ in range(_WARM_ROUNDS):
        async with _opened(folder, store) as (library, workers):
            restarts.append(await _catalogue(library, files))
            asked = max(asked, len(workers.asked), int(library.has_worked))
    return [
        Row(f"{what}, catalogue, cold (ratio: s)", "-", f"{files / cold:,.0f} files/s", cold, None),
        _told(f"{what}, catalogue, warm", "s", warm, CATALOGUE_TARGET),
        _told(f"{what}, looked at and catalogue, after a restart", "s", min(restarts), CATALOGUE_TARGET),
        Row(f"{what}, after a restart (ratio: requests to workers)", "-", f"{asked} requests", asked, 0.0),
    ]


async def _catalogue(library: Library, files: int) -> float:
    """Seconds from nothing to the whole catalogue."""
    began = time.perf_counter()
    await library.look()
    found = await library.catalogue()
    took = time.perf_counter() - began
    if found["total_count"] != files:
        raise RuntimeError(f"{found['total_count']} documents instead of {files}")
    return took


async def _again(library: Library) -> float:
    began = time.perf_counter()
    await library.catalogue()
    return time.perf_counter() - began


# --------------------------------------------------------------------------------------------------------------- server


async def _measure_server(folder: Path, cache: Path, files: int, what: str) -> list[Row]:
    """The real server, from knowing nothing to having read and indexed everything; the most it ever had."""
    command = ["-m", "a2c_smcp.cli", "documents", str(folder), "--host-id", "lib"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    parameters = StdioServerParameters(command=sys.executable, args=command, env=environment)
    before = _own_children()
    async with Client(stdio_client(parameters), read_timeout_seconds=600) as client:
        (server,) = _own_children() - before
        most = _Most(server)
        sampling = asyncio.create_task(most.sample())
        began = time.perf_counter()
        await _search(client, 0.5)
        first = time.perf_counter() - began
        await _ask(client, files)
        while "incomplete" in await _search(client, 60):  # until all words are indexed
            pass
        warm = min([await _ask(client, files) for _ in range(_WARM_ROUNDS)])
        sampling.cancel()
        await asyncio.gather(sampling, return_exceptions=True)
    return [
        _told(f"{what}, first search, nothing indexed, to an MCP client", "s", first, FIRST_SEARCH_TARGET),
        _told(f"{what}, catalogue, warm, to an MCP client", "s", warm, CATALOGUE_TARGET),
        _told(f"{what}, server's memory", "MB", most.server / 1e6, MEMORY_TARGET),
        _told(f"{what}, its workers' memory, together", "MB", most.workers / 1e6, None),
    ]


async def _search(client: Client, seconds: float) -> str:
    """The answer of a search that may wait so long for the index."""
    answer: Any = await client.call_tool("search_documents", {"query": "Document 77", "wait": seconds})
    return answer.content[0].text


async def _ask(client: Client, files: int) -> float:
    """Seconds for the whole catalogue."""
    began = time.perf_counter()
    answer: Any = await client.read_resource("dpe://lib", cache_mode="bypass")
    took = time.perf_counter() - began
    if json.loads(answer.contents[0].text)["total_count"] != files:
        raise RuntimeError("the catalogue is not complete")
    return took


class _Most:
    """The most memory that a server and its workers were seen with."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.server = self.workers = 0

    async def sample(self) -> None:
        while True:
            self.server = max(self.server, resident_bytes(self._pid))
            with contextlib.suppress(psutil.NoSuchProcess):
                self.workers = max(self.workers, sum(map(resident_bytes, children(self._pid))))
            await asyncio.sleep(_LOOK)


def _own_children() -> set[int]:
    return {child.pid for child in cast("Any", psutil.Process()).children()}


# -------------------------------------------------------------------------------------------------------------- changes


async def _measure_changes(folder: Path, store: Path, what: str) -> list[Row]:
    """One file is changed, some times; the worst."""
    late = notices = read = 0.0
    for number in range(_CHANGES):
        async with _opened(folder, store) as (library, workers):
            heard: asyncio.Queue[tuple[float, News]] = asyncio.Queue()

            async def announce(news: News, heard: asyncio.Queue[tuple[float, News]] = heard) -> None:
                heard.put_nowait((time.perf_counter(), news))

            await library.look()
            await library.catalogue()
            if workers.asked:
                raise RuntimeError("not everything was known")
            library.has_looked.clear()
            watching = asyncio.create_task(watch(library, announce))
            try:
                async with asyncio.timeout(_PATIENCE):
                    await library.has_looked.wait()
                changed = list(library.documents.values())[number * 7]
                began = time.perf_counter()
                changed.path.write_text(changed.path.read_text("utf-8") + "\n", "utf-8")
                async with asyncio.timeout(_PATIENCE):
                    at, news = await heard.get()
                if news != News(False, frozenset({changed.ref})):
                    raise RuntimeError(f"other news than of {changed.ref}: {news}")
                await library.catalogue()
                await asyncio.sleep(_SETTLE)
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
            late = max(late, (at - began) * 1e3)
            notices = max(notices, 1 + heard.qsize())
            read = max(read, len(workers.files), sum(act == "facts" for act, _ in workers.asked))
    return [
        _told(f"{what}, one changed, until the notice", "ms", late, NOTICE_TARGET),
        Row(f"{what}, one changed (ratio: notices)", "-", f"{notices:.0f} notice", notices, 1.0),
        Row(f"{what}, one changed (ratio: files read)", "-", f"{read:.0f} file", read, 1.0),
    ]
