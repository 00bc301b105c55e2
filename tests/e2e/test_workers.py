"""`a2c server --workers`: several processes behind one port, as one Server; and `--redis` with a Redis of no use."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psutil
import pytest

from tests.support.peer import Crowd, Peer, crowd, tool_call
from tests.support.process import ServerProcess, a2c, server_process, watching
from tests.support.programs import cluster_prefix, redis_server, shared_redis
from tests.support.systems import SIGKILL, posix_only
from tests.support.waiting import PATIENCE

pytestmark = posix_only
NUMBERS = count()
"""For the names of Computers: that of a worker's member stays taken for a while after the worker was killed."""


@contextmanager
def two_workers(*flags: str) -> Generator[ServerProcess]:
    """A Server with two workers, both of which are ready."""
    redis = shared_redis().url
    with server_process("--workers", "2", "--redis", redis, "--redis-prefix", cluster_prefix(), *flags) as server:
        for worker in (1, 2):
            server.wait_for(f"connected to its cluster  worker={worker}")
        yield server


def started_by(server: ServerProcess) -> dict[int, str]:
    """The processes that the parent runs, with their command lines."""
    children = psutil.Process(server.process.pid).children(recursive=True)
    return {child.pid: " ".join(child.cmdline()) for child in children}


def node_of(peer: Peer) -> str:
    return peer.sid.partition(".")[0]


async def computer_at(people: Crowd, wanted: str | None, *, not_at: str, **credentials: str) -> tuple[Peer, str]:
    """A Computer at a certain worker, or at any other than `not_at`; the system decides, so it takes a few attempts."""
    for _ in range(100):
        name = f"pc-{next(NUMBERS)}"
        computer = await people.member("computer", name, "office", auth=credentials)
        if node_of(computer) == wanted or (wanted is None and node_of(computer) != not_at):
            return computer, name
        await computer.disconnect()
    raise AssertionError("the system gives all connections to one worker")


@pytest.mark.anyio
async def test_workers_share_offices_and_one_that_is_killed_is_replaced() -> None:
    with two_workers("--api-key", "sesame") as server:
        processes = started_by(server)
        assert not [line for line in processes.values() if "sesame" in line or "redis:" in line]
        key = {"api_key": "sesame"}
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office", auth=key)
            at_home = node_of(agent)
            computer, name = await computer_at(people, None, not_at=at_home, **key)
            assert (await agent.ask("client:tool_call", tool_call(name)))["echo"] == "client:tool_call"

            server.process.send_signal(signal.SIGHUP)
            for worker in (1, 2):
                await asyncio.to_thread(server.wait_for, f"reloaded: nothing changed  worker={worker}")

            died = server.wait_for(rf"node {node_of(computer)} is connected to its cluster  worker=(\d)")[1]
            before = len(server.log)
            [victim] = [pid for pid, line in processes.items() if f"cli.worker {died} " in line]
            psutil.Process(victim).kill()
            async with asyncio.timeout(PATIENCE):
                await computer.is_gone.wait()
            await asyncio.to_thread(server.wait_for, f"worker {died} was killed by SIGKILL; it is replaced in", before)
            joined = rf"node (\w+) is connected to its cluster  worker={died}"
            replacement = (await asyncio.to_thread(server.wait_for, joined, before))[1]
            _, name = await computer_at(people, replacement, not_at=at_home, **key)
            assert (await agent.ask("client:tool_call", tool_call(name)))["echo"] == "client:tool_call"

            with watching(started_by(server)) as watch:
                assert await asyncio.to_thread(server.stop, signal.SIGTERM) == 0
                assert not watch.still_alive()
    assert server.text.count("A2C Server at ") == 1
    assert "Traceback" not in server.text
    assert "sesame" not in server.text


@pytest.mark.anyio
async def test_a_signal_lets_the_calls_of_all_workers_end_and_a_second_ctrl_c_does_not() -> None:
    with two_workers("--grace", "3600") as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            computer, name = await computer_at(people, None, not_at=node_of(agent))
            forever = asyncio.Event()
            computer.answer = lambda event, data: forever.wait()
            await agent.tell("client:tool_call", tool_call(name))
            await computer.be_asked("client:tool_call")
            server.process.send_signal(signal.SIGINT)
            # Both, before the next signal: a process that has not acted on the first one would get only one of them.
            for worker in (1, 2):
                await asyncio.to_thread(server.wait_for, f"1 running calls  worker={worker}")
            with watching(started_by(server)) as watch:
                assert await asyncio.to_thread(server.stop, signal.SIGINT) == 0
                assert not watch.still_alive()
            forever.set()
    assert "Traceback" not in server.text


def test_no_worker_outlives_its_parent() -> None:
    with two_workers() as server, watching(started_by(server)) as watch:
        server.process.send_signal(SIGKILL)
        assert not watch.still_alive()


def test_a_redis_of_no_use_ends_the_server_with_one_clear_line(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--requirepass", "sesame") as redis:
        wrong = redis.url.replace("//", "//:mustard@")
        for url, workers, says in (
            (redis.url, "1", "a2c: Redis requires a password, and its URL has none"),
            (wrong, "2", "a2c: Redis rejects the user name or the password"),
        ):
            outcome = a2c("server", "--port", "0", "--workers", workers, env={"A2C_REDIS": url})
            assert outcome.returncode == 1
            assert outcome.stderr.startswith(says)
            assert len(outcome.stderr.splitlines()) == 1
            assert "mustard" not in outcome.stderr
