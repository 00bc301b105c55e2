"""The prompts of an office, each under a name that is unique in it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import SMCPError
from a2c_smcp.gateway.naming import Names, fitted
from a2c_smcp.gateway.profile import Profile


@dataclass(frozen=True, slots=True)
class OfferedPrompt:
    """A prompt of an MCP server on a Computer."""

    computer: str
    server: str | None
    name: str
    """Its name at the MCP server."""


@dataclass(frozen=True, slots=True)
class PromptList:
    """All prompts, by the name that hosts use."""

    listed: list[dict[str, Any]]
    prompts: Mapping[str, OfferedPrompt]


async def list_prompts(agent: AsyncSMCPAgentClient, profile: Profile, names: Names) -> PromptList:
    """The prompts of all Computers that answer.

    Raises:
        SMCPError: there is one Computer, and it fails.
    """
    computers = sorted(computer for computer in agent.computers if profile.allows_computer(computer))
    outcomes = await asyncio.gather(*(agent.prompts(computer) for computer in computers), return_exceptions=True)
    found: list[tuple[OfferedPrompt, dict[str, Any]]] = []
    for computer, outcome in zip(computers, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            if len(computers) == 1 or not isinstance(outcome, SMCPError):
                raise outcome
            continue
        for prompt in outcome:
            server = prompt.get("mcp_server")
            if profile.allows_server(server):
                described = {key: value for key, value in prompt.items() if key != "mcp_server"}
                found.append((OfferedPrompt(computer, server, prompt["name"]), described))
    counted = Counter(prompt.name for prompt, _ in found)
    listed: list[dict[str, Any]] = []
    prompts: dict[str, OfferedPrompt] = {}
    for prompt, described in found:
        wishes = [prompt.name] if counted[prompt.name] == 1 else []
        wishes.append(fitted(f"{prompt.name}_{prompt.computer}"))
        given = names.give(f"{prompt.computer} {prompt.server} {prompt.name}", tuple(wishes))
        listed.append({**described, "name": given})
        prompts[given] = prompt
    return PromptList(listed, prompts)
