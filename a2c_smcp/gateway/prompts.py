"""The prompts of an office, each under a name that is unique in it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import NotFoundError, NotSupportedError, SMCPError
from a2c_smcp.gateway.naming import Names, fitted
from a2c_smcp.gateway.profile import Profile


@dataclass(frozen=True, slots=True)
class OfferedPrompt:
    """A prompt of an MCP server on a Computer."""

    computer: str
    server: str
    name: str
    """Its name at the MCP server."""

    @property
    def key(self) -> str:
        """What tells it from others."""
        return f"{self.computer}\0{self.server}\0{self.name}"


@dataclass(frozen=True, slots=True)
class PromptList:
    """All prompts, by the name that hosts use."""

    listed: list[dict[str, Any]]
    prompts: Mapping[str, OfferedPrompt]

    @property
    def digest(self) -> str:
        """Two lists with the same digest look the same to a host."""
        return sha256(orjson.dumps(self.listed)).hexdigest()


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
            # A Computer that left, or is of an older version, has no prompts.
            is_empty = isinstance(outcome, NotFoundError | NotSupportedError)
            if not isinstance(outcome, SMCPError) or (len(computers) == 1 and not is_empty):
                raise outcome
            continue
        for prompt in outcome:
            server = prompt["mcp_server"]
            if profile.allows_server(server):
                described = {key: value for key, value in prompt.items() if key != "mcp_server"}
                found.append((OfferedPrompt(computer, server, prompt["name"]), described))
    computers_with = Counter(name for name, _ in {(prompt.name, prompt.computer) for prompt, _ in found})
    servers_with = Counter((prompt.name, prompt.computer) for prompt, _ in found)
    listed: list[dict[str, Any]] = []
    prompts: dict[str, OfferedPrompt] = {}
    for prompt, described in found:
        # Where a name is not unique, what differs makes it so: the MCP server, the Computer, or both.
        places = [prompt.server] if servers_with[prompt.name, prompt.computer] > 1 else []
        places += [prompt.computer] if computers_with[prompt.name] > 1 else []
        wish = fitted("_".join((prompt.name, *places))) if places else prompt.name
        given = names.give(prompt.key, (wish,))
        listed.append({**described, "name": given})
        prompts[given] = prompt
    names.trim({prompt.key for prompt in prompts.values()})
    return PromptList(listed, prompts)
