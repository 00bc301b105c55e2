"""MCP hosts as they are: clients of other projects use an office over HTTP, and over the pipes of `a2c mcp`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any, TextIO

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.files import server_from
from tests.gateway.test_http import keys
from tests.support.gateway import Hall, hall
from tests.support.hosting import Watched
from tests.support.mcp_hosts import Era, hosted
from tests.support.mcp_servers import AUTO, NPM, OLD_PYTHON, ROOT, SERVERS, HttpServer, bundled_node, find_node, missing
from tests.support.process import environment
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

KEY = "ada"
CLIENTS = ROOT / "tests" / "clients"
FASTMCP_PYTHON = OLD_PYTHON.parent.parent.parent / "fastmcp" / OLD_PYTHON.relative_to(OLD_PYTHON.parent.parent)
INSPECTOR = NPM / "inspector" / "clients" / "launcher" / "build" / "index.js"
MCP_REMOTE = NPM.parent / "mcp-remote" / "dist" / "proxy.js"
A2C = Path(sys.executable).parent / "a2c"

WANTED = {
    "tool": "test_simple_text",
    "resource": "test://static-text",
    "prompt": "test_simple_prompt",
    "failing": "test_error_handling",
    "missing": "no such prompt",
}
FOUND = {
    "text": "This is a simple text response for testing.",
    "resource": "This is the content of the static text resource.",
    "prompt": "This is a simple prompt for testing.",
    "failure": [True, "This tool intentionally returns an error for testing"],
    "error": -32602,
}
"""What every host gets."""

OVER = pytest.mark.parametrize("transport", ["http", "stdio"])


class Place:
    """An office with a Server that requires keys, and how hosts reach it."""

    def __init__(self, hosts: Hall, computer: Watched, home: Path) -> None:
        self.hosts = hosts
        self.url = hosts.url(mode="direct")
        self.flags = ["--url", hosts.server.url, "--office", "office", "--mode", "direct"]
        self.environment = environment({"A2C_API_KEY": KEY, "HOME": str(home), "MCP_REMOTE_CONFIG_DIR": str(home)})
        self.expected = {"tools": sorted(computer.tool_names()), **FOUND}

    def target(self, transport: str) -> dict[str, Any]:
        """What a program of `tests/clients` gets."""
        if transport == "http":
            return {"url": self.url, "headers": {"Authorization": f"Bearer {KEY}"}, "wanted": WANTED}
        command = [str(A2C), "mcp", *self.flags]
        return {"command": command, "env": self.environment, "wanted": WANTED}

    async def run(self, *command: str | Path) -> tuple[int | None, str, str]:
        """The exit code of a program, and what it wrote."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, env=self.environment, stdout=pipe, stderr=pipe)
        try:
            async with asyncio.timeout(PATIENCE):
                written, complaints = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode, written.decode(), complaints.decode()


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Place]:
    folder = tmp_path_factory.mktemp("clients")
    with contextlib.closing(HttpServer([sys.executable, str(SERVERS / "conformance.py")])) as server:
        async with hall(keys(folder, {KEY: ["office"], "pc": ["office"]})) as hosts:
            config = server_from({"url": server.url, "default_tool_meta": AUTO, "log_level": "info"}, "it")
            yield Place(hosts, await hosts.computer(config, key="pc"), folder)


@pytest.fixture
def silence() -> Generator[TextIO]:
    with open(os.devnull, "w") as nowhere:
        yield nowhere


@OVER
@pytest.mark.parametrize("client", ["mcp 1.x", "FastMCP"])
async def test_a_python_client_uses_an_office(place: Place, client: str, transport: str) -> None:
    python, script = (OLD_PYTHON, "on_mcp_1.py") if client == "mcp 1.x" else (FASTMCP_PYTHON, "on_fastmcp.py")
    if not python.exists():
        missing(f"{python} does not exist: scripts/environments.py makes it")
    code, written, complaints = await place.run(python, CLIENTS / script, json.dumps(place.target(transport)))
    assert code == 0, complaints
    found = json.loads(written)
    assert {**found, "tools": sorted(found["tools"])} == place.expected


@OVER
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_client_of_the_mcp_library_uses_an_office(place: Place, era: Era, transport: str) -> None:
    if transport == "http":
        async with place.hosts.host(era, place.url, key=KEY) as client:
            assert await use(client) == place.expected
    else:
        async with hosted(era, *place.flags, env={"A2C_API_KEY": KEY}) as host:
            assert await use(host.client) == place.expected
            # A host of 2026-07-28 gets log messages only if it asks for them with a request.
            await host.client.call_tool("test_logging_tool", {})
            assert host.heard.count("notifications/message") == (3 if era == "legacy" else 0)


async def test_mcp_remote_uses_an_office(place: Place, silence: TextIO) -> None:
    arguments = [str(MCP_REMOTE), place.url, "--header", f"Authorization: Bearer {KEY}", "--transport", "http-only"]
    command = StdioServerParameters(command=node_for(MCP_REMOTE), args=arguments, env=place.environment)
    async with Client(stdio_client(command, errlog=silence), mode="legacy") as client:
        assert await use(client) == place.expected


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_uses_an_office(place: Place, era: str) -> None:
    """Its command line performs one request. `a2c mcp` is started for one of them: it takes a few seconds."""
    node = node_for(INSPECTOR)
    over_http = [place.url, "--transport", "http", "--header", f"Authorization: Bearer {KEY}"]
    started = ["-e", f"A2C_API_KEY={KEY}", A2C, "mcp", "--", *place.flags]

    async def ask(method: str, *more: str, is_started: bool = False) -> tuple[int | None, Any, str]:
        patience = ["--connect-timeout", f"{PATIENCE * 1_000:.0f}"]
        options = ["--format", "json", "--protocol-era", era, *patience, "--method", method, *more]
        to = started if is_started else over_http
        code, written, complaints = await place.run(node, INSPECTOR, "--cli", *options, *to)
        return code, json.loads(written)["result"] if written.strip() else None, complaints

    listed, called, read, filled, failed, rejected = await asyncio.gather(
        ask("tools/list"),
        ask("tools/call", "--tool-name", WANTED["tool"], is_started=era == "legacy"),
        ask("resources/read", "--uri", WANTED["resource"]),
        ask("prompts/get", "--prompt-name", WANTED["prompt"]),
        ask("tools/call", "--tool-name", WANTED["failing"]),
        ask("prompts/get", "--prompt-name", WANTED["missing"]),
    )
    assert [outcome[0] for outcome in (listed, called, read, filled)] == [0] * 4, called
    assert sorted(tool["name"] for tool in listed[1]["tools"]) == place.expected["tools"]
    assert called[1]["content"][0]["text"] == FOUND["text"]
    assert read[1]["contents"][0]["text"] == FOUND["resource"]
    assert filled[1]["messages"][0]["content"]["text"] == FOUND["prompt"]
    assert [failed[1]["isError"], failed[1]["content"][0]["text"]] == FOUND["failure"]
    assert rejected[0] != 0
    assert WANTED["missing"] in rejected[2]


def node_for(script: Path) -> str:
    """A recent Node.js, for a script of the npm packages."""
    node = bundled_node() or find_node()
    if node is None or not script.exists():
        missing("Node.js is not installed, or `npm install` in tests/js did not work")
    return node


async def use(client: Client) -> dict[str, Any]:
    """What a client of the library gets."""

    def text_of(value: Any) -> str:
        return value.text

    found: dict[str, Any] = {"tools": sorted(tool.name for tool in (await client.list_tools()).tools)}
    found["text"] = text_of((await client.call_tool(WANTED["tool"], {})).content[0])
    found["resource"] = text_of((await client.read_resource(WANTED["resource"])).contents[0])
    found["prompt"] = text_of((await client.get_prompt(WANTED["prompt"])).messages[0].content)
    failed = await client.call_tool(WANTED["failing"], {})
    found["failure"] = [failed.is_error, text_of(failed.content[0])]
    with pytest.raises(MCPError) as rejected:
        await client.get_prompt(WANTED["missing"])
    return {**found, "error": rejected.value.error.code}
