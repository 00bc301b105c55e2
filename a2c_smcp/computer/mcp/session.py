"""The session of the `mcp` package, with our own requests for tools, resources, prompts and completion.

In the library, one malformed tool makes the whole `tools/list` fail, and `tools/call` parses every result twice and
then validates it with the server's schema, however long that takes. This subclass uses three internals of
`ClientSession` (2.3): how a request is stamped for the negotiated version, which capabilities it declares, how a list
of tools is adopted, and how a request of the server is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar, cast

import anyio
import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.dispatcher import CallOptions, DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, encode_header_value
from mcp.shared.transport_context import TransportContext
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import BeforeValidator, TypeAdapter, ValidationError

from a2c_smcp.computer.config.model import LogLevel
from a2c_smcp.computer.mcp.conversation import CLOSED, Conversation, OnProgress, is_closed
from a2c_smcp.computer.mcp.elicitation import Elicitation
from a2c_smcp.computer.mcp.listing import ListedTool, Problems, WrittenList, with_valid_priority
from a2c_smcp.computer.mcp.messages import LEVELS
from a2c_smcp.computer.mcp.parsing import MAX_LEVELS, flaw, is_too_deep
from a2c_smcp.computer.mcp.questions import ELICITATION, Answers, Asker, Questions, Rejected, declined, read_question
from a2c_smcp.computer.mcp.rounds import TASKS, Rounds
from a2c_smcp.computer.mcp.schemas import OutputSchema
from a2c_smcp.errors import MalformedRequestError, ToolFailedError
from a2c_smcp.smcp import Completion, CompletionArgument, CompletionReference, ResourceContents
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.tracing import TRACEPARENT, traceparent_of_call

logger = logging.getLogger(__name__)

MAX_PAGES = 10_000
"""Pages of one list. A cursor that repeats ends a list, too, but a server may invent a new one each time."""
MAX_LISTED = 10_000
"""Tools, prompts and resource templates of a server. A server may have any number of resources."""
MAX_NAME = 256

T = TypeVar("T")

_OF_A_CALL = frozenset(("tools/call", "tasks/get", "tasks/update"))
"""The requests that a tool call consists of."""
_OF_A_TASK = frozenset(("tasks/get", "tasks/update", "tasks/cancel"))
"""The requests about a task that is under way."""

_tools = TypeAdapter(ListedTool)
_resources = TypeAdapter[types.Resource](Annotated[types.Resource, BeforeValidator(with_valid_priority)])
_templates = TypeAdapter(types.ResourceTemplate)
_prompts = TypeAdapter(types.Prompt)


class Session(ClientSession):
    """A connected MCP server."""

    def __init__(self, conversation: Conversation, client_info: types.Implementation) -> None:
        # The callback declares the capability, too. Sampling and roots have none: they are not offered.
        super().__init__(dispatcher=conversation, client_info=client_info, elicitation_callback=self._on_elicitation)
        self._conversation = conversation
        self._elicitation = Elicitation(conversation)
        self._schemas: dict[str, OutputSchema] = {}
        self._kept_level: LogLevel | None = None
        """The level from which log messages are kept, and reach the caller of a tool."""
        self._level_to_name: LogLevel | None = None
        """The same, where each request names it (2026-07-28)."""
        conversation.on_log = self._on_log

    @property
    def heard_at(self) -> float:
        """When the server last sent anything, on the clock of `time.monotonic`."""
        return self._conversation.heard_at

    @property
    def is_modern(self) -> bool:
        """Whether the connection uses 2026-07-28 or later."""
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def set_log_level(self, level: LogLevel | None) -> None:
        """Receive log messages of this level and above; None asks for none.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        self._kept_level = level
        if self.is_modern:
            self._level_to_name = level
            return
        # Earlier versions have no way to ask for none. The messages that arrive all the same are not kept.
        capabilities = self.server_capabilities
        if level is not None and capabilities is not None and capabilities.logging is not None:
            await self._ask("logging/setLevel", {"level": level})

    async def all_tools(self) -> tuple[list[types.Tool], list[str]]:
        """All pages of the tool list: the valid tools, and what is wrong with the others.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        tools: dict[str, types.Tool] = {}
        problems = Problems("tool")
        try:
            async for page in self._pages("tools/list", "tools"):
                for data in page:
                    _take_tool(data, tools, problems)
                if len(tools) + len(problems) > MAX_LISTED:
                    raise _NoList(f"it lists more than {MAX_LISTED} tools; the others are left out")
        except _NoList as error:
            problems.add(str(error))
        # The library keeps what it needs of the tools, such as the headers that 2026-07-28 wants with a call. With its
        # own `list_tools` that happens by itself; here it is one of the internals that we call.
        listing = self._absorb_tool_listing(types.ListToolsResult(tools=list(tools.values())), complete=True)
        for name in tools.keys() - {tool.name for tool in listing.tools}:
            problems.leave_out({"name": name}, "its x-mcp-header annotations are invalid")
        self._schemas = {tool.name: OutputSchema(tool.output_schema) for tool in listing.tools if tool.output_schema}
        return listing.tools, problems.notes

    async def call(
        self, tool: str, arguments: dict[str, Any], on_progress: OnProgress, asker: Asker | None = None
    ) -> CallToolResult:
        """Call a tool. Questions of the server during the call go to `asker`; without one, they are declined.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            ToolFailedError: the answer is no tool result, or does not match the output schema of the tool.
            MalformedRequestError: the arguments cannot be sent.
        """
        if is_too_deep(arguments):
            raise MalformedRequestError(f"params: nested more than {MAX_LEVELS} levels deep")
        if asker is not None:
            self._elicitation.call_begins(asker)
        try:
            raw = await self._call({"name": tool, "arguments": arguments}, on_progress, asker)
        finally:
            if asker is not None:
                self._elicitation.call_ends(asker)
        # `by_name=False`: only the names of the wire format count. A server that sends `is_error` would otherwise be
        # understood here, and by no other client.
        try:
            result = CallToolResult.read(raw, by_name=False)
        except ValidationError as error:
            raise ToolFailedError(f"the MCP server's answer is no tool result ({_places(error)})") from None
        schema = self._schemas.get(tool)
        if schema is not None and not result.is_error:
            if result.structured_content is None:
                raise ToolFailedError("the tool promises structured content and gave none")
            if complaint := schema.complaint(result.structured_content):
                raise ToolFailedError(f"the tool's structured content breaks its own schema: {complaint}")
        return result

    async def resources(self, seconds: float, problems: Problems) -> AsyncGenerator[types.Resource]:
        """The resource list, in which each page may take `seconds`. Malformed resources are left out, and become
        `problems`.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            TimeoutError: a page does not arrive in time.
        """
        # `aclosing`: a caller that stops in the middle must close the inner generator, too, in its own task. Otherwise
        # the garbage collector does it later, outside of any task, where a request cannot be cancelled properly.
        async with contextlib.aclosing(self._pages("resources/list", "resources", seconds)) as pages:
            async for page in pages:
                for data in page:
                    if (resource := _read(_resources, data, problems)) is not None:
                        yield resource

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

    async def resource_page(self, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """A page of the resource list, as the server wrote it, and the cursor of the next. Malformed resources are
        left out.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        page = await self._ask("resources/list", {"cursor": cursor} if cursor is not None else {})
        after = page.get("nextCursor")
        listed = _listed(page, "resources/list", "resources")
        found = [data for data in listed if _read(_resources, data, Problems("resource")) is not None]
        return found, after if isinstance(after, str) and after else None

    async def all_templates(self, seconds: float) -> WrittenList:
        """The pages of the list of resource templates that arrive within `seconds`.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            TimeoutError: no page arrives in time.
        """
        method = "resources/templates/list"
        return await self._all(method, "resourceTemplates", _templates, "resource template", seconds)

    async def all_prompts(self, seconds: float) -> WrittenList:
        """The pages of the list of prompts that arrive within `seconds`.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            TimeoutError: no page arrives in time.
        """
        return await self._all("prompts/list", "prompts", _prompts, "prompt", seconds)

    async def fill_prompt(
        self, name: str, arguments: Mapping[str, str] | None, answers: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The messages of a prompt, as the server wrote them. With `answers`, which are none at first, it may ask
        questions instead (`input_required`); they are not checked.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        params: dict[str, Any] = {"name": name, **(answers or {})}
        if arguments:
            params["arguments"] = dict(arguments)
        answer = await self._ask_once("prompts/get", params)
        if answers is not None and answer.get("resultType") == "input_required":
            return answer
        # Checked by hand, not parsed into models: the messages go to the Agent as the server wrote them.
        messages = answer.get("messages")
        if not isinstance(messages, list) or not all(isinstance(each, dict) for each in cast("list[Any]", messages)):
            raise MCPError(code=types.INTERNAL_ERROR, message="its answer to prompts/get holds no messages")
        return answer

    async def read(self, uri: str) -> list[ResourceContents]:
        """The contents of a resource, as MCP writes them.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        answer = await self._ask_once("resources/read", {"uri": uri})
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
        completion = (await self._ask_once("completion/complete", params)).get("completion")
        found = cast("dict[str, Any]", completion) if isinstance(completion, dict) else {}
        values = found.get("values")
        if not isinstance(values, list) or not all(isinstance(value, str) for value in cast("list[Any]", values)):
            raise MCPError(code=types.INTERNAL_ERROR, message="its answer to completion/complete holds no values")
        return cast("Completion", found)

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

    async def _all(self, method: str, key: str, shape: TypeAdapter[Any], what: str, seconds: float) -> WrittenList:
        """The well-formed items of the pages that arrive in time, of at most `MAX_LISTED` items."""
        found: list[dict[str, Any]] = []
        problems = Problems(what)
        try:
            async with asyncio.timeout(seconds), contextlib.aclosing(self._pages(method, key)) as pages:
                async for page in pages:
                    for data in page:
                        if len(found) + len(problems) == MAX_LISTED:
                            problems.add(f"it lists more than {MAX_LISTED} {what}s; the others are left out")
                            return WrittenList(found, problems.notes)
                        if _read(shape, data, problems) is not None:
                            found.append(data)
        except TimeoutError:
            if not found:
                raise TimeoutError(f"it did not answer {method} within {seconds:g} s") from None
            # A server may have thousands of small pages, or pages without end. An error would hide those that arrived.
            problems.add(
                f"its list of {what}s took more than {seconds:g} s; those after the first {len(found)} are left out"
            )
            return WrittenList(found, problems.notes, is_whole=False)
        return WrittenList(found, problems.notes)

    async def _pages(self, method: str, key: str, seconds: float | None = None) -> AsyncGenerator[list[Any]]:
        """The pages of a list; each may take `seconds`."""
        cursors: set[str] = set()
        params: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            # The time limit ends before the `yield`: a cancel scope that is open there would belong to the caller's
            # code.
            with anyio.fail_after(seconds):
                page = await self._ask(method, params)
            yield _listed(page, method, key)
            cursor = page.get("nextCursor")
            # A server that repeats a cursor would send its pages for ever.
            if not isinstance(cursor, str) or not cursor or cursor in cursors:
                return
            cursors.add(cursor)
            params = {"cursor": cursor}

    # -------------------------------------------------------------------------------- questions and tasks during a call

    async def _call(self, params: dict[str, Any], on_progress: OnProgress, asker: Asker | None) -> dict[str, Any]:
        rounds: Rounds | None = None
        while True:
            try:
                # A copy: it is stamped, and may be sent again.
                raw = await self._ask("tools/call", dict(params), on_progress, owner=asker)
                _check_levels("tools/call", raw)
                if raw.get("resultType", "complete") == "complete":
                    return raw
                rounds = rounds or self._rounds(on_progress, asker)
                return await rounds.finish(params, raw)
            except MCPError as error:
                if error.code != types.URL_ELICITATION_REQUIRED:
                    raise
                rounds = rounds or self._rounds(on_progress, asker)
                await rounds.visit(error)

    def _rounds(self, on_progress: OnProgress, asker: Asker | None) -> Rounds:
        async def consult(questions: Questions) -> Answers:
            assert asker is not None
            return await self._while_connected(asker, questions)

        def request(method: str, params: dict[str, Any], on_progress: OnProgress | None) -> Any:
            return self._ask_once(method, params, on_progress)

        return Rounds(request, self._ask_in_vain, on_progress, asker, consult)

    async def _while_connected(self, asker: Asker, questions: Questions) -> Answers:
        """Ask a person while no request waits for the server, and nothing else would notice that it is gone."""
        asking = asyncio.ensure_future(asker.ask(questions))
        ending = asyncio.ensure_future(self._conversation.wait_ended())
        try:
            await asyncio.wait((asking, ending), return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                # None after a question that expired: nobody waits for the call, and its further questions are declined.
                return asking.result() or declined(questions)
            raise MCPError(code=types.CONNECTION_CLOSED, message=CLOSED)
        finally:
            asking.cancel()
            ending.cancel()

    def _on_log(self, params: Mapping[str, Any], origin: types.RequestId | None) -> None:
        """A log message: the caller of the tool gets it, if the server writes it during a call."""
        # Servers before 2026-07-28 may ignore the level that they were asked for, or send messages unasked.
        level, name = params.get("level"), params.get("logger")
        if self._kept_level is None or level not in LEVELS or LEVELS.index(level) < LEVELS.index(self._kept_level):
            return
        if (caller := self._elicitation.caller(origin)) is not None:
            caller.log(level, params.get("data"), name if isinstance(name, str) else None)

    async def _on_elicitation(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """A question during a call, as servers before 2026-07-28 send it."""
        try:
            question = read_question(params.model_dump(by_alias=True, mode="json", exclude_none=True))
        except Rejected as rejection:
            question = rejection
        return await self._elicitation.answer(context.request_id, question)

    async def _on_request(
        self, dctx: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        try:
            return await super()._on_request(dctx, method, params)
        except ValidationError:
            # The library rejects a malformed question itself. It counts, too: a server must not send them without end.
            if method == ELICITATION and dctx.request_id is not None:
                await self._elicitation.answer(dctx.request_id, Rejected("asks a malformed question"))
            raise

    async def dispatch_input_request(
        self, ctx: ClientRequestContext, request: types.InputRequest
    ) -> types.InputResponse | types.ErrorData:
        """Answer a request of a server before 2026-07-28. Sampling and roots do not exist in this client."""
        if not isinstance(request, types.ElicitRequest):
            return types.ErrorData(code=types.METHOD_NOT_FOUND, message=f"{request.method} is not offered")
        return await super().dispatch_input_request(ctx, request)

    def _build_capabilities(self, version: str) -> types.ClientCapabilities:
        capabilities = super()._build_capabilities(version)
        # Only where tasks are an extension. 2025-11-25 has tasks of another kind, which a client has to ask for.
        if version in MODERN_PROTOCOL_VERSIONS:
            capabilities.extensions = {**(capabilities.extensions or {}), TASKS: {}}
        return capabilities

    # -------------------------------------------------------------------------------------------------------- internals

    # Not `async`, which would be another coroutine in the stack of every call.
    def _ask(
        self,
        method: str,
        params: dict[str, Any],
        on_progress: OnProgress | None = None,
        *,
        owner: object = None,
    ) -> Awaitable[dict[str, Any]]:
        if self._level_to_name is not None:
            params = _with_meta(params, types.LOG_LEVEL_META_KEY, self._level_to_name)
        # Not in other requests: a task that starts during a call inherits the trace, and may outlive the call.
        if method in _OF_A_CALL and (traceparent := traceparent_of_call()) is not None:
            params = _with_meta(params, TRACEPARENT, traceparent)
        data: dict[str, Any] = {"method": method, "params": params}
        options: CallOptions = {}
        # In 2026-07-28 every request carries the version and the capabilities of the client, and over HTTP also headers
        # with the method and the name of the tool. Earlier versions agree on the capabilities once, in the handshake.
        self._stamp(data, options)
        if method in _OF_A_TASK:
            _name_task(params, options)
        return self._conversation.ask(method, data["params"], options, on_progress, owner)

    async def _ask_once(
        self,
        method: str,
        params: dict[str, Any],
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Ask for an answer that is passed on as a whole, unlike a list."""
        answer = await self._ask(method, params, on_progress)
        _check_levels(method, answer)
        return answer

    def _ask_in_vain(self, method: str, params: dict[str, Any]) -> None:
        data: dict[str, Any] = {"method": method, "params": params}
        options: CallOptions = {}
        self._stamp(data, options)
        if method in _OF_A_TASK:
            _name_task(params, options)
        self._conversation.ask_in_vain(method, data["params"], options)


def _check_levels(method: str, answer: dict[str, Any]) -> None:
    if is_too_deep(answer):
        problem = f"the MCP server's answer to {method} is nested more than {MAX_LEVELS} levels deep"
        raise MCPError(code=types.INTERNAL_ERROR, message=problem)


def _with_meta(params: dict[str, Any], key: str, value: str) -> dict[str, Any]:
    """The params of a request with a value in their `_meta`."""
    meta: dict[str, Any] = params.get("_meta") or {}
    return {**params, "_meta": {**meta, key: value}}


class _NoList(MCPError):
    """An answer that holds no list."""

    def __init__(self, message: str) -> None:
        super().__init__(code=types.INTERNAL_ERROR, message=message)


def _listed(page: dict[str, Any], method: str, key: str) -> list[Any]:
    listed = page.get(key)
    if not isinstance(listed, list):
        raise _NoList(f"its answer to {method} holds no list of {key}")
    return cast("list[Any]", listed)


def _read(shape: TypeAdapter[T], data: Any, problems: Problems) -> T | None:
    """An item of a list. A bad item costs only itself: its problem is shown in the status of the server, where its
    author looks."""
    if (reason := flaw(data)) is not None:
        problems.leave_out(data, reason)
        return None
    try:
        return shape.validate_python(data, by_name=False)
    except ValidationError as error:
        problems.leave_out(data, f"it is not well formed ({_places(error)})")
        return None


def _take_tool(data: Any, tools: dict[str, types.Tool], problems: Problems) -> None:
    tool = _read(_tools, data, problems)
    if tool is None:
        return
    if tool.input_schema.get("type") != "object":
        problems.leave_out(data, "its input schema is no object schema")
    elif not tool.name or len(tool.name) > MAX_NAME or not tool.name.isprintable():
        problems.leave_out(data, "nobody could call it by this name")
    elif tool.name in tools:
        problems.add(f"tool {tool.name} is listed twice")
    else:
        tools[tool.name] = tool.as_written(data)


def _name_task(params: dict[str, Any], options: CallOptions) -> None:
    """Add the header with the id of the task, which the extension requires over HTTP and the library does not know."""
    options.setdefault("headers", {})[MCP_NAME_HEADER] = encode_header_value(params["taskId"])


def _is_content(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    content = cast("dict[str, Any]", part)
    return isinstance(content.get("uri"), str) and (
        isinstance(content.get("text"), str) or isinstance(content.get("blob"), str)
    )


def _places(error: ValidationError) -> str:
    return ", ".join(".".join(map(str, mistake["loc"])) for mistake in error.errors()[:3])
