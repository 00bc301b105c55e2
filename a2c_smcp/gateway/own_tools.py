"""Runs the gateway's own tools, except those that call other tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from a2c_smcp.agent.answers import Answer, Text
from a2c_smcp.agent.builtin_tools import (
    FIND_DOCUMENTS,
    READ_DOCUMENT,
    Blueprint,
    BuiltinTools,
    InvalidCall,
    ModelBackend,
    ModelFlow,
)
from a2c_smcp.agent.calling import OnProgress
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.toolkit import MAX_TEXT
from a2c_smcp.errors import NotFoundError, SMCPError
from a2c_smcp.gateway import builtin
from a2c_smcp.gateway.addresses import parse
from a2c_smcp.gateway.catalogue import Catalogue
from a2c_smcp.gateway.desktop import Looks
from a2c_smcp.gateway.failures import failed
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.resources import Resources
from a2c_smcp.protocol.document_search import DocumentSearch
from a2c_smcp.protocol.flow import run_async
from a2c_smcp.protocol.requests import DEFAULT_LIMIT
from a2c_smcp.smcp import GetFinderRet

MOST_FILTERED = 10_000
"""Documents of a Computer that are looked through for those of some MCP servers."""


class OwnTools:
    """The tools that find tools, look at windows, and find and read documents."""

    def __init__(self, profile: Profile, resources: Resources) -> None:
        self._profile = profile
        self._resources = resources
        self._looks = Looks()

    async def call(
        self,
        agent: AsyncSMCPAgentClient,
        catalogue: Catalogue,
        name: str,
        arguments: dict[str, Any],
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Run one of the tools. `on_progress` hears how far a search is."""
        if name == builtin.FIND:
            return self._find(catalogue, arguments)
        computers = self._resources.computers(agent)
        chosen = arguments.pop("computer", None)
        # An address from a list of resources names its Computer.
        key = "window" if name == builtin.LOOK else "uri"
        given = arguments.get(key)
        if isinstance(given, str) and (address := parse(given)) is not None:
            chosen, arguments[key] = address.computer, address.uri
        if chosen is not None and chosen not in computers:
            known = f"must be one of {', '.join(computers)}" if computers else "there is no Computer in this office"
            return failed(f"computer {chosen!r}: {known}")
        asked = [chosen] if chosen is not None else computers
        if not computers:
            raise NotFoundError("there is no Computer in this office")
        try:
            if name == builtin.LOOK:
                return await self._look(agent, asked, arguments)
            return await self._documents(agent, asked, name, arguments, on_progress)
        except InvalidCall as problem:
            return failed(str(problem))

    def _find(self, catalogue: Catalogue, arguments: Mapping[str, Any]) -> dict[str, Any]:
        query, limit = arguments.get("query"), arguments.get("limit", builtin.DEFAULT_FOUND)
        if not isinstance(query, str) or type(limit) is not int:
            return failed("query: must be a text; limit: must be a whole number")
        result = found_tools(catalogue, query, limit)
        if not result["tools"]:
            return _text(
                f"None of the {len(catalogue)} tools matches. Try other words, or an empty query for the first ones."
            )
        return _text(json.dumps(result, ensure_ascii=False))

    # ---------------------------------------------------------------------------------------------------------- windows

    async def _look(
        self, agent: AsyncSMCPAgentClient, computers: Sequence[str], arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        window, since = arguments.get("window"), arguments.get("since")
        tokens = arguments.get("max_tokens", builtin.DEFAULT_TOKENS)
        if type(tokens) is not int or not isinstance(window, str | None) or not isinstance(since, str | None):
            raise InvalidCall("window and since: must be texts; max_tokens: must be a whole number")
        looks = (self._windows(agent, computer, window) for computer in computers)
        outcomes = await asyncio.gather(*looks, return_exceptions=True)
        desktops: dict[str, list[str]] = {}
        failures: dict[str, str] = {}
        for computer, outcome in zip(computers, outcomes, strict=True):
            if isinstance(outcome, SMCPError):
                failures[computer] = outcome.message
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                desktops[computer] = outcome
        if failures and not desktops:
            return failed("; ".join(f"{computer}: {problem}" for computer, problem in failures.items()))
        return _text(self._looks.show(desktops, min(max(tokens, 1), builtin.MOST_TOKENS), since, failures, window))

    async def _windows(self, agent: AsyncSMCPAgentClient, computer: str, window: str | None) -> list[str]:
        shown = (await agent.get_desktop_from_computer(computer, window=window))["desktops"]
        if not self._profile.names_servers:
            return shown
        # A window does not say which MCP server has it, but the list of resources does.
        visible = await self._resources.visible(agent, computer)
        return [each for each in shown if each.partition("\n")[0] in visible]

    # -------------------------------------------------------------------------------------------------------- documents

    async def _documents(
        self,
        agent: AsyncSMCPAgentClient,
        computers: Sequence[str],
        name: str,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
    ) -> dict[str, Any]:
        blueprint: Blueprint = FIND_DOCUMENTS if name == builtin.FIND_DOCUMENTS else READ_DOCUMENT
        blueprint.check(arguments)
        if self._profile.names_servers and name == builtin.READ_DOCUMENT:
            address = await self._resources.find(agent, arguments["uri"])
            computers = [address.computer]
        tools = BuiltinTools(cast("Any", _Filtered(agent, self._profile)), MAX_TEXT)
        act = tools.find if name == builtin.FIND_DOCUMENTS else tools.read
        flow: ModelFlow = act(tuple(computers), arguments)
        return _result(await run_async(flow, ModelBackend(agent, _side_by_side, on_progress)))


def found_tools(catalogue: Catalogue, query: str, limit: int) -> dict[str, Any]:
    """The tools that match a query, as a model gets them."""
    tools = [
        {
            "name": tool.name,
            "description": tool.listed.get("description", ""),
            "computers": list(tool.computers),
            **({"read_only": True} if tool.is_read_only else {}),
            "parameters": tool.listed["inputSchema"],
        }
        for tool in catalogue.search(query, min(max(limit, 1), builtin.MOST_FOUND))
    ]
    return {"tools": tools, "of": len(catalogue)}


class _Filtered:
    """An Agent that finds only the documents of some MCP servers."""

    def __init__(self, agent: AsyncSMCPAgentClient, profile: Profile) -> None:
        self._agent = agent
        self._profile = profile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    async def get_finder(
        self, computer: str, keywords: Sequence[str] | None = None, file_type: str | None = None, offset: int = 0
    ) -> GetFinderRet:
        """A page of the documents of the shown MCP servers."""
        if not self._profile.names_servers:
            return await self._agent.get_finder(computer, keywords, file_type, offset)
        shown: list[Any] = []
        seen = 0
        async for document in self._agent.iter_documents(computer, keywords, file_type):
            seen += 1
            if self._profile.allows_server(document["server"]):
                shown.append(document)
            if seen == MOST_FILTERED:
                break
        page = shown[offset : offset + DEFAULT_LIMIT]
        return GetFinderRet(documents=page, total_count=len(shown), req_id="")

    async def search_documents(
        self, query: str, computers: Sequence[str], *, wait: float, on_found: Callable[[DocumentSearch], None]
    ) -> DocumentSearch:
        """Search the documents of the shown MCP servers."""

        def allows(computer: str, server: str) -> bool:
            return self._profile.allows_server(server or None)  # empty where a Computer does not tell it

        return await self._agent.search_documents(query, computers, wait=wait, on_found=on_found, allows=allows)


async def _side_by_side(work: list[Callable[[], Any]]) -> list[Any]:
    return await asyncio.gather(*(each() for each in work), return_exceptions=True)


def _result(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "image", "data": part.data, "mimeType": part.mime_type}
        for part in answer.parts
    ]
    return {"content": content, "isError": True} if answer.is_error else {"content": content}


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}
