"""The `mcp` session, with requests of our own that read answers as they are.

The library's `tools/list` fails as a whole for one tool that is not well formed, and its `tools/call` reads every
result twice and then checks it with whatever the server's schema makes it do. This subclass leans on two internals of
`ClientSession` (2.3): how a request is stamped for the negotiated version, and how a tool listing is taken over.
"""

from __future__ import annotations

from typing import Any, cast

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from a2c_smcp.computer.mcp_clients.conversation import Conversation, OnProgress
from a2c_smcp.computer.mcp_clients.schemas import OutputSchema
from a2c_smcp.errors import ToolFailedError
from a2c_smcp.utils.results import CallToolResult

MAX_PAGES = 1_000
MAX_NAME = 256

_tools = TypeAdapter(types.Tool)
_results = TypeAdapter(CallToolResult)


class Session(ClientSession):
    """A connected MCP server."""

    def __init__(self, conversation: Conversation, client_info: types.Implementation) -> None:
        super().__init__(dispatcher=conversation, client_info=client_info)
        self._conversation = conversation
        self._schemas: dict[str, OutputSchema] = {}

    async def all_tools(self) -> tuple[list[types.Tool], list[str]]:
        """All pages of the tool list: the tools that can be used, and what is wrong with the others.

        Raises:
            MCPError: the server refused, or is gone.
        """
        tools: dict[str, types.Tool] = {}
        problems: list[str] = []
        cursors: set[str] = set()
        params: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            page = await self._ask("tools/list", params)
            listed = page.get("tools")
            if not isinstance(listed, list):
                problems.append("its answer to tools/list holds no list of tools")
                break
            for data in cast("list[Any]", listed):
                self._take_tool(data, tools, problems)
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or cursor in cursors:
                break
            cursors.add(cursor)
            params = {"cursor": cursor}
        listing = self._absorb_tool_listing(types.ListToolsResult(tools=list(tools.values())), complete=True)
        self._schemas = {tool.name: OutputSchema(tool.output_schema) for tool in listing.tools if tool.output_schema}
        return listing.tools, problems

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: OnProgress) -> CallToolResult:
        """Call a tool.

        Raises:
            MCPError: the server refused, or is gone.
            ToolFailedError: it answered something that is no result, or that breaks the tool's own schema.
        """
        raw = await self._ask("tools/call", {"name": tool, "arguments": arguments}, on_progress)
        if raw.get("resultType") == "input_required":
            raise ToolFailedError("the tool asks for input from a model or a person, which is not offered here")
        try:
            result = _results.validate_python(raw, by_name=False)
        except ValidationError as error:
            raise ToolFailedError(f"the MCP server's answer is no tool result ({_places(error)})") from None
        schema = self._schemas.get(tool)
        if schema is not None and not result.is_error:
            if result.structured_content is None:
                raise ToolFailedError("the tool promises structured content and gave none")
            if complaint := schema.complaint(result.structured_content):
                raise ToolFailedError(f"the tool's structured content breaks its own schema: {complaint}")
        return result

    async def ping(self) -> None:
        """Get any answer at all; an error is one as well.

        Raises:
            MCPError: the connection is closed.
        """
        try:
            await self._ask("ping", {})  # unknown to 2026-07-28, whose servers say so: an answer
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                raise

    def _take_tool(self, data: Any, tools: dict[str, types.Tool], problems: list[str]) -> None:
        try:
            tool = _tools.validate_python(data, by_name=False)
        except ValidationError as error:
            name = cast("dict[str, Any]", data).get("name") if isinstance(data, dict) else None
            problems.append(f"tool {name or '(without a name)'} is left out: it is not well formed ({_places(error)})")
            return
        if tool.input_schema.get("type") != "object":
            problems.append(f"tool {tool.name} is left out: its input schema is no object schema")
        elif not tool.name or len(tool.name) > MAX_NAME or not tool.name.isprintable():
            problems.append(f"tool {tool.name[:40]!r} is left out: nobody could call it by this name")
        elif tool.name in tools:
            problems.append(f"tool {tool.name} is listed twice")
        else:
            tools[tool.name] = tool

    async def _ask(self, method: str, params: dict[str, Any], on_progress: OnProgress | None = None) -> dict[str, Any]:
        data: dict[str, Any] = {"method": method, "params": params}
        options: CallOptions = {}
        self._stamp(data, options)
        return await self._conversation.ask(method, data["params"], options, on_progress)


def _places(error: ValidationError) -> str:
    return ", ".join(".".join(map(str, mistake["loc"])) for mistake in error.errors()[:3])
