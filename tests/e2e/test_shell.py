"""The prompt of `a2c computer` on a real pseudo-terminal, seen as a person sees it: by what is on the screen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_servers import pids_in, raw, stdio, write_config
from tests.support.peer import crowd, tool_call
from tests.support.process import server_process, watching
from tests.support.systems import posix_only
from tests.support.terminal import CTRL_C, CTRL_U, ENTER, HEIGHT, TAB, TerminalProcess
from tests.support.terminal import terminal as in_terminal
from tests.support.waiting import PATIENCE

PASSWORD = "pass-w0rd-77"


def terminal(
    folder: Path, *flags: str, env: dict[str, str] | None = None
) -> contextlib.AbstractContextManager[TerminalProcess]:
    """A running `a2c computer`."""
    return in_terminal(folder, "computer", "--name", "pc", *flags, prompt="pc>", env=env)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """One raw server whose tools ask first."""
    return write_config(tmp_path, {"raw": {**stdio(raw()), "default_tool_meta": None}})


LARGE = {"label": "Rather large", "value": "large"}


def test_inputs_are_asked_for_at_the_start_and_a_password_is_not_shown(tmp_path: Path) -> None:
    env = {"PASSWORD": "${input:password}", "COLOUR": "${input:colour}", "SIZE": "${input:size}"}
    inputs = [
        {"id": "password", "type": "promptString", "description": "The password", "password": True},
        {"id": "colour", "type": "promptString", "description": "A colour", "default": "green"},
        {"id": "size", "type": "pickString", "description": "A size", "options": ["small", LARGE]},
    ]
    config = write_config(tmp_path, {"raw": stdio(raw(), env=env)}, inputs)
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see(r"The password \[password\]: *\Z")
        shell.type(PASSWORD + ENTER)
        shell.see(r"A colour \[colour\] \(green\): *\Z")
        shell.type(ENTER)
        shell.see(r"1\. small")
        shell.see(r"2\. Rather large")
        shell.see(r"number or text: *\Z")
        shell.type("medium" + ENTER)
        shell.see("not one of the options")
        shell.type("2" + ENTER)
        shell.see("1 of 1 MCP servers ready, 15 tools")
        assert PASSWORD not in shell.raw
        shell.run("call env name=COLOUR", "^green$")
        shell.run("call env name=SIZE", "^large$")
        shown = shell.run("inputs", "A size")
        assert re.search(r"password +promptString +••• +The password", shown)
        assert re.search(r"colour +promptString +green +A colour", shown)
        shell.run("config", r"\$\{input:password\}")
        assert PASSWORD not in shell.raw
        shell.run("call env name=PASSWORD", f"^{PASSWORD}$")  # who asks for it gets it
        assert shell.leave() == 0
    history = (tmp_path / "state" / "a2c" / "computer-history").read_text("utf-8")
    assert "call env name=COLOUR" in history
    assert PASSWORD not in history


ASKING_TWICE = {
    name: stdio(raw("--prefix", f"{name}_"), env={"SIZE": "${input:size}", "TOKEN": "${input:token}"})
    for name in ("one", "two")
}
SIZE_AND_TOKEN = [
    {"id": "size", "type": "pickString", "options": ["small", "large"], "default": "small"},
    {"id": "token", "type": "promptString", "password": True},
]


@pytest.mark.parametrize("command", [[], ["status"]])
def test_ctrl_c_at_a_question_at_the_start_ends_it(command: list[str], tmp_path: Path) -> None:
    config = write_config(tmp_path, ASKING_TWICE, SIZE_AND_TOKEN)
    with terminal(tmp_path, "--config", str(config), *command) as shell:
        shell.see(r"number or text: *\Z")
        shell.type(CTRL_C)
        assert shell.end() == 130
    assert "[token]" not in shell.screen.text


def test_a_question_without_an_answer_is_asked_once(tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(write_config(tmp_path, ASKING_TWICE, SIZE_AND_TOKEN))) as shell:
        shell.see(r"number or text: *\Z")
        shell.type(ENTER)
        shell.see(r"\[token\]: *\Z")
        shell.type(ENTER)
        shell.see("0 of 2 MCP servers ready")
        assert shell.screen.text.count("[token]") == 1
        shell.run("status", "input token has no value: set A2C_SMCP_TOKEN, or give it at the prompt")
        assert shell.leave() == 0


def test_ctrl_c_at_a_question_of_a_server_that_is_added_fails_that_server(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"one": ASKING_TWICE["one"]}, SIZE_AND_TOKEN)
    with terminal(tmp_path) as shell:
        shell.see_prompt()
        shell.type(f"add {config}" + ENTER)
        shell.see(r"number or text: *\Z")
        shell.type(CTRL_C)
        shell.see("one: input size was not given")
        start = shell.mark()
        shell.type("inputs set size" + ENTER)
        shell.see(r"number or text: *\Z", start)
        shell.type(CTRL_C)
        shell.see("^input size was not given", start)
        shell.see_prompt()
        assert shell.leave() == 0
    assert "Traceback" not in shell.raw


def test_starting_shows_progress_and_what_went_wrong(tmp_path: Path) -> None:
    servers = {
        "good": stdio(raw()),
        "late": stdio(raw("--mode", "slow_start", "--prefix", "late_")),
        "bad": {"command": "no-such-command"},
        "off": stdio(raw(), disabled=True),
    }
    with terminal(tmp_path, "--config", str(write_config(tmp_path, servers))) as shell:
        shell.see("MCP servers: 3 of 4")
        shell.see("late")
        shell.see("✓ good 15 tools")
        shell.see_prompt()
        assert shell.screen.lines[:4] == [
            "✗ bad is failed: command not found: no-such-command",
            "– off is disabled",
            "2 of 4 MCP servers ready, 30 tools.",
            "Type help for the commands, Ctrl-D to leave.",
        ]
        assert shell.leave() == 0


def test_commands_at_the_prompt(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see("Type help for the commands, Ctrl-D to leave.")
        shown = shell.run("help", "quit")
        assert "call TOOL" in shown
        assert "Stop the MCP servers and leave." in shown
        shown = shell.run("status", "ready")
        assert "pc: offline" in shown
        assert re.search(r"✓ +raw +stdio +ready", shown)
        assert shell.run("call echo text=hello", "^hello$") == "hello"
        assert "asks first" in shell.run("tools", "The tool describe")
        shell.run("nonsense", "no such command; type help")
        shell.run("call", "usage: call")
        shell.run("history", r"echo +raw +ok +\{\"text\": \"hello\"\}")
        shell.run("", "")
        shell.type("quit" + ENTER)
        assert shell.end() == 0
    assert "Traceback" not in shell.raw
    assert "CPR" not in shell.raw


def test_a_line_with_a_secret_is_not_written_down(tmp_path: Path) -> None:
    secret = {
        "option": "add one no-such-command --token s3cret-1",
        "option with equals": "add two no-such-command --api-key=s3cret-2",
        "known form": "add three no-such-command ghp_s3cret3s3cret3s3cret3",
        "password in an address": "add four https://bob:s3cret-4@127.0.0.1:1/mcp",
        "query": "add five 'https://127.0.0.1:1/mcp?api_key=s3cret-5'",
        "variable": "add six no-such-command TOKEN=s3cret-6",
        "parameter": 'call login password:="s3cret-7"',
        "unfinished": "add seven 's3cret-8",
        "half an address": "add eight https://[s3cret-9",
        "input, in any letter case": "Inputs set login s3cret-10",
    }
    with terminal(tmp_path) as shell:
        for line in (*secret.values(), "add nine no-such-command --verbose yes"):
            shell.run(line, "starting|No closing quotation|login|eight")
        assert shell.leave() == 0
    history = (tmp_path / "state" / "a2c" / "computer-history").read_text("utf-8")
    assert re.findall(r"^\+(.*)$", history, re.MULTILINE) == ["add nine no-such-command --verbose yes"]


def test_tab_completes_commands_tools_and_parameters(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see_prompt()
        shell.type("hist" + TAB)
        shell.see_prompt("history")
        shell.type(CTRL_U)
        shell.see_prompt()
        shell.type("call des" + TAB)
        shell.see_prompt("call describe")
        shell.type(CTRL_U)
        shell.see_prompt()
        shell.type("call ech" + TAB)
        shell.see_prompt("call echo")
        shell.type(" te" + TAB)
        shell.see_prompt("call echo text=")
        start = shell.mark()
        shell.type("completed" + ENTER)
        shell.see("^completed$", start)
        shell.see_prompt()
        assert shell.leave() == 0


def test_ctrl_c_clears_the_line_and_ctrl_d_leaves(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see_prompt()
        shell.type("call echo text=unfinished")
        shell.see_prompt("call echo text=unfinished")
        shell.type(CTRL_C)
        shell.see_prompt()
        assert shell.process.poll() is None
        shell.run("call echo text=still", "^still$")
        assert shell.leave() == 0
    assert "Traceback" not in shell.raw


def test_ctrl_c_ends_the_command_that_runs_and_not_the_computer(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config), "--log-level", "info") as shell:
        shell.see_prompt()
        start = shell.mark()
        shell.type("call sleep seconds=60" + ENTER)
        shell.see("1 of 2", start)  # the line may be broken anywhere before this
        shell.type(CTRL_C)
        shell.see(r"^pc>\Z", start + 1)
        shell.run("call echo text=still", "^still$")
        assert shell.leave() == 0
    assert "Traceback" not in shell.raw


def test_adding_a_server_that_does_not_answer_does_not_take_the_prompt_away(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see_prompt()
        start = shell.mark()
        shell.type(f"add mute {' '.join(raw('--mode', 'mute'))}" + ENTER)
        shell.see("starting", start + 1)
        shell.see_prompt()
        assert shell.leave() == 0


@pytest.mark.anyio
async def test_an_agents_call_asks_the_owner_who_says_yes_no_or_always(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            flags = ["--config", str(config), "--url", server.url, "--office", "office"]
            with terminal(tmp_path, *flags) as shell:
                await asyncio.to_thread(shell.see, "in office office as pc")
                await asyncio.to_thread(shell.see_prompt)

                async def asked(answer: str, req_id: str, typed: str = "", **fields: Any) -> Any:
                    """A call of the Agent, the question on the screen, and the owner's answer."""
                    start = shell.mark()
                    call = asyncio.create_task(agent.ask("client:tool_call", tool_call(req_id=req_id, **fields)))
                    question = r'echo of raw(?s:.*)"text": "hi"(?s:.*)yes / no / always.*: *\Z'
                    await asyncio.to_thread(shell.see, question, start)
                    shell.type(answer + ENTER)
                    async with asyncio.timeout(PATIENCE):
                        result = await call
                    await asyncio.to_thread(shell.see_prompt, typed)
                    return result

                refused = await asked("no", "r1", timeout=50)
                shell.see(r"^Agent agent in office office wants to call echo of raw with:$")
                shell.see(r"Allow it\? yes / no / always / always, and save / for an hour \([45]\d s left\): no$")
                assert refused["isError"] is True
                assert refused["meta"]["error_code"] == 4005
                assert "did not allow" in refused["content"][0]["text"]
                assert (await asked("yes", "r2", principal="ann"))["content"][0]["text"] == "hi"
                shell.see(r"^Agent agent for ann in office office wants to call echo of raw with:$")

                shell.type("call echo text=half")
                await asyncio.to_thread(shell.see_prompt, "call echo text=half")
                assert (await asked("y", "r3", typed="call echo text=half"))["content"][0]["text"] == "hi"
                shell.type("-typed" + ENTER)
                await asyncio.to_thread(shell.see, "^half-typed$")
                await asyncio.to_thread(shell.see_prompt)

                assert (await asked("maybe" + ENTER + "always", "r4"))["content"][0]["text"] == "hi"
                start = shell.mark()
                unasked = await agent.ask("client:tool_call", tool_call(req_id="r5"))
                assert unasked["content"][0]["text"] == "hi"
                assert "always" not in "\n".join(shell.screen.lines[start + 1 :])
                await asyncio.to_thread(shell.see_prompt)
                assert await asyncio.to_thread(shell.leave) == 0
    assert "Traceback" not in shell.raw


@posix_only
@pytest.mark.anyio
async def test_always_can_be_saved_where_the_server_came_from(tmp_path: Path) -> None:
    command, *arguments = raw()
    before = f"""{{
  // mine
  "mcpServers": {{
    "raw": {{
      "command": {json.dumps(command)}, // Python
      "args": {json.dumps(arguments)},
      "tool_meta": {{"echo": {{"alias": "say"}}}},
    }}
  }}
}}
"""
    file, link = tmp_path / "real.json", tmp_path / "mcp.json"
    file.write_text(before, "utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    with server_process() as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            with terminal(tmp_path, "--config", str(link), "--url", server.url, "--office", "office") as shell:
                await asyncio.to_thread(shell.see_prompt)

                async def answered(tool: str, answer: str, says: str) -> None:
                    start = shell.mark()
                    fields: dict[str, Any] = {"req_id": tool, "tool_name": tool, "params": {"text": "hi", "name": "A"}}
                    call = asyncio.create_task(agent.ask("client:tool_call", tool_call(**fields)))
                    await asyncio.to_thread(shell.see, rf"{tool} of (?s:.*)yes / no / always.*: *\Z", start)
                    shell.type(answer + ENTER)
                    async with asyncio.timeout(PATIENCE):
                        assert (await call)["isError"] is False
                    await asyncio.to_thread(shell.see, says, start)
                    await asyncio.to_thread(shell.see_prompt)

                await answered("say", "always, and save", "^say of raw runs without confirmation; saved to")
                after = before.replace('{"alias": "say"}', '{"alias": "say", "auto_apply": true}')
                assert file.read_text("utf-8") == after
                assert (link.is_symlink(), file.stat().st_mode & 0o777) == (True, 0o640)
                assert {"mcp.json", "real.json", "state"} == set(os.listdir(tmp_path))
                await asyncio.to_thread(shell.run, "tools raw", r"^ *say +raw +no ")

                file.write_text(after + "// edited\n", "utf-8")
                await answered("env", "s", "^not saved: the file has changed since it was read")
                assert file.read_text("utf-8") == after + "// edited\n"
                unasked = await agent.ask("client:tool_call", tool_call(tool_name="env", params={"name": "A"}))
                assert unasked["isError"] is False

                await asyncio.to_thread(shell.run, f"add other {' '.join(raw('--prefix', 'other_'))}", "other .* ready")
                await answered("other_echo", "yes", r"Allow it\? yes / no / always / for an hour \(")
                assert await asyncio.to_thread(shell.leave) == 0
    assert "Traceback" not in shell.raw


@pytest.mark.anyio
async def test_ctrl_c_at_the_question_is_a_no(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            with terminal(tmp_path, "--config", str(config), "--url", server.url, "--office", "office") as shell:
                await asyncio.to_thread(shell.see_prompt)
                start = shell.mark()
                call = asyncio.create_task(agent.ask("client:tool_call", tool_call()))
                await asyncio.to_thread(shell.see, r"yes / no / always.*: *\Z", start)
                shell.type(CTRL_C)
                async with asyncio.timeout(PATIENCE):
                    result = await call
                assert result["isError"] is True
                assert result["meta"]["error_code"] == 4005
                await asyncio.to_thread(shell.see_prompt)
                assert await asyncio.to_thread(shell.leave) == 0


@pytest.mark.anyio
async def test_a_question_nobody_needs_an_answer_to_any_more_goes_away(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            flags = ["--config", str(config), "--url", server.url, "--office", "office"]
            with terminal(tmp_path, *flags) as shell:
                await asyncio.to_thread(shell.see_prompt)
                start = shell.mark()
                call = asyncio.create_task(agent.ask("client:tool_call", tool_call(req_id="r1")))
                await asyncio.to_thread(shell.see, r"yes / no / always.*: *\Z", start)
                await agent.tell("server:tool_call_cancel", {"agent": "agent", "req_id": "r1"})
                async with asyncio.timeout(PATIENCE):
                    assert (await call)["isError"] is True
                await asyncio.to_thread(shell.see, r"^\(the call was cancelled and did not run\)$", start)
                await asyncio.to_thread(shell.see_prompt)
                start = shell.mark()
                late = await agent.ask("client:tool_call", tool_call(req_id="r2", timeout=1))
                assert late["meta"]["error_code"] == 4005
                await asyncio.to_thread(shell.see, r"^\(the call timed out and did not run\)$", start)
                await asyncio.to_thread(shell.see_prompt)
                assert await asyncio.to_thread(shell.leave) == 0


@pytest.mark.anyio
async def test_two_calls_are_asked_about_one_after_the_other(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            flags = ["--config", str(config), "--url", server.url, "--office", "office"]
            with terminal(tmp_path, *flags) as shell:
                await asyncio.to_thread(shell.see_prompt)
                start = shell.mark()
                shell.type("call sleep seconds=600" + ENTER)  # with no prompt between them, one follows the other
                calls = [
                    asyncio.create_task(agent.ask("client:tool_call", tool_call(req_id=text, params={"text": text})))
                    for text in ("first", "second")
                ]
                await asyncio.to_thread(shell.see, r'"first"(?s:.*)always.*: *\Z', start)
                assert '"second"' not in "\n".join(shell.screen.lines[start:])
                shell.type("yes" + ENTER + "yes" + ENTER)  # what is typed ahead answers no question
                await asyncio.to_thread(shell.see, r'"second"(?s:.*)always.*: *\Z', start)
                shell.type("no" + ENTER)
                async with asyncio.timeout(PATIENCE):
                    first, second = [await call for call in calls]
                assert (first["isError"], second["isError"]) == (False, True)
                shell.type(CTRL_C)
                await asyncio.to_thread(shell.see_prompt)
                assert await asyncio.to_thread(shell.leave) == 0


@pytest.mark.anyio
async def test_an_agents_arguments_cannot_disguise_the_question(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            with terminal(tmp_path, "--config", str(config), "--url", server.url, "--office", "office") as shell:
                await asyncio.to_thread(shell.see_prompt)
                start, before = shell.mark(), len(shell.raw)
                params = {"text": "\u009b2J \u202egnihtyreve eteled \x1b[2J" + "x" * 300_000}
                call = asyncio.create_task(agent.ask("client:tool_call", tool_call(params=params)))
                await asyncio.to_thread(shell.see, r"yes / no / always.*: *\Z", start)
                shell.type("no" + ENTER)
                async with asyncio.timeout(PATIENCE):
                    await call
                await asyncio.to_thread(shell.see_prompt)
                shown = shell.raw[before:]
                assert not [mark for mark in ("\u009b", "\u202e", "\x1b[2J") if mark in shown]
                assert "echo of raw" in "\n".join(shell.screen.lines[-HEIGHT:]), "what is asked has not scrolled away"
                assert await asyncio.to_thread(shell.leave) == 0


def test_what_a_tool_says_cannot_command_the_terminal(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.run(r"""call echo '{"text": "\u001b]0;evil\u001b\\ and so on"}'""", "and so on")
        assert "\x1b]0;evil" not in shell.raw
        assert shell.leave() == 0


@pytest.mark.parametrize("how", ["SIGTERM", "hang up"])
def test_a_closed_terminal_leaves_nothing_behind(how: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"raw": stdio(raw("--mode", "fork", "--log", str(log)))})
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see_prompt()
        with watching(pids_in(log)) as watch:
            if how == "hang up":
                shell.hang_up()
            else:
                shell.process.send_signal(signal.SIGTERM)
            shell.process.wait(PATIENCE)
            assert not watch.still_alive()


@posix_only
def test_sighup_at_the_prompt_reloads(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    with terminal(tmp_path, "--config", str(config), "--log-level", "info") as shell:
        shell.see_prompt()
        write_config(tmp_path, {"raw": stdio(raw()), "more": stdio(raw("--prefix", "more_"))})
        shell.process.send_signal(signal.SIGHUP)
        shell.see("added: more")
        shell.see("2 of 2 MCP servers ready")
        shell.see_prompt()
        assert shell.leave() == 0
