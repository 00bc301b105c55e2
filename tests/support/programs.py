"""Programs that tests run with, such as nginx and Redis: those of this machine, or those that `make test` brought."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest

from scripts import programs
from tests.support.process import free_port, lasting
from tests.support.waiting import PATIENCE


def find(name: str) -> str:
    """The path of a program; without it, the test is skipped, except in CI."""
    found = programs.find(name)
    if found is None:
        missing = f"there is no {name} here, and `scripts/programs.py` could not bring it"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    return found


class Redis:
    """A Redis process. It keeps nothing on disk."""

    def __init__(self, folder: Path, *options: str) -> None:
        # A node of a cluster listens at a second port, higher by 10,000, which must be as free as the first.
        is_node = "--cluster-enabled" in options
        self.port = free_port(2_000, 5_000) if is_node else free_port()
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

    def info(self, section: str) -> str:
        """What it says about itself."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection, connection.makefile("rb") as answer:
            connection.sendall(f"INFO {section}\r\n".encode())
            return answer.read(int(answer.readline()[1:])).decode()

    def kill(self) -> None:
        """End it at once; what it knew is lost."""
        self.process.kill()
        self.process.wait()


@cache
def shared_redis() -> Redis:
    """A Redis for all tests of this process that do not stop it. Each test has keys of its own (`cluster_prefix`)."""
    folder = tempfile.mkdtemp()
    redis = Redis(Path(folder))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(redis.kill)
    lasting.add(redis.process.pid)
    return redis


def cluster_prefix() -> str:
    """A prefix for a new cluster on the shared Redis.

    This Redis started a moment ago, so the nodes would wait for others to write back what it may have lost. The cluster
    gets the id of its Redis in advance, as if it had been there for a while.
    """
    prefix = secrets.token_hex(4)
    run_id = shared_redis().info("server").partition("run_id:")[2].split()[0]
    with socket.create_connection(("127.0.0.1", shared_redis().port)) as connection:
        connection.sendall(f"SET {{{prefix}}}:run {run_id}\r\n".encode())
        assert connection.recv(100).startswith(b"+OK")
    return prefix


@contextlib.contextmanager
def redis_server(folder: Path, *options: str) -> Generator[Redis]:
    """A Redis for the duration of a test."""
    redis = Redis(folder, *options)
    try:
        yield redis
    finally:
        redis.kill()


def redis_command(port: int, *words: str) -> str:
    """Send a command to a Redis, as its operator does; what it answers, also if it is not up yet."""
    line = [find("redis-cli"), "-p", str(port), *words]
    done = subprocess.run(
        line, env=programs.environment(), capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    return done.stdout.strip()
