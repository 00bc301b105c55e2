"""A bad day for `a2c up`: whatever dies, fills up or is swapped, every call is answered in time, and everything comes
back by itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import jwt
import psutil
import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.errors import DocumentNotFoundError, NotAuthenticatedError, SMCPError
from tests.support.load import CALL_SECONDS, CALLERS, COMPUTER, KEY, OFFICE, Load
from tests.support.mcp_servers import raw, stdio, write_config
from tests.support.process import A2C, LineProcess, WarmProcess, descendants, free_port, server_process, watching
from tests.support.systems import linux_only
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, linux_only]


@dataclass
class Day:
    """`a2c up` as a process, and its parts."""

    up: LineProcess
    url: str
    files: Path
    env: dict[str, str]

    def find(self, *words: str) -> psutil.Process:
        """The process of `a2c up` whose command line has these words."""
        for process in psutil.Process(self.up.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                line = " ".join(process.cmdline())
                if all(word in line for word in words):
                    return process
        raise AssertionError(f"no process {words}:\n{self.up.text}")

    @asynccontextmanager
    async def agent(self) -> AsyncGenerator[AsyncSMCPAgentClient]:
        async with AsyncSMCPAgentClient.in_office(self.url, OFFICE, "agent", api_key=KEY) as agent:
            yield agent

    @asynccontextmanager
    async def load(self) -> AsyncGenerator[Load]:
        async with self.agent() as agent, asyncio.TaskGroup() as callers:
            load = Load(agent)
            tasks = [callers.create_task(load.call()) for _ in range(CALLERS)]
            await load.until_calls_succeed()
            yield load
            for task in tasks:
                task.cancel()


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Generator[Day]:
    """One for all tests: what each of them breaks works again at its end. The files are then those of the beginning."""
    tmp_path = tmp_path_factory.mktemp("day")
    files = tmp_path / "files"
    files.mkdir()
    (files / "notes.md").write_text("# Alpha\n\nFirst words.\n")
    env: dict[str, str] = {}
    for variable, name in {"TMPDIR": "temp", "XDG_CACHE_HOME": "cache", "HOME": "home"}.items():
        (tmp_path / name).mkdir()
        env[variable] = str(tmp_path / name)
    config = write_config(tmp_path, {"raw": stdio(raw())})
    flags = ["--config", str(config), "--office", OFFICE, "--api-key", KEY, "--name", COMPUTER]
    port = free_port()
    with contextlib.closing(WarmProcess(["a2c", "up", str(files), "--port", str(port), *flags], env=env)) as up:
        up.type()
        for server in ("documents", "machine", "raw"):
            up.wait_for(rf"MCP server {server} is ready")
        up.wait_for(rf"{COMPUTER} joined")
        yield Day(up, f"http://127.0.0.1:{port}", files, env)
        with watching(descendants() - {up.process.pid}) as watch:
            assert up.stop(signal.SIGINT) == 0
            assert not watch.still_alive()
        assert not os.listdir(env["TMPDIR"])
        with socket.create_server(("127.0.0.1", port)):
            pass  # the port is free again


async def test_whatever_is_killed_comes_back_and_no_call_stays_without_an_answer(day: Day) -> None:
    async with day.load() as load:
        for victim, sign in {
            "raw.py": "MCP server raw is ready",
            "computer_process": "MCP server documents is ready",
            "server_process": f"{COMPUTER} joined",
            "cli documents": "MCP server documents is ready",
            "up.machine_server": "MCP server machine is ready",
        }.items():
            before = len(day.up.log)
            day.find(victim).kill()
            await asyncio.to_thread(day.up.wait_for, sign, before)
            await load.until_calls_succeed()
        assert not load.unanswered
        changes = load.agent.changes()
        async with asyncio.timeout(PATIENCE):
            while await titles(load.agent) != {"Alpha"} or not await windows(load.agent):
                await anext(changes)
        assert any("Recent activity" in shown for shown in await windows(load.agent))


CALLING = """
import asyncio, sys
from a2c_smcp.agent import AsyncSMCPAgentClient

async def main():
    url, office, key, computer = sys.argv[1:]
    async with AsyncSMCPAgentClient.in_office(url, office, "doomed", api_key=key) as agent:
        while True:
            result = await agent.emit_tool_call(computer, "echo", {"text": "hello"}, 5)
            print("answered", flush=True)

asyncio.run(main())
"""


async def test_an_agent_that_is_killed_while_it_calls_leaves_its_seat(day: Day) -> None:
    program = ["python", "-c", CALLING, day.url, OFFICE, KEY, COMPUTER]
    with contextlib.closing(WarmProcess(program)) as doomed:
        await asyncio.to_thread(doomed.wait_for, "answered")
        doomed.process.kill()
        await asyncio.to_thread(day.up.wait_for, "doomed left")
    async with day.load() as load:
        assert not load.unanswered


async def test_what_an_agent_sends_cannot_harm_who_looks_on(day: Day) -> None:
    huge, forged = "é" * 1_000_000, "x\n12:00:00  the Server died"
    before = len(day.up.log)
    async with day.agent() as agent:
        for tool in (huge, forged):
            with contextlib.suppress(SMCPError):
                await agent.emit_tool_call(COMPUTER, tool, {}, CALL_SECONDS)
        with contextlib.suppress(SMCPError):
            await agent.get_finder(COMPUTER, [huge] * 3)
        await agent.emit_tool_call(COMPUTER, "echo", {"text": "hello"}, PATIENCE)
        await asyncio.to_thread(day.up.wait_for, "agent called echo", before)
    assert max(map(len, day.up.log)) < 1_000
    assert not [line for line in day.up.log if line.startswith("12:00:00")]


async def test_nobody_who_reads_its_output_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Alpha")
    port = free_port()
    flags = ["--port", str(port), "--office", OFFICE, "--api-key", KEY, "--name", COMPUTER]
    command = [*A2C, "up", str(tmp_path), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as up:  # noqa: ASYNC220
        try:
            assert up.stdout is not None
            while b"A2C_API_KEY" not in await asyncio.to_thread(up.stdout.readline):
                pass
            agent = AsyncSMCPAgentClient(DefaultAgentAuthProvider("agent", OFFICE, KEY))
            async with asyncio.timeout(PATIENCE):
                await agent.connect_to_server(f"http://127.0.0.1:{port}")
                await agent.join_office()
                changes = agent.changes()
                while COMPUTER not in agent.computers:
                    await anext(changes)
            nowhere = "dpe://nowhere/" + "x" * 80
            for _ in range(18):  # what is printed of it is more than a pipe holds
                reads = [agent.read_contents(COMPUTER, nowhere) for _ in range(50)]
                async with asyncio.timeout(PATIENCE):
                    answers = await asyncio.gather(*reads, return_exceptions=True)
                assert {type(answer) for answer in answers} == {DocumentNotFoundError}
            await agent.disconnect()
            up.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(up.wait, PATIENCE) == 0
        finally:
            up.kill()


async def test_a_cache_that_is_full_costs_nothing_but_time(day: Day) -> None:
    """The document server may write no byte more into any file, as on a disk that is full."""
    import resource

    async with day.agent() as agent:
        changes = agent.changes()
        server = day.find("documents")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        (day.files / "more.md").write_text("# Beta\n\nSecond words.\n")
        async with asyncio.timeout(PATIENCE):
            while await titles(agent) != {"Alpha", "Beta"}:
                await anext(changes)
        result = await agent.emit_tool_call(COMPUTER, "read_document", {"document": "more"}, PATIENCE)
        assert server.is_running()
        assert result is not None
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        (day.files / "again.md").write_text("# Gamma\n\nThird words.\n")
        async with asyncio.timeout(PATIENCE):
            while await titles(agent) != {"Alpha", "Beta", "Gamma"}:
                await anext(changes)
        for name in ("more.md", "again.md"):
            (day.files / name).unlink()
        async with asyncio.timeout(PATIENCE):
            while await titles(agent) != {"Alpha"}:
                await anext(changes)


async def test_another_folder_in_its_place_is_another_catalogue(day: Day) -> None:
    other = day.files.parent / "other"
    other.mkdir()
    (other / "letter.md").write_text("# Delta\n\nOther words.\n")
    async with day.agent() as agent:
        assert await titles(agent) == {"Alpha"}
        changes = agent.changes()
        for wanted in ("Delta", "Alpha"):
            aside = day.files.parent / f"aside-{wanted}"
            day.files.rename(aside)
            other.rename(day.files)
            other = aside
            async with asyncio.timeout(PATIENCE):
                while await titles(agent) != {wanted}:
                    await anext(changes)


async def test_a_token_of_a_wrong_clock_is_refused_at_once_and_a_right_one_comes_back(tmp_path: Path) -> None:
    secret = "a-secret-that-is-long-enough-for-hs256"
    (tmp_path / "jwt.key").write_text(secret)
    skew = -3_600.0

    class Clock(DefaultAgentAuthProvider):
        """Makes its token when it is asked for, by a clock that may be wrong."""

        def get_connection_headers(self) -> dict[str, str]:
            expires = int(time.time() + skew + 60)
            grant = {"sub": "agent", "exp": expires, "offices": ["*"], "roles": ["agent"]}
            return {"x-api-key": jwt.encode(grant, secret, "HS256")}

        def get_connection_auth(self) -> None:
            return None

    port = free_port()
    flags = ["--port", str(port), "--jwt-key-file", str(tmp_path / "jwt.key")]
    agent = AsyncSMCPAgentClient(Clock("agent", OFFICE))
    try:
        with server_process(*flags) as server:
            with pytest.raises(NotAuthenticatedError):
                await agent.connect_to_server(server.url)
            skew = 0.0
            await agent.connect_to_server(server.url)
            await agent.join_office()
            changes = agent.changes()
            skew = -3_600.0
            server.process.kill()
        async with asyncio.timeout(PATIENCE):
            assert (await anext(changes)).kind == "disconnected"
        with server_process(*flags) as server:
            await asyncio.to_thread(server.wait_for, "rejected: not authenticated")
            skew = 0.0
            async with asyncio.timeout(PATIENCE):
                assert (await anext(changes)).kind == "rejoined"
            assert await agent.get_computers_in_office(OFFICE) == []
    finally:
        await agent.disconnect()


async def titles(agent: AsyncSMCPAgentClient) -> set[str]:
    return {document["title"] async for document in agent.iter_documents(COMPUTER)}


async def windows(agent: AsyncSMCPAgentClient) -> list[str]:
    return (await agent.get_desktop_from_computer(COMPUTER))["desktops"]
