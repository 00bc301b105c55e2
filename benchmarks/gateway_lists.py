"""The lists of tools that an MCP host gets: 400 tools, a search of 4,000, and the text that a model gets."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from statistics import median
from typing import Any

import socketio

from a2c_smcp import smcp
from benchmarks.agent import Ask, Sample, measure_round, no_cpu
from benchmarks.computers import NAME, OFFICE, enter, plain_client
from benchmarks.mcp_http import NEW, Era, RawHost
from benchmarks.servers import HOST, ServerProcess, cpu_seconds, running
from benchmarks.support import Row

LISTED, LIST_TARGET = 400, 5.0
COMPUTERS, SERVERS, TOOLS = 10, 20, 20
FIND_TARGET = 10.0
TOKENS_TARGET = 2_500
CHARACTERS_OF_A_TOKEN = 3
"""JSON takes more tokens than prose, of which four characters are about one. Three count too many rather than too
few."""
QUERIES = (
    "restart a service",
    "export invoices to a spreadsheet",
    "who is on call in the billing team",
    "list",
    "create or update a customer record with an address",
    "s07 archive reports",
    "what number, owner, id, team, dates, name, system and result of all",  # words that every tool has
)

_VERBS = (
    "list", "get", "create", "update", "delete", "search", "export", "import", "archive", "restore",
    "start", "stop", "restart", "approve", "reject", "assign", "share", "copy", "move", "summarize",
)  # fmt: skip
_THINGS = (
    "invoice", "customer", "service", "report", "ticket", "deployment", "document", "meeting", "contract", "device",
    "order", "employee", "project", "message", "backup", "account", "image", "schedule", "budget", "release",
)  # fmt: skip


async def measure_list(era: Era, rounds: int, calls: int) -> list[Row]:
    """`tools/list` of 400 tools: written once for each change, not for each request."""
    async with (
        _office([_tools_of(NAME, range(LISTED // TOOLS))]) as server,
        RawHost.of(url_of(server.port, "direct"), era) as host,
    ):
        found = await host.result("tools/list")
        if len(found["tools"]) != LISTED:
            raise RuntimeError(f"{len(found['tools'])} tools instead of {LISTED}")
        size = len(await host.ask("tools/list"))

        async def ask() -> None:
            text = await host.ask("tools/list")
            if len(text) < size:
                raise RuntimeError(f"not the list: {text[:300]}")

        what = f"gateway, tools/list of {LISTED}, {size / 1_000:.0f} kB, {era}"
        return await _rows(what, ask, server, rounds, calls)


async def measure_search(calls: int) -> list[Row]:
    """An office with thousands of distinct tools, in the mode that it gets by itself."""
    offered = [
        _tools_of(f"computer-{number}", range(number * SERVERS, (number + 1) * SERVERS)) for number in range(COMPUTERS)
    ]
    count = COMPUTERS * SERVERS * TOOLS
    async with _office(offered) as server, RawHost.of(url_of(server.port, "auto"), NEW) as host:
        listed = (await host.result("tools/list"))["tools"]
        slowest: tuple[Sample, str] | None = None
        for query in QUERIES:
            params = {"name": "find_tools", "arguments": {"query": query}}
            text = (await host.result("tools/call", params))["content"][0]["text"]
            if json.loads(text)["of"] != count:
                raise RuntimeError(f"not a search of {count} tools: {text[:300]}")
            sample = await _timed(host, params, server.pid, calls)
            if slowest is None or sample.latency > slowest[0].latency:
                slowest = sample, text
    if slowest is None:
        raise RuntimeError("there is no query")
    sample, text = slowest
    whole = sum(_tokens(json.dumps(_visible(tool))) for tools in offered for tool in tools)
    what = f"gateway, find_tools, {count:,} tools, slowest of {len(QUERIES)}"
    return [
        Row(f"{what}, p50 in ms", "-", f"{sample.latency * 1e3:.1f} ms", sample.latency * 1e3, FIND_TARGET),
        Row(f"{what}, CPU in ms", "-", f"{sample.cpu * 1e3:.1f} ms", sample.cpu * 1e3, FIND_TARGET),
        _tokens_row(
            f"gateway, tokens of the tools in search mode, {count:,} tools (floor: all of them)", whole, listed
        ),
        Row("gateway, tokens of a result of find_tools", "-", "", float(_tokens(text)), None),
    ]


async def _timed(host: RawHost, params: Mapping[str, Any], pid: int, calls: int) -> Sample:
    async def ask() -> None:
        text = await host.ask("tools/call", params)
        if '"isError"' in text:
            raise RuntimeError(f"the search failed: {text[:300]}")

    await measure_round(ask, calls // 4, 1, no_cpu)
    return await measure_round(ask, calls, 1, lambda: cpu_seconds(pid))


async def _rows(what: str, ask: Ask, server: ServerProcess, rounds: int, calls: int) -> list[Row]:
    await measure_round(ask, calls, 1, no_cpu)
    samples = [await measure_round(ask, calls, 1, lambda: cpu_seconds(server.pid)) for _ in range(rounds)]
    latency, cpu = median(one.latency for one in samples) * 1e3, median(one.cpu for one in samples) * 1e3
    return [
        Row(f"{what}, p50 in ms", "-", f"{latency:.1f} ms", latency, LIST_TARGET),
        Row(f"{what}, CPU in ms", "-", f"{cpu:.1f} ms", cpu, LIST_TARGET),
    ]


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_OF_A_TOKEN)


def _tokens_row(what: str, floor: int, listed: Sequence[Mapping[str, Any]]) -> Row:
    tokens = sum(_tokens(json.dumps(_visible(tool), ensure_ascii=False)) for tool in listed)
    return Row(what, f"{floor:,}", f"{tokens:,}", float(tokens), TOKENS_TARGET)


def _visible(tool: Mapping[str, Any]) -> dict[str, Any]:
    """What hosts put into the prompt of a model."""
    schema = tool.get("inputSchema", tool.get("params_schema"))
    return {"name": tool["name"], "description": tool["description"], "parameters": schema}


@contextlib.asynccontextmanager
async def _office(offered: Sequence[list[dict[str, Any]]]) -> AsyncGenerator[ServerProcess]:
    """A Server, and Computers without MCP servers that offer these tools."""
    async with contextlib.AsyncExitStack() as stack:
        server = stack.enter_context(running("ours"))
        for number, tools in enumerate(offered):
            client = plain_client("floor")
            stack.push_async_callback(client.disconnect)
            _answer(client, tools)
            await enter(client, server.port, "computer", NAME if len(offered) == 1 else f"computer-{number}")
        yield server


def _answer(client: socketio.AsyncClient, tools: list[dict[str, Any]]) -> None:
    async def list_tools(data: dict[str, Any]) -> dict[str, Any]:
        return {"tools": tools, "req_id": data["req_id"]}

    client.on(smcp.GET_TOOLS_EVENT, list_tools, namespace=smcp.SMCP_NAMESPACE)


def _tools_of(computer: str, servers: Sequence[int]) -> list[dict[str, Any]]:
    """Tools such as real MCP servers have: names of two or three words, a sentence or two, a few parameters."""
    return [_tool(computer, server, verb) for server in servers for verb in _VERBS[:TOOLS]]


def _tool(computer: str, server: int, verb: str) -> dict[str, Any]:
    thing = _THINGS[server % len(_THINGS)]
    properties = {
        "id": {"type": "string", "description": f"The number of the {thing}."},
        "team": {"type": "string", "description": "The team that owns it, such as billing.", "default": "all"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many at most."},
        "options": {
            "type": "object",
            "properties": {"dry_run": {"type": "boolean"}, "format": {"enum": ["csv", "xlsx"]}},
        },
    }
    return {
        "name": f"s{server:03}_{verb}_{thing}",
        "description": f"{verb.title()} a {thing} of the system {server:03}. The result has its name, owner and dates.",
        "params_schema": {"type": "object", "properties": properties, "required": ["id"]},
        "return_schema": None,
        "meta": {"a2c_mcp_server": f"server-{server:03}", "a2c_computer": computer},
    }


def url_of(port: int, mode: str) -> str:
    """Where the gateway serves the office."""
    return f"http://{HOST}:{port}/mcp/{OFFICE}?mode={mode}"
