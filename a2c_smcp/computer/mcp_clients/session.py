"""The `mcp` session, with two requests of our own that read answers as they are.

The library's `tools/list` fails as a whole for one tool that is not well formed, and its `tools/call` reads every
result twice. This subclass leans on three internals of `ClientSession` (2.3): how a request is stamped for the
negotiated version, the dispatcher, and how a tool listing is taken over.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from a2c_smcp.errors import ToolFailedError
from a2c_smcp.utils.results import CallToolResult

MAX_PAGES = 1_000

_tools = TypeAdapter(types.Tool)
_results = TypeAdapter(CallToolResult)


class Session(ClientSession):
    """A connected MCP server."""

    async def all_tools(self) -> tuple[list[types.Tool], list[str]]:
        """All pages of the tool list: the tools that are well formed, and what is wrong with the others.

        Raises:
            MCPError: the server refused, or is gone.
        """
        tools: list[types.Tool] = []
        problems: list[str] = []
        params: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            page = await self._ask("tools/list", params)
            listed: Any = page.get("tools")
            if not isinstance(listed, list):
                problems.append("its answer to tools/list holds no list of tools")
                break
            for number, tool in enumerate(listed, len(tools)):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
                try:
                    tools.append(_tools.validate_python(tool, by_name=False))
                    if tools[-1].input_schema.get("type") != "object":
                        problems.append(f"tool {tools.pop().name} is left out: its input schema is no object schema")
                except ValidationError as error:
                    name: Any = tool.get("name", number) if isinstance(tool, dict) else number  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                    wrong = ", ".join(".".join(map(str, mistake["loc"])) for mistake in error.errors())
                    problems.append(f"tool {name} is left out: it is not well formed ({wrong})")
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                break
            params = {"cursor": cursor}
        listing = self._absorb_tool_listing(types.ListToolsResult(tools=tools), complete=True)
        return listing.tools, problems

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: ProgressFnT) -> CallToolResult:
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
            wrong = ", ".join(".".join(map(str, mistake["loc"])) for mistake in error.errors()[:3])
            raise ToolFailedError(f"the MCP server's answer is no tool result ({wrong})") from None
        if not result.is_error:
            try:
                await self.validate_tool_result(tool, result)
            except RuntimeError as error:
                raise ToolFailedError(str(error).partition("\n")[0]) from None
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

    async def _ask(self, method: str, params: dict[str, Any], on_progress: ProgressFnT | None = None) -> dict[str, Any]:
        data: dict[str, Any] = {"method": method, "params": params}
        options: CallOptions = {}
        self._stamp(data, options)
        if on_progress is not None:
            options["on_progress"] = on_progress
        return await self._dispatcher.send_raw_request(method, data["params"], options)
