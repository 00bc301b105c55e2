"""What a Computer tells its host program of the states of MCP servers: every change, once, and never nonsense."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.types import ServerState, ServerStatus
from tests.support.hosting import QUICK, Watched, hosting, raw, shelves
from tests.support.systems import posix_only

pytestmark = pytest.mark.anyio


class Diary(Watched):
    """A Computer that writes down how its first server is whenever that is told."""

    def __init__(self, *servers: MCPServerConfig, **options: Any) -> None:
        self.entries: list[ServerStatus] = []
        super().__init__(*servers, **options)

    def _notify(self) -> None:
        super()._notify()
        self.entries.extend(self.status[:1])

    @property
    def states(self) -> list[str]:
        return [entry.state.value for entry in self.entries]


def check(entries: list[ServerStatus]) -> None:
    """Nothing is told twice, and there are tools, windows and documents exactly while they can be used."""
    for before, after in pairwise(entries):
        assert before != after
    for entry in entries:
        assert entry.active or (entry.tools, entry.windows, entry.documents) == (0, 0, 0)
        assert not entry.active or (entry.tools > 0 and entry.reason is None)


async def test_a_life_in_good_order_is_told_step_by_step() -> None:
    computer = Diary(shelves("shelves", "--windows", "2", "--documents", "3"))
    async with computer:
        await computer.until(lambda: computer.status_of("shelves").documents == 3)
    check(computer.entries)
    assert computer.states == ["starting", "ready", "ready", "stopping", "stopped"]
    assert [(entry.windows, entry.documents) for entry in computer.entries[1:3]] == [(0, 0), (2, 3)]
    assert [entry.reason for entry in computer.entries[-2:]] == ["was stopped", "was stopped"]
    assert computer.entries[-1].pid is None


@posix_only
async def test_a_crash_is_told_once_and_so_is_each_restart() -> None:
    computer = Diary(shelves("shelves", "--windows", "1"))
    async with computer:
        for crashes in (1, 2):
            await computer.until(lambda: computer.status_of("shelves").windows == 1)
            pid = computer.status_of("shelves").pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await computer.until(lambda crashes=crashes: computer.status_of("shelves").restarts == crashes)
        await computer.until(lambda: computer.status_of("shelves").windows == 1)
    check(computer.entries)
    life = ["ready", "ready"]
    assert computer.states == ["starting", *life, "restarting", *life, "restarting", *life, "stopping", "stopped"]


async def test_a_server_that_is_not_started_again_is_not_said_to_be() -> None:
    computer = Diary(raw(), auto_reconnect=False)
    async with computer:
        await computer.call("exit", code=3)
        await computer.until_state("raw", ServerState.FAILED)
        check(computer.entries)
        assert computer.states == ["starting", "ready", "stopping", "failed"]
        assert computer.entries[-1].reason == "exited with code 3"
        await computer.mcp_manager.astart_client("raw")
        assert computer.states[-2:] == ["starting", "ready"]


async def test_a_server_that_never_starts_fails_attempt_by_attempt() -> None:
    computer = Diary(raw("dead", "--mode", "exit"), policy=replace(QUICK, restarts=2))
    async with computer:
        await computer.until_state("dead", ServerState.FAILED)
    check(computer.entries)
    assert computer.states == ["starting", "restarting", "restarting", "failed", "stopped"]
    assert [entry.restarts for entry in computer.entries] == [0, 1, 2, 2, 2]


async def test_a_server_that_is_stopped_while_it_starts_was_never_ready() -> None:
    computer = Diary(raw("mute", "--mode", "mute"))
    await computer.boot_up(patience=0)
    await computer.shutdown()
    assert computer.states == ["starting", "stopping", "stopped"]


async def test_a_list_that_changes_is_told_once() -> None:
    computer = Diary(shelves("shelves", "--windows", "1"))
    async with computer:
        await computer.until(lambda: computer.status_of("shelves").windows == 1)
        told = len(computer.entries)
        await computer.call("grow", name="new")
        await computer.until(lambda: "new" in computer.tool_names())
        await computer.call("set_window", uri="window://shelf/other", text="x")
        await computer.until(lambda: computer.status_of("shelves").windows == 2)
        assert computer.states[told:] == ["ready", "ready"]


async def test_windows_that_are_not_shown_are_told_with_the_reason() -> None:
    async with hosting(shelves("shelves", "--windows", "1", "--no-subscribe")) as computer:
        await computer.until(lambda: bool(computer.status_of("shelves").notes))
        assert "resources.subscribe" in computer.status_of("shelves").notes[0]
