"""npm's `server-everything` through the gateway in direct mode, and with a direct client: nothing is missing, and
nothing is changed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from a2c_smcp.computer.config.files import server_from
from tests.support.direct_mcp import Direct, direct
from tests.support.everything import CALLS, LONG, PROMPTS, QUESTIONS, TOOLS, filled, timeless
from tests.support.gateway import OLD, RawHost, hall
from tests.support.mcp_servers import AUTO, npm

pytestmark = pytest.mark.anyio

PAIR = tuple[RawHost, Direct]
DYNAMIC = [f"demo://resource/dynamic/{kind}/7" for kind in ("text", "blob")]


@pytest.fixture(scope="module")
async def both() -> AsyncGenerator[PAIR]:
    """A host of the gateway, and a direct client of another process of the server. Both can ask a person."""
    command, *args = npm("server-everything", "stdio")
    fields = {"command": command, "args": args, "default_tool_meta": AUTO, "log_level": "debug"}
    async with hall() as place, direct([command, *args], OLD) as client:
        computer = await place.computer(server_from(fields, "it"))
        await computer.until(lambda: set(computer.tool_names()) >= TOOLS)
        async with place.raw(OLD, place.url(mode="direct")) as host:
            host.capabilities = {"elicitation": {"form": {}, "url": {}}}
            host.session = None
            await host.initialize()
            yield host, client


async def test_lists_are_those_of_a_direct_client(both: PAIR) -> None:
    host, client = both
    for method, key in (
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ):
        expected = await client.all(method, key)
        assert expected
        assert by_name((await host.ask(method))[key]) == by_name(expected)
    assert {tool["name"] for tool in await client.all("tools/list", "tools")} == TOOLS


async def test_results_are_those_of_a_direct_client(both: PAIR) -> None:
    host, client = both
    read = [each["uri"] for each in await client.all("resources/list", "resources")]
    ref = {"type": "ref/prompt", "name": "completable-prompt"}
    argument = {"name": "department", "value": "E"}
    asked: list[tuple[str, dict[str, Any]]] = [
        *(("tools/call", {"name": tool, "arguments": arguments}) for tool, arguments in CALLS),
        *(("prompts/get", {"name": name, "arguments": arguments}) for name, arguments in PROMPTS.items()),
        *(("resources/read", {"uri": uri}) for uri in (*read, *DYNAMIC)),
        ("completion/complete", {"ref": ref, "argument": argument}),
    ]
    for method, params in asked:
        expected = await client.ask(method, **params)
        given = await host.ask(method, params)
        if method == "tools/call" and "error" not in expected:
            expected = {"isError": False, **expected}
        assert timeless(given) == timeless(expected), (method, params)


async def test_progress_is_that_of_a_direct_client(both: PAIR) -> None:
    host, client = both
    tool, arguments = LONG
    params: dict[str, Any] = {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}
    client.notices.clear()
    expected = await client.ask("tools/call", **params)
    *messages, answer = [message async for message in host.messages("tools/call", params)]
    assert answer["result"] == {"isError": False, **expected}
    assert [message["params"] for message in messages] == [
        notice["params"] for notice in client.notices if notice["method"] == "notifications/progress"
    ]
    assert len(messages) == 3


@pytest.mark.parametrize(("tool", "arguments"), QUESTIONS)
async def test_a_question_and_its_answer_are_those_of_a_direct_client(
    both: PAIR, tool: str, arguments: dict[str, Any]
) -> None:
    host, client = both
    client.asked.clear()
    client.replies["elicitation/create"] = filled
    expected = await client.ask("tools/call", name=tool, arguments=arguments)
    result: dict[str, Any] = {}
    asked: list[dict[str, Any]] = []
    async for message in host.messages("tools/call", {"name": tool, "arguments": arguments}):
        if message.get("method") == "elicitation/create":
            asked.append(message["params"])
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": filled(message["params"])}
            await host.http.post(host.url, json=reply, headers=host.headers("reply"))
        else:
            result = message["result"]
    assert timeless(result) == timeless({"isError": False, **expected})
    assert asked == [{"mode": "form", **params} for params in client.asked]


def by_name(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {item["name"]: item for item in items}
