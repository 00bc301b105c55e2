"""npm's `server-everything` through an office and with a direct client: nothing is missing, and nothing is changed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.mcp.messages import LEVELS
from a2c_smcp.utils.tool_meta import mcp_tool
from tests.support.agents import Driven, Form, stage
from tests.support.direct_mcp import Direct, direct
from tests.support.everything import CALLS, PROMPTS, timeless
from tests.support.hosting import Watched
from tests.support.mcp_servers import AUTO, npm
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["async", "sync"])
def form(request: pytest.FixtureRequest) -> Form:
    return request.param


@asynccontextmanager
async def both_ways(form: Form, **fields: Any) -> AsyncGenerator[tuple[Driven, Direct, Watched]]:
    """The server behind an office, for an Agent, and another process of it, for a direct client."""
    command, *args = npm("server-everything", "stdio")
    config = server_from({"command": command, "args": args, "default_tool_meta": AUTO, **fields}, "it")
    async with stage(form) as scene, direct([command, *args]) as client:
        computer = await scene.computer(config)
        agent = await scene.agent()
        await agent.wait_for("pc", "echo")
        yield agent, client, computer


async def test_an_agent_gets_what_a_direct_client_gets(form: Form) -> None:
    async with both_ways(form) as (agent, client, _):
        # Tools, with titles, icons, annotations and metadata. The server adds some once it knows its client.
        listed = {tool["name"]: tool for tool in await client.all("tools/list", "tools")}
        offered = {tool["name"]: mcp_tool(tool) for tool in (await agent.get_tools_from_computer("pc"))["tools"]}
        assert offered == listed
        assert set(CALLS) <= set(listed)

        for tool, arguments in CALLS.items():
            given = (await agent.call_tool("pc", tool, arguments)).to_json()
            expected = await client.ask("tools/call", name=tool, arguments=arguments)
            assert timeless(given) == timeless({"isError": False, **expected})

        prompts = await agent.prompts("pc")
        assert [prompt.pop("mcp_server") for prompt in prompts] == ["it"] * len(prompts)
        assert prompts == await client.all("prompts/list", "prompts")
        assert {prompt["name"] for prompt in prompts} == set(PROMPTS)
        for name, arguments in PROMPTS.items():
            answer = await agent.prompt("pc", name, arguments)
            del answer["req_id"]
            assert timeless(answer) == timeless(await client.ask("prompts/get", name=name, arguments=arguments))

        resources = await agent.resources("pc")
        assert {resource["mcp_server"] for resource in resources} == {"it"}
        assert [_as_mcp_writes(each) for each in resources] == await client.all("resources/list", "resources")
        for resource in resources:
            contents = (await agent.read_contents("pc", resource["uri"]))["contents"]
            assert contents == (await client.ask("resources/read", uri=resource["uri"]))["contents"]

        templates = (await agent.list_resource_templates("pc"))["templates"]
        assert [template.pop("mcp_server") for template in templates] == ["it"] * len(templates)
        assert templates == await client.all("resources/templates/list", "resourceTemplates")
        # Resources that only a template offers: a text, and a blob.
        for uri in ("demo://resource/dynamic/text/7", "demo://resource/dynamic/blob/8"):
            contents = (await agent.read_contents("pc", uri))["contents"]
            assert timeless(contents) == timeless((await client.ask("resources/read", uri=uri))["contents"])

        ref = {"type": "ref/prompt", "name": "completable-prompt"}
        argument = {"name": "department", "value": "E"}
        suggested = (await agent.complete("pc", ref, argument))["completion"]
        assert suggested == (await client.ask("completion/complete", ref=ref, argument=argument))["completion"]


async def test_log_messages_of_each_level_are_those_of_a_direct_client() -> None:
    async with both_ways("async") as (agent, client, computer):
        uri = (await agent.resources("pc"))[0]["uri"]
        for level in LEVELS:
            # The server writes a message of the level `info` when a resource is watched. The level of a running server
            # changes without a restart.
            [config] = computer.mcp_servers
            await computer.aadd_or_aupdate_server(config.model_copy(update={"log_level": level}))
            await client.ask("logging/setLevel", level=level)
            client.notices.clear()
            before = len(computer.status_of("it").log)
            for on in (True, False):
                await client.ask("resources/subscribe" if on else "resources/unsubscribe", uri=uri)
                await agent.watch_resource("pc", uri, watch=on)
            expected = [notice["params"] for notice in client.notices if notice["method"] == "notifications/message"]
            # The end of a watch is answered before the server has it. Its message must not count for the next level.
            most = before + len(expected)
            await eventually(lambda most=most: len(computer.status_of("it").log) >= most)
            kept = computer.status_of("it").log[before:]
            assert [(message.level, message.text) for message in kept] == [(e["level"], e["data"]) for e in expected]
            assert len(expected) == (2 if LEVELS.index(level) <= LEVELS.index("info") else 0)
        assert computer.status_of("it").restarts == 0


async def test_updates_of_a_watched_resource_reach_the_agent(form: Form) -> None:
    async with both_ways(form) as (agent, _, _):
        uri = (await agent.resources("pc"))[1]["uri"]
        await agent.watch_resource("pc", uri)
        await agent.watch_resource("pc", uri)
        changes = agent.changes()
        await agent.call_tool("pc", "toggle-subscriber-updates")
        [change] = await agent.each(changes, 1)
        assert (change.kind, change.data) == ("resource", {"computer": "pc", "uri": uri, "mcp_server": "it"})


def _as_mcp_writes(resource: dict[str, Any]) -> dict[str, Any]:
    return {("mimeType" if key == "mime_type" else key): resource[key] for key in resource if key != "mcp_server"}
