"""Runs the gateway's own tools, except those that call other tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from a2c_smcp.agent.answers import Text
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.toolkit import Toolkit
from a2c_smcp.errors import SMCPError
from a2c_smcp.gateway import builtin
from a2c_smcp.gateway.addresses import parse
from a2c_smcp.gateway.catalogue import Catalogue
from a2c_smcp.gateway.desktop import Looks
from a2c_smcp.gateway.failures import failed
from a2c_smcp.gateway.profile import Profile


class OwnTools:
    """The tools that find tools, look at windows, and find and read documents."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._looks = Looks()

    async def call(
        self, agent: AsyncSMCPAgentClient, catalogue: Catalogue, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Run one of the tools."""
        match name:
            case builtin.FIND:
                return self._find(catalogue, arguments)
            case builtin.LOOK:
                return await self._look(agent, catalogue.computers, arguments)
            case _:
                return await self._documents(agent, name, arguments)

    def _find(self, catalogue: Catalogue, arguments: Mapping[str, Any]) -> dict[str, Any]:
        query, limit = arguments.get("query"), arguments.get("limit", builtin.DEFAULT_FOUND)
        if not isinstance(query, str) or type(limit) is not int:
            return failed("query: a text is expected; limit: a whole number")
        found = catalogue.search(query, min(max(limit, 1), builtin.MOST_FOUND))
        if not found:
            return _text(
                f"None of the {len(catalogue)} tools matches. Try other words, or an empty query for the first ones."
            )
        tools = [
            {
                "name": tool.name,
                "description": tool.listed.get("description", ""),
                "computers": list(tool.computers),
                **({"read_only": True} if tool.is_read_only else {}),
                "parameters": tool.listed["inputSchema"],
            }
            for tool in found
        ]
        return _text(json.dumps({"tools": tools, "of": len(catalogue)}, ensure_ascii=False))

    async def _look(
        self, agent: AsyncSMCPAgentClient, computers: Sequence[str], arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        chosen, window, since = arguments.get("computer"), arguments.get("window"), arguments.get("since")
        tokens = arguments.get("max_tokens", builtin.DEFAULT_TOKENS)
        if type(tokens) is not int or not isinstance(window, str | None) or not isinstance(since, str | None):
            return failed("window and since: texts are expected; max_tokens: a whole number")
        if chosen is not None and chosen not in computers:
            return failed(f"choose a computer: {', '.join(computers)}")
        if window is not None and (address := parse(window)) is not None:
            chosen, window = address.computer, address.uri
        asked = [chosen] if chosen is not None else list(computers)
        looks = (agent.get_desktop_from_computer(computer, window=window) for computer in asked)
        outcomes = await asyncio.gather(*looks, return_exceptions=True)
        desktops: dict[str, list[str]] = {}
        failures: dict[str, str] = {}
        for computer, outcome in zip(asked, outcomes, strict=True):
            if isinstance(outcome, SMCPError):
                failures[computer] = outcome.message
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                desktops[computer] = outcome["desktops"]
        if failures and not desktops:
            return failed("; ".join(f"{computer}: {problem}" for computer, problem in failures.items()))
        return _text(self._looks.show(desktops, min(max(tokens, 1), builtin.MOST_TOKENS), since, failures))

    async def _documents(self, agent: AsyncSMCPAgentClient, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        uri = arguments.get("uri")
        if isinstance(uri, str) and (address := parse(uri)) is not None:
            arguments = {**arguments, "uri": address.uri}
            if len(agent.computers) > 1:
                arguments["computer"] = address.computer
        answer = await Toolkit(agent, self._profile.choice, documents=True).call(name, arguments)
        content: list[dict[str, Any]] = [
            {"type": "text", "text": part.text}
            if isinstance(part, Text)
            else {"type": "image", "data": part.data, "mimeType": part.mime_type}
            for part in answer.parts
        ]
        return {"content": content, "isError": True} if answer.is_error else {"content": content}


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}
