"""Servers that tell of changes only by MCP 2026-07-28 are found out, and those that do not lose nothing by it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.types import ServerState
from tests.support.hosting import AUTO, QUICK, Watched, hosting, shelves, text_of
from tests.support.mcp_servers import SERVERS, HttpServer, read_log, received
from tests.support.systems import posix_only
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

WINDOW = "window://windowed/board"


def starts(log: Path) -> int:
    return len([entry for entry in read_log(log) if entry.get("event") == "start"])


def asked(log: Path) -> int:
    return len(received(log, "server/discover"))


def windowed(log: Path) -> MCPServerConfig:
    """A server of the Python SDK with a window, as its author would write it."""
    args = [str(SERVERS / "windowed.py"), "stdio", "--log", str(log)]
    return server_from({"command": sys.executable, "args": args, "default_tool_meta": AUTO}, "windowed")


def gated(log: Path, how: str, *flags: str) -> MCPServerConfig:
    """A server whose window is not shown, unless it knows better when it is asked."""
    return shelves("shelves", "--windows", "1", "--no-subscribe", "--asked", how, "--log", str(log), *flags)


async def kill(computer: Watched, name: str) -> None:
    """End a server's process, and wait until the next one is ready."""
    restarts = computer.status_of(name).restarts
    pid = computer.status_of(name).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await computer.until(lambda: computer.status_of(name).restarts > restarts)
    await computer.until_state(name, ServerState.READY)


async def test_a_server_of_the_python_sdk_shows_its_window_and_its_changes_arrive(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(windowed(log)) as computer:
        status = computer.status_of("windowed")
        assert (status.protocol_version, status.restarts, starts(log)) == ("2026-07-28", 0, 2)
        assert await computer.get_desktop() == [f"{WINDOW}\n\nempty"]
        await computer.call("write", text="something")
        while await computer.get_desktop() != [f"{WINDOW}\n\nsomething"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert computer.status_of("windowed").notes == ()


@posix_only
async def test_how_it_was_connected_to_is_remembered_when_it_starts_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(windowed(log)) as computer:
        await kill(computer, "windowed")
        assert (computer.status_of("windowed").protocol_version, starts(log)) == ("2026-07-28", 3)
        await computer.mcp_manager.astop_client("windowed")
        await computer.mcp_manager.astart_client("windowed")
        assert starts(log) == 4
        assert await computer.get_desktop() == [f"{WINDOW}\n\nempty"]


async def test_its_tools_are_there_only_when_it_has_been_connected_to_for_good(tmp_path: Path) -> None:
    states: list[tuple[str, int]] = []
    log = tmp_path / "log"
    computer = Watched(windowed(log))
    async with asyncio.TaskGroup() as tasks:
        booting = tasks.create_task(computer.boot_up())
        while not booting.done():
            states.extend((status.state.value, len(computer.tool_names())) for status in computer.status)
            await asyncio.sleep(0.005)
    assert starts(log) == 2, "it was connected to twice, and seen between"
    states.append((computer.status_of("windowed").state.value, len(computer.tool_names())))
    await computer.shutdown()
    assert set(states) == {("starting", 0), ("ready", 3)}


@posix_only
@pytest.mark.parametrize("how", ["unknown", "invalid", "deny"])
async def test_a_server_that_knows_nothing_else_is_asked_once_and_started_once(how: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(gated(log, how)) as computer:
        assert (starts(log), asked(log)) == (1, 1)
        assert computer.status_of("shelves").protocol_version == "2025-11-25"
        await computer.until(lambda: "subscribe" in "".join(computer.status_of("shelves").notes))
        assert text_of(await computer.call("echo", text="hi")) == "hi"
        await kill(computer, "shelves")
        assert (starts(log), asked(log)) == (2, 1)


async def test_a_server_that_answers_on_the_spot_is_connected_to_as_it_says(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(gated(log, "claim")) as computer:
        assert (computer.status_of("shelves").protocol_version, starts(log)) == ("2026-07-28", 2)
        assert len(await computer.get_desktop()) == 1


async def test_a_server_that_ends_when_it_is_asked_is_ready_all_the_same_and_never_asked_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(gated(log, "exit"), policy=replace(QUICK, restart=False)) as computer:
        status = computer.status_of("shelves")
        assert (status.state, status.restarts, starts(log), asked(log)) == (ServerState.READY, 0, 2, 1)
        assert text_of(await computer.call("echo", text="hi")) == "hi"


@pytest.mark.parametrize("how", ["pretend", "claim_too_much"])
async def test_a_server_that_only_seems_to_know_is_connected_to_as_before(how: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(gated(log, how), policy=replace(QUICK, restart=False)) as computer:
        status = computer.status_of("shelves")
        assert (status.state, status.restarts, status.protocol_version) == (ServerState.READY, 0, "2025-11-25")
        assert (starts(log), asked(log)) == (3, 2)
        assert text_of(await computer.call("echo", text="hi")) == "hi"


@posix_only
@pytest.mark.parametrize("flags", [("--asked", "silence"), ("--no-list",)])
async def test_a_server_that_does_not_answer_delays_its_first_start_a_little_and_no_other(
    flags: tuple[str, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    log = tmp_path / "log"
    async with hosting(gated(log, "unknown", *flags), policy=replace(QUICK, question_timeout=0.2)) as computer:
        assert computer.status_of("shelves").state is ServerState.READY
        assert starts(log) == 1
        await kill(computer, "shelves")
        assert (starts(log), asked(log)) == (2, 0 if flags == ("--no-list",) else 1)
    assert caplog.text.count("it is not asked again") == 1


@pytest.mark.parametrize(
    "flags",
    [("--no-subscribe",), ("--windows", "1"), ("--documents", "1")],
    ids=["without windows and documents", "that tells of its windows", "that tells of its documents"],
)
async def test_a_server_that_lacks_nothing_is_asked_nothing(flags: tuple[str, ...], tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(shelves("shelves", "--log", str(log), *flags)) as computer:
        assert (computer.status_of("shelves").state, starts(log), asked(log)) == (ServerState.READY, 1, 0)


@posix_only
async def test_a_server_that_is_gone_for_a_while_shows_its_windows_again_when_it_is_back(tmp_path: Path) -> None:
    log, program = tmp_path / "log", tmp_path / "program.py"
    program.symlink_to(SERVERS / "windowed.py")
    args = [str(program), "stdio", "--log", str(log)]
    environment = {"PYTHONPATH": str(SERVERS)}
    config = server_from({"command": sys.executable, "args": args, "env": environment}, "windowed")
    async with hosting(config, policy=replace(QUICK, restarts=1_000)) as computer:
        await eventually(lambda: computer.status_of("windowed").windows)
        program.unlink()
        pid = computer.status_of("windowed").pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await computer.until(lambda: computer.status_of("windowed").restarts > 2)
        program.symlink_to(SERVERS / "windowed.py")
        await computer.until(lambda: computer.status_of("windowed").windows == 1)


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_an_http_server_that_cannot_be_asked_is_used_as_it_is(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    command = [sys.executable, str(SERVERS / "windowed.py"), "streamable", "--refuse", str(status)]
    with contextlib.closing(HttpServer(command)) as process:
        config = server_from({"type": "streamable", "url": process.url, "default_tool_meta": AUTO}, "windowed")
        async with hosting(config, policy=replace(QUICK, restart=False)) as computer:
            known = computer.status_of("windowed")
            assert (known.state, known.restarts, known.protocol_version) == (ServerState.READY, 0, "2025-11-25")
            assert text_of(await computer.call("write", text="hi")) == "hi"
    assert ("disconnects when asked" in caplog.text) == (status == 404)  # which is what ends a session


@pytest.mark.parametrize("kind", ["sse", "streamable"])
async def test_the_status_of_an_http_server_is_given_once(kind: str) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        async with hosting(
            server_from({"type": kind, "url": url}, "web"), policy=replace(QUICK, restart=False)
        ) as computer:
            reason = (await computer.until_state("web", ServerState.FAILED)).reason
    assert reason is not None
    assert reason.count("HTTP 403") == 1


async def test_a_server_is_stopped_while_it_is_being_asked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    computer = Watched(gated(log, "silence"), policy=replace(QUICK, question_timeout=3_600, stop_timeout=3_600))
    await computer.boot_up(patience=0)
    await eventually(lambda: asked(log))
    async with asyncio.timeout(PATIENCE):
        await computer.shutdown()
    assert computer.status_of("shelves").state is ServerState.STOPPED
