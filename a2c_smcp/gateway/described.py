"""The tools of Computers, read once: as MCP writes them, with what profiles, catalogues and searches look at.

Reading the metadata of a tool takes tens of microseconds, and an office may have thousands of tools. What was read is
kept for as long as the Agent has the same tool.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias, cast

import mcp_types as types
import orjson
from pydantic import ValidationError

from a2c_smcp.agent.choice import tags_of
from a2c_smcp.protocol.search_requests import OF_DOCUMENT_SERVERS
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.text import one_line
from a2c_smcp.utils.tool_meta import A2C_MCP_SERVER, mcp_tool

logger = logging.getLogger(__name__)

_HEADER_KEY = b'"x-mcp-header"'
_BASICS = ("name", "title", "description", "inputSchema")


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """A tool of a Computer."""

    name: str
    """Its name at the Computer."""
    listed: dict[str, Any]
    """The tool as its MCP server describes it. Nothing changes it."""
    fingerprint: str
    """A hash of the name, the parameters, the results and the kind. It is the same on all Computers and in all
    processes."""
    is_read_only: bool
    """Whether the MCP server says that the tool changes nothing."""
    tags: frozenset[str]
    server: str | None
    """The MCP server that has it, if its Computer tells."""
    is_in_finder: bool
    """Whether it does what the gateway's own tools for documents do."""
    names_headers: bool
    """Whether some of its parameters have to be in HTTP headers, too (`x-mcp-header`)."""


Offers: TypeAlias = Mapping[str, Sequence[Described]]
"""The tools of each Computer, by its name."""


class Reader:
    """Describes the tools of an office, each of them once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[SMCPTool, Described | None]] = {}
        """By the identity of the tool, which is kept so that no other object gets it."""

    def read(self, offered: Mapping[str, Sequence[SMCPTool]]) -> Offers:
        """Describe all tools. Those that no host could read are left out."""
        known: dict[int, tuple[SMCPTool, Described | None]] = {}
        found: dict[str, list[Described]] = {}
        for computer, tools in offered.items():
            listed = found[computer] = []
            for tool in tools:
                entry = self._known.get(id(tool)) or (tool, _describe(computer, tool))
                known[id(tool)] = entry
                if entry[1] is not None:
                    listed.append(entry[1])
        self._known = known
        return found


def _describe(computer: str, tool: SMCPTool) -> Described | None:
    """Describe a tool; None if it cannot be written as JSON."""
    # The data comes from another program. One tool that is not what MCP expects would make hosts reject the whole list.
    listed = _valid(mcp_tool(tool))
    annotations: Any = listed.get("annotations")
    is_read_only = isinstance(annotations, dict) and cast("dict[str, Any]", annotations).get("readOnlyHint") is True
    parts = tool["name"], listed["inputSchema"], listed.get("outputSchema"), is_read_only
    try:
        orjson.dumps(listed)
        # With sorted keys: MCP servers write the same schema in any order.
        written = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        logger.warning("the tool %s of %s is left out: %s", one_line(tool["name"], 100), computer, error)
        return None
    meta = tool.get("meta") or {}
    server = meta.get(A2C_MCP_SERVER)
    return Described(
        name=tool["name"],
        listed=listed,
        fingerprint=sha256(written).hexdigest(),
        is_read_only=is_read_only,
        tags=tags_of(tool),
        server=server if isinstance(server, str) else None,
        is_in_finder=any(meta.get(mark) is True for mark in OF_DOCUMENT_SERVERS),
        names_headers=_HEADER_KEY in written,
    )


def _valid(listed: dict[str, Any]) -> dict[str, Any]:
    """The tool, without what MCP does not accept."""
    # Hosts in TypeScript require the type, and reject a list with one tool without it.
    if listed["inputSchema"].get("type") != "object":
        listed = {**listed, "inputSchema": {**listed["inputSchema"], "type": "object"}}
    try:
        types.Tool.model_validate(listed, by_name=False)
    except ValidationError:
        kept = {key: listed[key] for key in _BASICS if key in listed}
        return {key: value for key, value in kept.items() if key == "inputSchema" or isinstance(value, str)}
    return listed
