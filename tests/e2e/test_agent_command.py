"""`a2c agent` as a process: one-shot commands for people and scripts, the prompt, and everything that goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from a2c_smcp import __version__
from a2c_smcp.cli.views import resource
from tests.support.mcp_servers import SERVERS, raw, received, stdio, write_config
from tests.support.peer import Peer, crowd
from tests.support.process import (
    A2C,
    Command,
    LineProcess,
    ServerProcess,
    WarmProcess,
    a2c,
    computer_process,
    environment,
    free_port,
    server_process,
)
from tests.support.systems import linux_only
from tests.support.terminal import CTRL_C, CTRL_D, CTRL_U, ENTER, TAB, TerminalProcess, terminal
from tests.support.waiting import PATIENCE, eventually

EXIT_CODES = {"done": 0, "failed": 1, "typed wrong": 2, "not in": 3, "not there": 4, "timed out": 5, "interrupted": 130}
DOCUMENTS = 30
W1 = "window://shelf/w0001"
BUFFERED = {"PYTHONUNBUFFERED": ""}
"""What is printed is written when the buffer is full, and at the end; in containers it is often written at once."""
HOSTILE = "\u202eevil"
"""A name that the Server lets pass, and that turns the text after it around."""


@dataclass(frozen=True)
class Place:
    """A Server and the office `office`: on `laptop` is the raw server, on `desk` the one with windows and documents."""

    server: ServerProcess
    log: Path
    """What the raw server on `laptop` receives."""

    def flags(self, *words: str, office: str = "office") -> list[str]:
        return ["agent", "--url", self.server.url, "--office", office, *words]

    def agent(self, *words: str, office: str = "office") -> subprocess.CompletedProcess[str]:
        """Run a command that ends by itself."""
        return a2c(*self.flags(*words, office=office))

    def script(self, *commands: str) -> subprocess.CompletedProcess[str]:
        """Run commands of the prompt from a pipe, in one process."""
        return a2c(*self.flags(), typed="\n".join(commands))

    def start(self, *words: str, office: str = "office") -> contextlib.closing[WarmProcess]:
        """Run a command that ends when it is told to."""
        return closing(WarmProcess(["a2c", *self.flags(*words, office=office)]))

    def prompt(
        self, folder: Path, office: str = "office", width: int = 100
    ) -> contextlib.AbstractContextManager[TerminalProcess]:
        """The prompt, in a terminal."""
        return terminal(folder, *self.flags(office=office), prompt="a2c-agent>", width=width)

    def sleeps(self) -> int:
        """How often the tool `sleep` was called on `laptop`."""
        return sum(call["params"]["name"] == "sleep" for call in received(self.log, "tools/call"))

    def cancelled(self) -> int:
        """How often the raw server was told to cancel."""
        return len(received(self.log, "notifications/cancelled"))


@contextlib.contextmanager
def hosting(server: ServerProcess, name: str, folder: Path, command: Command) -> Generator[LineProcess]:
    """A Computer in the office `office` that hosts one MCP server."""
    folder.mkdir()
    config = write_config(folder, {"it": stdio(command)})
    flags = ["--config", str(config), "--url", server.url, "--office", "office", "--name", name]
    with computer_process(*flags) as computer:
        computer.wait_for("1 of 1 MCP servers ready")
        computer.wait_for(f"in office office as {name}")
        yield computer


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    folder = tmp_path_factory.mktemp("place")
    shelves = [sys.executable, str(SERVERS / "shelves.py"), "--windows", "2", "--documents", str(DOCUMENTS)]
    with (
        server_process() as server,
        hosting(server, "laptop", folder / "laptop", raw("--log", str(folder / "log"))),
        hosting(server, "desk", folder / "desk", shelves),
    ):
        yield Place(server, folder / "log")


TOOL = {
    "name": "echo",
    "description": "Says it again.",
    "params_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
    "return_schema": None,
}


def answer(event: str, data: Any) -> Any:
    """What a Computer with one tool and one resource says."""
    match event:
        case "client:get_tools":
            return {"tools": [TOOL], "req_id": data["req_id"]}
        case "client:tool_call":
            return {"content": [{"type": "text", "text": data["params"]["text"]}], "isError": False}
        case "client:read_resource":
            return {"contents": [{"uri": data["uri"], "text": "read"}], "req_id": data["req_id"]}
        case _:
            return {"error": {"code": 400, "message": f"{event} is too much for me"}}


@contextlib.asynccontextmanager
async def office_of(place: Place, office: str, *names: str) -> AsyncGenerator[list[Peer]]:
    """An office of Computers that answer by `answer`."""
    async with crowd(place.server) as people:
        yield [await people.member("computer", name, office, answer) for name in names]


# What there is


def test_computers_are_listed_with_the_number_of_their_tools(place: Place) -> None:
    shown = place.agent("computers")
    assert shown.returncode == EXIT_CODES["done"], shown.stderr
    assert re.search(rf"^ *laptop +15 +a2c-stack {re.escape(__version__)} *$", shown.stdout, re.MULTILINE)
    assert re.search(rf"^ *desk +24 +a2c-stack {re.escape(__version__)} *$", shown.stdout, re.MULTILINE)


def search(event: str, data: Any) -> Any:
    """What a Computer with a document server says."""
    match event:
        case "client:list_resource_templates":
            template = {"name": "search", "uriTemplate": "dpe://reports{?search,limit}", "mcp_server": "reports"}
            return {"templates": [template], "req_id": data["req_id"]}
        case "client:read_resource":
            place = {"element_uri": "dpe://reports/plan/elements/p2-text-1", "page_uri": "dpe://reports/plan/pages/2"}
            document = {"title": "Plan", "uri": "dpe://reports/plan", "file_type": "pdf", "state": "changed"}
            coverage = {"documents": 10_000, "indexed": 1_200, "pending": 8_790, "unreadable": 10}
            hits = [{**place, "page_index": 2, "snippet": f"the [budget] \x1b[31m{data['uri']}"}]
            text = json.dumps({"hits": hits, "documents": [document], "coverage": coverage})
            return {"contents": [{"uri": data["uri"], "text": text}], "req_id": data["req_id"]}
        case _:
            return answer_nothing(event, data)


@pytest.mark.anyio
async def test_the_text_of_documents_is_searched(place: Place) -> None:
    async with crowd(place.server) as people:
        await people.member("computer", "pc", "search", search)
        shown = await asyncio.to_thread(place.agent, "find", "budget", "plan", office="search")
        assert shown.returncode == EXIT_CODES["done"], shown.stderr
        assert (
            "Plan  pdf, on pc, changed since it was indexed\n  dpe://reports/plan\n  page 2: the [budget] "
            in shown.stdout
        )
        assert "search=budget%20plan&limit=30" in shown.stdout
        assert "\x1b" not in shown.stdout
        assert (
            "1 document found in 1,200 of 10,000 files (8,790 are not indexed yet, 10 cannot be read)" in shown.stdout
        )
        await people.member("computer", "old", "search", answer)
        await people.member("computer", "none", "nothing", answer_nothing)
        data = await asyncio.to_thread(place.agent, "find", "budget", "--json", office="search")
        found = json.loads(data.stdout)
        assert [document["title"] for document in found["documents"]] == ["Plan"]
        assert (found["indexed_count"], found["document_count"], found["is_complete"]) == (1_200, 10_000, False)
        none = await asyncio.to_thread(place.agent, "find", "budget", office="nothing")
        assert (none.returncode, "document server" in none.stderr) == (EXIT_CODES["not there"], True)
        absent = await asyncio.to_thread(place.agent, "find", "budget", "-c", "nobody", office="search")
        assert absent.returncode == EXIT_CODES["not there"]


@pytest.mark.anyio
async def test_computers_are_listed_with_the_versions_that_they_named(place: Place) -> None:
    async with crowd(place.server) as people:
        await people.member("computer", "pc", "versions", answer_nothing, query="a2c_version=0.3.1")
        await people.member("computer", "old", "versions", answer_nothing)
        shown = await asyncio.to_thread(place.agent, "computers", office="versions")
        assert re.search(r"^ *pc +0 +A2C-SMCP 0\.3\.1 *$", shown.stdout, re.MULTILINE)
        assert re.search(r"^ *old +0 +not named *$", shown.stdout, re.MULTILINE)


def answer_nothing(event: str, data: Any) -> Any:
    """A Computer without tools."""
    return {"tools": [], "req_id": data["req_id"]}


def test_tools_are_listed_for_all_computers_or_one(place: Place) -> None:
    shown = place.agent("tools")
    assert shown.returncode == EXIT_CODES["done"], shown.stderr
    assert re.search(r"^laptop\n(?:  .*\n)*  add +\| The tool add\. *$", shown.stdout, re.MULTILINE)
    assert re.search(r"^desk\n(?:  .*\n)*  set_window +\| The tool set_window\. *$", shown.stdout, re.MULTILINE)
    assert "desk" not in place.agent("tools", "laptop").stdout
    one = place.agent("tools", "desk", "set_window").stdout
    assert "\n  uri  string, required\n  text  string, required\n" in one
    assert "$ a2c agent call desk set_window uri=… text=…" in one
    unknown = place.agent("tools", "desk", "set_windw")
    assert unknown.returncode == EXIT_CODES["not there"]
    assert "did you mean set_window" in unknown.stderr


def test_an_office_without_computers_has_none_to_ask(place: Place) -> None:
    shown = place.agent("computers", office="empty")
    assert shown.returncode == EXIT_CODES["done"], shown.stderr
    assert shown.stdout == "no Computer is in the office\n"
    for words in (["tools"], ["desktop"], ["finder"], ["tools", "--json"]):
        refused = place.agent(*words, office="empty")
        assert refused.returncode != EXIT_CODES["done"]
        assert refused.stdout == ""
        assert "no Computer is in the office empty (404)" in refused.stderr


@pytest.mark.anyio
async def test_a_command_waits_for_the_computer_and_the_tool_that_it_needs(place: Place) -> None:
    async with crowd(place.server) as people:
        early = await people.member("computer", "early", "waiting", answer)
        with place.start("--wait", "30", "call", "late", "echo", "text=hi", office="waiting") as waiting:
            assert (await early.hear("notify:enter_office"))["agent"] == "a2c-agent"
            await people.member("computer", "late", "waiting", answer)
            assert await asyncio.to_thread(waiting.process.wait, PATIENCE) == EXIT_CODES["done"]
            assert waiting.text == "hi\n"
    in_vain = place.agent("--wait", "0.1", "tools", "nobody")
    assert in_vain.returncode == EXIT_CODES["timed out"]
    assert "Computer 'nobody' is not in the office" in in_vain.stderr
    assert "no Computer joined empty within 0.1 s" in place.agent("--wait", "0.1", "tools", office="empty").stderr


D1, KINDS = "dpe://shelf/d00001", ["page", "element"]

FOR_SCRIPTS: list[tuple[list[str], Callable[[Any], bool]]] = [
    (["computers"], lambda found: {"name": "laptop", "tools": 15, "a2c_stack": __version__} in found),
    (["tools"], lambda found: len(found["desk"]) == 24),
    (["tools", "laptop", "add"], lambda found: found["params_schema"]["required"] == ["a", "b"]),
    (["call", "laptop", "media"], lambda found: found["content"][0]["mimeType"] == "image/png"),
    (["call", "laptop", "fail", "message=no"], lambda found: found["isError"] is True),
    (["desktop", "--window", W1], lambda found: found == {"laptop": [], "desk": [f"{W1}\n\nwindow 1 "]}),
    (["finder", "--all"], lambda found: found["desk"]["total_count"] == len(found["desk"]["documents"]) == DOCUMENTS),
    (["read", "dpe://shelf/d00001"], lambda found: json.loads(found[0]["text"])["title"] == "Document 1"),
    (["tree", "dpe://shelf/d00001"], lambda found: len(found["pages"][2]["elements"]) == 3),
    (["config", "laptop"], lambda found: found["servers"]["it"]["type"] == "stdio"),
    (["templates"], lambda found: found["laptop"] == [] and [each["name"] for each in found["desk"]] == KINDS),
    (["templates", "--mcp-server", "it", "-c", "desk"], lambda found: found["desk"][0]["mcp_server"] == "it"),
    (["complete", "dpe://shelf/d00001/elements/e"], lambda found: found == [f"{D1}/elements/e{n}" for n in range(3)]),
]


def test_addresses_are_completed_one_on_a_line(place: Place) -> None:
    found = place.agent("complete", f"{D1}/")
    assert found.stdout.splitlines() == [f"{D1}/pages/", f"{D1}/elements/"]
    found = place.agent("complete", f"{D1}/pages/")
    assert found.stdout.splitlines() == [f"{D1}/pages/{number}" for number in range(3)]
    found = place.agent("complete", "dpe://nowhere/d/pages/")
    assert (found.stdout, found.stderr, found.returncode) == ("", "", 0)


def test_templates_are_shown_with_their_mcp_server(place: Place) -> None:
    shown = place.agent("templates")
    assert shown.returncode == 0
    assert "page  it on desk\n  dpe://shelf/{doc_ref}/pages/{page_index}\n" in shown.stdout
    assert place.agent("templates", "--mcp-server", "nothing", "-c", "desk").returncode == EXIT_CODES["not there"]


@pytest.mark.parametrize(("words", "holds"), FOR_SCRIPTS)
def test_json_is_all_that_a_script_gets(place: Place, words: list[str], holds: Callable[[Any], bool]) -> None:
    shown = place.agent(*words, "--json")
    assert holds(json.loads(shown.stdout)), shown.stdout
    assert shown.stderr == ""


# Calls


@pytest.mark.parametrize(
    ("words", "ends", "says"),
    [
        (["laptop", "echo", "--params", '{"text": "ä"}'], "done", r"^ä\n$"),
        (["laptop", "media"], "done", r"^\[image, image/png, \d+ bytes\]\n(?s:.*)a note(?s:.*)\nfor you\n$"),
        (["laptop", "echo", "text=\x1b]0;evil\x07"], "done", r"^\\u001b\]0;evil\\u0007\n$"),
        (["laptop", "fail", "message=no luck"], "failed", "^no luck\n$"),
        (["laptop", "big", "bytes=20000000"], "failed", r"\(413\)"),
        (["laptop", "sleep", "seconds=60", "--timeout", "0.5"], "timed out", "timeout"),
        (["laptop", "echo"], "typed wrong", "^a2c: missing: text\n$"),
        (["laptop", "echo", "txet=x"], "typed wrong", r"^a2c: no such parameter: txet; did you mean text\?\n$"),
        (["laptop", "media", "-o", "/no/such/folder/file"], "typed wrong", "^a2c: --output .*no such folder\n$"),
        (["laptop", "echo", "--params", "[]"], "typed wrong", "JSON object"),
        (["laptop", "ecoh", "text=x"], "not there", r"^a2c: .*ecoh.*did you mean echo\? \(4001\)\n$"),
        (["laptpo", "echo", "text=x"], "not there", r"^a2c: .*laptpo.*did you mean laptop\? \(404\)\n$"),
        (["nobody", "echo", "text=x"], "not there", r"it has (laptop, desk|desk, laptop) \(404\)\n$"),
    ],
)
def test_a_call_says_what_came_of_it_and_so_does_its_exit_code(
    place: Place, words: list[str], ends: str, says: str
) -> None:
    shown = place.agent("call", *words)
    assert shown.returncode == EXIT_CODES[ends], shown.stderr
    assert re.search(says, shown.stdout + shown.stderr), shown.stdout + shown.stderr
    assert bool(shown.stderr) == shown.stderr.startswith("a2c: ")


def test_files_of_a_result_are_written_and_its_text_is_shown(place: Place, tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("it.png", "it-2.wav", "it-3.txt"))
    first.write_text("replaced")
    shown = place.agent("call", "laptop", "media", "--output", str(first))
    assert shown.stdout == "[link to raw://linked]\nfor you\n"
    assert first.read_bytes().startswith(b"\x89PNG")
    assert second.read_bytes().startswith(b"RIFF")
    assert third.read_text() == "a note"
    assert re.fullmatch(rf"wrote {first} \(image/png, \d+ bytes\)\n(wrote .*\n){{2}}", shown.stderr), shown.stderr
    shown = place.agent("call", "laptop", "media", "-o", f"{tmp_path}/folder/", "--json")
    found = json.loads(shown.stdout)
    assert [Path(file["path"]).name for file in found["files"]] == ["image.png", "audio.wav", "resource.txt"]
    assert (tmp_path / "folder" / "image.png").stat().st_size == found["files"][0]["bytes"]
    assert found["text"] == "for you"


def test_binaries_are_saved_as_they_arrive_and_replace_none(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pictures"
    for number in ("", "-2"):
        shown = place.agent("call", "laptop", "media", "--save-to", str(folder))
        assert f"[image, saved to {folder / f'image{number}.png'}]" in shown.stdout
        assert (folder / f"image{number}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"audio{number}.wav").read_bytes().startswith(b"RIFF")
    found = json.loads(place.agent("call", "laptop", "media", "--save-to", str(folder), "--json").stdout)
    assert str(folder / "image-3.png") in [item.get("_meta", {}).get("a2c_saved_to") for item in found["content"]]
    assert place.script(f"call laptop media --save-to {folder}").stdout.count("saved to") == 2
    assert place.agent("read", "raw://nothing", "--save-to", str(folder), "-o", "x").returncode == 2
    (tmp_path / "file").write_text("mine")
    outcome = place.agent("call", "laptop", "media", "--save-to", f"{tmp_path}/file/inside")
    assert (outcome.returncode, outcome.stderr.count("\n")) == (1, 1), outcome.stderr


def test_a_result_without_files_is_written_as_text_unless_the_tool_failed(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "file"
    call = "call laptop echo text=ä -o"
    done = place.script(f"{call} {file}", f"call laptop fail 'message=no luck' -o {file}", f"{call} -", f"{call}")
    assert done.stdout == "no luck\nä"
    assert re.fullmatch(rf"wrote {file} \(text/plain, 2 bytes\)\nusage: call .*\n", done.stderr)
    assert file.read_text("utf-8") == "ä"


def test_a_long_text_comes_out_of_a_pipe_as_it_is(place: Place) -> None:
    assert place.agent("call", "laptop", "big", "bytes=3000000").stdout == "x" * 3_000_000 + "\n"


@pytest.mark.anyio
async def test_ctrl_c_in_a_call_cancels_the_tool_where_it_runs(place: Place) -> None:
    slept, cancelled = place.sleeps(), place.cancelled()
    with place.start("call", "laptop", "sleep", "seconds=60") as call:
        await eventually(lambda: place.sleeps() > slept)
        assert await asyncio.to_thread(call.stop, signal.SIGINT) == EXIT_CODES["interrupted"]
        assert call.text == ""
    await eventually(lambda: place.cancelled() > cancelled)
    assert place.agent("call", "laptop", "echo", "text=free").stdout == "free\n", "the seat is free, and so is the tool"


@pytest.mark.anyio
async def test_a_computer_that_leaves_while_it_is_asked_is_not_waited_for(place: Place) -> None:
    async with office_of(place, "leaving", "pc") as (computer,):
        forever = asyncio.Event()
        computer.answer = lambda event, data: forever.wait() if event == "client:tool_call" else answer(event, data)
        words = ["call", "pc", "echo", "text=x", "--timeout", "3600"]
        call = asyncio.create_task(asyncio.to_thread(place.agent, *words, office="leaving"))
        await computer.be_asked("client:tool_call")
        await computer.disconnect()
        shown = await call
        forever.set()
    assert shown.returncode == EXIT_CODES["not there"]
    assert re.fullmatch(r"a2c: .*\(404\)\n", shown.stderr)


@pytest.mark.anyio
async def test_a_computer_that_hangs_is_in_nobodys_way(place: Place) -> None:
    async with office_of(place, "hanging", "stuck", "pc") as (stuck, _):
        forever = asyncio.Event()
        stuck.answer = lambda event, data: forever.wait()

        async def run(*words: str) -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(place.agent, *words, office="hanging")

        shown = await run("--answer-timeout", "3600", "call", "pc", "echo", "text=quick")
        assert (shown.returncode, shown.stdout, shown.stderr) == (EXIT_CODES["done"], "quick\n", "")
        shown = await run("--timeout", "0.5", "call", "stuck", "echo", "text=x")
        assert shown.returncode == EXIT_CODES["timed out"]
        shown = await run("--timeout", "0.5", "computers", "--json")
        assert shown.returncode == EXIT_CODES["failed"]
        assert json.loads(shown.stdout) == [{"name": "stuck", "tools": None}, {"name": "pc", "tools": 1}]
        assert re.fullmatch(r"a2c: stuck: .*\(408\)\n", shown.stderr)
        shown = await run("--timeout", "0.5", "read", "note://x")
        assert (shown.returncode, shown.stdout) == (EXIT_CODES["done"], "read\n")
        forever.set()


# Windows and documents


def test_the_desktop_shows_the_windows_of_each_computer(place: Place) -> None:
    shown = place.agent("desktop").stdout
    assert shown.index("window://shelf/w0000") < shown.index("window 0") < shown.index(W1)
    assert re.search("^laptop\nno windows$", shown, re.MULTILINE)
    one = place.agent("desktop", "--computer", "desk", "--size", "1").stdout
    assert "w0000" in one
    assert "w0001" not in one


def test_the_finder_shows_twenty_documents_or_all_or_those_that_match(place: Place) -> None:
    shown = place.agent("finder").stdout
    assert len(re.findall("dpe://shelf/", shown)) == 20
    assert "20 of 30" in shown
    assert "--all" in shown
    matching = place.agent("finder", "Document 3", "nothing such", "--type", "pdf").stdout
    assert "Document 3  pdf, 3 pages, 2026-01-04, on desk\n  dpe://shelf/d00003\n" in matching
    assert "1 of 1" in matching


def test_a_page_is_raw_markdown_in_a_pipe(place: Place) -> None:
    page = "dpe://shelf/d00001/pages/0"
    assert place.agent("read", page).stdout == "# Title\n\nWords\n"
    assert place.agent("read", page, "--markdown").stdout == "# Title\n\nWords\n"


def shown(body: dict[str, Any]) -> str:
    """What a person sees at a terminal."""
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    console.print(*resource([{"uri": "dpe://h/d/pages/0", "text": json.dumps(body)}]))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_lines_of_a_text_stay_lines_at_a_terminal() -> None:
    plain = "one\n  two   three\n# four\n* five"
    assert shown({"title": "T", "content_text": plain}) == f"T {plain}\n"
    rendered = shown({"title": "T", "content_markdown": "# Head\n\none\ntwo\n\n| a | b |\n|---|---|\n| 1 | 2 |"})
    assert "#" not in rendered
    assert [line.rstrip() for line in rendered.splitlines()].count("one") == 1
    assert "|---" not in rendered


def test_a_document_a_window_or_any_resource_is_read(place: Place) -> None:
    document = place.agent("read", "dpe://shelf/d00001").stdout
    assert document.startswith("Document 1\n  dpe://shelf/d00001\n")
    assert "dpe://shelf/d00001/pages/2" in document
    assert place.agent("read", W1).stdout == "window 1 \n"
    assert place.agent("read", "note://readme", "-c", "desk").stdout == "read me\n"


def test_what_is_read_can_be_written_to_a_file(place: Place, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.md", "window://shelf/picture"
    done = place.script(
        f"read dpe://shelf/d00001/pages/0 -o {page}",
        f"call desk set_blob uri={picture}",
        f"read {picture} -o {tmp_path}",
        f"call desk drop_window uri={picture}",
        f"read note://nothing -o {page}",
        f"read {W1} -o {tmp_path}/no/such",
    )
    assert done.stdout == "set\ndropped\n"
    wrote, read, *refused = done.stderr.splitlines()
    assert (wrote, page.read_text()) == (f"wrote {page} (text/markdown, 14 bytes)", "# Title\n\nWords")
    assert (read, (tmp_path / "picture").read_bytes()) == (
        f"wrote {tmp_path}/picture (application/octet-stream, 3 bytes)",
        bytes(3),
    )
    assert all(says in line for says, line in zip(("404", "no such folder"), refused, strict=True)), refused


def test_a_document_or_window_goes_by_its_title(place: Place) -> None:
    by_title = place.script("read 'document 1'", "read 'window 1'", "tree 'Document 1'")
    assert by_title.stdout == place.script(f"read {D1}", f"read {W1}", f"tree {D1}").stdout
    unknown = place.agent("read", "Documnt 1")
    assert (unknown.returncode, unknown.stdout) == (EXIT_CODES["not there"], "")
    assert re.match(r"a2c: Documnt 1: nothing has this title; .*address", unknown.stderr)
    assert "\n  dpe://shelf/d00001  Document 1\n" in unknown.stderr


@pytest.mark.anyio
async def test_a_title_that_several_have_is_not_guessed(place: Place) -> None:
    def catalogue(event: str, data: Any) -> Any:
        if event != "client:get_finder":
            return answer(event, data)
        summary = {
            "doc_ref": "d",
            "file_uri": "file:///d",
            "file_type": "md",
            "title": "T",
            "page_count": 1,
            "server": "s",
        }
        return {
            "documents": [{**summary, "uri": f"dpe://h/{n}"} for n in "ab"],
            "total_count": 2,
            "req_id": data["req_id"],
        }

    async with office_of(place, "twins", "pc") as (computer,):
        computer.answer = catalogue
        shown = await asyncio.to_thread(place.agent, "read", "t", office="twins")
    assert shown.returncode == EXIT_CODES["not there"]
    assert shown.stderr.endswith("by its address:\n  dpe://h/a  T\n  dpe://h/b  T\n")


def test_a_window_is_found_without_the_query_of_its_address(place: Place) -> None:
    address = "window://shelf/ranked"
    place.agent("call", "desk", "set_window", f"uri={address}?priority=3", "text=first")
    shown = place.agent("desktop", "--window", address, "-c", "desk", "--json").stdout
    assert json.loads(shown) == {"desk": [f"{address}?priority=3\n\nfirst"]}
    read = place.script(f"read {address}", f"call desk drop_window uri={address}?priority=3")
    assert read.stdout.startswith("first\n"), read.stderr


def test_a_document_is_shown_as_a_tree(place: Place) -> None:
    lines = place.agent("tree", "dpe://shelf/d00001").stdout.splitlines()
    assert lines[0] == "Document 1  pdf  dpe://shelf/d00001"
    assert len(lines) == 1 + 3 * (1 + 3)
    assert lines[1:4] == ["├── 0  page 0", "│   ├── heading  e0  Title", "│   ├── text  e1  Words"]


@pytest.mark.parametrize(
    ("words", "ends", "code"),
    [
        (["read", "dpe://shelf/nope"], "not there", 4201),
        (["read", "dpe://shelf/d00001/pages/99"], "not there", 4202),
        (["read", "dpe://shelf/d00001/chapters/1"], "typed wrong", 4204),
        (["read", "note://nope"], "not there", 404),
        (["tree", "window://shelf/w0000"], "typed wrong", 4204),
    ],
)
def test_what_cannot_be_read_is_one_line_with_its_code(place: Place, words: list[str], ends: str, code: int) -> None:
    shown = place.agent(*words)
    assert shown.returncode == EXIT_CODES[ends]
    assert re.fullmatch(rf"a2c: .*\({code}\)\n", shown.stderr), shown.stderr
    assert shown.stdout == ""


# Changes


def test_watch_sees_a_computer_come_and_go(place: Place, tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    flags = ["--config", str(config), "--url", place.server.url, "--office", "watched", "--name", "pc"]
    with place.start("--log-level", "info", "watch", office="watched") as watch:
        watch.wait_for("watching")
        with computer_process(*flags) as computer:
            watch.wait_for(r"^\d\d:\d\d:\d\d  pc joined$")
            watch.wait_for(r"  pc( has 15 tools|: 15 tools added: echo, add, sleep, .* …)$")
            assert computer.stop(signal.SIGTERM) == 0
        watch.wait_for(r"  pc left$")
        assert watch.stop(signal.SIGINT) == EXIT_CODES["interrupted"]
        assert "Traceback" not in watch.text


@pytest.mark.anyio
async def test_watch_names_what_changed(place: Place) -> None:
    def document(ref: str, title: str) -> dict[str, Any]:
        known = {"file_uri": f"file:///{ref}", "file_type": "md", "page_count": 1, "server": "s"}
        return {"doc_ref": ref, "uri": f"dpe://h/{ref}", "title": title, **known}

    offer: dict[str, Any] = {
        "tools": [TOOL],
        "servers": {"a": {"type": "stdio"}},
        "desktops": ["window://h/w?priority=1\n\nold"],
        "documents": [document("a", "A"), document("b", "B")],
    }

    def offered(event: str, data: Any) -> Any:
        if event == "client:get_config":
            return {"servers": offer["servers"], "inputs": None}
        return {**offer, "total_count": len(offer["documents"]), "req_id": data["req_id"]}

    async with office_of(place, "changing", "pc") as (computer,):
        computer.answer = offered
        with place.start("--log-level", "info", "watch", office="changing") as watch:
            await asyncio.to_thread(watch.wait_for, "watching")
            for what, value, lines in (
                (
                    "tool_list",
                    {"tools": [{**TOOL, "description": "Else."}, {**TOOL, "name": "b"}]},
                    ["tool echo changed"],
                ),
                ("tool_list", {"tools": [TOOL]}, ["tool echo changed", "tool b removed"]),
                ("config", {"servers": {"b": {"type": "sse"}}}, ["MCP server b added", "MCP server a removed"]),
                (
                    "desktop",
                    {"desktops": ["window://h/w?priority=1\n\nnew"]},
                    [r"window window://h/w\?priority=1 changed"],
                ),
                ("desktop", {"desktops": ["window://h/v\n\nv"]}, ["window window://h/v added"]),
                (
                    "finder",
                    {"documents": [document("a", "AA"), document("c", "C")]},
                    [r"document AA \(dpe://h/a\) changed", r"document C \(dpe://h/c\) added", r"document B .* removed"],
                ),
            ):
                offer |= value
                await computer.ask(f"server:update_{what}", {"computer": "pc"})
                for line in lines:
                    await asyncio.to_thread(watch.wait_for, rf"^\d\d:\d\d:\d\d  pc: {line}$")
            await computer.ask("server:update_finder", {"computer": "pc"})
            await asyncio.to_thread(watch.wait_for, "pc: the contents of documents changed; the list is the same")
            assert await asyncio.to_thread(watch.stop, signal.SIGINT) == EXIT_CODES["interrupted"]
    assert watch.text.count("tool echo changed") == 2


@pytest.mark.anyio
async def test_watch_gives_a_script_one_object_a_line_and_ends_after_as_many_as_wanted(
    place: Place, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    flags = place.flags("--log-level", "info", "watch", "--json", "--count", "3", office="scripted")
    with closing(LineProcess(["sh", "-c", f'exec "$@" >{out}', "sh", *A2C, *flags])) as watch:
        await asyncio.to_thread(watch.wait_for, "watching")
        async with office_of(place, "scripted", HOSTILE):
            await eventually(lambda: "tools" in out.read_text("utf-8"))
        assert await asyncio.to_thread(watch.process.wait, PATIENCE) == EXIT_CODES["done"]
    written = out.read_text("utf-8")
    assert HOSTILE not in written
    changes = [json.loads(line) for line in written.splitlines()]
    assert [(change["kind"], change["computer"]) for change in changes] == [
        ("enter", HOSTILE),
        ("tools", HOSTILE),
        ("leave", HOSTILE),
    ]
    assert (changes[1]["data"], changes[1]["changes"]) == ([TOOL], [])


@pytest.mark.anyio
async def test_watch_outlives_the_server() -> None:
    port = str(free_port())
    command = [*A2C, "agent", "--url", f"http://127.0.0.1:{port}", "--office", "office", "--log-level", "info", "watch"]
    with server_process("--port", port) as first, closing(LineProcess(command)) as watch:
        await asyncio.to_thread(watch.wait_for, "watching")
        await asyncio.to_thread(first.stop, signal.SIGTERM)
        await asyncio.to_thread(watch.wait_for, r"^\d\d:\d\d:\d\d  the connection to the Server was lost")
        with server_process("--port", port) as second:
            await asyncio.to_thread(watch.wait_for, r"^\d\d:\d\d:\d\d  reconnected to the office$")
            async with crowd(second) as people:
                await people.member("computer", "late", "office")
                await asyncio.to_thread(watch.wait_for, "  late joined$")
            assert await asyncio.to_thread(watch.stop, signal.SIGINT) == EXIT_CODES["interrupted"]
    assert "Traceback" not in watch.text


def test_the_prompt_outlives_the_server(tmp_path: Path) -> None:
    port = str(free_port())
    flags = ["agent", "--url", f"http://127.0.0.1:{port}", "--office", "office"]
    with server_process("--port", port) as first, terminal(tmp_path, *flags, prompt="a2c-agent>") as shell:
        shell.see_prompt()
        shell.type("compu")
        shell.see_prompt("compu")
        first.stop(signal.SIGTERM)
        shell.see("lost the connection to the Server")
        shell.see_prompt("compu")
        with server_process("--port", port):
            shell.see("back in office office as a2c-agent")
            shell.see_prompt("compu")
            shell.type("ters" + ENTER)
            shell.see("^no Computer is in the office$")
            shell.see_prompt()
            assert shell.leave() == 0
    assert "Traceback" not in shell.raw


# Scripts


@pytest.mark.parametrize("words", [["tools", "--json"], ["call", "laptop", "big", "bytes=3000000"]])
def test_whoever_reads_only_the_beginning_hears_no_complaint(place: Place, words: list[str]) -> None:
    command = [*A2C, *place.flags(*words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment(BUFFERED)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        assert process.wait(PATIENCE) in (0, 1)
        assert process.stderr.read() == b""


@linux_only
def test_output_that_cannot_be_written_is_one_clear_line(place: Place) -> None:
    with Path("/dev/full").open("w") as full:
        command = [*A2C, *place.flags("call", "laptop", "echo", "text=x")]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment(BUFFERED), check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert os.strerror(errno.ENOSPC).encode() in done.stderr


@pytest.mark.anyio
async def test_a_watch_that_nobody_reads_any_more_ends(place: Place) -> None:
    command = [*A2C, *place.flags("--log-level", "info", "watch", office="unread")]
    with closing(LineProcess(["sh", "-c", '"$@" | true', "sh", *command])) as watch:
        await asyncio.to_thread(watch.wait_for, "watching")
        async with office_of(place, "unread", "pc"):
            assert await asyncio.to_thread(watch.process.wait, PATIENCE) == 0
    assert "Traceback" not in watch.text


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_closed_standard_stream_is_no_obstacle(place: Place, closed: str) -> None:
    command = [*A2C, *place.flags("call", "laptop", "echo", "text=x")]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command], capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (EXIT_CODES["done"], b"")


def test_commands_come_from_a_pipe_too_and_any_failure_counts(place: Place) -> None:
    done = place.script("call laptop echo 'text=a b'\n# a comment\n\nread " + W1)
    assert (done.returncode, done.stdout, done.stderr) == (EXIT_CODES["done"], "a b\nwindow 1 \n", "")
    failed = place.script("call laptop fail message=no\ntools lapto\ncall laptop echo text=on\nquit\nnonsense\n")
    assert (failed.returncode, failed.stdout) == (EXIT_CODES["failed"], "no\non\n")
    assert re.fullmatch(r".*did you mean laptop\? \(404\)\n", failed.stderr)


def test_what_others_are_called_cannot_command_the_terminal(place: Place) -> None:
    async def look() -> list[subprocess.CompletedProcess[str]]:
        async with office_of(place, "unkind", HOSTILE, "[bold]名[/]"):
            words = (["computers"], ["tools", "--json"], ["tools", "evil"])
            return [await asyncio.to_thread(place.agent, *each, office="unkind") for each in words]

    table, machine, refused = asyncio.run(look())
    assert re.search(r"\\u202eevil +1 *\n +\[bold\]名\[/\] +1", table.stdout), table.stdout
    assert list(json.loads(machine.stdout)) == [HOSTILE, "[bold]名[/]"]
    assert "did you mean \\u202eevil?" in refused.stderr
    assert "\u202e" not in table.stdout + machine.stdout + refused.stderr


# Who is not let in


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["tools"], "--office"),
        ([], "--office"),
        (["--office", "o", "--url", "nonsense", "tools"], "nonsense"),
        (["--office", "o", "call", "pc", "echo", "--timeout", "0"], "0.1"),
        (["--office", "o", "nonsense"], "nonsense"),
    ],
)
def test_what_is_typed_wrong_is_said_before_anything_is_tried(flags: list[str], says: str) -> None:
    shown = a2c("agent", "--url", "http://127.0.0.1:1", *flags)
    assert shown.returncode == EXIT_CODES["typed wrong"]
    assert says in shown.stderr
    assert shown.stdout == ""


def test_no_server_is_one_clear_line() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    shown = a2c("agent", "--url", url, "--office", "office", "tools")
    assert shown.returncode == EXIT_CODES["not in"]
    assert re.fullmatch(rf"a2c: cannot reach {url}: .*\n", shown.stderr)


def test_a_key_opens_the_door_and_is_never_shown() -> None:
    with server_process("--api-key", "right-key") as server:
        flags = ["agent", "--url", server.url, "--office", "office"]
        wrong = a2c(*flags, "--api-key", "wrong-key", "computers")
        right = a2c(*flags, "--log-level", "debug", "computers", env={"A2C_API_KEY": "right-key"})
    assert wrong.returncode == EXIT_CODES["not in"]
    assert re.fullmatch(r"a2c: .*A2C_API_KEY.*\(401\)\n", wrong.stderr)
    assert right.returncode == EXIT_CODES["done"], right.stderr
    assert not re.search("(wrong|right)-key", wrong.stderr + right.stdout + right.stderr)


def test_an_office_has_one_agent(place: Place) -> None:
    with place.start("--name", "ann", "--log-level", "info", "watch", office="taken") as watch:
        watch.wait_for("watching")
        refused = place.agent("tools", office="taken")
        assert refused.returncode == EXIT_CODES["not in"]
        assert re.fullmatch(r"a2c: .*taken.*'ann'.*\(4101\)\n", refused.stderr)
        watch.stop(signal.SIGINT)
    assert place.agent("computers", office="taken").returncode == EXIT_CODES["done"]


def test_help_tells_every_command_and_the_exit_codes() -> None:
    shown = a2c("agent", "--help")
    assert shown.returncode == 0
    words = " ".join(shown.stdout.split())
    assert "Exit codes" in words
    for code in EXIT_CODES.values():
        assert re.search(rf"\b{code} \w", words), code
    for command in ("computers", "tools", "call", "desktop", "finder", "find", "read", "tree", "watch"):
        assert command in words
    assert "--params" in a2c("agent", "call", "--help").stdout
    assert "--all" in a2c("agent", "finder", "--help").stdout


# The prompt


def test_commands_at_the_prompt(place: Place, tmp_path: Path) -> None:
    with place.prompt(tmp_path) as shell:
        shell.see("^In office office as a2c-agent, with (laptop, desk|desk, laptop)\\.$")
        shell.see("Type help for the commands, Ctrl-D to leave.")
        assert re.search(r"laptop +15", shell.run("computers", "desk"))
        assert "The tool describe." in shell.run("tools laptop", "describe")
        assert shell.run("call laptop echo 'text=a b'", "^a b$") == "a b"
        assert shell.run('call laptop add {"a": 1, "b": 2}', "") != "3", "a space ends a word"
        assert shell.run("""call laptop add '{"a": 1, "b": 2}'""", "3") == "3"
        assert "no windows" in shell.run("desktop laptop", "no windows")
        assert "window 0" in shell.run("desktop 1", "w0000")
        assert "1 of 1" in shell.run("finder 'Document 3' --type pdf", "d00003")
        assert "Words" in shell.run("read dpe://shelf/d00001/pages/0", "Title")
        assert "heading  e0  Title" in shell.run("tree dpe://shelf/d00001", "page 2")
        assert '"servers"' in shell.run("config laptop", "raw.py")
        assert "call COMPUTER TOOL" in shell.run("help", "quit")
        shell.run("call lapto echo text=x", r"did you mean laptop\? \(404\)")
        shell.run("call laptop ecoh text=x", r"did you mean echo\? \(4001\)")
        shell.run("nonsense", "no such command; type help")
        shell.run("tree", "usage: tree ADDRESS")
        shell.type("quit" + ENTER)
        assert shell.end() == 0
    assert "Traceback" not in shell.raw
    history = (tmp_path / "state" / "a2c" / "agent-history").read_text("utf-8")
    assert "tools laptop" in history
    assert "text=" not in history, "a parameter may be a secret"


def test_addresses_can_be_copied_from_a_terminal_of_80_columns(place: Place, tmp_path: Path) -> None:
    address = f"window://shelf/{'long-' * 20}window"
    with place.prompt(tmp_path, width=80) as shell:
        shell.run(f"call desk set_window uri={address} text=x", "window")
        assert address in shell.run("desktop desk", "shelf/long").replace("\n", "")
        shell.run(f"call desk drop_window uri={address}", "window")
        found = shell.run("finder 'Document 3'", "^1 of 1$")
        assert found.splitlines()[:2] == ["Document 3  pdf, 3 pages, 2026-01-04, on desk", "  dpe://shelf/d00003"]
        assert "  set_window     | The tool set_window." in shell.run("tools desk", "shows the parameters")
        assert "  uri  string, required" in shell.run("tools desk set_window", "call desk set_window")
        file = tmp_path / "file"
        shell.run(f"read dpe://shelf/d00001/pages/0 -o {file}", "^wrote ")
        assert file.read_text() == "# Title\n\nWords"


def test_tab_completes_computers_tools_parameters_and_documents(place: Place, tmp_path: Path) -> None:
    def complete(typed: str, expected: str) -> None:
        shell.type(typed + TAB)
        shell.see_prompt(expected)

    with place.prompt(tmp_path) as shell:
        shell.see_prompt()
        complete("com", "computers")
        shell.type(CTRL_U)
        complete("call lap", "call laptop")
        complete(" ec", "call laptop echo")
        complete(" te", "call laptop echo text=")
        start = shell.mark()
        shell.type("completed" + ENTER)
        shell.see("^completed$", start)
        shell.see_prompt()
        complete("read d", "read dpe://shelf/d000")
        complete("07/p", "read dpe://shelf/d00007/pages/")
        shell.type("2" + ENTER)
        shell.see("Words", start)
        shell.see_prompt()
        complete("read dpe://shelf/d00007/elements/", "read dpe://shelf/d00007/elements/e")
        shell.type(CTRL_U)
        complete("finder --a", "finder --all")
        shell.type(CTRL_U)
        complete("config de", "config desk")
        assert shell.process.poll() is None


@pytest.mark.anyio
async def test_a_name_of_several_words_is_completed_as_one(place: Place, tmp_path: Path) -> None:
    async with office_of(place, "worded", "Anna's PC") as (computer,):
        with place.prompt(tmp_path, office="worded") as shell:
            await asyncio.to_thread(shell.see_prompt)
            await computer.be_asked("client:get_tools")
            quoted = """'Anna'"'"'s PC'"""
            shell.type("call A" + TAB)
            await asyncio.to_thread(shell.see_prompt, f"call {quoted}")
            shell.type(" e" + TAB)
            await asyncio.to_thread(shell.see_prompt, f"call {quoted} echo")
            shell.type(" text=reached" + ENTER)
            await asyncio.to_thread(shell.see, "^reached$")
            await asyncio.to_thread(shell.see_prompt)
            assert await asyncio.to_thread(shell.leave) == 0


@pytest.mark.anyio
async def test_ctrl_c_at_the_prompt_ends_what_runs_and_ctrl_d_leaves(place: Place, tmp_path: Path) -> None:
    slept, cancelled = place.sleeps(), place.cancelled()
    with place.prompt(tmp_path) as shell:
        await asyncio.to_thread(shell.see_prompt)
        shell.type("call laptop ec")
        await asyncio.to_thread(shell.see_prompt, "call laptop ec")
        shell.type(CTRL_C)
        await asyncio.to_thread(shell.see_prompt)
        start = shell.mark()
        shell.type("call laptop sleep seconds=60" + ENTER)
        await eventually(lambda: place.sleeps() > slept)
        await asyncio.to_thread(shell.see, "laptop runs sleep, or asks its owner; Ctrl-C cancels it .*0:00:0", start)
        shell.type(CTRL_C)
        await asyncio.to_thread(shell.see, r"^a2c-agent>\Z", start + 1)
        assert "asks its owner" not in shell.screen.text, "it is gone when it is over"
        await eventually(lambda: place.cancelled() > cancelled)
        start = shell.mark()
        shell.type("watch" + ENTER)
        await asyncio.to_thread(shell.see, r"^watching office \(.*\); press Ctrl-C to stop$", start)
        shell.type(CTRL_C)
        await asyncio.to_thread(shell.see, r"^a2c-agent>\Z", start + 1)
        await asyncio.to_thread(shell.run, "call laptop echo text=still", "^still$")
        shell.type(CTRL_D)
        assert await asyncio.to_thread(shell.process.wait, PATIENCE) == 0
    assert "Traceback" not in shell.raw


@pytest.mark.anyio
async def test_what_is_said_at_the_prompt_cannot_command_the_terminal(place: Place, tmp_path: Path) -> None:
    async with office_of(place, "rude", HOSTILE):
        with place.prompt(tmp_path, office="rude") as shell:
            await asyncio.to_thread(shell.see, r"with \\u202eevil\.$")
            await asyncio.to_thread(shell.run, "computers", r"\\u202eevil +1")
            await asyncio.to_thread(shell.run, "tools evil", r"did you mean \\u202eevil\? \(404\)")
            assert await asyncio.to_thread(shell.leave) == 0
    assert "\u202e" not in shell.raw


def test_a_narrow_terminal_shows_less_and_breaks_nothing(place: Place, tmp_path: Path) -> None:
    with place.prompt(tmp_path, width=40) as shell:
        assert "broken_schema" in shell.run("tools laptop", "describe")
        assert "Words" in shell.run("read dpe://shelf/d00001/pages/0", "Title")
        assert "of 30" in shell.run("finder", "20 of 30")
        shell.run("desktop", "window 1")
        assert shell.leave() == 0
    assert "Traceback" not in shell.raw
