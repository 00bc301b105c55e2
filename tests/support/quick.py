"""`pytest --quick`: the tests that start no process and open no connection.

A test module is quick unless it imports one of `NEEDED`, directly or through other modules of `tests/`. A module that
is not quick is not even imported. Where only some tests start processes, `@pytest.mark.process` marks those, and the
others are quick.

The guard keeps the selection honest: a quick test that starts a process or opens a connection fails.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
NEEDED = {
    "a2c_documents.workers",
    "httpx",
    "multiprocessing",
    "psutil",
    "pty",
    "socket",
    "socketio",
    "subprocess",
    "uvicorn",
    "watchfiles",
    "websockets.asyncio",
}
"""Modules and packages that are imported for the sake of processes and connections."""
MARK = "@pytest.mark.process\n"
_FORBIDDEN = {
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.system",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.sendto",
    "subprocess.Popen",
}


def is_quick(path: Path) -> bool:
    """Whether the tests of a module need no processes and no connections, except those that are marked."""
    if MARK in path.read_text("utf-8"):
        return True
    return not any(f"{name}.".startswith(tuple(f"{needed}." for needed in NEEDED)) for name in _reached(path))


def _reached(path: Path) -> set[str]:
    """The modules that a module of `tests/` imports, with those that its helpers import."""
    found: set[str] = set()
    paths = [path]
    while paths:
        for name in _imported(paths.pop()) - found:
            found.add(name)
            if name.startswith("tests."):
                helper = ROOT.joinpath(*name.split(".")).with_suffix(".py")
                paths += [helper] if helper.exists() else []
    return found


@functools.cache
def _imported(path: Path) -> frozenset[str]:
    """The modules that a module names in its import statements."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


class Guard:
    """Makes every attempt to start a process or open a connection fail while it is `watching`."""

    def __init__(self) -> None:
        self._attempts: list[str] | None = None
        sys.addaudithook(self._hear)

    @contextmanager
    def watching(self) -> Generator[list[str]]:
        """Forbid it while the block runs. The attempts are noted too: the code under test may catch the exception."""
        self._attempts = attempts = []
        try:
            yield attempts
        finally:
            self._attempts = None

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._attempts is not None and event in _FORBIDDEN:
            attempt = f"{event}{arguments!r}"
            self._attempts.append(attempt)
            raise RuntimeError(f"a quick test starts no process and opens no connection: {attempt}")
