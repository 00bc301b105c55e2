"""An office as an MCP server for the hosts of one profile: the handlers of its requests, and its notifications.

Everything that a host gets is made from what the shared Agent knows, or asked from a Computer at that moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from a2c_smcp import __version__
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.types import Change
from a2c_smcp.errors import MalformedRequestError, SMCPError
from a2c_smcp.gateway import builtin, calls
from a2c_smcp.gateway.addresses import Address
from a2c_smcp.gateway.catalogue import Catalogue, OfferedTool
from a2c_smcp.gateway.failures import as_mcp_error, as_result, failed
from a2c_smcp.gateway.hosts import MAX_WATCHES, HostSessions
from a2c_smcp.gateway.office import Office
from a2c_smcp.gateway.own_tools import OwnTools
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.prompts import OfferedPrompt, PromptList, list_prompts
from a2c_smcp.gateway.resources import Resources

Context = ServerRequestContext[Any, Any]
Handler: TypeAlias = Callable[[Context, Any], Awaitable[Any]]

_LIFETIMES = {
    "tools/list": 60.0,
    "prompts/list": 60.0,
    "resources/list": 60.0,
    "resources/templates/list": 60.0,
    "resources/read": 0.0,
}
"""Seconds that a host of 2026-07-28 may use an answer without asking again. It is notified of changes of a list before;
a resource may change at any moment."""
_EVERYTHING = frozenset(("enter", "leave", "rejoined", "config"))
"""Changes after which anything may be different."""
_INSTRUCTIONS = (
    "The tools, windows and documents of the computers in an office. Computers come and go, and what they offer "
    "changes: list again after a notification."
)


def _in_era(handler: Handler) -> Handler:
    """A handler whose plain answers get what 2026-07-28 requires of every result, and whose errors are those of MCP."""

    async def answer(ctx: Context, params: Any) -> Any:
        try:
            result: Any = await handler(ctx, params)
        except SMCPError as error:
            # The failure of a tool is a result, which the model reads.
            if ctx.method != "tools/call":
                raise as_mcp_error(error, ctx.protocol_version) from None
            result = as_result(error)
        if not isinstance(result, dict) or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return cast("Any", result)
        seconds = _LIFETIMES.get(ctx.method)
        lasting = {} if seconds is None else {"ttlMs": round(seconds * 1000), "cacheScope": "private"}
        return {"resultType": "complete", **lasting, **cast("dict[str, Any]", result)}

    return answer


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

    def __init__(self, office: Office, profile: Profile) -> None:
        self.office = office
        self.profile = profile
        self._own = OwnTools(profile)
        self._resources = Resources(profile, keeps_addresses=profile.mode == "direct")
        self._catalogue: tuple[int, Catalogue] | None = None
        self._prompts: tuple[int, PromptList] | None = None
        self._shown = ""
        """The digest of the list of tools that hosts know."""
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus)
        self._sessions = HostSessions(office.unwatch)
        self.server = self._make_server()
        office.hear(self)

    def _make_server(self) -> OfficeServer:
        server = OfficeServer(
            "a2c-office",
            version=__version__,
            title=f"Office {self.office.id}",
            instructions=_INSTRUCTIONS,
            on_list_tools=_in_era(self._list_tools),
            on_call_tool=_in_era(self._call_tool),
            on_list_resources=_in_era(self._list_resources),
            on_list_resource_templates=_in_era(self._list_templates),
            on_read_resource=_in_era(self._read_resource),
            on_subscribe_resource=_in_era(self._subscribe),
            on_unsubscribe_resource=_in_era(self._unsubscribe),
            on_subscriptions_listen=_in_era(self._listen),
            on_list_prompts=_in_era(self._list_prompts),
            on_get_prompt=_in_era(self._get_prompt),
            on_completion=_in_era(self._complete),
            get_tool_input_schema=lambda _: None,  # the MCP server that has the tool checks its arguments
        )
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        return server

    async def _agent(self) -> AsyncSMCPAgentClient:
        return await self.office.seat.agent()

    def close(self) -> None:
        """End the streams of hosts that listen: the gateway stops."""
        self._listening.close()

    # ------------------------------------------------------------------------------------------------------------ tools

    def catalogue(self, agent: AsyncSMCPAgentClient) -> Catalogue:
        """The tools at this moment."""
        version = self.office.version
        if self._catalogue is None or self._catalogue[0] != version:
            catalogue = Catalogue(self.profile, agent.tools, self.office.names)
            self._catalogue = version, catalogue
        return self._catalogue[1]

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        catalogue = self.catalogue(await self._agent())
        self._shown = catalogue.digest
        return {"tools": catalogue.listed}

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        agent = await self._agent()
        catalogue = self.catalogue(agent)
        name, arguments = params.name, dict(params.arguments or {})
        if catalogue.form != "direct" and name in builtin.NAMES:
            if name not in (builtin.CALL, builtin.READ):
                return await self._own.call(agent, catalogue, name, arguments)
            return await self._call_found(ctx, agent, catalogue, params, arguments, must_read=name == builtin.READ)
        tool = catalogue.find(name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"there is no tool {name}")
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
            return failed("arguments: an object is expected")
        if must_read and not tool.is_read_only:
            return failed(f"{name} is not read-only: call it with {builtin.CALL}")
        inner = dict(cast("dict[str, Any]", arguments))
        # A model may put the computer where the schema of the tool has it, or where this tool has it.
        chosen = given.get("computer") or (inner.get(tool.choice) if tool.choice is not None else None)
        if tool.choice is not None:
            inner.pop(tool.choice, None)
        return await self._call(ctx, agent, tool, chosen, inner, params)

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
            return failed(f"choose a computer for {tool.name}: {', '.join(tool.computers)}")
        names_server = self.profile.mode != "direct"
        return await calls.call(ctx, agent, computer, tool.tool, arguments, params, names_server=names_server)

    # -------------------------------------------------------------------------------------------------------- resources

    async def _list_resources(self, ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        return await self._resources.list(await self._agent(), params.cursor if params is not None else None)

    async def _list_templates(self, ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        return await self._resources.templates(await self._agent(), params.cursor if params is not None else None)

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        return await self._resources.read(await self._agent(), params.uri)

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        host = self._sessions.of(ctx.session)
        if params.uri not in host.watched:
            self._sessions.check_room(ctx.session)
            address = await self._resources.find(await self._agent(), params.uri)
            await self.office.watch(address)
            host.watched[params.uri] = address
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        address = self._sessions.of(ctx.session).watched.pop(params.uri, None)
        if address is not None:
            await self.office.unwatch([address])
        return types.EmptyResult()

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """A stream of notifications, for a host of 2026-07-28."""
        agent = await self._agent()
        wanted = dict.fromkeys(params.notifications.resource_subscriptions or ())
        if len(wanted) > MAX_WATCHES:
            raise MalformedRequestError(f"at most {MAX_WATCHES} resources can be watched")
        watched: list[Address] = []
        try:
            for uri in wanted:
                address = await self._resources.find(agent, uri)
                await self.office.watch(address)
                watched.append(address)
            return await self._listening(ctx, params)
        finally:
            await self.office.unwatch(watched)

    # ---------------------------------------------------------------------------------------------------------- prompts

    async def prompts(self, agent: AsyncSMCPAgentClient) -> PromptList:
        """The prompts at this moment."""
        version = self.office.version
        if self._prompts is None or self._prompts[0] != version:
            self._prompts = version, await list_prompts(agent, self.profile, self.office.prompt_names)
        return self._prompts[1]

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        return {"prompts": (await self.prompts(await self._agent())).listed}

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        agent = await self._agent()
        prompt = await self._prompt(agent, params.name)
        answer = await agent.prompt(prompt.computer, prompt.name, params.arguments, mcp_server=prompt.server)
        return {key: value for key, value in answer.items() if key != "req_id"}

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
            address = Address(prompt.computer, prompt.server or "", "")
            written: dict[str, Any] = {"type": "ref/prompt", "name": prompt.name}
        else:
            address = await self._resources.find(agent, ref.uri)
            written = {"type": "ref/resource", "uri": address.uri}
        context = params.context.arguments if params.context is not None else None
        argument = {"name": params.argument.name, "value": params.argument.value}
        return await self._resources.complete(agent, written, address, argument, context)

    # ---------------------------------------------------------------------------------------------------------- changes

    async def _initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        self._sessions.of(ctx.session)  # from now on it is notified

    async def on_changes(self, changes: list[Change]) -> None:
        """Tell the hosts what changed in the office."""
        kinds = {change.kind for change in changes}
        agent = self.office.seat.current
        is_anything = bool(kinds & _EVERYTHING)
        if agent is not None and (is_anything or "tools" in kinds) and self.catalogue(agent).digest != self._shown:
            self._shown = self.catalogue(agent).digest
            await self._bus.publish(ToolsListChanged())
            await self._sessions.tell(ServerSession.send_tool_list_changed)
        if is_anything or kinds & {"desktop", "finder", "resources"}:
            await self._bus.publish(ResourcesListChanged())
            await self._sessions.tell(ServerSession.send_resource_list_changed)
        if is_anything or "prompts" in kinds:
            await self._bus.publish(PromptsListChanged())
            await self._sessions.tell(ServerSession.send_prompt_list_changed)
        for change in changes:
            if change.kind == "resource" and change.computer is not None:
                await self._tell_updated(change.computer, cast("Mapping[str, Any]", change.data))

    async def _tell_updated(self, computer: str, notice: Mapping[str, Any]) -> None:
        uri, server = str(notice.get("uri", "")), notice.get("mcp_server")
        # Hosts that listen may have used either form of the address.
        for form in (uri, str(Address(computer, str(server or ""), uri))):
            await self._bus.publish(ResourceUpdated(uri=form))
        await self._sessions.tell_updated(computer, uri, server)
