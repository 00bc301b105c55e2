"""MCP servers that others wrote, and ours on every SDK and transport, behind a Computer, a Server and an Agent."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer import Computer, SMCPComputerClient
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import MCPServerConfig, MCPServerPromptStringInput
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.types import ServerState, ServerStatus
from tests.support.mcp_servers import AUTO, SERVERS, HttpServer, http_server, modern, npm, on_mcp_1, on_mcp_2, stdio
from tests.support.peer import Peer, crowd, tool_call
from tests.support.process import Command, descendants, free_port
from tests.support.running import Running, running
from tests.support.secrets import SECRETS
from tests.support.systems import posix_only
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

TOKEN = "tok-5ecret-9f2c"
BOARD = "window://windowed/board"
WINDOWED = [sys.executable, str(SERVERS / "windowed.py")]
EAGER = Policy(first_delay=0.05, longest_delay=0.1, restarts=1_000, start_timeout=PATIENCE)


@dataclass(frozen=True)
class Software:
    """An MCP server to be: where it comes from, how it is spoken to, and how it echoes."""

    origin: str
    transport: str
    echo: str = "echo"
    argument: str = "text"
    answer: str = "hello, Ünïcode"

    def __str__(self) -> str:
        return f"{self.origin} {self.transport}"


SOFTWARE = [
    *(Software("npm", transport, argument="message", answer="Echo: ") for transport in ("stdio", "sse", "streamable")),
    Software("filesystem", "stdio", echo="get_file_info", argument="path", answer="isDirectory: true"),
    *(Software("mcp 2.x", transport) for transport in ("stdio", "sse", "streamable")),
    *(Software("mcp 1.x", transport) for transport in ("stdio", "sse", "streamable")),
    Software("modern", "stdio"),
]


@dataclass
class Office:
    """An Agent and a Computer named `pc` that hosts one MCP server named `it`."""

    agent: Peer
    computer: Computer
    _changed: asyncio.Event

    @property
    def status(self) -> ServerStatus:
        return self.computer.status[0]

    async def until(self, condition: Callable[[ServerStatus], bool]) -> ServerStatus:
        """Wait until the server's state is such."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition(self.status):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pytest.fail(f"it stays {self.status}")
        return self.status

    async def until_ready(self) -> ServerStatus:
        return await self.until(lambda status: status.state is ServerState.READY)

    async def ask(self, event: str, **fields: Any) -> Any:
        return await self.agent.ask(event, {"agent": "agent", "computer": "pc", "req_id": "r1", **fields})

    async def call(self, tool: str, req_id: str = "r1", **params: Any) -> Any:
        """A tool call of the Agent."""
        payload = tool_call(req_id=req_id, tool_name=tool, params=params, timeout=60)
        return await self.agent.ask("client:tool_call", payload)


def config(data: dict[str, Any]) -> MCPServerConfig:
    """The configuration of the server `it`, written as in a file."""
    return server_from({"default_tool_meta": AUTO, **data}, "it")


@asynccontextmanager
async def office(server: Running, mcp_server: MCPServerConfig, **options: Any) -> AsyncGenerator[Office]:
    """A Computer and an Agent in one office of a Server, for as long as the block runs."""
    changed = asyncio.Event()
    computer = Computer("pc", mcp_servers=[mcp_server], on_status_changed=lambda _: changed.set(), **options)
    async with crowd(server) as people, computer:
        agent = await people.member("agent", "agent", "office")
        client = SMCPComputerClient(computer=computer)
        await client.connect(server.url, transports=["websocket"])
        try:
            await client.join_office("office")
            await agent.hear("notify:enter_office")
            yield Office(agent, computer, changed)
        finally:
            await client.disconnect()


@pytest.fixture
def server() -> Generator[Running]:
    with running("async") as server:
        yield server


@contextlib.contextmanager
def running_software(software: Software, folder: Path) -> Generator[dict[str, Any]]:
    """The configuration of an MCP server, which runs already where it is to be reached over HTTP."""
    if software.transport == "stdio":
        command = {
            "npm": lambda: npm("server-everything", "stdio"),
            "filesystem": lambda: npm("server-filesystem", str(folder)),
            "mcp 2.x": lambda: on_mcp_2("stdio"),
            "mcp 1.x": lambda: on_mcp_1("stdio"),
            "modern": modern,
        }[software.origin]()
        yield stdio(command)
    else:
        with http_server(software.origin, software.transport) as process:
            yield {"type": software.transport, "url": process.url}


def text_of(result: dict[str, Any]) -> str:
    assert result["isError"] is False, result
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


@pytest.mark.parametrize("software", SOFTWARE, ids=str)
async def test_an_agent_lists_and_calls_the_tools_and_nothing_stays_behind(
    server: Running, software: Software, tmp_path: Path
) -> None:
    with running_software(software, tmp_path) as data:
        before = descendants()
        async with office(server, config(data)) as members:
            status = members.status
            assert (status.state, status.reason, status.restarts, status.notes) == (ServerState.READY, None, 0, ())
            assert status.server_info
            answer = await members.ask("client:get_tools")
            tools = {tool["name"]: tool for tool in answer["tools"]}
            assert status.tools == len(tools) > 1
            for tool in tools.values():
                assert tool["params_schema"].get("type") == "object", tool
            assert software.argument in tools[software.echo]["params_schema"]["properties"]
            assert tools[software.echo]["description"] is not None
            said = str(tmp_path) if software.origin == "filesystem" else "hello, Ünïcode"
            result = await members.call(software.echo, **{software.argument: said})
            assert software.answer in text_of(result)
            if software.origin != "filesystem":
                assert said in text_of(result)
            if software.transport == "stdio":
                assert descendants() > before
        assert members.status.state is ServerState.STOPPED
        assert descendants() == before


async def test_images_annotations_structured_content_and_links_pass_whole(server: Running) -> None:
    async with office(server, config(stdio(npm("server-everything", "stdio")))) as members:
        image = await members.call("get-tiny-image")
        assert [part["type"] for part in image["content"]] == ["text", "image", "text"]
        assert image["content"][1]["mimeType"] == "image/png"
        assert base64.b64decode(image["content"][1]["data"], validate=True).startswith(b"\x89PNG\r\n")

        note = await members.call("get-annotated-message", messageType="error", includeImage=True)
        assert note["content"][0] == {
            "type": "text",
            "text": "Error: Operation failed",
            "annotations": {"audience": ["user", "assistant"], "priority": 1.0},
        }
        assert note["content"][1]["type"] == "image"
        assert note["content"][1]["annotations"] == {"audience": ["user"], "priority": 0.5}

        weather = await members.call("get-structured-content", location="New York")
        assert weather["structuredContent"] == {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
        assert json.loads(text_of(weather)) == weather["structuredContent"]

        links = [part for part in (await members.call("get-resource-links", count=4))["content"][1:]]
        assert {part["type"] for part in links} == {"resource_link"}
        assert len(links) == 4
        for link in links:
            assert link["uri"].startswith("demo://resource/")
            assert link["name"]
            assert link["mimeType"]

        embedded = await members.call("get-resource-reference", resourceType="Blob", resourceId=3)
        resource = next(part for part in embedded["content"] if part["type"] == "resource")["resource"]
        assert resource["uri"] == "demo://resource/dynamic/blob/3"
        assert base64.b64decode(resource["blob"], validate=True)


async def test_tools_arrive_with_their_return_schema_and_annotations(server: Running, tmp_path: Path) -> None:
    async with office(server, config(stdio(npm("server-filesystem", str(tmp_path))))) as members:
        tools = {tool["name"]: tool for tool in (await members.ask("client:get_tools"))["tools"]}
        assert tools["read_text_file"]["return_schema"]["type"] == "object"
        assert json.loads(tools["read_text_file"]["meta"]["MCP_TOOL_ANNOTATION"])["readOnlyHint"] is True
        assert json.loads(tools["write_file"]["meta"]["MCP_TOOL_ANNOTATION"])["destructiveHint"] is True
        assert json.loads(tools["write_file"]["meta"]["a2c_tool_meta"])["auto_apply"] is True


async def test_a_real_file_is_written_and_read_back(server: Running, tmp_path: Path) -> None:
    written = "first line\nzweite Zeile: äöü 文件\n"
    path = tmp_path / "note.txt"
    async with office(server, config(stdio(npm("server-filesystem", str(tmp_path))))) as members:
        assert text_of(await members.call("write_file", path=str(path), content=written))
        assert path.read_text("utf-8") == written
        read = await members.call("read_text_file", path=str(path))
        assert text_of(read) == written
        assert read["structuredContent"] == {"content": written}
        refused = await members.call("read_text_file", path="/etc/passwd")
        assert refused["isError"] is True
        assert refused["meta"]["error_code"] == 4003
        assert "outside allowed directories" in refused["content"][0]["text"]


@pytest.mark.parametrize("transport", ["stdio", "sse", "streamable"])
async def test_a_cancelled_operation_answers_long_before_its_end(
    server: Running, transport: str, tmp_path: Path
) -> None:
    with running_software(Software("npm", transport), tmp_path) as data:
        async with office(server, config(data)) as members:
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
                call = tasks.create_task(
                    members.call("trigger-long-running-operation", "long", duration=3_600, steps=60)
                )
                await until_called(members, "long")
                await members.agent.tell("server:tool_call_cancel", {"agent": "agent", "req_id": "long"})
                result = await call
            assert result["isError"] is True
            assert result["meta"]["a2c_cancelled"] is True
            assert members.status.state is ServerState.READY
            assert "still here" in text_of(await members.call("echo", message="still here"))


async def until_called(members: Office, req_id: str) -> None:
    """A later request of the same Agent has been answered, so the earlier one has reached the Computer."""
    await members.ask("client:get_tools", req_id=f"after {req_id}")


@posix_only
@pytest.mark.parametrize("software", ["npm", "mcp 2.x"])
@pytest.mark.parametrize("transport", ["sse", "streamable"])
async def test_a_killed_http_server_is_missed_at_once_and_found_again_by_itself(
    server: Running, software: str, transport: str
) -> None:
    port = free_port()
    with contextlib.ExitStack() as processes:
        first: HttpServer = processes.enter_context(http_server(software, transport, port))
        async with office(server, config({"type": transport, "url": first.url}), policy=EAGER) as members:
            await members.until_ready()
            await asyncio.to_thread(first.stop, signal.SIGKILL)
            lost = await members.until(lambda status: status.state is not ServerState.READY)
            assert lost.reason, "it says why"
            assert (await members.ask("client:get_tools"))["tools"] == []
            refused = await members.call("echo")
            assert refused["meta"]["error_code"] == 4003, refused
            assert "it" in refused["content"][0]["text"]
            await asyncio.to_thread(processes.enter_context, http_server(software, transport, port))
            back = await members.until_ready()
            assert back.restarts >= 1
            assert back.reason is None
            assert len((await members.ask("client:get_tools"))["tools"]) == back.tools > 1
            await members.agent.hear("notify:update_tool_list")
            argument = "message" if software == "npm" else "text"
            assert "again" in text_of(await members.call("echo", **{argument: "again"}))


@posix_only
@pytest.mark.parametrize("transport", ["sse", "streamable"])
async def test_a_secret_header_reaches_its_server_and_nobody_else(
    server: Running, transport: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A2C_SMCP_TOKEN", TOKEN)
    wanted = MCPServerPromptStringInput(type="promptString", id="token", description="The token", password=True)
    headers = {"Authorization": "Bearer ${input:token}", "X-Whole": "${input:token}"}
    with caplog.at_level(logging.DEBUG), http_server("mcp 2.x", transport) as process:
        data = config({"type": transport, "url": process.url + "?key=${input:token}", "headers": headers})
        async with office(server, data, input_resolver=InputResolver([wanted])) as members:
            assert text_of(await members.call("header", name="authorization")) == f"Bearer {TOKEN}"
            assert text_of(await members.call("header", name="x-whole")) == TOKEN
            shown = await members.ask("client:get_config")
            assert shown["servers"]["it"]["server_parameters"]["headers"] == headers
            assert TOKEN not in json.dumps(shown)
            assert TOKEN not in repr(members.status)
            assert TOKEN not in repr(await members.computer.aget_tool_call_history())
            await asyncio.to_thread(process.stop, signal.SIGKILL)
            lost = await members.until(lambda status: status.state is not ServerState.READY)
            assert TOKEN not in repr(lost)
            failed = await members.call("header", name="x-whole")
            assert failed["isError"] is True
            assert TOKEN not in json.dumps(failed)
    assert len(caplog.records) > 10
    leaks = [record for record in caplog.records if TOKEN in record.getMessage() + repr(record.args)]
    assert not leaks
    assert TOKEN not in caplog.text


# -------------------------------------------------------------------------------------------------------------- windows


@contextlib.contextmanager
def running_command(command: Command, transport: str) -> Generator[dict[str, Any]]:
    """The configuration of an MCP server, which runs already where it is to be reached over HTTP."""
    if transport == "stdio":
        yield stdio([*command, transport])
    else:
        with contextlib.closing(HttpServer([*command, transport])) as process:
            yield {"type": transport, "url": process.url}


async def until_shown(members: Office, *desktop: str) -> None:
    """Look, and look again after each notice, until the Desktop is what it should be."""
    while (await members.ask("client:get_desktop"))["desktops"] != list(desktop):
        await members.agent.hear("notify:update_desktop")


@pytest.mark.parametrize("transport", ["stdio", "sse", "streamable"])
async def test_a_window_of_an_ordinary_python_server_is_shown_and_followed(server: Running, transport: str) -> None:
    with running_command(WINDOWED, transport) as data:
        async with office(server, config(data)) as members:
            status = await members.until_ready()
            assert (status.restarts, status.notes, status.tools) == (0, (), 3)
            await until_shown(members, f"{BOARD}\n\nempty")
            for number in range(3):
                assert text_of(await members.call("write", text=f"line {number}"))
                await until_shown(members, f"{BOARD}\n\nline {number}")
            assert text_of(await members.call("grow", name="grown")) == "grown"
            await members.until(lambda status: status.tools == 4)


@posix_only
@pytest.mark.parametrize("transport", ["sse", "streamable"])
async def test_a_window_comes_back_with_its_server(server: Running, transport: str) -> None:
    port = str(free_port())
    with contextlib.ExitStack() as processes:

        def start() -> HttpServer:
            return processes.enter_context(contextlib.closing(HttpServer([*WINDOWED, transport, "--port", port])))

        first = start()
        async with office(server, config({"type": transport, "url": first.url}), policy=EAGER) as members:
            await until_shown(members, f"{BOARD}\n\nempty")
            await asyncio.to_thread(first.stop, signal.SIGKILL)
            await until_shown(members)
            await asyncio.to_thread(start)
            await until_shown(members, f"{BOARD}\n\nempty")
            assert text_of(await members.call("write", text="again"))
            await until_shown(members, f"{BOARD}\n\nagain")


@pytest.mark.parametrize("transport", ["stdio", "sse", "streamable"])
async def test_a_window_of_a_server_on_mcp_1_is_said_not_to_be_shown(server: Running, transport: str) -> None:
    with running_command(on_mcp_1("--window"), transport) as data:
        async with office(server, config(data)) as members:
            status = await members.until(lambda status: bool(status.notes))
            assert (status.state, status.restarts, status.protocol_version) == (ServerState.READY, 0, "2025-11-25")
            assert "resources.subscribe" in status.notes[0]
            assert text_of(await members.call("echo", text="hi")) == "hi"
            assert (await members.ask("client:get_desktop"))["desktops"] == []


@pytest.mark.parametrize("transport", ["stdio", "sse", "streamable"])
def test_a_server_that_asks_back_is_answered(server: Running, transport: str, tmp_path: Path) -> None:
    async def ask(data: dict[str, Any]) -> dict[str, Any]:
        async with office(server, config(data)) as members:
            asked = (await members.call("ask_back"))["meta"]["a2c_input_required"]
            answers = {key: {"action": "decline"} for key in asked["requests"]}
            further: dict[str, Any] = {"input_responses": answers, "request_state": asked["request_state"]}
            payload = tool_call(req_id="r2", tool_name="ask_back", params={}, timeout=60, **further)
            return await members.agent.ask("client:tool_call", payload)

    with running_software(Software("mcp 2.x", transport), tmp_path) as data:
        result = asyncio.run(ask(data))  # as a program does it: what anyio runs has anyio's context everywhere
    assert result["isError"] is False, result


async def test_an_input_made_in_python_is_shown_like_one_from_a_file(server: Running) -> None:
    wanted = MCPServerPromptStringInput(id="token", description="The token", password=True)
    async with office(server, config(stdio(modern())), inputs=[wanted]) as members:
        shown = await members.ask("client:get_config")
        assert shown["inputs"] == [
            {"type": "promptString", "id": "token", "description": "The token", "password": True}
        ]


@pytest.mark.parametrize("transport", ["sse", "streamable"])
async def test_a_server_that_redirects_to_its_real_address_works(server: Running, transport: str) -> None:
    with http_server("mcp 2.x", transport) as process:
        data = {"type": transport, "url": process.url + "/"}
        async with office(server, config(data)) as members:
            assert (members.status.state, members.status.reason) == (ServerState.READY, None)
            assert text_of(await members.call("echo", text="hi")) == "hi"


async def test_a_redirect_does_not_bring_a_secret_into_the_log(
    server: Running, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A2C_SMCP_TOKEN", TOKEN)
    wanted = MCPServerPromptStringInput(type="promptString", id="token", description="The token", password=True)
    with caplog.at_level(logging.DEBUG), http_server("mcp 2.x", "streamable") as process:
        data = config({"type": "streamable", "url": process.url + "/?key=${input:token}"})
        async with office(server, data, inputs=[wanted]) as members:
            await members.until_ready()
    assert not [record for record in caplog.records if TOKEN in record.getMessage()]


async def test_get_config_shows_an_agent_no_secret_that_stands_in_clear(server: Running) -> None:
    shown: dict[str, Any] = {}
    for where, data in SECRETS.items():
        async with office(server, config({**data, "disabled": True})) as members:
            shown[where] = await members.ask("client:get_config")
    assert not [where for where, seen in shown.items() if "s3cret" in json.dumps(seen)]
