"""Programs that tests run with, such as nginx and Redis: those of this machine, or those that `make test` brought."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from scripts import programs
from tests.support.process import free_port
from tests.support.waiting import PATIENCE


def find(name: str) -> str:
    """The path of a program; without it, the test is skipped, except in CI."""
    found = programs.find(name)
    if found is None and not os.environ.get("CI"):
        pytest.skip(f"there is no {name} here, and `scripts/programs.py` could not bring it")
    assert found is not None
    return found


class Redis:
    """A Redis process. It keeps nothing on disk."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        self._command = [find("redis-server"), *place, *options]
        self.start()

    def start(self) -> None:
        """Start it, empty."""
        self.process = subprocess.Popen(
            self._command, env=programs.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                assert time.monotonic() < limit
                assert self.process.poll() is None
                time.sleep(0.01)

    def kill(self) -> None:
        """End it at once; what it knew is lost."""
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def redis_server(folder: Path, *options: str) -> Generator[Redis]:
    """A Redis for the duration of a test."""
    redis = Redis(folder, *options)
    try:
        yield redis
    finally:
        redis.kill()
