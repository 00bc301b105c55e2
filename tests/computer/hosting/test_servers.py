"""MCP servers that behave and that do not: whatever one does, it is noticed at once and harms no other."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import NotFoundError
from tests.support.hosting import AUTO, QUICK, Watched, code_of, hosting, raw, text_of
from tests.support.mcp_servers import SERVERS, read_log, received
from tests.support.process import descendants, watching
from tests.support.systems import posix_only
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio


async def test_servers_start_side_by_side_and_a_failing_one_harms_no_other() -> None:
    missing = server_from({"command": "no-such-command-anywhere"}, "missing")
    async with hosting(raw(), missing, raw("dead", "--mode", "exit"), raw("other", "--prefix", "x_")) as computer:
        assert computer.status_of("raw").state is ServerState.READY
        assert computer.status_of("other").state is ServerState.READY
        failed = computer.status_of("missing")
        assert (failed.state, failed.restarts) == (ServerState.FAILED, 0)
        assert "no-such-command-anywhere" in (failed.reason or "")
        assert text_of(await computer.call("x_echo", text="hi")) == "hi"


async def test_a_server_that_does_not_answer_does_not_hold_up_booting() -> None:
    policy = replace(QUICK, start_timeout=60.0)
    async with asyncio.timeout(PATIENCE):
        async with hosting(raw(), raw("mute", "--mode", "mute", disabled=True), policy=policy) as computer:
            adding = asyncio.create_task(computer.aadd_or_aupdate_server(raw("mute", "--mode", "mute")))
            await computer.until_state("mute", ServerState.STARTING)
            assert text_of(await computer.call("echo", text="hi")) == "hi"
            await computer.aremove_server("raw")
            adding.cancel()


async def test_booting_is_patient_only_for_so_long() -> None:
    computer = Watched(raw(), raw("mute", "--mode", "mute"), policy=replace(QUICK, start_timeout=60.0))
    try:
        await computer.boot_up(patience=0.5)
        assert computer.status_of("mute").state is ServerState.STARTING
        await computer.until_state("raw", ServerState.READY)
    finally:
        await computer.shutdown()


async def test_a_server_that_never_answers_fails_with_the_reason() -> None:
    policy = replace(QUICK, start_timeout=0.2, restarts=1)
    async with hosting(raw("mute", "--mode", "mute"), policy=policy) as computer:
        failed = await computer.until_state("mute", ServerState.FAILED)
        assert failed.restarts == 1
        assert "0.2 s" in (failed.reason or "")


async def test_a_server_that_exits_at_start_is_tried_again_so_often_and_then_failed() -> None:
    async with hosting(raw("dead", "--mode", "exit")) as computer:
        failed = await computer.until_state("dead", ServerState.FAILED)
        assert failed.restarts == QUICK.restarts
        assert failed.reason == "exited with code 3"
        assert failed.stderr == ("raw: cannot start", "raw: giving up")


async def test_without_auto_reconnect_a_server_that_ended_is_failed_at_once() -> None:
    async with hosting(raw(), auto_reconnect=False) as computer:
        await computer.call("exit", code=7)
        failed = await computer.until_state("raw", ServerState.FAILED)
        assert (failed.restarts, failed.reason) == (0, "exited with code 7")


@posix_only
async def test_death_is_noticed_without_a_call_and_the_server_comes_back() -> None:
    async with hosting(raw()) as computer:
        pid = computer.status_of("raw").pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await computer.until(lambda: computer.status_of("raw").restarts == 1)
        assert "SIGKILL" in (computer.status_of("raw").reason or "")
        assert computer.tool_names() == []
        ready = await computer.until_state("raw", ServerState.READY)
        assert ready.pid != pid
        assert text_of(await computer.call("echo", text="again")) == "again"


async def test_a_call_on_a_server_that_dies_ends_at_once_with_how_it_died() -> None:
    async with hosting(raw()) as computer:
        result = await computer.call("exit", code=9)
        assert code_of(result) == 4003
        assert "exited with code 9" in text_of(result)


async def test_a_first_list_of_tools_that_fails_is_read_again() -> None:
    async with hosting(raw("raw", "--mode", "late_list")) as computer:
        await computer.until(lambda: "echo" in computer.tool_names())
        assert computer.status_of("raw").notes == ()


async def test_a_tool_of_a_server_that_cannot_list_its_tools_fails_rather_than_being_unknown() -> None:
    async with hosting(raw("raw", "--mode", "no_list", tool_meta={"echo": AUTO})) as computer:
        await computer.until_state("raw", ServerState.READY)
        result = await computer.call("echo", text="hi")
        assert code_of(result) == 4003
        assert "cannot list its tools" in text_of(result)


async def test_a_tool_of_a_server_that_is_not_there_fails_rather_than_being_unknown() -> None:
    async with hosting(raw(), policy=replace(QUICK, first_delay=60.0, longest_delay=60.0)) as computer:
        await computer.call("exit", code=1)
        await computer.until_state("raw", ServerState.RESTARTING)
        result = await computer.call("echo", text="hi")
        assert code_of(result) == 4003
        assert "restarting" in text_of(result)


@pytest.mark.parametrize("mode", ["flood_stderr", "flood_stdout", "flood_notifications", "chatty"])
async def test_a_noisy_server_works_and_its_neighbour_does_not_wait(mode: str) -> None:
    async with hosting(raw("noisy", "--mode", mode, "--prefix", "n_"), raw()) as computer:
        for number in range(20):
            assert text_of(await computer.call("echo", text=str(number))) == str(number)
        await computer.until(lambda: computer.status_of("noisy").active)
        assert text_of(await computer.call("n_echo", text="loud")) == "loud"


async def test_a_server_that_writes_only_garbage_is_failed_with_that_reason() -> None:
    policy = replace(QUICK, restarts=0, noise_bytes=1_000)
    async with hosting(raw("garbage", "--mode", "garbage"), policy=policy) as computer:
        failed = await computer.until_state("garbage", ServerState.FAILED)
        assert "no MCP message" in (failed.reason or "")


async def test_an_idle_server_that_hangs_is_found_by_a_ping() -> None:
    policy = replace(QUICK, ping_interval=0.1, ping_timeout=0.2)
    async with hosting(raw("hung", "--mode", "no_ping"), policy=policy) as computer:
        await computer.until(lambda: computer.status_of("hung").restarts > 0)


async def test_a_server_that_does_not_know_ping_is_alive(tmp_path: Path) -> None:
    log = tmp_path / "log"
    policy = replace(QUICK, ping_interval=0.05, ping_timeout=0.2)
    async with hosting(raw("raw", "--mode", "legacy_ping_error", "--log", str(log)), policy=policy) as computer:
        await eventually(lambda: len(received(log, "ping")) > 2)
        assert computer.status_of("raw").restarts == 0


async def test_a_server_is_not_pinged_while_it_works_on_a_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    policy = replace(QUICK, ping_interval=0.05, ping_timeout=0.05)
    async with hosting(raw("raw", "--log", str(log)), policy=policy) as computer:
        assert code_of(await computer.call("sleep", seconds=0.5)) is None
        messages = [message.get("method") for message in read_log(log)]
        after_call = messages[messages.index("tools/call") :]
        assert "ping" not in after_call


async def test_a_server_that_only_speaks_2026_07_28_works_and_its_changes_are_heard() -> None:
    modern = server_from(
        {"command": raw().server_parameters.model_dump()["command"], "args": [str(SERVERS / "modern.py")],
         "default_tool_meta": AUTO}, "modern",
    )  # fmt: skip
    async with hosting(modern) as computer:
        assert computer.status_of("modern").protocol_version == "2026-07-28"
        assert text_of(await computer.call("echo", text="hi")) == "hi"
        await computer.call("grow", name="grown")
        await computer.until(lambda: "grown" in computer.tool_names())


# ------------------------------------------------------------------------------------------------------ nothing is left


def children_of(*pids: int) -> set[int]:
    return {pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE}


@pytest.mark.parametrize("mode", ["good", "slow_stop", "stubborn", "fork", "fork_holding_pipes"])
async def test_stopping_leaves_no_process_behind_whatever_the_server_does(mode: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--mode", mode, "--log", str(log))) as computer:
        pid = computer.status_of("raw").pid
        assert pid is not None
        pids = [pid, *(entry["pid"] for entry in read_log(log) if entry.get("event") == "child")]
        assert children_of(*pids) == set(pids)
        assert len(pids) == (3 if mode.startswith("fork") else 1)
        with watching(pids) as watch:  # a process that has been killed takes a moment to end
            async with asyncio.timeout(PATIENCE):
                await computer.mcp_manager.astop_client("raw")
            assert not watch.still_alive()
        assert computer.status_of("raw").state is ServerState.STOPPED


async def test_a_crashed_server_takes_its_children_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    policy = replace(QUICK, restarts=0)
    async with hosting(raw("raw", "--mode", "fork", "--log", str(log)), policy=policy) as computer:
        pids = [entry["pid"] for entry in read_log(log) if entry.get("event") == "child"]
        with watching(pids) as watch:
            await computer.call("exit", code=1)
            await computer.until_state("raw", ServerState.FAILED)
            assert not watch.still_alive()


async def test_a_stopped_server_says_goodbye_in_good_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))):
        pass
    assert {"event": "eof"} in read_log(log)


# ------------------------------------------------------------------------------------------------ changes while running


async def test_a_server_that_was_stopped_can_be_started_again() -> None:
    async with hosting(raw()) as computer:
        await computer.mcp_manager.astop_client("raw")
        assert computer.tool_names() == []
        assert code_of(await computer.call("echo", text="hi")) == 4003
        await computer.mcp_manager.astart_client("raw")
        assert text_of(await computer.call("echo", text="hi")) == "hi"


async def test_adding_and_removing_a_server_leaves_the_others_running() -> None:
    async with hosting(raw()) as computer:
        pid = computer.status_of("raw").pid
        await computer.aadd_or_aupdate_server(raw("more", "--prefix", "m_"))
        assert "m_echo" in computer.tool_names()
        assert [config.name for config in computer.mcp_servers] == ["raw", "more"]
        await computer.aremove_server("more")
        assert "m_echo" not in computer.tool_names()
        assert computer.status_of("raw").pid == pid
        assert code_of(await computer.call("m_echo", text="hi")) == 4001


async def test_changing_how_tools_are_seen_restarts_nothing() -> None:
    async with hosting(raw()) as computer:
        pid = computer.status_of("raw").pid
        await computer.aadd_or_aupdate_server(raw(forbidden_tools=["echo"], tool_meta={"add": {"alias": "plus"}}))
        assert computer.status_of("raw").pid == pid
        assert "echo" not in computer.tool_names()
        assert "plus" in computer.tool_names()


async def test_changing_how_a_server_starts_restarts_it_and_ends_its_calls() -> None:
    async with hosting(raw(), raw("other", "--prefix", "o_")) as computer:
        other = computer.status_of("other").pid
        call = asyncio.create_task(computer.call("sleep", seconds=60, req_id="slow"))
        await computer.call("echo", text="the other call is under way")
        await computer.aadd_or_aupdate_server(raw("raw", "--marker", "changed"))
        result = await call
        assert code_of(result) == 4003
        assert "configuration changed" in text_of(result)
        assert computer.status_of("raw").state is ServerState.READY
        assert computer.status_of("other").pid == other


async def test_disabling_a_server_stops_it_and_its_tools_are_disabled() -> None:
    async with hosting(raw()) as computer:
        await computer.aadd_or_aupdate_server(raw(disabled=True))
        status = computer.status_of("raw")
        assert (status.state, status.pid) == (ServerState.DISABLED, None)
        assert code_of(await computer.call("echo", text="hi")) == 4002


async def test_the_tools_of_a_server_that_starts_again_are_not_unknown() -> None:
    async with hosting(raw()) as computer:
        change = asyncio.create_task(computer.aadd_or_aupdate_server(raw("raw", "--mode", "mute")))
        await computer.until_state("raw", ServerState.STARTING)
        assert code_of(await computer.call("echo", limit=0.5, text="hi")) == 4003
        await computer.aremove_server("raw")
        await change


async def test_who_gives_up_while_a_computer_boots_leaves_nothing_behind() -> None:
    before = descendants()
    computer = Watched(raw(), raw("mute", "--mode", "mute"))
    entering = asyncio.create_task(computer.__aenter__())
    await computer.until(lambda: any(status.state is ServerState.READY for status in computer.status))
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert {status.state for status in computer.status} == {ServerState.STOPPED}
    assert descendants() == before


async def test_an_unknown_server_cannot_be_stopped_started_or_removed() -> None:
    async with hosting() as computer:
        for act in (
            computer.mcp_manager.astart_client,
            computer.mcp_manager.astop_client,
            computer.aremove_server,
        ):
            with pytest.raises(NotFoundError):
                await act("nobody")


async def test_a_computer_can_be_shut_down_and_booted_again() -> None:
    computer = Watched(raw())
    for _ in range(2):
        async with computer:
            assert text_of(await computer.call("echo", text="hi")) == "hi"
        assert [config.name for config in computer.mcp_servers] == ["raw"]


async def test_a_change_that_is_under_way_when_the_computer_shuts_down_starts_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    computer = Watched(raw("raw", "--mode", "slow_stop", "--log", str(log)))
    async with computer:
        change = asyncio.create_task(computer.aadd_or_aupdate_server(raw("raw", "--log", str(log), "--marker", "new")))
        await eventually(lambda: {"event": "eof"} in read_log(log))
    await change
    assert len([entry for entry in read_log(log) if entry.get("event") == "start"]) == 1
