"""Bad luck and bad manners around a Computer: nothing hangs, nothing is lost, nothing leaks."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from dataclasses import replace
from typing import Any

import pytest

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import MCPServerInput, MCPServerPromptStringInput
from a2c_smcp.computer.offer.announcer import Announcer, Change
from a2c_smcp.computer.offer.callback_channel import MAX_QUESTIONS
from a2c_smcp.computer.socketio.client import SMCPComputerClient
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import NotFoundError
from tests.support.hosting import QUICK, Watched, code_of, hosting, raw, text_of
from tests.support.offices import office
from tests.support.systems import posix_only
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio


async def test_confirmations_that_never_come_are_in_nobodys_way() -> None:
    gate = threading.Event()

    def confirm(*_: Any) -> bool:
        return gate.wait(PATIENCE * 3)

    async with hosting(raw("raw", default_tool_meta=None), confirm_callback=confirm) as computer:
        calls = [computer.call("echo", limit=0.2, req_id=f"r{n}", text="x") for n in range(12)]
        assert {code_of(result) for result in await asyncio.gather(*calls)} == {4005}
        async with asyncio.timeout(PATIENCE):
            await computer.mcp_manager.astop_client("raw")
        gate.set()


async def test_more_questions_than_anybody_answers_are_refused_at_once() -> None:
    gate = threading.Event()

    def confirm(*_: Any) -> bool:
        return gate.wait(PATIENCE * 3)

    async with hosting(raw("raw", default_tool_meta=None), confirm_callback=confirm) as computer:
        calls = [asyncio.ensure_future(computer.call("echo", req_id=f"r{n}", text="x")) for n in range(MAX_QUESTIONS)]
        await eventually(lambda: threading.active_count() > MAX_QUESTIONS)
        assert code_of(await computer.call("echo", req_id="one more", text="x")) == 4005
        gate.set()
        assert {code_of(result) for result in await asyncio.gather(*calls)} == {None}
        assert code_of(await computer.call("echo", text="x")) is None


async def test_a_callback_that_is_cancelled_says_no() -> None:
    async def confirm(*_: Any) -> bool:
        raise asyncio.CancelledError

    async with hosting(raw("raw", default_tool_meta=None), confirm_callback=confirm) as computer:
        assert code_of(await computer.call("echo", text="x")) == 4005


async def test_a_tool_that_is_forbidden_while_somebody_thinks_about_it_does_not_run() -> None:
    asked, decided = asyncio.Event(), asyncio.Event()

    async def confirm(*_: Any) -> bool:
        asked.set()
        await decided.wait()
        return True

    async with hosting(raw("raw", default_tool_meta=None), confirm_callback=confirm) as computer:
        call = asyncio.create_task(computer.call("echo", text="x"))
        await asked.wait()
        await computer.aadd_or_aupdate_server(raw("raw", default_tool_meta=None, forbidden_tools=["echo"]))
        decided.set()
        assert code_of(await call) == 4002


async def test_a_question_that_is_taken_away_fails_its_server_with_a_reason() -> None:
    class Nobody:
        async def ask(self, wanted: MCPServerInput) -> str | None:
            raise asyncio.CancelledError

    token = MCPServerPromptStringInput(id="token", password=True)
    resolver = InputResolver([token], prompter=Nobody())
    async with hosting(raw("raw", env={"T": "${input:token}"}), input_resolver=resolver) as computer:
        failed = await computer.until_state("raw", ServerState.FAILED)
        assert "token" in (failed.reason or "")


@posix_only
async def test_a_server_that_hangs_is_found_even_while_it_is_called_again_and_again() -> None:
    policy = replace(QUICK, ping_interval=0.2, ping_timeout=0.2)
    async with hosting(raw(), policy=policy) as computer:
        pid = computer.status_of("raw").pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        while not computer.status_of("raw").restarts:
            await computer.call("echo", limit=0.1, text="x")


async def test_a_raising_listener_stops_nobody() -> None:
    def listen(name: str) -> None:
        raise LookupError(name)

    computer = Computer(
        "pc", mcp_servers=[raw(), raw("other", "--prefix", "o_")], on_status_changed=listen, policy=QUICK
    )
    async with computer:
        assert all(status.active for status in computer.status)


async def test_booting_twice_changes_nothing() -> None:
    async with hosting(raw()) as computer:
        pid = computer.status_of("raw").pid
        await computer.aadd_or_aupdate_server(raw("more", "--prefix", "m_"))
        await computer.boot_up()
        assert computer.status_of("raw").pid == pid
        assert "m_echo" in computer.tool_names()


def test_a_computer_can_be_configured_before_anything_runs() -> None:
    computer = Computer("pc", mcp_servers=[raw()])
    computer.add_or_update_input({"id": "x", "type": "promptString"})
    assert list(computer.get_config()["servers"]) == ["raw"]
    with pytest.raises(ValueError, match="same name"):
        Computer("pc", mcp_servers=[raw(), raw()])


async def test_servers_can_be_changed_before_booting() -> None:
    computer = Watched(raw())
    await computer.aadd_or_aupdate_server({"name": "more", "command": "x", "disabled": True})
    await computer.aremove_server("raw")
    with pytest.raises(NotFoundError):
        await computer.aremove_server("raw")
    async with computer:
        assert [status.name for status in computer.status] == ["more"]


async def test_the_last_change_is_always_announced() -> None:
    sent: list[str] = []
    state = {"version": 0}
    told: list[int] = []

    class Client:
        async def emit_update(self, event: str) -> bool:
            sent.append(event)
            told.append(state["version"])
            return True

        async def emit_update_resource(self, uri: str, mcp_server: str) -> bool:
            return False

    announcer, client = Announcer(), Client()
    announcer.client = client
    for version in range(1, 200):
        state["version"] = version
        announcer.announce(Change.TOOLS)
        await asyncio.sleep(0.0015 if version % 7 else 0.11)
    await eventually(lambda: told[-1] == 199)
    assert len(sent) < 60
    await announcer.aclose()


async def test_what_cannot_be_told_is_told_later() -> None:
    sent: list[str] = []
    present = False

    class Client:
        async def emit_update(self, event: str) -> bool:
            if present:
                sent.append(event)
            return present

        async def emit_update_resource(self, uri: str, mcp_server: str) -> bool:
            return False

    announcer, client = Announcer(), Client()
    announcer.client = client
    announcer.announce(Change.TOOLS)
    announcer.announce(Change.CONFIG)
    await asyncio.sleep(0)
    present = True
    announcer.catch_up()
    await eventually(lambda: sorted(sent) == ["server:update_config", "server:update_tool_list"])
    await announcer.aclose()


# -------------------------------------------------------------------------------------------------------- configuration


async def test_placeholders_may_stand_for_numbers_and_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A2C_SMCP_N", "7")
    inputs = [MCPServerPromptStringInput(id="n")]
    web = server_from(
        {"type": "streamable", "server_parameters": {
            "url": "http://127.0.0.1:9/mcp", "timeout": "${input:n}", "terminate_on_close": "${input:n}"}}, "web",
    )  # fmt: skip
    async with hosting(raw("raw", env={"N": "${input:n}"}), web, inputs=inputs) as computer:
        assert text_of(await computer.call("env", name="N")) == "7"
        refused = await computer.until_state("web", ServerState.FAILED)
        assert refused.restarts == 0
        assert "terminate_on_close" in (refused.reason or "")
        shown = computer.get_config()["servers"]["web"]["server_parameters"]
        assert shown["terminate_on_close"] == "${input:n}"  # type: ignore[typeddict-item]


async def test_further_keys_of_tool_meta_are_shown() -> None:
    config = raw("raw", tool_meta={"echo": {"owner": "me"}})
    async with office(config) as here:
        assert (await here.config())["servers"]["raw"]["tool_meta"]["echo"]["owner"] == "me"


async def test_a_token_in_clear_in_the_configuration_is_hidden_wherever_a_server_repeats_it() -> None:
    config = raw("raw", env={"GITHUB_TOKEN": 'hush-"quoted"\nsecond-hush-line'})
    async with hosting(config) as computer:
        failed = await computer.call("fail", message='bad: hush-\\"quoted\\", second-hush-line')
        assert "hush" not in text_of(failed)
        assert "hush" not in str((await computer.aget_tool_call_history())[0]["error"])


# -------------------------------------------------------------------------------------------------------------- offices


async def test_a_refused_second_office_leaves_the_computer_in_its_first() -> None:
    async with office(raw()) as here:
        await here.people.member("computer", "pc", "other")
        with pytest.raises(RuntimeError):
            await here.client.join_office("other")
        assert here.client.office_id == "office"
        await here.call("grow", {"name": "grown"})
        assert await here.agent.hear("notify:update_tool_list") == {"computer": "pc"}


async def test_leaving_while_joining_ends_outside() -> None:
    async with office() as here, hosting() as twin:
        client = SMCPComputerClient(computer=twin)
        await client.connect(here.server.url)
        joining = asyncio.create_task(client.join_office("another"))
        await asyncio.sleep(0)
        leaving = asyncio.create_task(client.leave_office("another"))
        await asyncio.gather(joining, leaving)
        assert (client.office_id, client.wanted_office) == (None, None)
        await client.disconnect()


async def test_a_changed_configuration_is_announced_before_a_slow_server_is_up() -> None:
    async with office(raw(), policy=replace(QUICK, start_timeout=60.0)) as here:
        adding = asyncio.create_task(here.computer.aadd_or_aupdate_server(raw("mute", "--mode", "mute")))
        assert await here.agent.hear("notify:update_config") == {"computer": "pc"}
        assert not adding.done()
        await here.computer.aremove_server("mute")
        await adding
