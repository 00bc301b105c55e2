"""All MCP servers of a Computer: started side by side, kept apart, changed while they run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import Tool

from a2c_smcp.computer.config.input_sources import InputMissing
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import BaseServerConfig, MCPServerConfig
from a2c_smcp.computer.config.secrets import replace_secrets
from a2c_smcp.computer.hosting.owner import CannotStart, MCPClient
from a2c_smcp.computer.hosting.policy import Policy
from a2c_smcp.computer.hosting.watching import ResourceView
from a2c_smcp.computer.mcp.processes import Children
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.mcp.transports.sse import SseClient
from a2c_smcp.computer.mcp.transports.stdio import StdioClient
from a2c_smcp.computer.mcp.transports.streamable_http import HttpClient
from a2c_smcp.computer.offer.budget import ByteBudget
from a2c_smcp.computer.offer.desktop.organize import Window
from a2c_smcp.computer.offer.finder.documents import INDEX_BYTES, Room
from a2c_smcp.computer.offer.tools import DescribedTools, ServerTools, ToolBook, describe_tools, write_book
from a2c_smcp.computer.types import ServerState, ServerStatus
from a2c_smcp.errors import NotFoundError, ToolTimedOutError
from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

CACHE_BYTES = 64_000_000
"""What the windows of a Computer may take in memory while nobody looks at them."""
LISTING = 5.0
"""Seconds that somebody who wants to see all windows and documents waits for servers that have just become ready."""

_CLIENTS: dict[str, type[MCPClient]] = {"stdio": StdioClient, "sse": SseClient, "streamable": HttpClient}
_RUNNING_FIELDS = ("type", "server_parameters", "disabled")
"""What a running server must be restarted for; anything else changes only how its tools are seen."""


class MCPServerManager:
    """The servers, in configuration order, and the one list of their tools.

    `on_tools_changed` is called when that list changes, `on_config_changed` when the servers are configured otherwise,
    `on_status_changed` when a server changes its state, or what it lists: once for each change.
    """

    def __init__(
        self,
        *,
        auto_connect: bool = True,
        auto_reconnect: bool = True,
        resolver: InputResolver | None = None,
        policy: Policy | None = None,
        on_tools_changed: Callable[[], None] | None = None,
        on_config_changed: Callable[[], None] | None = None,
        on_status_changed: Callable[[str], None] | None = None,
        on_resources_changed: Callable[[str, bool], None] | None = None,
        require_subscribe: bool = True,
        cache_bytes: int = CACHE_BYTES,
        index_bytes: int = INDEX_BYTES,
    ) -> None:
        self.policy = replace(policy or Policy(), **({} if auto_reconnect else {"restart": False}))
        self.auto_connect = auto_connect
        self._resolver = resolver or InputResolver()
        self._on_tools_changed = on_tools_changed
        self._on_config_changed = on_config_changed
        self._on_status_changed = on_status_changed
        self._on_resources_changed = on_resources_changed
        self._change = asyncio.Event()
        self._require_subscribe = require_subscribe
        self._budget = ByteBudget(cache_bytes)
        self._room = Room(index_bytes)
        self._clients: dict[str, MCPClient] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._children = Children()
        self._book = ToolBook()
        self._described: dict[str, tuple[tuple[BaseServerConfig, tuple[Tool, ...]], DescribedTools]] = {}
        self._is_closed = False

    # ---------------------------------------------------------------------------------------------------------- reading

    @property
    def configs(self) -> tuple[MCPServerConfig, ...]:
        """What is configured now, in order."""
        return tuple(client.config for client in self._clients.values())  # type: ignore[misc]

    @property
    def book(self) -> ToolBook:
        """The tools of all servers."""
        return self._book

    @property
    def views(self) -> list[ResourceView]:
        """The windows and documents of the servers that are ready, in configuration order."""
        return [client.view for client in self._clients.values() if client.view is not None]

    @property
    def sessions(self) -> dict[str, Session]:
        """The connections to the servers that are ready, in configuration order."""
        return {name: client.session for name, client in self._clients.items() if client.session is not None}

    def session(self, name: str) -> Session | None:
        """The connection to a server, if it is ready."""
        client = self._clients.get(name)
        return client.session if client is not None else None

    async def list_windows(self, window_uri: str | None = None) -> list[tuple[str, str]]:
        """Server and URI of every window, in listing order; or of one window."""
        return [(view.server, uri) for view in self.views for uri in view.windows.items if window_uri in (None, uri)]

    async def get_windows_details(self, window_uri: str | None = None) -> list[Window]:
        """Every window with its contents, read now, in listing order; or one window. One that cannot be read is left
        out: `organize_desktop` takes what this gives."""

        async def read(server: str, uri: str) -> Window | None:
            try:
                session = self.session(server)
                async with asyncio.timeout(LISTING):
                    return Window(server, uri, await session.read(uri)) if session is not None else None
            except (MCPError, TimeoutError) as error:
                words = self._resolver.secrets.redact(str(error)) or "no answer in time"
                logger.warning("the window %s of %s cannot be read: %s", uri, server, words)
                return None

        found = await asyncio.gather(*(read(*each) for each in await self.list_windows(window_uri)))
        return [window for window in found if window is not None]

    async def be_listed(self, patience: float = LISTING) -> None:
        """Wait until the servers that are ready have said which windows and documents they have; not for ever."""
        with anyio.move_on_after(patience):
            await asyncio.gather(*(view.wait_listed() for view in self.views))

    async def available_tools(self) -> AsyncGenerator[Tool]:
        """The tools that may be called now, as MCP describes them, under the names that an Agent sees."""
        for name, entry in dict(self._book.entries).items():
            tools = self._clients[entry.server].tools if entry.server in self._clients else ()
            for tool in tools:
                if tool.name == entry.original_name:
                    yield tool if tool.name == name else tool.model_copy(update={"name": name})

    async def avalidate_tool_call(self, tool_name: str, parameters: Mapping[str, Any]) -> tuple[str, str]:
        """The server that a tool's name or alias leads to, and the tool's name there.

        Raises:
            ToolNotFoundError, ToolDisabledError, ToolFailedError: it cannot be called now.
        """
        entry = self._book.find(tool_name)
        return entry.server, entry.original_name

    def script(self, name: str) -> str | None:
        """The VRL script for a server's results, if it has one."""
        client = self._clients.get(name)
        return client.config.vrl if client is not None else None

    def get_server_status(self) -> list[ServerStatus]:
        """Every server's state, with what its owner should know."""
        statuses = [client.status() for client in self._clients.values()]
        return [replace(status, notes=status.notes + self._book.notes.get(status.name, ())) for status in statuses]

    # ------------------------------------------------------------------------------------------------- starting, ending

    async def ainitialize(self, servers: Iterable[MCPServerConfig]) -> None:
        """Take these servers instead of any others; what runs is stopped."""
        await self.astop_all()
        self._is_closed = False
        self._clients = {config.name: self._client(config) for config in servers}
        self._turns = {}
        self._rewrite()

    async def astart_all(self, patience: float | None = None) -> None:
        """Start all servers side by side; return when each has started or failed, or after `patience` seconds."""
        clients = list(self._clients.values())
        for client in clients:
            client.start()
        waits = [asyncio.ensure_future(client.wait_settled()) for client in clients]
        if waits:
            _, late = await asyncio.wait(waits, timeout=patience)
            for wait in late:
                wait.cancel()

    async def astart_client(self, name: str) -> None:
        """Start a server that is stopped or failed, and wait for the outcome.

        Raises:
            NotFoundError: there is no such server.
        """
        async with self._turn(name):
            client = self._find(name)
            if not self._is_closed:
                client.start()
        await client.wait_settled()

    async def astop_client(self, name: str) -> None:
        """Stop a server; running calls on it end with an error.

        Raises:
            NotFoundError: there is no such server.
        """
        async with self._turn(name):
            await self._find(name).stop("was stopped by its owner")

    async def astop_all(self) -> None:
        """Stop all servers, side by side."""
        await asyncio.gather(*(client.stop("was stopped") for client in self._clients.values()))

    async def aclose(self) -> None:
        """Stop all servers and let go of everything."""
        self._is_closed = True  # a change that is under way starts nothing any more
        await self.astop_all()
        await self._children.aclose()

    # --------------------------------------------------------------------------------------------------------- changing

    async def aadd_or_aupdate_server(self, config: MCPServerConfig) -> None:
        """Add a server, or change one. Only that server restarts, and only if it must."""
        async with self._turn(config.name):
            old = self._clients.get(config.name)
            if old is not None and old.config == config:
                old.config = config  # the same, perhaps read from its file again
                return
            if old is not None and _runs_the_same(old.config, config):
                old.config = config
                self._configured()
                return
            if old is not None:
                await old.stop("was stopped: its configuration changed")
            client = self._clients[config.name] = self._client(config)
            if old is not None:
                client.known |= old.known
            self._configured()
            if self.auto_connect and not self._is_closed:
                client.start()
        await client.wait_settled()  # not in its turn: who wants to stop or remove it need not wait

    async def aremove_server(self, name: str) -> None:
        """Stop a server and forget it.

        Raises:
            NotFoundError: there is no such server.
        """
        async with self._turn(name):
            client = self._find(name)
            await client.stop("was removed")
            del self._clients[name]
            self._described.pop(name, None)
            self._configured()

    # ---------------------------------------------------------------------------------------------------------- calling

    async def acall_tool(
        self, server: str, tool: str, params: dict[str, Any], timeout: float | None = None, label: str = "call"
    ) -> CallToolResult:
        """Call a tool of a server by its own name. On time-out, and when this is cancelled, the server is told.

        Raises:
            NotFoundError: there is no such server.
            ToolTimedOutError: it did not finish in time.
            ToolFailedError: it failed, or its server is not there.
        """
        client = self._find(server)
        try:
            async with asyncio.timeout(timeout):
                return await client.call_tool(tool, params, label)
        except TimeoutError:
            raise ToolTimedOutError("the tool did not finish in time") from None

    # -------------------------------------------------------------------------------------------------------- internals

    def _client(self, config: BaseServerConfig) -> MCPClient:
        return _CLIENTS[getattr(config, "type", "")](
            config,
            resolve=self._resolve,
            redact=self._resolver.secrets.redact,
            on_change=self._changed,
            children=self._children,
            policy=self.policy,
            show=self._show,
        )

    def _show(self, server: str, session: Session) -> ResourceView:
        """A view of a server that has just become ready."""

        def on_change(kind: str, set_changed: bool) -> None:
            if self._on_resources_changed is not None:
                self._on_resources_changed(kind, set_changed)

        return ResourceView(
            server,
            session,
            require_subscribe=self._require_subscribe,
            budget=self._budget,
            room=self._room,
            on_change=on_change,
            on_list=lambda: self._tell_status(server),
            redact=self._resolver.secrets.redact,
        )

    async def _resolve(self, config: BaseServerConfig) -> dict[str, Any]:
        secrets = self._resolver.secrets
        for value in config.secret_values:
            secrets.add(value)

        def remember(_: str, value: str) -> str:
            secrets.add(value)
            return value

        replace_secrets(config.parameters(), remember)  # those that stand there in clear
        try:
            return await self._resolver.render(config.parameters(), config.name)
        except InputMissing as error:
            raise CannotStart(str(error)) from None

    def _find(self, name: str) -> MCPClient:
        client = self._clients.get(name)
        if client is None:
            raise NotFoundError(f"there is no MCP server {name}")
        return client

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncGenerator[None]:
        """One change of a server at a time."""
        async with self._turns.setdefault(name, asyncio.Lock()):
            yield

    def _changed(self, client: MCPClient) -> None:
        if self._clients.get(client.name) is client:
            self._rewrite()
            self._tell_status(client.name)

    def next_change(self) -> asyncio.Event:
        """Set when a server changes its state, or its tools, the next time."""
        return self._change

    def is_coming(self, tool: str) -> bool:
        """Whether a tool that cannot be called now may be soon: its server is starting, or one whose tools are not
        known yet. One that failed and is tried again may never come."""
        owner = self._clients.get(self.book.owners.get(tool, ""))
        candidates = self._clients.values() if owner is None else (owner,)
        return any(client.state is ServerState.STARTING for client in candidates)

    def _tell_status(self, server: str) -> None:
        change, self._change = self._change, asyncio.Event()
        change.set()
        if self._on_status_changed is not None:
            try:
                self._on_status_changed(server)
            except Exception:  # of the host program: it must not stop a server's owner
                logger.exception("on_status_changed failed")

    def _configured(self) -> None:
        self._rewrite()
        if self._on_config_changed is not None:
            self._on_config_changed()

    def _describe(self, client: MCPClient) -> DescribedTools:
        """A server's tools, described once for each list it gives."""
        made_from = client.config, client.tools
        described = self._described.get(client.name)
        if described is None or described[0][0] is not client.config or described[0][1] is not client.tools:
            described = self._described[client.name] = made_from, describe_tools(*made_from)
        return described[1]

    def _rewrite(self) -> None:
        """Write the book anew; tell whether an Agent would see a difference."""
        before = self._book
        self._book = write_book(
            ServerTools(client.config, self._describe(client), client.known, client.obstacle)
            for client in self._clients.values()
        )
        for name, notes in self._book.notes.items():
            for note in notes:
                if note not in before.notes.get(name, ()):
                    logger.warning("MCP server %s: %s", name, note)
        if self._on_tools_changed is not None and self._book.tools != before.tools:
            self._on_tools_changed()


def _runs_the_same(old: BaseServerConfig, new: BaseServerConfig) -> bool:
    return old.parameters() == new.parameters() and all(
        getattr(old, field) == getattr(new, field) for field in _RUNNING_FIELDS
    )
