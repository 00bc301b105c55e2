"""MCP servers with windows and documents, a Computer in front of them, and the plain client that reads them all."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agent import Agent
from benchmarks.computers import ComputerProcess, computing
from benchmarks.mcp_servers import direct_sessions, received
from benchmarks.servers import running

SHELVES = str(Path(__file__).parent.parent / "tests" / "servers" / "shelves.py")
"""A stdio server without an SDK, whose resources change when its tools say so."""
SERVERS = 5

_PATIENCE = 300.0
_LOOK = 0.1
_SETTLE = 0.3


@dataclass(frozen=True, slots=True)
class Shelves:
    """What all servers show together; an equal part each."""

    windows: int = 0
    window_size: int = 0
    documents: int = 0
    has_catalogue: bool = True

    def lines(self, logs: Path) -> list[list[str]]:
        """The servers' command lines."""
        rest = [] if self.has_catalogue else ["--no-catalogue"]
        return [[SHELVES, *self._options(number), *rest, "--log", str(logs / f"{number}.log")] for number in _numbers()]

    def uris(self) -> list[list[str]]:
        """What each server lists, by their number."""
        return [
            [f"window://{host(number)}/w{window:04}" for window in range(self.windows // SERVERS)]
            + [f"dpe://{host(number)}/d{document:05}" for document in range(self.documents // SERVERS)]
            for number in _numbers()
        ]

    def _options(self, number: int) -> list[str]:
        windows, documents = str(self.windows // SERVERS), str(self.documents // SERVERS)
        own = ["--host", host(number), "--prefix", f"s{number}_"]
        return [*own, "--windows", windows, "--size", str(self.window_size), "--documents", documents, "--page", "2000"]


def host(number: int) -> str:
    return f"shelf{number}"


def _numbers() -> range:
    return range(SERVERS)


@dataclass(frozen=True, slots=True)
class ShelvedComputer:
    """A running Computer whose servers tell of every change, and who asks it."""

    agent: Agent
    process: ComputerProcess
    logs: Path
    port: int

    def heard(self) -> Counter[str]:
        """What the servers were asked so far. The Computer looks after them, whoever asks what."""
        return Counter(method for method in received(self.logs) if method != "ping")

    def reads(self) -> int:
        return self.heard()["resources/read"]


@contextlib.asynccontextmanager
async def shelved(shelves: Shelves, agent_kind: str) -> AsyncGenerator[ShelvedComputer]:
    """Fresh processes; entered when everything is subscribed to and nothing has been read."""
    async with contextlib.AsyncExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running("ours"))
        process = stack.enter_context(computing("ours", server.port, shelves.lines(logs)))
        agent = await stack.enter_async_context(Agent.on(server.port, agent_kind))
        computer = ShelvedComputer(agent, process, logs, server.port)
        async with asyncio.timeout(_PATIENCE):
            while computer.heard()["resources/subscribe"] < shelves.windows + shelves.documents:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK)
        await asyncio.sleep(_SETTLE)
        if computer.reads():
            raise RuntimeError("the Computer reads what nobody asked for")
        yield computer


async def read_plainly(shelves: Shelves) -> float:
    """Seconds in which the `mcp` library's own client reads everything, all at once, from servers that are ready."""
    with tempfile.TemporaryDirectory() as logs:
        async with direct_sessions(shelves.lines(Path(logs))) as sessions:
            uris = shelves.uris()
            began = time.perf_counter()
            reads = (session.read_resource(uri) for session, own in zip(sessions, uris, strict=True) for uri in own)
            answers = await asyncio.gather(*reads)
            took = time.perf_counter() - began
    if len(answers) != shelves.windows + shelves.documents:
        raise RuntimeError(f"{len(answers)} answers")
    return took
