"""The commands about resources, resource templates and prompts of MCP servers. Each returns an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from a2c_smcp.cli.agent import offer_views as views
from a2c_smcp.cli.agent.session import WRONG, Session, complain, of_each
from a2c_smcp.cli.arguments import read_arguments
from a2c_smcp.cli.errors import did_you_mean
from a2c_smcp.cli.views import print_json, show
from a2c_smcp.errors import MalformedRequestError, NotFoundError
from a2c_smcp.smcp import Prompt, ResourceInfo, ResourceTemplate


async def resources(session: Session, computer: str | None, mcp_server: str | None, as_json: bool) -> int:
    """List resources of all schemes."""

    async def look(each: str) -> list[ResourceInfo]:
        return await session.agent.resources(each, mcp_server, session.options.timeout)

    found, code = await of_each(session, computer, look)
    if as_json:
        print_json(found)
    else:
        show(*views.resources(found))
    return code


async def templates(session: Session, computer: str | None, mcp_server: str | None, as_json: bool) -> int:
    """List resource templates."""

    async def look(each: str) -> list[ResourceTemplate]:
        found: list[ResourceTemplate] = []
        cursor: str | None = None
        while True:
            page = await session.agent.list_resource_templates(
                each, mcp_server=mcp_server, cursor=cursor, timeout=session.options.timeout
            )
            found += page["templates"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return found

    found, code = await of_each(session, computer, look)
    if as_json:
        print_json(found)
    else:
        show(*views.templates(found))
    return code


async def prompts(session: Session, computer: str | None, mcp_server: str | None, as_json: bool) -> int:
    """List prompts."""
    found, code = await _prompts(session, computer, mcp_server)
    if as_json:
        print_json(found)
    else:
        show(*views.prompts(found))
    return code


async def prompt(
    session: Session, computer: str | None, mcp_server: str | None, name: str, words: list[str], as_json: bool
) -> int:
    """Show the messages of a prompt."""
    place = await find_prompt(session, computer, mcp_server, name)
    try:
        arguments = read_arguments(words, schema=schema_of(place.prompt))
    except ValueError as error:
        complain(str(error))
        return WRONG
    answer = await session.agent.prompt(
        place.computer,
        name,
        cast("Mapping[str, str]", arguments) or None,
        mcp_server=place.prompt["mcp_server"],
        timeout=session.options.timeout,
    )
    if as_json:
        print_json({key: value for key, value in answer.items() if key != "req_id"})
    else:
        show(*views.messages(answer))
    return 0


@dataclass(frozen=True)
class PromptPlace:
    """A prompt, and the Computer that has it."""

    computer: str
    prompt: Prompt


async def find_prompt(session: Session, computer: str | None, mcp_server: str | None, name: str) -> PromptPlace:
    """The prompt of this name.

    Raises:
        NotFoundError: there is none.
        MalformedRequestError: there is more than one.
        SMCPError: a Computer that may have it fails.
    """
    found, _ = await _prompts(session, computer, mcp_server)
    listed = [PromptPlace(where, entry) for where, entries in found.items() for entry in entries]
    places = [place for place in listed if place.prompt["name"] == name]
    if not places:
        hint = did_you_mean(name, {place.prompt["name"] for place in listed})
        raise NotFoundError(f"no MCP server has a prompt {name}{hint}")
    if len(places) > 1:
        owners = ", ".join(f"{place.prompt['mcp_server']} on {place.computer}" for place in places)
        raise MalformedRequestError(f"several have a prompt {name}: {owners}; choose with --mcp-server and --computer")
    return places[0]


def schema_of(entry: Prompt) -> dict[str, Any]:
    """The arguments of a prompt as a schema of parameters: each is a text."""
    listed = [each for each in entry.get("arguments") or () if isinstance(each.get("name"), str)]
    return {
        "type": "object",
        "properties": {each["name"]: {"type": "string"} for each in listed},
        "required": [each["name"] for each in listed if each.get("required") is True],
        "additionalProperties": False,
    }


async def _prompts(
    session: Session, computer: str | None, mcp_server: str | None
) -> tuple[dict[str, list[Prompt]], int]:
    async def look(each: str) -> list[Prompt]:
        return await session.agent.prompts(each, mcp_server, session.options.timeout)

    return await of_each(session, computer, look)
