"""How an Agent searches the documents of one Computer, as a flow: it finds the document servers, and asks each.

A document server that searches lists a resource template `dpe://HOST{?search,limit,wait}`. Reading such an address
needs no confirmation of the owner, and works for any number of document servers on a Computer. A Computer of another
implementation reads no resources for an Agent: there, and for document servers of earlier versions, the Agent calls
their search tool, which has the mark `a2c_search` in its `_meta`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import quote, urlencode

from a2c_smcp.errors import (
    InvalidAnswerError,
    MalformedRequestError,
    NotConnectedError,
    NotFoundError,
    SMCPError,
    TimedOutError,
    ToolFailedError,
    error_for,
)
from a2c_smcp.protocol.client_effects import ClientBackend, Together
from a2c_smcp.protocol.document_ranking import MOST_HITS, Found, failed, read_found
from a2c_smcp.protocol.document_search import SearchSource
from a2c_smcp.protocol.documents import read_body
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.requests import call_tool, get_tools, list_resource_templates, read_resource_contents
from a2c_smcp.protocol.seat import check_seconds
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.tool_meta import A2C_MCP_SERVER

A2C_SEARCH = "a2c_search"
"""The mark of a tool that searches documents."""
A2C_FINDER = "a2c_finder"
"""The mark of the other tools of a document server."""
OF_DOCUMENT_SERVERS = (A2C_FINDER, A2C_SEARCH)
"""Tools with one of these marks do what an Agent does by itself."""
MOST_WAIT = 60.0
"""Seconds that a document server waits for its index at most."""
MOST_SHELVES = 50
"""Document servers of a Computer that are searched."""
_MOST_TEMPLATE_PAGES = 20
_TOOL = "search_documents"
_TEMPLATE = re.compile(r"dpe://([^/?#{}]+)/?\{\?([\w,]+)\}")
_LEAST_SECONDS = 0.05
_FOR_TRANSPORT = 0.8
"""The share of the timeout that a document server may wait for its index."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for, and how long."""

    query: str
    limit: int
    """Documents in the result."""
    timeout: float
    """Seconds for each Computer."""
    wait: float
    """Seconds that a document server may wait for files that are not indexed."""

    @classmethod
    def of(cls, query: str, limit: int, timeout: float, wait: float) -> Search:
        """Check what a program gave.

        Raises:
            MalformedRequestError: it is invalid.
        """
        if not isinstance(query, str) or not query.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MalformedRequestError("query: words are expected")
        if type(limit) is not int or not 1 <= limit <= MOST_HITS:
            raise MalformedRequestError(f"limit: a number from 1 to {MOST_HITS} is expected")
        seconds = check_seconds(timeout)
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not wait >= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise MalformedRequestError("wait: a number of seconds is expected")
        return cls(query, limit, seconds, min(wait, seconds * _FOR_TRANSPORT, MOST_WAIT))

    @property
    def hits(self) -> int:
        """Passages that a document server returns: enough for the documents, of which some have several."""
        return min(3 * self.limit, MOST_HITS)


@dataclass(frozen=True, slots=True)
class _Shelf:
    """A document server, and how it is searched."""

    mcp_server: str
    host: str = ""
    variables: frozenset[str] = frozenset()
    tool: SMCPTool | None = None


def search_computer(
    agent: str, computer: str, search: Search, tools: Iterable[SMCPTool], allows: Callable[[str, str], bool] | None
) -> Flow[ClientBackend, list[Found]]:
    """Search all document servers of a Computer at the same time. An error is an answer, too.

    `allows` is called with the Computer and an MCP server: whether that may be searched.
    """
    began = time.monotonic()
    ends_at = began + search.timeout
    try:
        shelves = yield from _shelves(agent, computer, list(tools), ends_at)
    except SMCPError as error:
        return [failed(SearchSource(computer, seconds=round(time.monotonic() - began, 3), error=error))]
    chosen = [shelf for shelf in shelves if allows is None or allows(computer, shelf.mcp_server)]
    answers: list[Found] = []

    def search_one(shelf: _Shelf) -> Flow[ClientBackend, None]:
        source = SearchSource(computer, shelf.mcp_server)
        try:
            ask = _by_address if shelf.tool is None else _by_tool
            body = yield from ask(agent, computer, shelf, replace(search, timeout=_left(ends_at)))
            found = read_found(source, body)
        except SMCPError as error:
            found = failed(replace(source, error=error))
        seconds = round(time.monotonic() - began, 3)
        answers.append(replace(found, source=replace(found.source, seconds=seconds)))

    yield from Together([search_one(shelf) for shelf in chosen[:MOST_SHELVES]])
    return answers


# ---------------------------------------------------------------------------------------------------- document servers


def _left(ends_at: float) -> float:
    return max(ends_at - time.monotonic(), _LEAST_SECONDS)


def _shelves(agent: str, computer: str, tools: list[SMCPTool], ends_at: float) -> Flow[ClientBackend, list[_Shelf]]:
    """The document servers of a Computer."""
    found: list[_Shelf] = []
    try:
        found = yield from _with_template(agent, computer, ends_at)
    except (TimedOutError, NotConnectedError, NotFoundError):
        raise  # it would not answer a call of a tool either
    except SMCPError:
        pass  # it lists no templates
    # The Agent may have joined a moment ago, and not know the tools yet.
    if not tools:
        tools = (yield from get_tools(agent, computer, _left(ends_at)))["tools"]
    addressed = {shelf.mcp_server for shelf in found}
    return found + [shelf for shelf in _with_tool(tools) if not shelf.mcp_server or shelf.mcp_server not in addressed]


def _with_template(agent: str, computer: str, ends_at: float) -> Flow[ClientBackend, list[_Shelf]]:
    found: list[_Shelf] = []
    cursor: str | None = None
    for _ in range(_MOST_TEMPLATE_PAGES):
        page = yield from list_resource_templates(agent, computer, None, cursor, _left(ends_at))
        for template in page["templates"]:
            match = _TEMPLATE.fullmatch(template["uriTemplate"])
            variables = frozenset(match[2].split(",")) if match is not None else frozenset[str]()
            if match is not None and "search" in variables:
                found.append(_Shelf(template["mcp_server"], match[1], variables))
        cursor = page.get("next_cursor")
        if cursor is None or time.monotonic() > ends_at:
            break
    return found


def _with_tool(tools: list[SMCPTool]) -> list[_Shelf]:
    """The document servers that have a search tool."""
    marked = {_server_of(tool) for tool in tools if _meta_of(tool).get(A2C_FINDER) is True}
    # Earlier versions did not mark the search tool, but others beside it. The name alone is not enough: any MCP server
    # may have a tool of this name that does something else.
    return [
        _Shelf(_server_of(tool), tool=tool)
        for tool in tools
        if _meta_of(tool).get(A2C_SEARCH) is True or (tool["name"].endswith(_TOOL) and _server_of(tool) in marked)
    ]


def _meta_of(tool: SMCPTool) -> Mapping[str, Any]:
    meta = tool.get("meta")
    return cast("Mapping[str, Any]", meta) if isinstance(meta, Mapping) else {}


def _server_of(tool: SMCPTool) -> str:
    """The MCP server of a tool; its identity where an official Computer tells that; else nothing."""
    server = _meta_of(tool).get(A2C_MCP_SERVER) or tool.get("bundle_id")
    return server if isinstance(server, str) else ""


# -------------------------------------------------------------------------------------------------------------- asking


def _by_address(agent: str, computer: str, shelf: _Shelf, search: Search) -> Flow[ClientBackend, Mapping[str, Any]]:
    given = {"search": search.query, "limit": str(search.hits), "wait": f"{search.wait:g}"}
    params = {key: value for key, value in given.items() if key in shelf.variables}
    uri = f"dpe://{shelf.host}?{urlencode(params, quote_via=quote)}"
    answer = yield from read_resource_contents(agent, computer, uri, search.timeout, shelf.mcp_server or None)
    return read_body(uri, answer)


def _by_tool(agent: str, computer: str, shelf: _Shelf, search: Search) -> Flow[ClientBackend, Mapping[str, Any]]:
    tool = cast("SMCPTool", shelf.tool)
    given = {"query": search.query, "limit": search.hits, "wait": search.wait, "details": True}
    known: Any = tool["params_schema"].get("properties")
    params = {
        key: value for key, value in given.items() if key == "query" or (isinstance(known, dict) and key in known)
    }
    result = yield from call_tool(agent, computer, tool["name"], params, search.timeout)
    if result.is_error:
        # The text for models repeats the code.
        structured: Any = result.structured_content
        reason = cast("dict[str, Any]", structured).get("error") if isinstance(structured, dict) else None
        message = (reason if isinstance(reason, str) else result.text)[:500] or "the search failed"
        raise error_for(result.error_code, message) if result.error_code is not None else ToolFailedError(message)
    try:
        body: Any = json.loads(result.text)
    except (ValueError, RecursionError):
        return {"hits": []}  # words instead of a list: an earlier version found nothing
    if not isinstance(body, dict):
        raise InvalidAnswerError("the search answered no object")
    return cast("dict[str, Any]", body)
