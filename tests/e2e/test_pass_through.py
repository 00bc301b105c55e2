"""npm's `server-everything` through an office and with a direct client: nothing is missing, and nothing is changed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from a2c_smcp.agent import Progress, Question
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.mcp.messages import LEVELS
from a2c_smcp.computer.mcp.processes import default_environment
from a2c_smcp.utils.tool_meta import mcp_tool
from tests.support.agents import Driven, Form, stage
from tests.support.direct_mcp import Direct, direct
from tests.support.everything import (
    CALLS,
    COMPLETIONS,
    ENVIRONMENT,
    LONG,
    PROMPTS,
    QUESTIONS,
    TEMPLATES,
    TOOLS,
    filled,
    timeless,
)
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
    async with stage(form) as scene, direct([command, *args], env=default_environment()) as client:
        computer = await scene.computer(config)
        agent = await scene.agent()
        # The server adds tools once it knows its client.
        await computer.until(lambda: set(computer.tool_names()) >= TOOLS)
        yield agent, client, computer


async def test_an_agent_gets_what_a_direct_client_gets(form: Form) -> None:
    """Each assertion that the calls are those of *all* tools, prompts or templates fails when the server has more."""
    async with both_ways(form) as (agent, client, _):
        # With titles, icons, annotations and metadata.
        listed = {tool["name"]: tool for tool in await client.all("tools/list", "tools")}
        offered = {tool["name"]: mcp_tool(tool) for tool in (await agent.get_tools_from_computer("pc"))["tools"]}
        assert offered == listed
        assert set(listed) == TOOLS

        for tool, arguments in CALLS:
            given = (await agent.call_tool("pc", tool, arguments)).to_json()
            expected = {"isError": False, **await client.ask("tools/call", name=tool, arguments=arguments)}
            if expected["isError"]:  # the Computer adds the code of the failure, and its text as data
                given = {key: given[key] for key in expected}
            assert timeless(given) == timeless(expected), tool
        environment = json.loads((await agent.call_tool("pc", ENVIRONMENT)).text)
        [content] = (await client.ask("tools/call", name=ENVIRONMENT, arguments={}))["content"]
        expected = json.loads(content["text"])
        # Only the mark that the processes of a Computer have is different.
        assert {name: environment.get(name) for name in expected} == expected
        assert all(name.startswith("A2C_") for name in environment.keys() - expected.keys())

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
        assert {template["uriTemplate"] for template in templates} == TEMPLATES
        for template in TEMPLATES:  # a text, and a blob
            uri = template.replace("{resourceId}", "7")
            contents = (await agent.read_contents("pc", uri))["contents"]
            assert timeless(contents) == timeless((await client.ask("resources/read", uri=uri))["contents"])

        for ref, argument, chosen in COMPLETIONS:
            suggested = (await agent.complete("pc", ref, argument, context=chosen))["completion"]
            asked: dict[str, Any] = {"ref": ref, "argument": argument, "context": {"arguments": chosen}}
            assert suggested == (await client.ask("completion/complete", **asked))["completion"], ref


async def test_progress_and_questions_are_those_of_a_direct_client(form: Form) -> None:
    async with both_ways(form) as (agent, client, _):
        tool, arguments = LONG
        heard: list[Progress] = []
        result = await agent.call_tool("pc", tool, arguments, on_progress=heard.append)
        expected = await client.ask("tools/call", name=tool, arguments=arguments, _meta={"progressToken": "p"})
        assert result.to_json() == {"isError": False, **expected}
        assert [(report.progress, report.total) for report in heard] == [
            (notice["params"]["progress"], notice["params"]["total"])
            for notice in client.notices
            if notice["method"] == "notifications/progress"
        ]
        assert len(heard) == arguments["steps"]

        asked: list[dict[str, Any]] = []

        def answer(question: Question) -> Any:
            asked.append(_as_mcp_asks(question))
            reply = filled(asked[-1])
            return question.accept(reply.get("content"))

        client.replies["elicitation/create"] = filled
        for tool, arguments in QUESTIONS:
            result = await agent.call_tool("pc", tool, arguments, on_question=answer)
            expected = await client.ask("tools/call", name=tool, arguments=arguments)
            assert timeless(result.to_json()) == timeless({"isError": False, **expected})
        assert asked == client.asked
        assert len(asked) == len(QUESTIONS)


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


def _as_mcp_asks(question: Question) -> dict[str, Any]:
    if question.url is None:
        return {"message": question.message, "requestedSchema": question.schema}
    return {
        "mode": "url",
        "message": question.message,
        "elicitationId": question.elicitation_id,
        "url": question.url,
    }


def _as_mcp_writes(resource: dict[str, Any]) -> dict[str, Any]:
    return {("mimeType" if key == "mime_type" else key): resource[key] for key in resource if key != "mcp_server"}
