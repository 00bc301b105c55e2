"""The prompts of an office, each under a name that is unique in it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import MalformedRequestError, NotFoundError, NotSupportedError, SMCPError
from a2c_smcp.gateway.naming import Names, fitted
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.questions import ask_all, askable_of, required, written
from a2c_smcp.gateway.resources import further
from a2c_smcp.protocol.questions import MAX_ROUNDS, Asked, Continuation


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
    is_complete: bool
    """Whether every Computer that has prompts told them."""

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
    is_complete = True
    for computer, outcome in zip(computers, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            # A Computer that left, or is of an older version, has no prompts.
            is_empty = isinstance(outcome, NotFoundError | NotSupportedError)
            if not isinstance(outcome, SMCPError) or (len(computers) == 1 and not is_empty):
                raise outcome
            is_complete = is_complete and is_empty
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
    return PromptList(listed, prompts, is_complete)


async def get_prompt(
    ctx: ServerRequestContext[Any, Any],
    agent: AsyncSMCPAgentClient,
    prompt: OfferedPrompt,
    params: types.GetPromptRequestParams,
    *,
    names_server: bool,
) -> dict[str, Any]:
    """The result of `prompts/get`, in which the MCP server may ask the host's user.

    Raises:
        MCPError: the host cannot show what the MCP server asks.
        SMCPError: the MCP server rejects the request, or fails.
    """
    continuation: Continuation | None = None
    if params.input_responses or params.request_state:
        # The state is that of the MCP server, which keeps nothing else of the request.
        continuation = Continuation("", params.request_state or "", written(params.input_responses))
    for _ in range(MAX_ROUNDS):
        outcome = await agent.prompt_once(
            prompt.computer, prompt.name, params.arguments, mcp_server=prompt.server, continuation=continuation
        )
        if not isinstance(outcome, Asked):
            return further(cast("dict[str, Any]", outcome))
        askable = askable_of(ctx, outcome)
        if askable.keys() != outcome.questions.keys():
            needed: dict[str, Any] = {"requiredCapabilities": {"elicitation": {}}}
            problem = f"the prompt {params.name} asks a question that this host does not show"
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, problem, needed)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return required(askable, outcome.request_state or None, names_server=names_server)
        continuation = outcome.answered(await ask_all(ctx, outcome, askable, names_server=names_server))
    raise MalformedRequestError(f"the prompt {params.name} asks more than {MAX_ROUNDS} times")
