"""`a2c agent` and `a2c computer` as processes: resources of any scheme, prompts, watched resources and log messages."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_agent_command import Place, hosting, office_of
from tests.support.mcp_servers import SERVERS, stdio, write_config
from tests.support.process import a2c, server_process
from tests.support.terminal import CTRL_U, ENTER, TAB, terminal

OFFERING = [sys.executable, str(SERVERS / "offering.py")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    folder = tmp_path_factory.mktemp("place")
    with server_process() as server, hosting(server, "laptop", folder / "laptop", OFFERING):
        yield Place(server, folder / "log")


def test_resources_are_listed_and_read(place: Place) -> None:
    shown = place.agent("resources", "--server", "it").stdout
    assert "Notes" in shown
    assert "memo://notes" in shown
    listed: dict[str, list[Any]] = json.loads(place.agent("resources", "--json").stdout)
    assert [each["uri"] for each in listed["laptop"]] == ["memo://notes", "memo://0", "memo://1", "memo://2"]
    assert place.agent("read", "memo://notes").stdout == "text of memo://notes\n"
    assert place.agent("read", "db://rows/7").stdout == "text of db://rows/7\n"
    assert place.agent("read", "other://x").returncode == 4
    assert place.agent("read", "other://x", "--mcp-server", "it").stdout == "text of other://x\n"
    outcome = place.agent("resources", "--mcp-server", "nobody")
    assert (outcome.returncode, "4014" in outcome.stderr) == (4, True)


def test_prompts_are_listed_and_filled_in(place: Place) -> None:
    shown = place.agent("prompts", "laptop").stdout
    assert "greet who=…" in shown
    assert "it on laptop" in shown
    assert "Greet Ada." in place.agent("prompt", "greet", "who=Ada").stdout
    answer = json.loads(place.agent("prompt", "greet", "who=7", "--json").stdout)
    assert answer["messages"][0]["content"]["text"] == "Greet 7."
    for words, says, code in (
        (["greet"], "missing: who", 2),
        (["greet", "whom=x"], "no such parameter: whom", 2),
        (["gret"], "did you mean greet", 4),
    ):
        outcome = place.agent("prompt", *words)
        assert (outcome.returncode, says in outcome.stderr) == (code, True), outcome.stderr


@pytest.mark.anyio
async def test_watch_prints_changes_of_a_resource(place: Place) -> None:
    def answer(event: str, data: Any) -> Any:
        lists: dict[str, Any] = {"tools": [], "desktops": [], "documents": [], "total_count": 0, "servers": {}}
        return {**lists, "req_id": data["req_id"]}

    async with office_of(place, "watching", "pc") as (computer,):
        computer.answer = answer
        with place.start("--log-level", "info", "watch", "memo://notes", office="watching") as watch:
            await asyncio.to_thread(watch.wait_for, "watching")
            assert await computer.be_asked("client:watch_resource")
            update = {"computer": "pc", "uri": "memo://notes", "mcp_server": "it"}
            await computer.ask("server:update_resource", update)
            await asyncio.to_thread(watch.wait_for, r"^\d\d:\d\d:\d\d  pc: resource memo://notes of it changed$")
            assert await asyncio.to_thread(watch.stop, signal.SIGINT) == 130


def test_prompts_and_resources_are_completed_at_the_prompt(place: Place, tmp_path: Path) -> None:
    def complete(typed: str, expected: str) -> None:
        shell.type(typed + TAB)
        shell.see_prompt(expected)

    with place.prompt(tmp_path) as shell:
        shell.see_prompt()
        complete("read memo://n", "read memo://notes")
        shell.type(CTRL_U)
        complete("prompt gr", "prompt greet")
        complete(" wh", "prompt greet who=")
        complete("Al", "prompt greet who=Alan")
        start = shell.mark()
        shell.type(ENTER)
        shell.see("Greet Alan.", start)
        shell.see_prompt()
        assert shell.process.poll() is None


def test_the_owner_reads_log_messages_at_the_prompt(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"it": stdio(OFFERING)})
    commands = ["call log level=error data=boom", "call log level=debug data=quiet", "logs it", "status", "logs nobody"]
    outcome = a2c("computer", "--config", str(config), typed="\n".join(commands))
    assert re.search(r"^\d\d:\d\d:\d\d  error     it \| core: boom$", outcome.stdout, re.MULTILINE), outcome.stdout
    assert "it: 1 log message; the last: error | boom" in outcome.stdout
    assert "quiet" not in outcome.stdout
    assert "no such MCP server: nobody" in outcome.stderr


HOSTILE = "EVIL\nEVIL  bank on laptop\rEVIL\x1b[2JEVIL\u202eEVIL\u2028EVIL " + "x" * 95 + " EVIL " + "表" * 60 + "EVIL"


def test_hostile_prompts_and_log_messages_have_a_bar_before_every_line(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"it": stdio([*OFFERING, "--hostile", HOSTILE])})
    with server_process() as server:
        flags = ["--config", str(config), "--url", server.url, "--office", "office", "--name", "laptop"]
        with terminal(tmp_path, "computer", *flags, prompt="laptop>") as shell:
            shell.see("in office office")
            with terminal(tmp_path, "agent", "--url", server.url, "--office", "office", "prompts", prompt="") as other:
                other.see("it on laptop  ")
                other.end()
                evil = [line for line in other.screen.lines if "EVIL" in line]
                assert len(evil) > 7
                assert [line for line in evil if not line.startswith(("it on laptop  | EVIL", "  | "))] == []
            shell.run("status", "log message")
            shell.run("logs", r"error     it \| EVIL")
            evil = [line for line in shell.screen.lines if "EVIL" in line]
            assert len(evil) > 7
            head = r"(\d\d:\d\d:\d\d  error     it |it: \d+ log messages?; the last: error |  )\| "
            assert [line for line in evil if not re.match(head, line)] == []
            assert "\x1b[2J" not in shell.raw
