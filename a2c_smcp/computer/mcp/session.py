"""The session of the `mcp` package, with our own requests for tools, resources and completion.

In the library, one malformed tool makes the whole `tools/list` fail, and `tools/call` parses every result twice and
then validates it with the server's schema, however long that takes. This subclass uses two internals of
`ClientSession` (2.3): how a request is stamped for the negotiated version, and how a list of tools is adopted.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import TypeAdapter, ValidationError

from a2c_smcp.computer.mcp.conversation import Conversation, OnProgress, is_closed
from a2c_smcp.computer.mcp.schemas import OutputSchema
from a2c_smcp.errors import ToolFailedError
from a2c_smcp.smcp import Completion, CompletionArgument, CompletionReference, ResourceContents
from a2c_smcp.utils.results import CallToolResult

MAX_PAGES = 10_000
"""Pages of one list. A cursor that repeats ends a list, too, but a server may invent a new one each time."""
MAX_NAME = 256

_tools = TypeAdapter(types.Tool)
_results = TypeAdapter(CallToolResult)
_resources = TypeAdapter(types.Resource)
_templates = TypeAdapter(types.ResourceTemplate)


class Session(ClientSession):
    """A connected MCP server."""

    def __init__(self, conversation: Conversation, client_info: types.Implementation) -> None:
        super().__init__(dispatcher=conversation, client_info=client_info)
        self._conversation = conversation
        self._schemas: dict[str, OutputSchema] = {}

    @property
    def heard_at(self) -> float:
        """When the server last sent anything, on the clock of `time.monotonic`."""
        return self._conversation.heard_at

    async def all_tools(self) -> tuple[list[types.Tool], list[str]]:
        """All pages of the tool list: the valid tools, and what is wrong with the others.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        tools: dict[str, types.Tool] = {}
        problems: list[str] = []
        try:
            async for page in self._pages("tools/list", "tools"):
                for data in page:
                    self._take_tool(data, tools, problems)
        except _NoList as error:
            problems.append(str(error))
        # The library keeps what it needs of the tools, such as the headers that 2026-07-28 wants with a call. With its
        # own `list_tools` that happens by itself; here it is one of the two internals that we call.
        listing = self._absorb_tool_listing(types.ListToolsResult(tools=list(tools.values())), complete=True)
        self._schemas = {tool.name: OutputSchema(tool.output_schema) for tool in listing.tools if tool.output_schema}
        return listing.tools, problems

    async def call(self, tool: str, arguments: dict[str, Any], on_progress: OnProgress) -> CallToolResult:
        """Call a tool.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            ToolFailedError: the answer is no tool result, or does not match the output schema of the tool.
        """
        raw = await self._ask("tools/call", {"name": tool, "arguments": arguments}, on_progress)
        if raw.get("resultType") == "input_required":
            raise ToolFailedError("the tool asks for input from a model or a person, which is not offered here")
        # `by_name=False`: only the names of the wire format count. A server that sends `is_error` would otherwise be
        # understood here, and by no other client.
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

    async def resources(self, seconds: float) -> AsyncGenerator[types.Resource]:
        """The resource list, in which each page may take `seconds`. Malformed resources are left out.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            TimeoutError: a page does not arrive in time.
        """
        # `aclosing`: a caller that stops in the middle must close the inner generator, too, in its own task. Otherwise
        # the garbage collector does it later, outside of any task, where a request cannot be cancelled properly.
        async with contextlib.aclosing(self._pages("resources/list", "resources", seconds)) as pages:
            async for page in pages:
                for data in page:
                    with contextlib.suppress(ValidationError):
                        yield _resources.validate_python(data, by_name=False)

    async def lists_any(self, is_wanted: Callable[[str], bool]) -> bool:
        """Whether the server lists a resource with such an address; no page is read after the first that has one.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        async with contextlib.aclosing(self._pages("resources/list", "resources")) as pages:
            async for page in pages:
                for data in page:
                    uri = cast("dict[str, Any]", data).get("uri") if isinstance(data, dict) else None
                    if isinstance(uri, str) and is_wanted(uri):
                        return True
        return False

    async def all_templates(self) -> list[types.ResourceTemplate]:
        """All pages of the list of resource templates. Malformed templates are left out.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        found: list[types.ResourceTemplate] = []
        async for page in self._pages("resources/templates/list", "resourceTemplates"):
            for data in page:
                with contextlib.suppress(ValidationError):
                    found.append(_templates.validate_python(data, by_name=False))
        return found

    async def read(self, uri: str) -> list[ResourceContents]:
        """The contents of a resource, as MCP writes them.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        answer = await self._ask("resources/read", {"uri": uri})
        # Checked by hand, not parsed into models: the contents go to the Agent as the server wrote them, and may be
        # megabytes.
        contents = answer.get("contents")
        if not isinstance(contents, list) or not all(_is_content(part) for part in cast("list[Any]", contents)):
            raise MCPError(code=types.INTERNAL_ERROR, message="its answer to resources/read holds no contents")
        return cast("list[ResourceContents]", contents)

    async def suggest(
        self, ref: CompletionReference, argument: CompletionArgument, context: Mapping[str, str] | None
    ) -> Completion:
        """What the server suggests for an argument of one of its templates or prompts.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        params: dict[str, Any] = {"ref": ref, "argument": argument}
        if context:
            params["context"] = {"arguments": dict(context)}
        completion = (await self._ask("completion/complete", params)).get("completion")
        found = cast("dict[str, Any]", completion) if isinstance(completion, dict) else {}
        values = found.get("values")
        if not isinstance(values, list) or not all(isinstance(value, str) for value in cast("list[Any]", values)):
            raise MCPError(code=types.INTERNAL_ERROR, message="its answer to completion/complete holds no values")
        return cast("Completion", found)

    async def has_prompt(self, name: str) -> bool:
        """Whether the server has a prompt of this name.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        capabilities = self.server_capabilities
        if capabilities is None or capabilities.prompts is None:
            return False
        async with contextlib.aclosing(self._pages("prompts/list", "prompts")) as pages:
            async for page in pages:
                if any(isinstance(data, dict) and cast("dict[str, Any]", data).get("name") == name for data in page):
                    return True
        return False

    async def watch(self, uri: str, on: bool = True) -> None:
        """Subscribe to the changes of a resource, or unsubscribe (before 2026-07-28).

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        await self._ask("resources/subscribe" if on else "resources/unsubscribe", {"uri": uri})

    async def ping(self) -> None:
        """Wait for any answer; an error is an answer too.

        Raises:
            MCPError: the connection is closed.
        """
        try:
            await self._ask("ping", {})  # 2026-07-28 has no ping: such a server answers with an error
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                raise

    async def refuses_mark(self) -> bool:
        """Whether the server rejects a ping as invalid only when it carries the version mark of 2026-07-28.

        A server that does not know that version ignores the mark. One that rejects it knows the version, and rejects
        it only because the connection was opened with another one.

        Raises:
            MCPError: the connection is closed.
        """
        mark = {"_meta": {types.PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION}}
        answers: list[int | None] = []
        for params in (mark, {}):
            try:
                await self._ask("ping", params)
                answers.append(None)
            except MCPError as error:
                if is_closed(error):
                    raise
                answers.append(error.code)
        return answers == [types.INVALID_REQUEST, None]

    async def _pages(self, method: str, key: str, seconds: float | None = None) -> AsyncGenerator[list[Any]]:
        """The pages of a list; each may take `seconds`."""
        cursors: set[str] = set()
        params: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            # The time limit ends before the `yield`: a cancel scope that is open there would belong to the caller's
            # code.
            with anyio.fail_after(seconds):
                page = await self._ask(method, params)
            listed = page.get(key)
            if not isinstance(listed, list):
                raise _NoList(f"its answer to {method} holds no list of {key}")
            yield cast("list[Any]", listed)
            cursor = page.get("nextCursor")
            # A server that repeats a cursor would send its pages for ever.
            if not isinstance(cursor, str) or not cursor or cursor in cursors:
                return
            cursors.add(cursor)
            params = {"cursor": cursor}

    def _take_tool(self, data: Any, tools: dict[str, types.Tool], problems: list[str]) -> None:
        try:
            tool = _tools.validate_python(data, by_name=False)
        except ValidationError as error:
            name = cast("dict[str, Any]", data).get("name") if isinstance(data, dict) else None
            problems.append(f"tool {name or '(without a name)'} is left out: it is not well formed ({_places(error)})")
            return
        # One bad tool costs only itself. Its problem is shown in the status of the server, where its author looks.
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
        # In 2026-07-28 every request carries the version and the capabilities of the client, and over HTTP also headers
        # with the method and the name of the tool. Earlier versions agree on the capabilities once, in the handshake.
        self._stamp(data, options)
        return await self._conversation.ask(method, data["params"], options, on_progress)


class _NoList(MCPError):
    """An answer that holds no list."""

    def __init__(self, message: str) -> None:
        super().__init__(code=types.INTERNAL_ERROR, message=message)


def _is_content(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    content = cast("dict[str, Any]", part)
    return isinstance(content.get("uri"), str) and (
        isinstance(content.get("text"), str) or isinstance(content.get("blob"), str)
    )


def _places(error: ValidationError) -> str:
    return ", ".join(".".join(map(str, mistake["loc"])) for mistake in error.errors()[:3])
