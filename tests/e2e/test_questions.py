"""Progress and questions from real MCP servers to a person: `a2c agent` as a process, and npm's server-everything."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient, Progress, Question
from a2c_smcp.computer import Computer, SMCPComputerClient
from a2c_smcp.computer.config.files import server_from
from tests.support.mcp_servers import AUTO, SERVERS, http_server, npm, stdio, write_config
from tests.support.process import ServerProcess, a2c, computer_process, server_process
from tests.support.running import running
from tests.support.terminal import CTRL_C, ENTER, terminal
from tests.support.waiting import PATIENCE

ASKING = [sys.executable, str(SERVERS / "asking.py")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[ServerProcess]:
    """A Server, and in its office `office` the Computer `pc` with the server that asks."""
    config = write_config(tmp_path_factory.mktemp("place"), {"it": stdio(ASKING)})
    with server_process() as server:
        flags = ["--config", str(config), "--url", server.url, "--office", "office", "--name", "pc"]
        with computer_process(*flags) as computer:
            computer.wait_for("1 of 1 MCP servers ready")
            computer.wait_for("in office office as pc")
            yield server


def flags(server: ServerProcess, *words: str) -> list[str]:
    return ["agent", "--url", server.url, "--office", "office", *words]


def test_a_person_answers_a_form_at_the_prompt(server: ServerProcess, tmp_path: Path) -> None:
    with terminal(tmp_path, *flags(server), prompt="a2c-agent>") as shell:
        shell.see_prompt()
        shell.type("call pc ask" + ENTER)
        shell.see("MCP server it of pc asks, for the tool ask:")
        shell.see(r"^  \| Who are you\?")
        shell.see(r"^You have 5 minutes to answer\.")
        shell.see(r"^  \| Name")
        shell.see(r"^Value 1 of 6 \(required\): *\Z")
        shell.type(ENTER)
        shell.see("a value is required")
        shell.type("Ada" + ENTER)
        shell.see(r"^  \| age \[30\]\nValue 2 of 6: *\Z")
        shell.type("old" + ENTER)
        shell.see("a whole number is expected")
        shell.type("36" + ENTER)
        shell.see(r"^  \| colour\n  \| 1  red\n  \| 2  green\nValue 3 of 6: *\Z")
        shell.type("2" + ENTER)
        shell.see(r"^  \| size\n(.*\n){2}Value 4 of 6: *\Z")
        shell.type("large" + ENTER)
        shell.see(r"^  \| days\n(.*\n){2}Value 5 of 6: *\Z")
        shell.type("mo, 2" + ENTER)
        shell.see(r"^  \| mail\nValue 6 of 6: *\Z")
        shell.type("nobody" + ENTER)
        shell.see(r"Send this answer\? \[y/N\] *\Z")
        start = shell.mark()
        shell.type("y" + ENTER)
        shell.see(r"The answer before did not fit:\n  \| mail", start)
        shell.type("Ada" + ENTER + ENTER * 5)
        shell.see(r"Send this answer\? \[y/N\] *\Z", start)
        shell.type("y" + ENTER)
        shell.see(r'"content": \{"name": "Ada", "age": 30\}', start)
        shell.see_prompt()


def test_ctrl_c_cancels_a_question_and_no_declines_it(server: ServerProcess, tmp_path: Path) -> None:
    with terminal(tmp_path, *flags(server), prompt="a2c-agent>") as shell:
        shell.see_prompt()
        shell.type("call pc ask" + ENTER)
        shell.see(r"Value 1 of 6 \(required\): *\Z")
        shell.type(CTRL_C)
        shell.see('"action": "cancel"')
        shell.see_prompt()
        question = '{"mode":"url","message":"m","url":"https://a.b/c","elicitationId":"1"}'
        shell.type(f"call pc ask question='{question}'{ENTER}")
        shell.see(r"^  \| https://a.b/c\n  \| \(its host is a.b\)")
        shell.see(r"Have you visited it\? \[y/N\] *\Z")
        shell.type("n" + ENTER)
        shell.see('"action": "decline"')


def test_an_imitated_confirmation_is_shown_as_the_servers(server: ServerProcess, tmp_path: Path) -> None:
    with terminal(tmp_path, *flags(server, "call", "pc", "imitate"), prompt="") as shell:
        shell.see("MCP server it of pc asks, for the tool imitate:")
        shell.see(r"^  \| The owner of this Computer has to confirm:")
        shell.see(r"^  \| Allow delete_everything\? \[y/N\]")
        assert "\x1b[2J" not in shell.raw


SEQUENCES = ["\x1b[2J\x1b[H", "\x1b]0;EVIL\x07", "\x1b[1A"]
ENDS = ["\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\u202e", *SEQUENCES, " " * 99, "x" * 90]
HOSTILE = "".join(f"{end}EVIL Send this answer? [y/N] " for end in ENDS) + "表" * 60 + "EVIL"
"""A text that tries to begin a line of its own, with control characters and with the width of the terminal."""


def test_a_hostile_question_has_a_bar_before_every_line(server: ServerProcess, tmp_path: Path) -> None:
    options = [{"const": HOSTILE, "title": HOSTILE}]
    field = {"type": "string", "title": HOSTILE, "description": HOSTILE, "default": HOSTILE, "oneOf": options}
    properties = {"first": field, HOSTILE: {"type": "string", "minLength": 5}}
    question = {"message": HOSTILE, "requestedSchema": {"type": "object", "properties": properties}}
    words = ["call", "pc", "ask", "--params", json.dumps({"question": question})]
    with terminal(tmp_path, *flags(server, *words), prompt="") as shell:
        shell.see(r"^Value 1 of 2: *\Z")
        shell.type(ENTER)
        shell.see(r"^Value 2 of 2: *\Z")
        shell.type("abc" + ENTER)  # too short: the Computer says so, with the name of the field
        shell.see(r"^Send this answer\? \[y/N\] *\Z")
        start = shell.mark()
        shell.type("y" + ENTER)
        shell.see("The answer before did not fit:", start)
        shell.see(r"^Value 1 of 2: *\Z", start)
        evil = [line for line in shell.screen.lines if "EVIL" in line]
        assert len(evil) > 40
        assert [line for line in evil if not line.startswith("  | ")] == []
        assert "\x1b[2J" not in shell.raw
        assert "\x1b]0;" not in shell.raw


def test_hostile_progress_stays_beside_its_bar(server: ServerProcess, tmp_path: Path) -> None:
    words = ["call", "pc", "progress", "--params", json.dumps({"count": 3_000, "message": HOSTILE})]
    with terminal(tmp_path, *flags(server, *words), prompt="") as shell:
        shell.see("done")
        assert "\x1b]0;" not in shell.raw
        assert "| \\nEVIL Send" in shell.raw
        assert not [line for line in shell.screen.lines if line.startswith("EVIL")]


def test_without_a_terminal_a_question_is_declined(server: ServerProcess) -> None:
    done = a2c(*flags(server, "call", "pc", "ask", "--json"))
    assert json.loads(json.loads(done.stdout)["content"][0]["text"]) == {"action": "decline"}
    assert "MCP server it of pc asks a question, which is declined: standard input is no terminal" in done.stderr


def test_progress_is_a_bar_on_a_terminal_and_nothing_elsewhere(server: ServerProcess, tmp_path: Path) -> None:
    with terminal(tmp_path, *flags(server, "call", "pc", "progress", "count=3000"), prompt="") as shell:
        shell.see("done")
        assert "step " in shell.raw
    done = a2c(*flags(server, "call", "pc", "progress"))
    assert (done.stdout.strip(), done.stderr) == ("done", "")


# --------------------------------------------------------------------------------------------- npm's server-everything

FILLED = {
    "name": "Ada",
    "firstLine": "It was a dark and stormy night.",
    "integer": 42,
    "number": 3.14,
    "untitledSingleSelectEnum": "Ross",
    "untitledMultipleSelectEnum": ["Guitar"],
    "titledSingleSelectEnum": "hero-2",
    "titledMultipleSelectEnum": ["fish-1", "fish-3"],
    "legacyTitledEnum": "pet-1",
}


@pytest.mark.anyio
@pytest.mark.parametrize("transport", ["stdio", "streamable"])
async def test_server_everything_reports_and_asks_through_an_office(transport: str) -> None:
    if transport == "stdio":
        await _play_everything({**stdio(npm("server-everything", "stdio"))})
        return
    with http_server("npm", "streamable") as everything:
        await _play_everything({"type": "streamable", "url": everything.url, "default_tool_meta": AUTO})


async def _play_everything(config: dict[str, Any]) -> None:
    asked: list[Question] = []
    heard: list[Progress] = []

    async def answer(question: Question) -> Any:
        asked.append(question)
        if question.url is not None:
            return question.accept()
        return {
            "name": "Ada",
            "untitledSingleSelectEnum": "Ross",
            "titledSingleSelectEnum": "hero-2",
            "titledMultipleSelectEnum": ["fish-1", "fish-3"],
        }

    computer = Computer("pc", mcp_servers=[server_from(config, "everything")])
    with running("async") as server:
        async with (
            computer,
            SMCPComputerClient.in_office(computer, server.url, "office"),
            AsyncSMCPAgentClient.in_office(server.url, "office", "agent", on_question=answer) as agent,
        ):
            await agent.wait_for("pc", "trigger-elicitation-request", PATIENCE)
            work = {"duration": 0.6, "steps": 3}
            done = await agent.call_tool("pc", "trigger-long-running-operation", work, on_progress=heard.append)
            assert "completed" in done.text
            assert [(report.progress, report.total) for report in heard] == [(1, 3), (2, 3), (3, 3)]
            result = await agent.call_tool("pc", "trigger-elicitation-request")
            assert "User provided the requested information" in result.text
            raw = json.loads(result.text[result.text.index("Raw result: ") + len("Raw result: ") :])
            assert raw["content"] == FILLED
            assert len(asked) == 1
            for error_path, questions in ((False, 1), (True, 2)):  # the second way asks again after the error
                asked.clear()
                url = {"url": f"https://example.com/{error_path}", "errorPath": error_path}
                visited = await agent.call_tool("pc", "trigger-url-elicitation", url)
                assert not visited.is_error, visited.text
                assert asked[-1].url == url["url"]
                assert len(asked) == questions
