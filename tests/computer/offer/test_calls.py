"""Tool calls on a Computer: confirmed, bounded, cancellable, transformed, remembered, and never without a result."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer.offer.confirmation import Caller, CallToConfirm, call_to_confirm
from a2c_smcp.computer.types import ServerState
from tests.support.hosting import QUICK, Watched, code_of, gated, hosting, raw, text_of
from tests.support.mcp_servers import AUTO, received
from tests.support.systems import posix_only
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio


async def test_a_result_passes_whole() -> None:
    async with hosting(raw()) as computer:
        result = await computer.call("media")
        kinds = [part.type for part in result.content]
        assert kinds == ["image", "audio", "resource", "resource_link", "text"]
        assert result.structured_content == {"nothing": None, "nested": [[1, 2], [{"deep": None}]]}
        assert result.meta == {"origin": "raw"}
        assert result.isError is False
        assert result.structuredContent == result.structured_content


async def test_a_failing_tool_keeps_its_own_words() -> None:
    async with hosting(raw()) as computer:
        failed = await computer.call("fail", message="out of paper")
        assert (code_of(failed), text_of(failed)) == (4003, "out of paper")
        refused = await computer.call("raise", code=-32050, message="not today")
        assert code_of(refused) == 4003
        assert "not today" in text_of(refused)


async def test_a_secret_is_taken_out_of_every_part_of_a_failure() -> None:
    async with hosting(raw(env={"API_TOKEN": "hunter2-s3cr3t"})) as computer:
        failed = await computer.call("fail", message="hunter2-s3cr3t is no good", everywhere=True)
        written = json.dumps(failed.to_json(), ensure_ascii=False)
        assert "hunter2" not in written
        assert written.count("••• is no good") == 5


@pytest.mark.parametrize("secret", ["text", "type", "resource", "content", "user", "aGk="])
async def test_a_failure_keeps_its_form_and_its_data_whatever_is_secret(secret: str) -> None:
    async with hosting(raw(env={"API_TOKEN": secret})) as computer:
        result = await computer.call("fail", message="out of paper", everywhere=True)
        assert (code_of(result), result.meta) == (4003, {"why": "out of paper", "error_code": 4003})
        assert result.structured_content == {"out of paper": [{"why": "out of paper"}]}
        assert [part.type for part in result.content] == ["text", "resource", "image"]
        assert result.text == "out of paper"
        assert result.images == [b"" if secret == "aGk=" else b"hi"]


async def test_structured_content_that_breaks_its_schema_is_a_failure() -> None:
    async with hosting(raw()) as computer:
        assert code_of(await computer.call("broken_schema")) == 4003


async def test_a_large_result_passes() -> None:
    async with hosting(raw()) as computer:
        assert len(text_of(await computer.call("big", bytes=20_000_000))) == 20_000_000


async def test_calls_on_one_server_run_side_by_side(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))) as computer:
        calls = [
            asyncio.create_task(computer.call("sleep", limit=None, seconds=600, req_id=f"r{number}"))
            for number in range(8)
        ]
        await eventually(lambda: len(received(log, "tools/call")) == 8)
        assert text_of(await computer.call("echo", text="another", req_id="another")) == "another"
        assert not any(call.done() for call in calls)
        for number in range(8):
            await computer.acancel_tool(f"r{number}")
        await asyncio.gather(*calls)


async def test_a_time_out_answers_on_time_and_tells_the_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))) as computer:
        result = await computer.call("sleep", limit=0.2, seconds=60)
        assert result.meta == {"error_code": 4004, "a2c_timeout": True}
        await eventually(lambda: received(log, "notifications/cancelled"))


@posix_only
async def test_a_time_out_answers_on_time_even_if_the_server_reads_nothing() -> None:
    async with hosting(raw("raw")) as computer:
        pid = computer.status_of("raw").pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            flood = [computer.call("echo", limit=0.5, req_id=f"r{n}", text="x" * 200_000) for n in range(4)]
            async with asyncio.timeout(PATIENCE):
                results = await asyncio.gather(*flood)
            assert [code_of(result) for result in results] == [4004] * 4
        finally:
            os.kill(pid, signal.SIGCONT)


async def test_many_large_calls_at_once_slow_down_and_kill_nobody() -> None:
    text = "x" * 500_000
    async with hosting(raw("raw")) as computer:
        calls = [computer.call("echo", limit=120, req_id=f"r{number}", text=text) for number in range(200)]
        results = await asyncio.gather(*calls)
        assert [code_of(result) for result in results] == [None] * 200
        assert computer.status_of("raw").restarts == 0


@posix_only
async def test_a_server_that_reads_nothing_for_long_is_started_anew() -> None:
    async with hosting(raw("raw"), policy=replace(QUICK, stall_timeout=0.3)) as computer:
        pid = computer.status_of("raw").pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        result = await computer.call("echo", limit=PATIENCE, text="x" * 1_000_000)
        assert code_of(result) == 4003
        assert "has read nothing" in text_of(result)
        await computer.until_state("raw", ServerState.READY)
        assert text_of(await computer.call("echo", limit=PATIENCE, req_id="next", text="hi")) == "hi"


# ----------------------------------------------------------------------------------------------------------- cancelling


async def test_a_cancelled_call_ends_at_once_and_the_server_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))) as computer:
        call = asyncio.create_task(computer.call("sleep", seconds=60, req_id="mine"))
        await eventually(lambda: received(log, "tools/call"))
        assert await computer.acancel_tool("mine")
        result = await call
        assert result.is_error
        assert result.meta == {"a2c_cancelled": True, "a2c_cancel_reason": "agent_cancelled"}
        await eventually(lambda: received(log, "notifications/cancelled"))
        assert not await computer.acancel_tool("mine")


async def test_a_call_cancelled_before_it_began_has_a_result_too() -> None:
    async with hosting(raw()) as computer:
        call = asyncio.ensure_future(computer.call("sleep", seconds=60, req_id="mine"))
        await asyncio.sleep(0)
        assert await computer.acancel_tool("mine")
        assert ((await call).meta or {})["a2c_cancelled"] is True
        assert (await computer.aget_tool_call_history())[-1]["error"] == "cancelled"


@pytest.mark.parametrize(("agent", "reason"), [("me", "agent_left"), (None, "computer_left")])
async def test_the_end_of_an_agent_or_of_the_stay_in_an_office_is_the_reason(
    agent: str | None, reason: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))) as computer:
        caller = Caller("office", "me")
        call = asyncio.ensure_future(computer.aexecute_tool("r", "sleep", {"seconds": 60}, PATIENCE, caller=caller))
        await eventually(lambda: received(log, "tools/call"))
        assert await computer.acancel_office("office", agent)
        assert ((await call).meta or {})["a2c_cancel_reason"] == reason


async def test_an_unknown_id_cancels_nothing() -> None:
    async with hosting(raw()) as computer:
        assert not await computer.acancel_tool("nobody")


async def test_a_second_request_with_a_running_id_shares_the_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))) as computer:
        first = asyncio.create_task(computer.call("sleep", seconds=0.3, req_id="same"))
        second = asyncio.create_task(computer.call("sleep", seconds=0.3, req_id="same"))
        assert text_of(await first) == text_of(await second)
        assert len(received(log, "tools/call")) == 1
        await computer.call("echo", text="x", req_id="same")
        assert len(received(log, "tools/call")) == 2


async def test_a_caller_that_stops_waiting_cancels_its_call_but_not_that_of_another(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))) as computer:
        first = asyncio.create_task(computer.call("sleep", seconds=0.3, req_id="same"))
        second = asyncio.create_task(computer.call("sleep", seconds=0.3, req_id="same"))
        await eventually(lambda: received(log, "tools/call"))
        first.cancel()
        assert not (await second).is_error
        alone = asyncio.create_task(computer.call("sleep", seconds=60, req_id="alone"))
        await eventually(lambda: len(received(log, "tools/call")) == 2)
        alone.cancel()
        await eventually(lambda: received(log, "notifications/cancelled"))


async def test_shutting_down_ends_running_calls() -> None:
    computer = Watched(raw())
    async with computer:
        call = asyncio.create_task(computer.call("sleep", seconds=60))
        await computer.call("echo", text="under way", req_id="other")
    result = await call
    assert result.is_error
    assert (result.meta or {})["a2c_cancel_reason"] == "computer_stopped"


# --------------------------------------------------------------------------------------------------------- confirmation

ASK: dict[str, Any] = {"default_tool_meta": {"auto_apply": False}}


async def test_without_auto_apply_and_without_a_callback_a_call_needs_confirmation(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log), default_tool_meta=None)) as computer:
        assert code_of(await computer.call("echo", text="hi")) == 4005
        assert not received(log, "tools/call")


@pytest.mark.parametrize("answer", [True, False])
async def test_a_sync_callback_decides_in_a_thread_and_never_blocks_the_loop(answer: bool) -> None:
    asked: list[Any] = []
    loop_thread = threading.get_ident()

    def confirm(req_id: str, server: str, tool: str, parameters: dict[str, Any]) -> bool:
        asked.append((req_id, server, tool, parameters))
        assert threading.get_ident() != loop_thread
        return answer

    async with hosting(raw("raw", **ASK), confirm_callback=confirm) as computer:
        result = await computer.call("echo", text="hi")
        assert code_of(result) == (None if answer else 4005)
        assert asked == [("r1", "raw", "echo", {"text": "hi"})]


@pytest.mark.parametrize("answer", [True, False])
async def test_an_async_callback_decides(answer: bool) -> None:
    async def confirm(req_id: str, server: str, tool: str, parameters: dict[str, Any]) -> bool:
        return answer

    async with hosting(raw("raw", **ASK), confirm_callback=confirm) as computer:
        assert code_of(await computer.call("echo", text="hi")) == (None if answer else 4005)


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_callback_may_ask_who_calls_and_how_much_time_is_left(is_async: bool) -> None:
    seen: list[CallToConfirm] = []

    def confirm(*_: Any) -> bool:
        seen.append(call_to_confirm())
        return True

    async def confirm_later(*arguments: Any) -> bool:
        return confirm(*arguments)

    async with hosting(raw(**ASK), confirm_callback=confirm_later if is_async else confirm) as computer:
        for timeout in (None, PATIENCE):
            await computer.aexecute_tool("r1", "echo", {"text": "hi"}, timeout, caller=Caller("office", "alice"))
    assert [call.caller.agent for call in seen] == ["alice", "alice"]
    assert seen[0].remaining() is None
    assert 0 <= (seen[1].remaining() or -1) <= PATIENCE
    with pytest.raises(LookupError):
        call_to_confirm()


@pytest.mark.parametrize("error", [LookupError("nobody home"), StopIteration()])
async def test_a_callback_that_raises_is_a_refusal(error: Exception) -> None:
    def confirm(*_: Any) -> bool:
        raise error

    async with hosting(raw("raw", **ASK), confirm_callback=confirm) as computer:
        assert code_of(await computer.call("echo", text="hi")) == 4005


async def test_what_happens_to_another_tool_meanwhile_does_not_matter() -> None:
    async def confirm(*_: Any) -> bool:
        await computer.call("grow", name="new", req_id="meanwhile")
        await computer.until(lambda: "new" in computer.tool_names())
        return True

    async with hosting(raw(**ASK, tool_meta={"grow": AUTO}), confirm_callback=confirm) as computer:
        assert text_of(await computer.call("echo", text="hi")) == "hi"


async def test_a_tool_that_changed_meanwhile_is_not_called() -> None:
    async def confirm(*_: Any) -> bool:
        await computer.aadd_or_aupdate_server(raw(**ASK, tool_meta={"echo": {"tags": ["dangerous"]}}))
        return True

    async with hosting(raw(**ASK), confirm_callback=confirm) as computer:
        assert code_of(await computer.call("echo", text="hi")) == 4002


async def test_a_confirmation_that_does_not_come_is_bounded_by_the_time_out() -> None:
    async def confirm(*_: Any) -> bool:
        await asyncio.Event().wait()
        return True

    async with hosting(raw("raw", **ASK), confirm_callback=confirm) as computer:
        assert code_of(await computer.call("echo", limit=0.1, text="hi")) == 4005


# ------------------------------------------------------------------------------------------------------------------ VRL


async def test_a_script_adds_its_event_and_leaves_the_rest_alone() -> None:
    script = '.seen = upcase(string!(.content[0].text)) + " by " + string!(.tool_name)'
    async with hosting(raw(vrl=script)) as computer:
        result = await computer.call("echo", text="hi")
        event = json.loads((result.meta or {})["a2c_vrl_transformed"])
        assert event["seen"] == "HI by echo"
        assert event["parameters"] == {"text": "hi"}
        assert text_of(result) == "hi"


async def test_a_script_that_fails_costs_a_warning_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async with hosting(raw(vrl='.x = parse_json!("no json")')) as computer:
        result = await computer.call("echo", text="hi")
        assert (text_of(result), result.meta) == ("hi", None)
        assert any("VRL" in record.message and record.levelname == "WARNING" for record in caplog.records)
        assert text_of(await computer.call("echo", text="again")) == "again"


async def test_a_script_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A2C_TEST_SECRET", "hush")
    async with hosting(raw(vrl='.env = get_env_var("A2C_TEST_SECRET") ?? "nothing"')) as computer:
        result = await computer.call("echo", text="hi")
        assert json.loads((result.meta or {})["a2c_vrl_transformed"])["env"] == "nothing"


# -------------------------------------------------------------------------------------------------------------- history


async def test_history_keeps_the_last_ten_calls_failed_ones_included() -> None:
    async with hosting(raw()) as computer:
        for number in range(12):
            await computer.call("echo" if number % 2 else "nothing", req_id=f"r{number}", text="hi")
        history = await computer.aget_tool_call_history()
        assert [record["req_id"] for record in history] == [f"r{number}" for number in range(2, 12)]
        failed, succeeded = history[0], history[1]
        assert (failed["success"], failed["server"], failed["tool"]) == (False, "", "nothing")
        assert failed["error"]
        assert (succeeded["success"], succeeded["server"], succeeded["error"]) == (True, "raw", None)
        assert set(succeeded) == {
            "timestamp", "req_id", "server", "tool", "parameters", "timeout", "success", "error",
        }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- tools


async def test_tools_are_listed_once_and_kept_current_by_notices(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))) as computer:
        for _ in range(5):
            await computer.aget_available_tools()
        assert len(received(log, "tools/list")) == 1
        await computer.call("grow", name="grown")
        await computer.until(lambda: "grown" in computer.tool_names())
        await computer.call("shrink", name="grown")
        await computer.until(lambda: "grown" not in computer.tool_names())
        assert code_of(await computer.call("grown", text="x")) == 4001


async def test_a_storm_of_notices_is_a_handful_of_readings(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(raw("raw", "--log", str(log))) as computer:
        await computer.call("storm", count=1000)
        await computer.call("grow", name="last")
        await computer.until(lambda: "last" in computer.tool_names())
        assert len(received(log, "tools/list")) < 20


async def test_three_thousand_tools_are_all_there() -> None:
    async with hosting(raw("raw", "--tools", "3000")) as computer:
        assert len([name for name in computer.tool_names() if name.startswith("tool_")]) == 3000
        assert text_of(await computer.call("tool_2999", text="last")) == "last"


async def test_one_malformed_tool_hides_no_other() -> None:
    async with hosting(raw("raw", "--mode", "bad_schema")) as computer:
        assert "echo" in computer.tool_names()
        assert "bad_schema" not in computer.tool_names()
        assert any("bad_schema" in note for note in computer.status_of("raw").notes)


async def test_a_server_whose_list_makes_no_sense_is_ready_without_tools_and_says_why() -> None:
    async with hosting(raw("raw", "--mode", "bad_list"), raw("bare", "--mode", "no_tools_capability")) as computer:
        assert computer.tool_names() == []
        assert computer.status_of("raw").notes
        assert computer.status_of("bare").notes == ()


async def test_a_server_may_use_another_encoding_and_directory_and_environment(tmp_path: Path) -> None:
    config = raw(cwd=str(tmp_path), env={"GREETING": "hello"}, encoding="ascii", encoding_error_handler="ignore")
    async with hosting(config) as computer:
        assert text_of(await computer.call("cwd")) == str(tmp_path)
        assert text_of(await computer.call("env", name="GREETING")) == "hello"
        assert text_of(await computer.call("env", name="PYTEST_CURRENT_TEST")) == ""


async def test_a_server_sees_no_secret_of_another_and_no_key_of_the_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A2C_API_KEY", "the Computer's")
    async with hosting(raw("one", env={"TOKEN": "of one"}), raw("two", "--prefix", "two_")) as computer:
        assert text_of(await computer.call("env", name="TOKEN")) == "of one"
        for name in ("TOKEN", "A2C_API_KEY"):
            assert text_of(await computer.call("two_env", name=name)) == ""


# ------------------------------------------------------------------------------------------------------------- starting


async def test_a_call_waits_for_a_server_that_is_starting(tmp_path: Path) -> None:
    computer = Watched(gated(tmp_path / "gate"))
    try:
        await computer.boot_up(patience=0)
        call = asyncio.create_task(computer.call("echo", limit=PATIENCE, text="hi"))
        late = await computer.call("echo", limit=0.2, req_id="late", text="hi")
        assert (code_of(late), "still starting" in text_of(late)) == (4003, True)
        assert not call.done()
        (tmp_path / "gate").touch()
        assert text_of(await call) == "hi"
        unknown = await computer.call("no such tool", limit=PATIENCE, req_id="unknown")
        assert code_of(unknown) == 4001
    finally:
        await computer.shutdown()
