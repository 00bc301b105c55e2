"""Completion of prompts: their names, their arguments, and the values that MCP servers suggest."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from a2c_smcp.cli.agent.offers import PromptPlace, schema_of
from a2c_smcp.cli.agent.session import Session
from a2c_smcp.errors import SMCPError

logger = logging.getLogger(__name__)


async def prompt_words(session: Session, before: list[str], typed: str, seconds: float) -> list[str]:
    """Words after `prompt`: names, then `key=`, then `key=value`. A Computer that fails or times out has none."""
    try:
        async with asyncio.timeout(seconds):  # for all requests together: a person waits after Tab
            places = await _places(session, seconds)
            if not before:
                return sorted({place.prompt["name"] for place in places})
            place = next((each for each in places if each.prompt["name"] == before[0]), None)
            if place is None:
                return []
            name, equals, value = typed.partition("=")
            if not equals:
                return [f"{each}=" for each in schema_of(place.prompt)["properties"]]
            chosen = dict(word.split("=", 1) for word in before[1:] if "=" in word)
            return [f"{name}={each}" for each in await _values(session, place, name, value, chosen, seconds)]
    except (SMCPError, TimeoutError) as error:
        logger.debug("no completion of a prompt: %s", error)
        return []


async def _places(session: Session, seconds: float) -> list[PromptPlace]:
    async def ask(computer: str) -> list[PromptPlace]:
        with contextlib.suppress(SMCPError):
            return [PromptPlace(computer, entry) for entry in await session.agent.prompts(computer, None, seconds)]
        return []

    found = await asyncio.gather(*map(ask, session.agent.computers))
    return [place for places in found for place in places]


async def _values(
    session: Session, place: PromptPlace, name: str, value: str, chosen: dict[str, str], seconds: float
) -> list[str]:
    answer = await session.agent.complete(
        place.computer,
        {"type": "ref/prompt", "name": place.prompt["name"]},
        {"name": name, "value": value},
        context=chosen or None,
        mcp_server=place.prompt["mcp_server"],
        timeout=seconds,
    )
    return answer["completion"]["values"]
