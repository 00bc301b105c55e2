"""What all MCP servers of a Computer offer together: one list of tools, their windows and documents, their status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Set
from dataclasses import replace
from functools import partial
from typing import Any, cast

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import Tool

from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import BaseServerConfig, MCPServerConfig
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.hosting.host import Host
from a2c_smcp.computer.hosting.kept_list import KeptList
from a2c_smcp.computer.hosting.owner import Owner
from a2c_smcp.computer.hosting.status import ServerState, ServerStatus
from a2c_smcp.computer.hosting.watching import ResourceWatch
from a2c_smcp.computer.mcp.conversation import OnProgress
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.oauth.access import LOGIN_SECONDS, OpenUrl
from a2c_smcp.computer.mcp.oauth.logins import LOGIN_COMMAND
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.mcp.questions import Asker
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.offer.announcer import Change
from a2c_smcp.computer.offer.budget import ByteBudget
from a2c_smcp.computer.offer.desktop.aggregator import DesktopAggregator
from a2c_smcp.computer.offer.desktop.organize import Window
from a2c_smcp.computer.offer.desktop.windows import WindowItem
from a2c_smcp.computer.offer.finder.aggregator import FinderAggregator
from a2c_smcp.computer.offer.finder.documents import INDEX_BYTES, Room
from a2c_smcp.computer.offer.metadata import theirs
from a2c_smcp.computer.offer.tools import DescribedTools, ServerTools, ToolBook, describe_tools, write_book
from a2c_smcp.computer.offer.view import ResourceView
from a2c_smcp.computer.offer.watches import Watches
from a2c_smcp.errors import ToolTimedOutError
from a2c_smcp.utils import result_meta
from a2c_smcp.utils.listeners import Listeners
from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

CACHE_BYTES = 64_000_000
"""Memory for the contents of windows between two requests."""
LISTING = 5.0
"""Seconds that a request for all windows and documents waits for servers that have just become ready."""


async def _announce_nothing(uri: str, mcp_server: str) -> bool:
    return False


class MCPServerManager:
    """The servers, in configuration order, and the one list of their tools.

    `announce` is called with every change that an office should hear of, `announce_resource` with the address and the
    server of a resource that an Agent watches, `on_status_changed` with the name of a server that changed its state, or
    what it lists: once for each change.
    """

    def __init__(
        self,
        *,
        auto_connect: bool = True,
        auto_reconnect: bool = True,
        resolver: InputResolver | None = None,
        policy: Policy | None = None,
        announce: Callable[[Change], None] = lambda change: None,
        announce_resource: Callable[[str, str], Awaitable[bool]] = _announce_nothing,
        on_status_changed: Callable[[str], None] | None = None,
        require_subscribe: bool = True,
        cache_bytes: int = CACHE_BYTES,
        index_bytes: int = INDEX_BYTES,
        login_store: LoginStore | None = None,
        login_command: str = LOGIN_COMMAND,
    ) -> None:
        self.auto_connect = auto_connect
        resolver = resolver or InputResolver()
        self._redact = resolver.secrets.redact
        self.changed: Listeners[str] = Listeners()
        """Hears of each change of a server, by its name: its state, its tools, or what else it lists; and, without a
        name, of each change of the configuration."""
        self._announce = announce
        self._on_status_changed = on_status_changed
        self._require_subscribe = require_subscribe
        self._budget = ByteBudget(cache_bytes)
        self._room = Room(index_bytes)
        self.watches = Watches(announce_resource)
        self._host = Host[ResourceView](
            resolver=resolver,
            policy=replace(policy or Policy(), **({} if auto_reconnect else {"restart": False})),
            show=self._show,
            on_change=self._changed,
            on_configured=self._configured,
            login_store=login_store,
            login_command=login_command,
        )
        self._change = asyncio.Event()
        self._book = ToolBook()
        self._described: dict[str, tuple[BaseServerConfig, tuple[Tool, ...], DescribedTools]] = {}
        self.desktop = DesktopAggregator(lambda: self.views)
        self.finder = FinderAggregator(lambda: self.views)

    # ---------------------------------------------------------------------------------------------------------- servers

    @property
    def configs(self) -> tuple[MCPServerConfig, ...]:
        """What is configured now, in order."""
        return self._host.configs

    @property
    def sessions(self) -> dict[str, Session]:
        """The connections to the servers that are ready, in configuration order."""
        return self._host.sessions

    def session(self, name: str) -> Session | None:
        """The connection to a server, if it is ready."""
        return self._host.session(name)

    @property
    def prompts(self) -> dict[str, KeptList]:
        """The prompts of the servers that are ready and have any, in configuration order."""
        return self._host.prompts

    def config(self, name: str) -> MCPServerConfig | None:
        """The configuration of a server."""
        owner = self._host.owners.get(name)
        return cast("MCPServerConfig", owner.config) if owner is not None else None

    def described(self) -> list[tuple[MCPServerConfig, DescribedTools]]:
        """Each server with the tools that it offers now, by their own names, also those that its owner forbids."""
        owners = self._host.owners.values()
        return [(cast("MCPServerConfig", owner.config), self._describe(owner)) for owner in owners]

    def may_return(self, name: str) -> bool:
        """Whether a server is ready, or may soon be."""
        owner = self._host.owners.get(name)
        return owner is not None and owner.state in (ServerState.READY, ServerState.STARTING, ServerState.RESTARTING)

    def error_output(self, name: str) -> tuple[str, ...]:
        """The last lines of a server's standard error, whatever its state.

        Raises:
            NotFoundError: there is no such server.
        """
        return self._host.find(name).error_output

    def script(self, name: str) -> str | None:
        """The VRL script for a server's results, if it has one."""
        owner = self._host.owners.get(name)
        return owner.config.vrl if owner is not None else None

    def get_server_status(self) -> list[ServerStatus]:
        """The state of every server, with notes for its owner."""
        return [self._status(owner) for owner in self._host.owners.values()]

    async def ainitialize(self, servers: Iterable[MCPServerConfig]) -> None:
        """Replace all servers by these; running servers are stopped."""
        await self._host.replace_all(servers)
        self._rewrite()

    async def astart_all(self, patience: float | None = None) -> None:
        """Start all servers side by side; return when each has started or failed, or after `patience` seconds."""
        await self._host.start_all(patience)

    async def astart_client(self, name: str) -> None:
        """Start a server that is stopped or failed, and wait for the outcome.

        Raises:
            NotFoundError: there is no such server.
        """
        await self._host.start(name)

    async def astop_client(self, name: str) -> None:
        """Stop a server; running calls on it end with an error.

        Raises:
            NotFoundError: there is no such server.
        """
        await self._host.stop(name)

    def has_login(self, name: str) -> bool:
        """Whether a server is used with a login.

        Raises:
            NotFoundError: there is no such server.
        """
        return self._host.find(name).has_login

    async def alogin(self, name: str, open_url: OpenUrl, patience: float = LOGIN_SECONDS) -> None:
        """Log in to a server, and wait until it has connected, or failed to.

        Raises:
            NotFoundError: there is no such server.
            LoginRefusedError: the login failed.
        """
        await self._host.log_in(name, open_url, patience)

    async def alogout(self, name: str) -> bool:
        """Forget the login at a server, and connect again without it. Returns whether there was one.

        Raises:
            NotFoundError: there is no such server.
            LoginRefusedError: the login cannot be removed.
        """
        return await self._host.log_out(name)

    async def arestart_client(self, name: str) -> None:
        """Stop a server, start it again, and wait for the outcome.

        Raises:
            NotFoundError: there is no such server.
        """
        await self._host.stop(name)
        await self._host.start(name)

    async def astop_all(self) -> None:
        """Stop all servers, side by side."""
        await self._host.stop_all()

    async def aclose(self) -> None:
        """Stop all servers and release everything."""
        await self._host.aclose()
        await self.watches.aclose()

    async def aadd_or_aupdate_server(self, config: MCPServerConfig) -> None:
        """Add a server, or change one. Only that server restarts, and only if it must."""
        await self._host.put(config, start=self.auto_connect)

    async def aremove_server(self, name: str) -> None:
        """Stop a server and forget it.

        Raises:
            NotFoundError: there is no such server.
        """
        await self._host.remove(name)
        self._described.pop(name, None)

    # ------------------------------------------------------------------------------------------------------------ tools

    @property
    def book(self) -> ToolBook:
        """The tools of all servers."""
        return self._book

    async def available_tools(self) -> AsyncGenerator[Tool]:
        """The tools that may be called now, as MCP describes them, under the names that an Agent sees."""
        for name, entry in dict(self._book.entries).items():
            owner = self._host.owners.get(entry.server)
            for tool in owner.tools if owner is not None else ():
                if tool.name == entry.original_name:
                    yield tool if tool.name == name else tool.model_copy(update={"name": name})

    async def avalidate_tool_call(self, tool_name: str, parameters: Mapping[str, Any]) -> tuple[str, str]:
        """The server that a tool's name or alias leads to, and the tool's name there.

        Raises:
            ToolNotFoundError, ToolDisabledError, ToolFailedError, LoginNeededError, LoginRefusedError: it cannot be
                called now.
        """
        entry = self._book.find(tool_name)
        return entry.server, entry.original_name

    async def acall_tool(
        self,
        server: str,
        tool: str,
        params: dict[str, Any],
        timeout: float | None = None,
        label: str = "call",
        on_progress: OnProgress | None = None,
        asker: Asker | None = None,
    ) -> CallToolResult:
        """Call a tool of a server by its own name. On timeout or cancellation, the server cancels it, too.

        Questions of the server go to `asker`; without one, they are declined.

        Raises:
            NotFoundError: there is no such server.
            ToolTimedOutError: it did not finish in time.
            LoginNeededError, LoginRefusedError: its server needs a login, or another one.
            ToolFailedError: it failed, or its server is not ready.
        """
        calling = self._host.find(server).call_tool(tool, params, label, on_progress, asker)
        if timeout is None:  # the usual case, without the cost of a timeout: `ToolCalls` has its own
            result = await calling
        else:
            try:
                async with asyncio.timeout(timeout):
                    result = await calling
            except TimeoutError:
                raise ToolTimedOutError("the tool did not finish in time") from None
        if result.meta is not None:
            result.meta = theirs(result.meta, result_meta.OURS)
        return result

    def next_change(self) -> asyncio.Event:
        """An event that is set at the next change of a server's state or tools.

        Take it before looking at the state: then a change between the look and the wait is not missed.
        """
        return self._change

    def is_coming(self, tool: str) -> bool:
        """Whether a tool that cannot be called now may be available soon."""
        # An unknown tool may belong to any server.
        owner = self._host.owners.get(self.book.owners.get(tool, ""))
        candidates = self._host.owners.values() if owner is None else (owner,)
        return any(candidate.is_coming for candidate in candidates)

    # ----------------------------------------------------------------------------------------------- windows, documents

    @property
    def views(self) -> list[ResourceView]:
        """The windows and documents of the servers that are ready, in configuration order."""
        return self._host.views

    def view(self, name: str) -> ResourceView | None:
        """The windows and documents of a server, if it is ready."""
        return self._host.view(name)

    def end_watches(self, places: Iterable[tuple[str, str]]) -> None:
        """Nobody watches these resources any more."""
        for server, uri in places:
            if (view := self.view(server)) is not None:
                view.unwant(uri)

    def servers_mentioning(self, uri: str) -> list[str]:
        """The servers whose tools name an address in their metadata, as they do for `ui://` resources."""
        return [
            owner.name for owner in self._host.owners.values() if any(_mentions(tool.meta, uri) for tool in owner.tools)
        ]

    async def be_listed(self, patience: float = LISTING) -> None:
        """Wait until the servers that are ready have listed their windows and documents, for at most `patience` s."""
        with anyio.move_on_after(patience):
            await asyncio.gather(*(view.wait_listed() for view in self.views))

    async def list_windows(self, window_uri: str | None = None) -> list[tuple[str, str]]:
        """Server and URI of every window, in listing order; or of one window."""
        return [(view.server, uri) for view in self.views for uri in view.windows.items if window_uri in (None, uri)]

    async def get_windows_details(self, window_uri: str | None = None) -> list[Window]:
        """Every window with its contents, read now, in listing order; or one window. Unreadable windows are left out.
        The result is an argument for `organize_desktop`."""

        async def read(view: ResourceView, item: WindowItem) -> Window | None:
            server, uri = view.server, item.uri
            try:
                session = self.session(server)
                async with asyncio.timeout(LISTING):
                    contents = await session.read(uri) if session is not None else None
                return Window(server, uri, contents, *item.placement) if contents is not None else None
            except (MCPError, TimeoutError) as error:
                words = in_words(error, self._redact)
                logger.warning("the window %s of %s cannot be read: %s", uri, server, words)
                return None

        wanted = [(view, item) for view in self.views for item in view.windows.items.values()]
        found = await asyncio.gather(*(read(*each) for each in wanted if window_uri in (None, each[1].uri)))
        return [window for window in found if window is not None]

    # ----------------------------------------------------------------------------------------------------- what changes

    def _show(self, watch: ResourceWatch) -> ResourceView:
        """A view of a server that has just become ready."""
        return ResourceView(
            watch,
            require_subscribe=self._require_subscribe,
            budget=self._budget,
            room=self._room,
            announce=self._announce,
            on_list=partial(self._listed_others, watch.server),
            watches=self.watches,
            redact=self._redact,
        )

    def _changed(self, server: str) -> None:
        """A server changed its state or its tools."""
        self._rewrite()
        self._tell_status(server)

    def _configured(self) -> None:
        """The configuration of the servers changed."""
        self._rewrite()
        self._announce(Change.CONFIG)
        self.changed("")

    def _listed_others(self, server: str, changed: Set[Change]) -> None:
        """A server lists other windows or documents than before."""
        # Announced only if all servers together list others: a resource that two servers list is still there when one
        # of them stops.
        for change in changed:
            if change is Change.WINDOWS:
                is_new = self.desktop.update_uri_cache(uri for view in self.views for uri in view.windows.items)
            else:
                is_new = self.finder.update_uri_cache(uri for view in self.views for uri in view.documents.items)
            if is_new:
                self._announce(change)
            else:
                logger.debug("all MCP servers together list the same %s as before: no notification", change.name)
        if self.session(server) is not None:  # else the connection has just ended, and its owner reports that
            self._tell_status(server)

    def _tell_status(self, server: str) -> None:
        # Each event is set once. If one event were set and cleared again, a caller that looks at the state before the
        # change and waits after it would miss the change.
        change, self._change = self._change, asyncio.Event()
        change.set()
        self.changed(server)
        try:
            if self._on_status_changed is not None:
                self._on_status_changed(server)
        except Exception:  # an error of the host program must not stop the owner of a server
            logger.exception("on_status_changed failed")

    def _status(self, owner: Owner[ResourceView]) -> ServerStatus:
        status, notes = owner.status(), self._book.notes.get(owner.name, ())
        if owner.connected is None:
            return replace(status, notes=(*status.notes, *notes))
        view = owner.connected.view
        return replace(
            status,
            windows=len(view.windows.items),
            documents=len(view.documents.items),
            notes=(*status.notes, *view.problems(), *notes),
        )

    def _describe(self, owner: Owner[ResourceView]) -> DescribedTools:
        """The tools of a server, described once for each list and configuration."""
        # The book is written again for every change of any server. Describing hundreds of tools costs milliseconds, and
        # a comparison by identity is enough: each list and each configuration is a new object.
        config, tools = owner.config, owner.tools
        described = self._described.get(owner.name)
        if described is None or described[0] is not config or described[1] is not tools:
            described = self._described[owner.name] = config, tools, describe_tools(config, tools)
        return described[2]

    def _rewrite(self) -> None:
        """Combine the tools of all servers again; announce it if an Agent would see a difference."""
        # The book is replaced, never changed: a call that is under way compares its entry with the current one.
        before = self._book
        self._book = write_book(
            ServerTools(
                owner.config, self._describe(owner), owner.known, owner.obstacle, owner.demand, owner.has_listed_tools
            )
            for owner in self._host.owners.values()
        )
        for name, notes in self._book.notes.items():
            for note in notes:
                if note not in before.notes.get(name, ()):
                    logger.warning("MCP server %s: %s", name, note)
        if self._book.tools != before.tools:
            self._announce(Change.TOOLS)


def _mentions(value: Any, uri: str) -> bool:
    """Whether a text inside JSON data is this one. Without recursion: a server decides how deep its data is nested."""
    values = [value]
    while values:
        held = values.pop()
        if held == uri:
            return True
        if isinstance(held, dict):
            values += cast("dict[str, Any]", held).values()
        elif isinstance(held, list):
            values += cast("list[Any]", held)
    return False
