"""An office as an MCP server for the hosts of one profile: the handlers of its requests.

Everything that a host gets is made from what the shared Agent knows, or asked from a Computer at that moment. Results
reach hosts as MCP servers write them, with fields that MCP's library does not know.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias, cast

import mcp_types as types
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from a2c_smcp import __version__
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.types import Change
from a2c_smcp.errors import MalformedRequestError, SMCPError
from a2c_smcp.gateway import builtin, calls
from a2c_smcp.gateway.addresses import Address
from a2c_smcp.gateway.catalogue import Catalogue, OfferedTool
from a2c_smcp.gateway.failures import as_mcp_error, as_result, explain, failed
from a2c_smcp.gateway.hosts import ListName, check_room, connection_of
from a2c_smcp.gateway.naming import NameBook
from a2c_smcp.gateway.news import News
from a2c_smcp.gateway.observing import Observe, Observing
from a2c_smcp.gateway.office import Office
from a2c_smcp.gateway.own_tools import OwnTools
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.prompts import OfferedPrompt, PromptList, get_prompt, list_prompts
from a2c_smcp.gateway.request_scope import gone_of, note_opened, principal_of, ready
from a2c_smcp.gateway.resources import Resources

Context = ServerRequestContext[Any, Any]
Handler: TypeAlias = Callable[[Context, Any], Awaitable[Any]]

LIFETIME = 60.0
"""Seconds that a host of 2026-07-28 may use a list without asking again. It is notified of changes before, if it
listens."""
INCOMPLETE_SECONDS = 10.0
"""Seconds for which a list of prompts is kept if a Computer did not answer."""
THREAD_FROM = 200
"""Tools from which their list is made in a thread: of thousands, it takes a tenth of a second."""
_LISTED: dict[str, ListName] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resources",
}
_INSTRUCTIONS = (
    "The tools, windows and documents of the computers in an office. Computers come and go, and what they offer "
    "changes: list again after a notification."
)


class OfficeServer(Server[Any]):
    """MCP's server, which tells hosts that its lists change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """What a host before 2026-07-28 gets at its first request."""
        changed = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(changed, experimental_capabilities, extensions)


class View:
    """The MCP server of an office for one profile. It lives on one event loop."""

    def __init__(
        self, office: Office, profile: Profile, names: NameBook | None = None, observe: Observe | None = None
    ) -> None:
        self.office = office
        self.profile = profile
        self.names = new_names() if names is None else names
        self._resources = Resources(profile, keeps_addresses=profile.mode == "direct")
        self._own = OwnTools(profile, self._resources)
        self._catalogue: tuple[int, Catalogue] | None = None
        self._prompts: tuple[int, float, PromptList] | None = None
        """Of a version of the office, and until when."""
        self.news = News(office, self._digest)
        self.server = self._make_server(observe)
        office.hear(self)

    def _make_server(self, observe: Observe | None) -> OfficeServer:
        handlers: dict[str, tuple[type[Any], Handler]] = {
            "tools/list": (types.PaginatedRequestParams, self._list_tools),
            "tools/call": (types.CallToolRequestParams, self._call_tool),
            "resources/list": (types.PaginatedRequestParams, self._list_resources),
            "resources/templates/list": (types.PaginatedRequestParams, self._list_templates),
            "resources/read": (types.ReadResourceRequestParams, self._read_resource),
            "resources/subscribe": (types.SubscribeRequestParams, self._subscribe),
            "resources/unsubscribe": (types.UnsubscribeRequestParams, self._unsubscribe),
            "prompts/list": (types.PaginatedRequestParams, self._list_prompts),
            "prompts/get": (types.GetPromptRequestParams, self._get_prompt),
            "completion/complete": (types.CompleteRequestParams, self._complete),
            "logging/setLevel": (types.SetLevelRequestParams, self._set_level),
        }
        server = OfficeServer(
            "a2c-office",
            version=__version__,
            title=f"Office {self.office.id}",
            instructions=_INSTRUCTIONS,
            on_subscriptions_listen=self._listen,
            get_tool_input_schema=self._input_schema,
        )
        # The library announces what it has handlers for. They are called by `_answer`.
        for method, (params_type, handler) in handlers.items():
            server.add_request_handler(method, params_type, handler)
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        server.middleware.append(Observing(self.office.id, observe))
        server.middleware.append(partial(self._answer, server))
        return server

    async def _answer(self, server: OfficeServer, ctx: Context, call_next: CallNext) -> Any:
        """Answer a request without the library's validation of the result, which costs milliseconds for a long list,
        and drops every field that it does not know."""
        if ctx.method in ("initialize", "server/discover"):
            return await self._introduce(ctx, call_next)
        entry = server.get_request_handler(ctx.method)
        if entry is None or ctx.request_id is None or ctx.method in ("ping", "subscriptions/listen"):
            return await call_next(ctx)
        try:
            validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
        except KeyError:
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method) from None
        if not connection_of(ctx.session).initialize_accepted:
            raise MCPError(types.INVALID_REQUEST, "the session is not initialized: send initialize first")
        params = entry.params_type.model_validate(ctx.params or {}, by_name=False)
        try:
            result: Any = await entry.handler(ctx, params)
        except SMCPError as error:
            if ctx.method in _LISTED:
                self.news.missed(_LISTED[ctx.method])
            # The failure of a tool is a result, which the model reads.
            if ctx.method != "tools/call":
                raise as_mcp_error(error, ctx.method, ctx.protocol_version) from None
            result = as_result(error)
        return result if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS else _modern(server, ctx.method, result)

    async def _introduce(self, ctx: Context, call_next: CallNext) -> Any:
        """Answer the first request of a host. If the office cannot be used now, the answer says so: it is what people
        and models see first."""
        problem: str | None = None
        try:
            await self._agent()
        except SMCPError as error:
            problem = explain(error)
        result: Any = await call_next(ctx)
        if ctx.method == "initialize":
            self.news.sessions.open(ctx.session, principal_of(ctx) or "", ctx.params or {})
            note_opened(ctx)
        if problem is not None:
            return {**result, "instructions": f"This office cannot be used now: {problem}.\n\n{_INSTRUCTIONS}"}
        return result if ctx.method == "initialize" else {**result, **_cached(LIFETIME)}

    async def _agent(self) -> AsyncSMCPAgentClient:
        return await self.office.agent()

    def close(self) -> None:
        """End the streams of hosts that listen: the gateway stops."""
        self.news.close()

    # ------------------------------------------------------------------------------------------------------------ tools

    async def catalogue(self, agent: AsyncSMCPAgentClient) -> Catalogue:
        """The tools at this moment, or a later one."""
        # Not those of the latest version: where tools change all the time, a request would wait for ever.
        wanted, known = self.office.version, self._catalogue
        if known is None or known[0] < wanted:
            async with self.office.building:
                known = self._catalogue  # another request may have made it meanwhile
                if known is None or known[0] < wanted:
                    version, offered = self.office.version, agent.tools
                    make = partial(self._make_catalogue, offered)
                    is_long = sum(map(len, offered.values())) >= THREAD_FROM
                    known = self._catalogue = version, await asyncio.to_thread(make) if is_long else make()
        return known[1]

    def _make_catalogue(self, offered: Any) -> Catalogue:
        made = Catalogue(self.profile, self.office.describe(offered), self.names)
        if made.form == "search":
            _ = made.index  # made here, and not by the first search
        return made

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> Any:
        catalogue = await self.catalogue(await self._agent())
        self.news.knows("tools", catalogue.digest)
        pages = catalogue.pages if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else catalogue.old_pages
        number = _page_number(params.cursor, catalogue.digest, len(pages))
        result = {"tools": ready(ctx, pages[number].text, pages[number].tools)}
        is_last = number + 1 == len(pages)
        return result if is_last else {**result, "nextCursor": f"{number + 1}.{catalogue.digest[:16]}"}

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        agent = await self._agent()
        catalogue = await self.catalogue(agent)
        name, arguments = params.name, dict(params.arguments or {})
        if catalogue.form != "direct" and name in builtin.NAMES:
            if name not in (builtin.CALL, builtin.READ):
                async with calls.reports(ctx) as (on_progress, _):
                    return await self._own.call(agent, catalogue, name, arguments, on_progress)
            return await self._call_found(ctx, agent, catalogue, params, arguments, must_read=name == builtin.READ)
        tool = catalogue.find(name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"there is no tool {name}; list the tools again")
        chosen = arguments.pop(tool.choice, None) if tool.choice is not None else None
        return await self._call(ctx, agent, tool, chosen, arguments, params)

    async def _call_found(
        self,
        ctx: Context,
        agent: AsyncSMCPAgentClient,
        catalogue: Catalogue,
        params: types.CallToolRequestParams,
        given: dict[str, Any],
        *,
        must_read: bool,
    ) -> Any:
        """Call a tool that `find_tools` named."""
        name: Any = given.get("name")
        arguments: Any = given.get("arguments") or {}
        tool = catalogue.find(name) if isinstance(name, str) else None
        if tool is None:
            return failed(f"there is no tool {name}: find_tools finds tools and their names")
        if not isinstance(arguments, dict):
            return failed("arguments: must be an object")
        if must_read and not tool.is_read_only:
            return failed(f"{name} is not read-only: call it with {builtin.CALL}")
        inner = dict(cast("dict[str, Any]", arguments))
        # A model may put the computer where the schema of the tool has it, or where this tool has it.
        theirs = inner.pop(tool.choice, None) if tool.choice is not None else None
        return await self._call(ctx, agent, tool, given.get("computer") or theirs, inner, params)

    async def _call(
        self,
        ctx: Context,
        agent: AsyncSMCPAgentClient,
        tool: OfferedTool,
        computer: Any,
        arguments: dict[str, Any],
        params: types.CallToolRequestParams,
    ) -> Any:
        if computer is None and len(tool.computers) == 1:
            computer = tool.computers[0]
        if not isinstance(computer, str) or computer not in tool.computers:
            return failed(f"computer: must be one of {', '.join(tool.computers)} for {tool.name}")
        names_server = self.profile.mode != "direct"
        target = calls.Target(computer, tool.tool, arguments, principal_of(ctx), names_server, self._log_level(ctx))
        with gone_of(ctx).cancelling():
            return await calls.call(ctx, agent, target, params)
        raise MCPError(types.CONNECTION_CLOSED, "the host closed the connection of this call")  # for logs and metrics

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        """The schema of a tool, with which the library checks the headers of a call (2026-07-28); None if there is
        nothing to check."""
        tool = self._catalogue[1].find(name) if self._catalogue is not None else None
        return tool.listed["inputSchema"] if tool is not None and tool.names_headers else None

    # ----------------------------------------------------------------------------------------------------- log messages

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> Any:
        host = self.news.sessions.get(ctx.session)
        if host is not None:
            host.log_level = params.level
        return {}

    def _log_level(self, ctx: Context) -> types.LoggingLevel | None:
        """The lowest level of the messages that the host of a call gets; None for none."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # Of each request; the library has checked it.
            return cast("dict[str, Any]", ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        host = self.news.sessions.get(ctx.session)
        return host.log_level if host is not None else None

    # -------------------------------------------------------------------------------------------------------- resources

    async def _list_resources(self, ctx: Context, params: types.PaginatedRequestParams) -> Any:
        agent = await self._agent()
        await self.news.learn("resources")
        return await self._resources.list(agent, params.cursor)

    async def _list_templates(self, ctx: Context, params: types.PaginatedRequestParams) -> Any:
        agent = await self._agent()
        await self.news.learn("resources")
        return await self._resources.templates(agent, params.cursor)

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        return await self._resources.read(await self._agent(), params.uri)

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Any:
        host = self.news.sessions.get(ctx.session)
        if host is not None and params.uri not in host.watched:
            check_room(len(host.watched))
            address = await self._find(params.uri)
            host.watched[params.uri] = address  # first: the host may send the same request again meanwhile
            try:
                await self.office.watch(address)
            except BaseException:
                host.watched.pop(params.uri, None)
                raise
        return {}

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Any:
        host = self.news.sessions.get(ctx.session)
        address = host.watched.pop(params.uri, None) if host is not None else None
        if address is not None:
            await self.office.unwatch([address])
        return {}

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """A stream of notifications, for a host of 2026-07-28."""
        try:
            return await self.news.listen(ctx, params, self._find)
        except SMCPError as error:
            raise as_mcp_error(error, ctx.method, ctx.protocol_version) from None

    async def _find(self, uri: str) -> Address:
        return await self._resources.find(await self._agent(), uri)

    # ---------------------------------------------------------------------------------------------------------- prompts

    async def prompts(self, agent: AsyncSMCPAgentClient) -> PromptList:
        """The prompts at this moment."""
        version = self.office.version
        if self._prompts is None or self._prompts[0] != version or time.monotonic() >= self._prompts[1]:
            made = await list_prompts(agent, self.profile, self.names.prompts)
            # A Computer that did not answer may do so soon, and does not announce that.
            until = math.inf if made.is_complete else time.monotonic() + INCOMPLETE_SECONDS
            self._prompts = version, until, made
        return self._prompts[2]

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams) -> Any:
        prompts = await self.prompts(await self._agent())
        self.news.knows("prompts", prompts.digest)
        return {"prompts": prompts.listed}

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        agent = await self._agent()
        prompt = await self._prompt(agent, params.name)
        return await get_prompt(ctx, agent, prompt, params, names_server=self.profile.mode != "direct")

    async def _prompt(self, agent: AsyncSMCPAgentClient, name: str) -> OfferedPrompt:
        prompt = (await self.prompts(agent)).prompts.get(name)
        if prompt is None:
            raise MalformedRequestError(f"there is no prompt {name}")
        return prompt

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> Any:
        agent = await self._agent()
        ref = params.ref
        if isinstance(ref, types.PromptReference):
            prompt = await self._prompt(agent, ref.name)
            address = Address(prompt.computer, prompt.server, "")
            written: dict[str, Any] = {"type": "ref/prompt", "name": prompt.name}
        else:
            address = await self._resources.find(agent, ref.uri)
            written = {"type": "ref/resource", "uri": address.uri}
        context = params.context.arguments if params.context is not None else None
        argument = {"name": params.argument.name, "value": params.argument.value}
        return await self._resources.complete(agent, written, address, argument, context)

    # ---------------------------------------------------------------------------------------------------------- changes

    async def _initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        host = self.news.sessions.get(ctx.session)
        if host is not None:
            host.is_ready = True  # from now on it is notified

    def on_changes(self, changes: list[Change]) -> None:
        """Tell the hosts what changed in the office."""
        self.news.hear(changes)

    async def _digest(self, name: str, agent: AsyncSMCPAgentClient) -> str | None:
        """A hash of a list as it is now; None if it cannot be compared."""
        match name:
            case "tools":
                return (await self.catalogue(agent)).digest
            case "prompts":
                return (await self.prompts(agent)).digest
            case _:
                return await self._resources.digest(agent)


def new_names() -> NameBook:
    """The names of a view that nobody has used before."""
    return NameBook(frozenset(builtin.NAMES))


def _page_number(cursor: str | None, digest: str, pages: int) -> int:
    """The page that a cursor stands for.

    Raises:
        MalformedRequestError: the list has changed since, or there is no such cursor.
    """
    if cursor is None:
        return 0
    number, _, version = cursor.partition(".")
    if not (number.isascii() and number.isdigit() and len(number) < 9) or int(number) >= pages:
        raise MalformedRequestError("cursor: invalid; list again from the start")
    if version != digest[:16]:
        raise MalformedRequestError("cursor: the list has changed; list again from the start")
    return int(number)


def _modern(server: OfficeServer, method: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result with what 2026-07-28 requires of every one."""
    lasting: dict[str, Any] = {}
    if method in _LISTED:
        lasting = _cached(LIFETIME)
    elif method == "resources/read":
        lasting = _cached(0)  # a resource may change at any moment
    meta: dict[str, Any] = {SERVER_INFO_META_KEY: server.server_info_stamp, **(result.get("_meta") or {})}
    return {"resultType": "complete", **lasting, **result, "_meta": meta}


def _cached(seconds: float) -> dict[str, Any]:
    """How long a host may use a result. It is private: another user may see another part of the office."""
    return {"ttlMs": round(seconds * 1000), "cacheScope": "private"}
