"""`a2c computer` and `a2c config` as processes: a service, one-shot commands, commands from a pipe, imports."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from a2c_smcp.cli.computer.command import Options
from a2c_smcp.cli.computer.host import Host, NotAllowed
from tests.support.commands import agent_of, call, office_flags
from tests.support.mcp_servers import SERVERS, http_server, pids_in, raw, stdio, write_config
from tests.support.peer import request
from tests.support.process import (
    LineProcess,
    a2c,
    computer_process,
    free_port,
    server_process,
    watching,
)
from tests.support.secrets import SECRETS
from tests.support.systems import SIGKILL, posix_only
from tests.support.waiting import PATIENCE, eventually

READY = r"\d+ of \d+ MCP servers ready"


def wait_until_up(computer: LineProcess, after: int = 0) -> None:
    computer.wait_for(READY, after)
    computer.wait_for("in office office as pc", after)


def text_of(result: Any) -> str:
    return "\n".join(part["text"] for part in result["content"])


# As a service


@posix_only
@pytest.mark.anyio
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, SIGKILL])
async def test_whatever_ends_it_nothing_that_it_started_stays(how: int, tmp_path: Path) -> None:
    modes = ["good", "stubborn", "fork", "fork_holding_pipes"]
    servers = {
        mode: stdio(raw("--mode", mode, "--prefix", f"{mode}_", "--log", str(tmp_path / mode))) for mode in modes
    }
    config = write_config(tmp_path, servers)
    with server_process() as server, computer_process(*office_flags(server, config)) as computer:
        async with agent_of(server) as (_, agent):
            await asyncio.to_thread(wait_until_up, computer)
            tools = (await agent.ask("client:get_tools", request()))["tools"]
            assert len(tools) == 4 * 15
            assert text_of(await call(agent, "fork_echo", text="hello")) == "hello"
            pids = {pid for mode in modes for pid in pids_in(tmp_path / mode)}
            assert len(pids) == 4 + 2 * 2
            pids |= {child.pid for child in psutil.Process(computer.process.pid).children(recursive=True)}
            with watching(pids) as watch:
                code = await asyncio.to_thread(computer.stop, how)
                assert code == (-how if how == SIGKILL else 0)
                if how != SIGKILL:  # nothing is left for anybody else to clear up
                    assert not watch.alive_now()
                assert not await asyncio.to_thread(watch.still_alive)
            heard = await agent.hear("notify:leave_office")
            assert heard == {"office_id": "office", "computer": "pc"}
    assert not [line for line in computer.log if "Traceback" in line or "ERROR" in line], computer.text


@pytest.mark.anyio
async def test_a_signal_while_servers_start_and_while_a_call_runs_does_not_wait(tmp_path: Path) -> None:
    servers = {
        "good": stdio(raw("--log", str(tmp_path / "good"))),
        "mute": stdio(raw("--mode", "mute", "--log", str(tmp_path / "mute"))),
    }
    config = write_config(tmp_path, servers)
    with server_process() as server, computer_process(*office_flags(server, config)) as computer:
        async with agent_of(server) as (_, agent):
            await asyncio.to_thread(computer.wait_for, "in office office as pc")
            while not (await agent.ask("client:get_tools", request()))["tools"]:
                await agent.hear("notify:update_tool_list")
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
                running = tasks.create_task(call(agent, "sleep", "long", seconds=30))
                await agent.ask("client:get_tools", request(req_id="r2"))
                await eventually((tmp_path / "mute").exists)
                with watching(pids_in(tmp_path / "good") + pids_in(tmp_path / "mute")) as watch:
                    assert await asyncio.to_thread(computer.stop, signal.SIGTERM) == 0
                    assert not await asyncio.to_thread(watch.still_alive)
                result = await running
            assert result["isError"] is True, result
    assert not [line for line in computer.log if "Traceback" in line or "ERROR" in line], computer.text


@posix_only
@pytest.mark.anyio
@pytest.mark.parametrize("how", [signal.SIGTERM, SIGKILL])
async def test_when_the_server_comes_back_so_does_the_computer(how: int, tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    port = str(free_port())
    with server_process("--port", port) as first, computer_process(*office_flags(first, config)) as computer:
        await asyncio.to_thread(wait_until_up, computer)
        before = len(computer.log)
        await asyncio.to_thread(first.stop, how)
        await asyncio.to_thread(computer.wait_for, "lost", before)
        with server_process("--port", port) as second:
            await asyncio.to_thread(computer.wait_for, "back in office office as pc", before)
            async with agent_of(second) as (_, agent):
                assert text_of(await call(agent, "echo", text="again")) == "again"
            assert await asyncio.to_thread(computer.stop, signal.SIGTERM) == 0
    assert not [line for line in computer.log if "Traceback" in line or "ERROR" in line], computer.text


@pytest.mark.anyio
async def test_it_waits_for_a_server_that_is_not_there_yet(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    port = str(free_port())
    flags = ["--config", str(config), "--url", f"http://127.0.0.1:{port}", "--office", "office", "--name", "pc"]
    with computer_process(*flags) as computer:
        line = (await asyncio.to_thread(computer.wait_for, "cannot reach.*")).group()
        assert f"http://127.0.0.1:{port}" in line
        with server_process("--port", port):
            await asyncio.to_thread(wait_until_up, computer)
    assert "ssl" not in line


@pytest.mark.anyio
async def test_a_name_that_is_taken_is_waited_for(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    with server_process() as server, computer_process(*office_flags(server, config)) as first:
        await asyncio.to_thread(wait_until_up, first)
        with computer_process(*office_flags(server, config)) as second:
            await asyncio.to_thread(second.wait_for, "pc.*trying again in")
            assert await asyncio.to_thread(first.stop, signal.SIGTERM) == 0
            await asyncio.to_thread(wait_until_up, second)


def test_a_wrong_api_key_is_one_clear_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"raw": stdio(raw("--log", str(log)))})
    with server_process("--api-key", "right-key") as server:
        flags = office_flags(server, config, "--log-level", "warning")
        outcome = a2c("computer", "--no-interactive", *flags, env={"A2C_API_KEY": "wrong-key"})
    assert outcome.returncode == 1
    assert "rejects the connection: not authenticated" in outcome.stderr
    assert "wrong-key" not in outcome.stderr + outcome.stdout
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr


@pytest.mark.parametrize(
    ("office", "says"),
    [
        ("", "office_id: must be a non-empty string (400)"),
        ("x" * 300, "office_id: 300 characters, at most 256 are allowed (400)"),
    ],
)
def test_an_office_that_will_never_let_it_in_ends_the_service(office: str, says: str, tmp_path: Path) -> None:
    key = a2c("keys", "add", "pc", "--office", "acme-*", cwd=tmp_path).stdout.strip()
    config = write_config(tmp_path, {})
    with server_process("--keys-file", "keys.toml", cwd=tmp_path) as server:
        flags = ["--config", str(config), "--url", server.url, "--office", office, "--log-level", "warning"]
        outcome = a2c("computer", "--no-interactive", *flags, env={"A2C_API_KEY": key})
    assert outcome.returncode == 1
    assert f"cannot join office {office}: {says}" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr


@pytest.mark.anyio
async def test_an_office_that_is_forbidden_for_longer_than_a_broken_connection_holds_a_name_ends_the_service(
    tmp_path: Path,
) -> None:
    key = a2c("keys", "add", "pc", "--office", "acme-*", cwd=tmp_path).stdout.strip()
    options = Options(
        config=None, url=None, office=None, name="pc", api_key=key, api_key_header="x-api-key", allow_all=False,
        keyring=False, require_subscribe=False, start_timeout=30, keep_trying=False, watch_config=False,
        log_level="info", log_format="text",
    )  # fmt: skip
    with server_process("--keys-file", "keys.toml", cwd=tmp_path) as server:
        async with Host(options, None) as host:
            with pytest.raises(NotAllowed, match=r"office other: this credential does not allow .* \(403\)"):
                await host.join(server.url, "other", stale_seconds=0.5)


@posix_only
@pytest.mark.parametrize("way", ["SIGHUP", "--watch-config"])
def test_a_running_service_takes_over_its_changed_file_or_nothing_of_it(way: str, tmp_path: Path) -> None:
    def server(name: str, **more: Any) -> dict[str, Any]:
        return {**stdio(raw("--log", str(tmp_path / name))), **more}

    def starts(name: str) -> int:
        return (tmp_path / name).read_text().count('"start"')

    def rewrite(text: str) -> None:
        config.write_text(text, encoding="utf-8")
        if way == "SIGHUP":
            computer.process.send_signal(signal.SIGHUP)

    config = write_config(tmp_path, {"stays": server("stays"), "changes": server("changes"), "goes": server("goes")})
    flags = ["--watch-config"] if way == "--watch-config" else []
    with computer_process("--config", str(config), *flags) as computer:
        computer.wait_for("3 of 3 MCP servers ready")
        good = config.read_text()
        rewrite(good.replace('"command"', '"comand"', 1))
        computer.wait_for(r"line \d+: .*comand: unknown key; did you mean command\?")
        computer.wait_for("has mistakes, nothing is changed")
        changed = server("changes", env={"A": "1"})
        new = {name: server(name) for name in ("one", "two")}
        write_config(tmp_path, {"stays": server("stays"), "changes": changed, **new})
        rewrite(config.read_text())
        computer.wait_for(f"reloaded {config}: added: one, two; changed: changes; removed: goes")
        computer.wait_for("4 of 4 MCP servers ready")
        assert (starts("stays"), starts("changes"), starts("goes")) == (1, 2, 1)
        assert computer.process.poll() is None


@pytest.mark.parametrize("keeps_trying", [False, True])
def test_a_service_whose_key_is_removed_says_so_and_ends(keeps_trying: bool, tmp_path: Path) -> None:
    key = a2c("keys", "add", "pc", "--office", "*", cwd=tmp_path).stdout.strip()
    config = write_config(tmp_path, {})
    with server_process("--keys-file", "keys.toml", cwd=tmp_path) as server:
        flags = ["--config", str(config), "--url", server.url, "--office", "office"]
        if keeps_trying:
            flags.append("--keep-trying")
        with computer_process(*flags, env={"A2C_API_KEY": key}) as computer:
            computer.wait_for("in office office")
            assert a2c("keys", "remove", "pc", cwd=tmp_path).returncode == 0
            computer.wait_for(r"come back is refused: .*not authenticated.* \(401\)")
            if keeps_trying:
                computer.wait_for("attempt 2 to come back is refused")
                assert computer.process.poll() is None
            else:
                assert computer.process.wait(PATIENCE) == 1
                assert "has the key been removed?" in computer.text
            assert "Traceback" not in computer.text
        server.wait_for("key 'pc' closed: its credential expired, was changed or was removed")


@pytest.mark.anyio
async def test_the_right_api_key_is_let_in_and_never_shown(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    with server_process("--api-key", "right-key") as server:
        flags = office_flags(server, config, "--log-level", "debug")
        with computer_process(*flags, env={"A2C_API_KEY": "right-key"}) as computer:
            await asyncio.to_thread(wait_until_up, computer)
            assert await asyncio.to_thread(computer.stop, signal.SIGTERM) == 0
            assert "right-key" not in computer.text


@pytest.mark.parametrize("command", [["--no-interactive"], ["call", "echo", "text=x"]])
def test_a_bad_configuration_is_one_line_per_mistake_and_starts_nothing(tmp_path: Path, command: list[str]) -> None:
    log = tmp_path / "log"
    servers = {
        "good": stdio(raw("--log", str(log))),
        "empty": {},
        "kind": {"type": "tcp", "url": "http://127.0.0.1"},
        "address": {"url": "somewhere"},
        "typo": {"type": "stdio", "server_parameters": {"command": "x", "arg": ["y"]}},
        "unset": {"command": "x", "env": {"A": "${THIS_IS_NOT_SET}"}},
    }
    config = write_config(tmp_path, servers, [{"id": "a", "type": "promptStrin"}])
    outcome = a2c("computer", "--config", str(config), *command)
    assert outcome.returncode == 2
    lines = outcome.stderr.splitlines()
    for place in (
        "servers.empty",
        "servers.kind.type",
        "servers.address.url",
        "servers.typo.server_parameters.arg",
        "servers.unset.env.A",
        "inputs.0.type",
    ):
        assert sum(f"{place}: " in line for line in lines) == 1, outcome.stderr
    assert "did you mean args?" in outcome.stderr
    assert len(lines) == 7, "six mistakes and a last word"
    assert outcome.stdout == ""
    assert not log.exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--config", "missing.json"], "missing.json"),
        (["--config", "."], "cannot read"),
        (["--url", "http://127.0.0.1:1"], "--url and --office go together"),
        (["--office", "office"], "--url and --office go together"),
        (["--log-format", "xml"], "--log-format"),
        (["--log-level", "loud"], "--log-level"),
        (["--start-timeout", "-1"], "--start-timeout"),
        (["--url", "nonsense", "--office", "office"], "nonsense"),
    ],
)
def test_a_wrong_option_is_one_clear_line(tmp_path: Path, flags: list[str], says: str) -> None:
    outcome = a2c("computer", "--no-interactive", *flags, cwd=tmp_path)
    assert outcome.returncode == 2
    assert says in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr


@pytest.mark.anyio
@pytest.mark.parametrize("flags", [[], ["--allow-all"]])
async def test_a_service_refuses_what_needs_confirmation_unless_all_is_allowed(
    tmp_path: Path, flags: list[str]
) -> None:
    config = write_config(tmp_path, {"raw": {**stdio(raw()), "default_tool_meta": None}})
    with server_process() as server, computer_process(*office_flags(server, config, *flags)) as computer:
        async with agent_of(server) as (_, agent):
            await asyncio.to_thread(wait_until_up, computer)
            result = await call(agent, "echo", text="hello")
            if flags:
                assert text_of(result) == "hello"
            else:
                assert result["isError"] is True
                assert result["meta"]["error_code"] == 4005
                assert "confirmation" in text_of(result)


@pytest.mark.anyio
async def test_json_logs_are_json_on_every_line_and_carry_the_req_id(tmp_path: Path) -> None:
    servers = {"raw": stdio(raw()), "bad": {**stdio(raw("--mode", "exit")), "colour": "red"}}
    config = write_config(tmp_path, servers)
    with (
        server_process() as server,
        computer_process(*office_flags(server, config, "--log-format", "json", "--log-level", "debug")) as computer,
    ):
        async with agent_of(server) as (_, agent):
            await asyncio.to_thread(wait_until_up, computer)
            await call(agent, "echo", "req-77", text="hello")
            await call(agent, "fail", "req-78", message="no luck")
            await asyncio.to_thread(computer.wait_for, "req-78")
            assert await asyncio.to_thread(computer.stop, signal.SIGTERM) == 0
    entries = [json.loads(line) for line in computer.log]
    assert all({"time", "level", "logger", "message"} <= entry.keys() for entry in entries)
    assert {"req-77", "req-78"} <= {entry.get("req_id") for entry in entries}
    failure = next(entry for entry in entries if entry.get("req_id") == "req-78")
    assert "no luck" in failure["message"]
    for word in ("bad", "colour"):  # a server that fails, and a setting nobody knows
        assert any(entry["level"] == "warning" and word in entry["message"] for entry in entries)


# One-shot commands


def test_status_says_how_each_server_is(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw()), "off": stdio(raw(), disabled=True)})
    outcome = a2c("computer", "--config", str(config), "status")
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stderr == ""
    assert re.search(r"raw +stdio +ready .* 15 +raw 1\.0\.0", outcome.stdout)
    assert re.search(r"off +stdio +disabled", outcome.stdout)
    machine = a2c("computer", "--config", str(config), "status", "--json")
    assert machine.returncode == 0
    found = {status["name"]: status for status in json.loads(machine.stdout)}
    assert (found["raw"]["state"], found["raw"]["tools"]) == ("ready", 15)
    assert found["off"]["state"] == "disabled"


def shelves(*flags: str) -> list[str]:
    """A server with several pages of windows and documents."""
    return [sys.executable, str(SERVERS / "shelves.py"), "--windows", "120", "--documents", "130", *flags]


def test_status_counts_windows_and_documents_and_says_why_some_are_not_shown(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"shelf": stdio(shelves()), "gated": stdio(shelves("--no-subscribe"))})
    outcome = a2c("computer", "--config", str(config), "status")
    assert outcome.returncode == 0, outcome.stderr
    assert re.search(r"shelf +stdio +ready .* 120 +130 +shelves", outcome.stdout)
    assert "gated: its 250 windows and documents are not shown" in outcome.stdout
    found = {each["name"]: each for each in json.loads(a2c("computer", "-c", str(config), "status", "--json").stdout)}
    assert [(each["windows"], each["documents"]) for each in found.values()] == [(120, 130), (0, 0)]
    assert "resources.subscribe" in found["gated"]["notes"][0]


def test_status_says_what_is_wrong_and_exits_1(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"bad": stdio(raw("--mode", "exit")), "none": {"command": "no-such-command"}})
    outcome = a2c("computer", "--config", str(config), "status")
    assert outcome.returncode == 1
    assert "bad: exited with code 3" in outcome.stdout
    assert "raw: giving up" in outcome.stdout
    assert "none: command not found: no-such-command" in outcome.stdout
    assert "  | raw: giving up\n" in outcome.stdout
    machine = a2c("computer", "--config", str(config), "status", "--json")
    assert machine.returncode == 1
    found = {status["name"]: status for status in json.loads(machine.stdout)}
    assert found["none"]["state"] == "failed"
    assert found["bad"]["stderr"] == ["raw: cannot start", "raw: giving up"]


def test_tools_says_that_some_are_missing(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw()), "gone": stdio([str(tmp_path / "nothing")])})
    outcome = a2c("computer", "--config", str(config), "tools", "--json")
    assert outcome.returncode == 1
    assert len(json.loads(outcome.stdout)) == 15


def test_tools_lists_what_an_agent_would_see(tmp_path: Path) -> None:
    meta = {"echo": {"alias": "say", "auto_apply": False}, "sleep": {"auto_apply": None}}
    config = write_config(tmp_path, {"raw": stdio(raw(), tool_meta=meta, forbidden_tools=["exit"])})
    outcome = a2c("computer", "--config", str(config), "tools")
    assert outcome.returncode == 0
    assert outcome.stderr == ""
    assert re.search(r"^ *say +raw +yes +text +The tool echo\.", outcome.stdout, re.MULTILINE)
    assert re.search(r"^ *sleep +raw +no +seconds ", outcome.stdout, re.MULTILINE)
    assert not re.search(r"^ *(echo|exit) ", outcome.stdout, re.MULTILINE)
    listed = json.loads(a2c("computer", "--config", str(config), "tools", "--json").stdout)
    names = [tool["name"] for tool in listed]
    assert "say" in names
    assert "exit" not in names
    assert listed[0]["params_schema"]["required"] == ["text"]


def test_call_runs_a_tool_and_its_exit_code_says_how_it_went(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": {**stdio(raw()), "default_tool_meta": None}})

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return a2c("computer", "--config", str(config), "call", *words)

    done = run("echo", "text=hello there")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello there\n", "")
    done = run("add", "--params", '{"a": 1, "b": 41}', "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["structuredContent"] == {"result": 42}
    failed = run("fail", "message=no luck")
    assert (failed.returncode, failed.stdout) == (1, "no luck\n")
    failed = run("nothing", "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["meta"]["error_code"] == 4001
    late = run("sleep", "seconds=30", "--timeout", "1", "--json")
    assert late.returncode == 1
    assert json.loads(late.stdout)["meta"]["error_code"] == 4004


@pytest.mark.parametrize("words", [["text"], ["--params", "[]"], ["--params", "{"]])
def test_parameters_that_cannot_be_read_are_one_clear_line(tmp_path: Path, words: list[str]) -> None:
    wrong = a2c("computer", "--config", str(write_config(tmp_path, {})), "call", "echo", *words)
    assert wrong.returncode == 2
    assert len(wrong.stderr.splitlines()) == 1, wrong.stderr


def test_a_value_is_read_as_what_the_tool_wants(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    done = a2c("computer", "--config", str(config), "call", "echo", "text=5")
    assert (done.returncode, done.stdout) == (0, "5\n")


# Commands from a pipe


def piped(config: Path, *lines: str, flags: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    typed = "".join(f"{line}\n" for line in lines)
    return a2c("computer", "--config", str(config), "--name", "pc", *(flags or []), typed=typed)


def test_commands_from_a_pipe_run_one_after_the_other(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": {**stdio(raw()), "default_tool_meta": None}})
    done = piped(
        config,
        "# a comment, and an empty line",
        "",
        "status",
        'call echo text="one two"',
        """call add '{"a": 20, "b": 22}'""",
        "stop raw",
        "start raw",
        f"add more {' '.join(raw('--prefix', 'more_'))}",
        "call more_echo text=three",
        "rm more",
        "reload",
        "servers",
        "history",
        "config",
        "quit",
        "call echo text=never",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "pc: offline" in done.stdout
    for expected in ("one two\n", "42\n", "stopped", "three\n", "nothing changed\n", '"name": "raw"'):
        assert expected in done.stdout
    assert "never" not in done.stdout
    assert not re.search(r"^ . +more ", done.stdout.partition("three\n")[2], re.MULTILINE)


def test_the_first_answers_at_the_prompt_count_windows_and_documents(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"shelf": stdio(shelves())})
    done = piped(config, "windows", f"add gated {' '.join(shelves('--no-subscribe'))}", "stop shelf", "start shelf")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"^ *window://\S+ +shelf", done.stdout, re.MULTILINE)) == 120
    assert "gated: its 250 windows and documents are not shown" in done.stdout
    assert re.search(r"shelf +stdio +ready .* 120 +130 +shelves", done.stdout)


def test_help_is_aligned_and_names_every_command(tmp_path: Path) -> None:
    done = piped(write_config(tmp_path, {}), "help")
    assert done.returncode == 0
    lines = [line for line in done.stdout.splitlines() if line.startswith("  ")]
    names = {"status", "tools", "call", "servers", "add", "rm", "start", "stop", "inputs", "history", "join", "leave"}
    names |= {"config", "help", "quit", "windows", "desktop", "documents", "finder", "read", "reload", "logs"}
    names |= {"login", "logout", "skills"}
    assert {line.split()[0] for line in lines} == names
    starts = {found.start() for line in lines if (found := re.search(r"(?<= )[A-Z][a-z]+ .*\.$", line))}
    assert len(starts) == 1, done.stdout


def test_one_wrong_command_in_a_pipe_makes_the_exit_code_1_and_the_rest_still_runs(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    done = piped(
        config, "nonsense", "call", 'call echo text="', "join", "leave", "inputs set no-such x", "rm nobody",
        "start nobody", "add x {", "add no-such-file.json", "join office", "call echo text=still-here",
    )  # fmt: skip
    assert done.returncode == 1
    assert "still-here" in done.stdout
    complaints = done.stderr.splitlines()
    assert len(complaints) == 11, done.stderr
    assert complaints[0] == "nonsense: no such command; type help"
    assert complaints[1].startswith("usage: call TOOL")
    assert "Traceback" not in done.stderr
    assert all("nobody" in line for line in complaints[6:8])
    assert "no-such-file.json" in complaints[9]


def test_an_office_without_a_server_is_not_ignored(tmp_path: Path) -> None:
    done = piped(write_config(tmp_path, {}), "status", flags=["--office", "office"])
    assert done.returncode == 2
    assert "--url and --office go together" in done.stderr


@pytest.mark.anyio
async def test_from_a_pipe_it_joins_and_leaves_an_office(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    with server_process() as server:
        async with agent_of(server) as (_, agent):
            lines = ["status", "leave", "status", f"join office {server.url}", "status"]
            done = await asyncio.to_thread(piped, config, *lines, flags=["--url", server.url, "--office", "office"])
            assert done.returncode == 0, done.stderr
            said = re.findall(r"^(?:pc: .*|in office .*|left .*|connected .*)$", done.stdout, re.MULTILINE)
            assert said == [
                f"connected to {server.url}",
                "in office office as pc",
                "pc: in office office",
                "left office office",
                "pc: connected",
                "in office office as pc",
                "pc: in office office",
            ]
            for event in ("enter", "leave", "enter", "leave"):
                await agent.hear(f"notify:{event}_office")


@pytest.mark.anyio
async def test_join_with_another_address_goes_to_that_server(tmp_path: Path) -> None:
    config = write_config(tmp_path, {})
    with server_process() as here, server_process() as there:
        async with agent_of(here) as (_, first), agent_of(there) as (_, second):
            nowhere = f"http://127.0.0.1:{free_port()}"
            lines = [f"join office {there.url}", "status", "join lobby", f"join office {nowhere}", "status"]
            done = await asyncio.to_thread(piped, config, *lines, flags=["--url", here.url, "--office", "office"])
            said = re.findall(r"^(?:pc: .*|in office .*|connected .*)$", done.stdout, re.MULTILINE)
            assert said == [
                f"connected to {here.url}",
                "in office office as pc",
                f"connected to {there.url}",
                "in office office as pc",
                "pc: in office office",
                "in office lobby as pc",
                "pc: offline",
            ]
            assert (done.returncode, done.stderr) == (
                1,
                f"cannot reach {nowhere}: connection refused: nothing is listening there (503)\n",
            )
            for agent in (first, second):
                for event in ("enter", "leave"):
                    await agent.hear(f"notify:{event}_office")


# `a2c config`


def test_check_says_what_is_fine_and_what_is_not(tmp_path: Path) -> None:
    good = write_config(tmp_path, {"raw": stdio(raw()), "web": {"url": "https://example.com/mcp"}})
    done = a2c("config", "check", str(good))
    assert done.returncode == 0
    assert "raw (stdio)" in done.stdout
    assert "web (streamable)" in done.stdout
    bad = tmp_path / "bad.json"
    bad.write_text('{\n  // mine\n  "servers": {\n    "a": {"url": "ftp://x"},\n    "b": {"command": 5},\n  }\n}\n')
    done = a2c("config", "check", str(bad))
    assert done.returncode == 2
    assert [line.removeprefix(f"{bad}: ").split(": ")[:2] for line in done.stderr.splitlines()] == [
        ["line 4", "servers.a.url"],
        ["line 5", "servers.b.command"],
    ]
    report = json.loads(a2c("config", "check", str(bad), "--json").stdout)
    assert report["ok"] is False
    assert [(problem["path"], problem["line"]) for problem in report["problems"]] == [
        ("servers.a.url", 4),
        ("servers.b.command", 5),
    ]


def test_check_tells_mistakes_and_warnings_in_one_go(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"a": {"url": "ftp://x"}, "b": {"command": "x", "arg": ["y"]}})
    done = a2c("config", "check", str(config))
    assert done.returncode == 2
    assert "servers.a.url" in done.stderr
    assert "servers.b.arg" in done.stderr


def host_file(host: str, server: dict[str, Any], folder: Path) -> Path:
    """A configuration as this host keeps it."""
    path = folder / f"{host}.json"
    if host == "vscode":
        inputs = [{"id": "mine", "type": "promptString", "description": "mine", "default": "x"}]
        data = {"inputs": inputs, "servers": {"it": {"type": "http" if "url" in server else "stdio", **server}}}
    else:
        data = {"mcpServers": {"it": server}, **({"globalShortcut": "Ctrl+X"} if host == "claude" else {})}
    path.write_text("// kept by hand\n" + json.dumps(data, indent=2), "utf-8")
    return path


@pytest.mark.parametrize("host", ["claude", "cursor", "vscode"])
def test_an_imported_secret_becomes_an_input_that_works(host: str, tmp_path: Path) -> None:
    command = raw()
    server = {"command": command[0], "args": command[1:], "env": {"GITHUB_TOKEN": "s3cret-env", "LEVEL": "info"}}
    source = host_file(host, server, tmp_path)
    new = tmp_path / "new.json"
    written = a2c("config", "import", host, str(source), "--output", str(new))
    assert written.returncode == 0
    assert "s3cret" not in written.stderr + written.stdout + new.read_text("utf-8")
    assert json.loads(new.read_text("utf-8"))["servers"]["it"]["server_parameters"]["env"]["LEVEL"] == "info"
    assert a2c("config", "check", str(new)).returncode == 0
    variable = re.search(r"or reads (A2C_SMCP_\w+)", written.stderr)
    assert variable is not None, written.stderr
    call_env = ["computer", "--config", str(new), "call", "env", "name=GITHUB_TOKEN"]
    done = a2c(*call_env, env={variable[1]: "given-here"})
    assert (done.returncode, done.stdout) == (0, "given-here\n")
    if host == "claude":  # the same for all
        without = a2c(*call_env)
        assert without.returncode == 1
        assert variable[1] in without.stdout + without.stderr


def test_an_imported_default_becomes_an_input_and_its_variable_still_counts(tmp_path: Path) -> None:
    command = raw()
    server = {"command": command[0], "args": command[1:], "env": {"TOKEN": "${MY_TOKEN:-s3cret}"}}
    new = tmp_path / "new.json"
    assert a2c("config", "import", "cursor", str(host_file("cursor", server, tmp_path)), "-o", str(new)).returncode == 0
    assert "s3cret" not in new.read_text("utf-8")
    call_env = ["computer", "--config", str(new), "call", "env", "name=TOKEN"]
    assert a2c(*call_env, env={"A2C_SMCP_IT_TOKEN": "of the input"}).stdout == "of the input\n"
    assert a2c(*call_env, env={"MY_TOKEN": "of the variable"}).stdout == "of the variable\n"


@pytest.mark.parametrize("host", ["cursor", "vscode"])
def test_an_imported_header_becomes_an_input_that_works(host: str, tmp_path: Path) -> None:
    with http_server("mcp 2.x", "streamable") as process:
        headers = {"Authorization": "Bearer s3cret-header", "X-Colour": "green"}
        source = host_file(host, {"url": process.url + "?api_key=s3cret-query", "headers": headers}, tmp_path)
        new = tmp_path / "new.json"
        written = a2c("config", "import", host, str(source), "-o", str(new))
        assert written.returncode == 0
        assert "s3cret" not in written.stderr + written.stdout + new.read_text("utf-8")
        variables = re.findall(r"or reads (A2C_SMCP_\w+)", written.stderr)
        assert len(variables) == 2
        env = {variable: f"given {number}" for number, variable in enumerate(variables)}
        done = a2c("computer", "--config", str(new), "call", "header", "name=authorization", "--json", env=env)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["content"][0]["text"] in ("Bearer given 0", "Bearer given 1")


def test_no_secret_in_clear_is_imported(tmp_path: Path) -> None:
    source = tmp_path / "claude.json"
    source.write_text(json.dumps({"mcpServers": SECRETS}), "utf-8")
    shown = a2c("config", "import", "claude", str(source))
    assert shown.returncode == 0
    assert "s3cret" not in shown.stderr
    servers = json.loads(shown.stdout)["servers"]
    assert not [where for where in SECRETS if "s3cret" in json.dumps(servers[where])]
    assert len(re.findall(r"or reads A2C_SMCP_\w+", shown.stderr)) == len(SECRETS)


def test_what_is_no_secret_is_imported_as_it_is(tmp_path: Path) -> None:
    env = {"MAX_TOKENS": "4096", "AUTHOR": "bob", "KEYBOARD": "de"}
    server = {"command": "x", "args": ["--max-tokens", "4096", "--keyboard=de"], "env": env}
    source = host_file("claude", server, tmp_path)
    shown = json.loads(a2c("config", "import", "claude", str(source), "--json").stdout)
    assert shown["servers"]["it"]["server_parameters"] == server
    assert "inputs" not in shown


def test_an_import_says_what_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "it.env").write_text("API_KEY=s3cret\n")
    source = host_file("vscode", {"command": "x", "envFile": "it.env"}, tmp_path)
    shown = a2c("config", "import", "vscode", str(source))
    assert shown.returncode == 0
    assert "s3cret" not in shown.stdout + shown.stderr
    assert "envFile" in shown.stdout + shown.stderr


def test_importing_into_a_file_keeps_what_is_there(tmp_path: Path) -> None:
    old = write_config(tmp_path, {"it": {"command": "mine"}, "other": {"command": "y"}})
    source = host_file("cursor", {"command": "theirs"}, tmp_path)
    done = a2c("config", "import", "cursor", str(source), "-o", str(old))
    assert done.returncode == 0
    assert "it is already in" in done.stderr
    servers = json.loads(old.read_text("utf-8"))["servers"]
    assert servers == {"it": {"command": "mine"}, "other": {"command": "y"}}


@pytest.mark.parametrize("key", ["mcpServers", "mcp"])
def test_importing_into_a_file_of_another_host_leaves_it_one(key: str, tmp_path: Path) -> None:
    inner = {"old": {"command": "y"}}
    before: dict[str, Any] = {"theme": "dark", key: {"servers": inner} if key == "mcp" else inner}
    target = tmp_path / "target.json"
    target.write_text(json.dumps(before), "utf-8")
    source = host_file("cursor", {"command": "x"}, tmp_path)
    assert a2c("config", "import", "cursor", str(source), "-o", str(target)).returncode == 0
    inner["it"] = {"type": "stdio", "command": "x"}
    assert json.loads(target.read_text("utf-8")) == before
    assert "old (stdio), it (stdio)" in a2c("config", "check", str(target)).stdout


def test_nothing_is_imported_into_a_file_whose_comments_would_be_lost(tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_text('{"servers": {"old": {"url": "http://h"}}} // mine\n', "utf-8")
    source = host_file("cursor", {"command": "x"}, tmp_path)
    done = a2c("config", "import", "cursor", str(source), "-o", str(target))
    assert done.returncode == 2
    assert "comments" in done.stderr
    assert target.read_text("utf-8") == '{"servers": {"old": {"url": "http://h"}}} // mine\n'


def test_an_import_tells_what_it_renamed_and_which_inputs_it_shares(tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    for server, description in (("gh", "GitHub key"), ("aws", "AWS key"), ("gl", "GitHub key")):
        inputs = [{"id": "key", "type": "promptString", "description": description}]
        source = tmp_path / "vscode.json"
        servers = {server: {"command": "x", "env": {"T": "${input:key}"}}}
        source.write_text(json.dumps({"servers": servers, "inputs": inputs}), "utf-8")
        done = a2c("config", "import", "vscode", str(source), "-o", str(target))
        assert done.returncode == 0
        assert ("renamed: the input key became key-2" in done.stderr) == (server == "aws")
        assert ("shared: the input key" in done.stderr) == (server == "gl")
    servers = json.loads(target.read_text("utf-8"))["servers"]
    used = [server["server_parameters"]["env"]["T"] for server in servers.values()]
    assert used == ["${input:key}", "${input:key-2}", "${input:key}"]


def test_an_import_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    source = host_file("cursor", {"command": "x"}, tmp_path)
    done = a2c("config", "import", "cursor", str(source), "-o", str(tmp_path / "no" / "x.json"))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"a2c: cannot write {tmp_path / 'no' / 'x.json'}: ")


def test_an_import_finds_the_hosts_file_where_it_usually_is_or_says_where_it_looked(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home" / ".config")}
    missing = a2c("config", "import", "cursor", cwd=tmp_path, env=home)
    assert missing.returncode == 2
    assert str(tmp_path / ".cursor" / "mcp.json") in missing.stderr
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    found = a2c("config", "import", "cursor", cwd=tmp_path, env=home)
    assert found.returncode == 0
    assert list(json.loads(found.stdout)["servers"]) == ["a"]
    unknown = a2c("config", "import", "emacs", cwd=tmp_path, env=home)
    assert unknown.returncode == 2
    assert "claude, cursor, vscode" in unknown.stderr
