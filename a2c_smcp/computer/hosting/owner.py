"""The owner of one MCP server: a task that connects, notices the end of a connection, and connects again.

A connection consists of task groups and cancel scopes of anyio, which must be closed by the task that opened them, and
in reverse order. So everything that opens or closes a connection happens in the owner task, and other tasks only ask
it: `stop` sets an event, and a tool call borrows the session. Whether a server is restarted is decided in `restarts`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeAlias

import anyio
import mcp_types as types
from mcp.client.subscriptions import ServerEvent, ToolsListChanged

from a2c_smcp.computer.config.model import BaseServerConfig
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.hosting.connected import AudienceT, ConnectedServer, ServerGone, SessionEnded
from a2c_smcp.computer.hosting.restarts import Restarts
from a2c_smcp.computer.hosting.status import ServerState, ServerStatus
from a2c_smcp.computer.hosting.tool_list import ToolList
from a2c_smcp.computer.hosting.watching import ResourceWatch
from a2c_smcp.computer.mcp.client import MCPClient
from a2c_smcp.computer.mcp.conversation import OnProgress
from a2c_smcp.computer.mcp.failures import MAX_WORDS, CannotStart, ConnectionFailed, LoginNeeded, explain
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.oauth.access import Access, OpenUrl
from a2c_smcp.computer.mcp.oauth.demand import Demand
from a2c_smcp.computer.mcp.oauth.logins import Logins
from a2c_smcp.computer.mcp.processes import Children
from a2c_smcp.computer.mcp.questions import Asker
from a2c_smcp.errors import LoginNeededError, LoginRefusedError
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.system.terminals import quote

logger = logging.getLogger(__name__)

FINISH_SECONDS = 1.0
"""For a server that has ended a session to answer the requests in it."""

Resolve: TypeAlias = Callable[[BaseServerConfig], Awaitable[dict[str, Any]]]
"""Fills the placeholders in a server's parameters."""


@dataclass(frozen=True)
class Ending:
    """How one connection to a server ended."""

    reason: str
    pause: float | None = None
    """Seconds until the server is restarted; None if it is not."""
    demand: Demand | None = None
    """The login that it waits for before it is started again."""


class Owner(Generic[AudienceT]):
    """A configured MCP server. `on_change` is called with every change of its state or its tools."""

    def __init__(
        self,
        config: BaseServerConfig,
        client: type[MCPClient],
        *,
        resolve: Resolve,
        redact: Redact,
        on_change: Callable[[Owner[AudienceT]], None],
        children: Children,
        policy: Policy,
        show: Callable[[ResourceWatch], AudienceT],
        logins: Logins,
    ) -> None:
        self.config = config
        self.name = config.name
        self._resolve = resolve
        self._redact = redact
        self._on_change = on_change
        self._policy = policy
        self._show = show
        self._client = client(
            config.name,
            children=children,
            redact=redact,
            on_event=self._on_event,
            policy=policy,
            logins=logins,
            log_level=config.kept_level,
        )
        self._login_command = logins.command
        self._access: Access | None = None
        self._reported: Demand | None = None
        self._tools = ToolList(config, policy, redact, lambda: self._on_change(self))
        self._connected: ConnectedServer[AudienceT] | None = None
        self._task: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._stop = asyncio.Event()
        self._stop_reason: str | None = None
        # Set with the first outcome of a start, ready or not. Restarts happen in the background: booting waits for each
        # server once, not until a broken one has used up its restarts.
        self._settled = asyncio.Event()
        self._changed = asyncio.Event()
        """Set with the next change of the state, and then replaced."""
        self._state = ServerState.DISABLED if config.disabled else ServerState.STOPPED
        self._since = datetime.now(UTC)
        self._reason: str | None = None
        self._restarts = 0
        self._renews_session = False
        """Whether the server is connected to again only because it wants a new session."""

    # ----------------------------------------------------------------------------------------------------------- asking

    @property
    def connected(self) -> ConnectedServer[AudienceT] | None:
        """The connection, while the server is ready."""
        return self._connected

    @property
    def state(self) -> ServerState:
        """The state of the server."""
        return self._state

    @property
    def is_coming(self) -> bool:
        """Whether the server, which is not ready, may be soon."""
        # One that waits for a restart does not count: it may fail again, and a call would wait in vain. A server that
        # wants a new session works.
        is_renewing = self._state is ServerState.RESTARTING and self._renews_session
        return self._state is ServerState.STARTING or is_renewing

    @property
    def obstacle(self) -> str | None:
        """Why its tools cannot be called now, in words that follow its name."""
        if self._connected is not None:
            return None if self._tools.is_read else "cannot list its tools"
        return f"is {self._state}" + (f": it {self._reason}" if self._reason else "")

    @property
    def demand(self) -> Demand | None:
        """The login that the server waits for."""
        is_waiting = self._state is ServerState.WAITING_FOR_LOGIN
        return self._access.demand if is_waiting and self._access is not None else None

    @property
    def has_login(self) -> bool:
        """Whether there is a login at the server."""
        return self._access is not None and self._access.has_login

    @property
    def tools(self) -> tuple[types.Tool, ...]:
        """The tools of the server while it is ready, else none."""
        return self._tools.tools if self._connected is not None else ()

    @property
    def known(self) -> frozenset[str]:
        """The names of the tools that it last listed; before its first list, of those that are configured."""
        return self._tools.known

    @property
    def has_listed_tools(self) -> bool:
        """Whether the newest connection listed the tools."""
        return self._tools.is_read

    def configure(self, config: BaseServerConfig) -> None:
        """Take another configuration that needs no restart."""
        self.config = config
        self._client.log.level = config.kept_level
        if self._connected is not None:
            self._connected.set_log_level(config.kept_level)

    def inherit(self, other: Owner[AudienceT]) -> None:
        """Take over the known tools of the owner that this one replaces."""
        # A union: the new configuration may name further tools.
        self._tools.known |= other.known

    def status(self) -> ServerStatus:
        """The state of the server, as far as its owner knows it."""
        session = self._connected.session if self._connected is not None else None
        prompts = self._connected.prompts.notes if self._connected is not None else ()
        info = session.server_info if session is not None else None
        # Many servers log to standard error. The lines are shown only where they may explain a failure.
        failing = self._state in (ServerState.FAILED, ServerState.RESTARTING)
        return ServerStatus(
            name=self.name,
            type=str(getattr(self.config, "type", "")),
            state=self._state,
            since=self._since,
            reason=self._reason,
            restarts=self._restarts,
            tools=len(self.tools),
            server_info=f"{info.name} {info.version}".strip() if info is not None else None,
            protocol_version=session.protocol_version if session is not None else None,
            pid=self._client.pid,
            stderr=tuple(self._client.stderr) if failing else (),
            log=self._client.log.messages,
            notes=(*self._tools.notes, *prompts, *self._login_notes()),
        )

    @property
    def error_output(self) -> tuple[str, ...]:
        """The last lines of its standard error, without secrets."""
        return tuple(self._client.stderr)

    def _login_notes(self) -> tuple[str, ...]:
        """What the owner of a server that is ready should know about its login."""
        demand = self._access.demand if self._connected is not None and self._access is not None else None
        return (f"it {self._asking(demand)}",) if demand is not None else ()

    def _asking(self, demand: Demand) -> str:
        return f"{self._redact(demand.reason)}; log in with: {self._login_command} {quote(self.name)}"

    async def call_tool(
        self,
        tool: str,
        arguments: dict[str, Any],
        label: str,
        on_progress: OnProgress | None = None,
        asker: Asker | None = None,
    ) -> CallToolResult:
        """Call a tool. If this is cancelled, the call on the server is cancelled too.

        Raises:
            ServerGone: the server is not ready, or ended during the call.
            LoginNeededError, LoginRefusedError: the call needs a login, or another one.
            ToolFailedError: the server rejected the call, or answered something that is no result; its words are kept.
        """
        connected, restarts = self._connected, self._restarts
        if connected is None and self._renews_session:
            connected = await self._next_connection(None, restarts)
        if connected is None:
            raise ServerGone(f"MCP server {self.name} {self.obstacle}")
        try:
            try:
                return await connected.call_tool(tool, arguments, label, on_progress, asker)
            except SessionEnded:
                # A server that was restarted, or that got the login of another client, wants a new session. The call
                # has not begun, so it can go there.
                connected = await self._next_connection(connected, restarts + 1)
                return await connected.call_tool(tool, arguments, label, on_progress, asker)
        except (LoginNeededError, LoginRefusedError):
            self._report_demand()
            raise

    async def _next_connection(
        self, last: ConnectedServer[AudienceT] | None, restarts: int
    ) -> ConnectedServer[AudienceT]:
        """The connection after `last`, which is there after so many restarts.

        Raises:
            ServerGone: it needs more, because an attempt to connect failed, or the server is stopped.
        """
        while self._connected is None or self._connected is last:
            is_coming = self._state in (ServerState.READY, ServerState.RESTARTING) and self._restarts <= restarts
            if not is_coming:
                raise ServerGone(f"MCP server {self.name} {self.obstacle}")
            await self._changed.wait()
        return self._connected

    def _report_demand(self) -> None:
        """Tell the owner once what a call lacks. A server that rejects all requests waits, and reports that itself."""
        demand = self._access.demand if self._access is not None else None
        if demand is not None and demand.challenge.status == 403 and demand != self._reported:
            self._reported = demand
            logger.warning("MCP server %s %s", self.name, self._asking(demand))

    # ----------------------------------------------------------------------------------------------- logging in and out

    async def log_in(self, open_url: OpenUrl, patience: float) -> None:
        """Log in to the server, and wait until it has connected with the new login, or failed.

        Raises:
            LoginRefusedError: the login failed, or the server has none.
        """
        await (await self._find_access()).log_in(open_url, patience)
        if self._state in (ServerState.WAITING_FOR_LOGIN, ServerState.STARTING):
            if self._state is ServerState.WAITING_FOR_LOGIN:
                self._settled.clear()
            await self._settled.wait()
        elif self._state in (ServerState.FAILED, ServerState.RESTARTING):
            await self.stop()  # a restart may be half a minute away
            self.start()
            await self.wait_settled()
        self._on_change(self)  # a server that is ready may have had a note about its login

    async def log_out(self) -> bool:
        """Forget the login, and connect again without it; whether there was one.

        Raises:
            LoginRefusedError: the login cannot be removed, or the server has none.
        """
        was_there = await (await self._find_access()).log_out()
        if was_there and self._connected is not None:
            await self.stop("was stopped: its login was removed")
            self.start()
            await self.wait_settled()
        return was_there

    async def _find_access(self) -> Access:
        try:
            access = self._access or self._client.access(await self._resolve(self.config))
        except CannotStart as error:
            raise LoginRefusedError(f"MCP server {self.name}: {self._redact(str(error), MAX_WORDS)}") from None
        if access is None:
            raise LoginRefusedError(
                f"MCP server {self.name} has no login: it is started on this machine, or its headers have a key"
            )
        self._access = access
        return access

    # ----------------------------------------------------------------------------------------------- starting, stopping

    def start(self) -> None:
        """Start the owner task; nothing if it runs already or the server is disabled."""
        if self.config.disabled or (self._task is not None and not self._task.done()):
            return
        self._stop.clear()
        self._settled.clear()
        self._become(ServerState.STARTING)
        self._task = asyncio.create_task(self._own(), name=f"mcp-server {self.name}")

    async def wait_settled(self) -> None:
        """Wait until the first attempt to start has succeeded or failed."""
        if self._task is not None:
            await self._settled.wait()

    async def stop(self, reason: str | None = None) -> None:
        """Stop the server and everything it started; running calls end with an error."""
        task = self._task
        if task is None:
            return
        self._stop_reason = reason
        self._stop.set()
        # A ready server is asked to end, and gets time to close its connection in good order. One that is still
        # connecting, or waits for its restart, has nothing to close: it is cancelled at once.
        if self._connected is None and self._scope is not None:
            self._become(ServerState.STOPPING, reason)
            self._scope.cancel()
        # `wait`, not `await task`: the caller may be cancelled while the server stops, and must not cancel the owner
        # task from outside. Its own scope does that in the right order, and a stdio server is shielded until it is
        # gone.
        _, late = await asyncio.wait((task,), timeout=self._policy.stop_timeout)
        if late and self._scope is not None:
            self._scope.cancel()
        await asyncio.wait((task,))
        self._task = None
        self._become(ServerState.STOPPED, reason)

    # ------------------------------------------------------------------------------------------------- the owner's life

    async def _own(self) -> None:
        """Connect, and connect again, until the server is stopped or is not restarted any more."""
        restarts, is_first = Restarts(self._policy), True
        try:
            with anyio.CancelScope() as self._scope:
                while not self._stop.is_set():
                    ending = await self._live(restarts, is_first=is_first)
                    is_first = False
                    if self._stop.is_set():
                        break
                    if ending.demand is not None and self._access is not None:
                        await self._await_login(self._access, ending)
                        continue
                    if ending.pause is None:
                        self._become(ServerState.FAILED, ending.reason)
                        logger.error("MCP server %s failed: %s", self.name, ending.reason)
                        break
                    await anyio.sleep(ending.pause)
        except Exception as error:  # a fault of ours: it must cost this one server only
            logger.exception("the owner of MCP server %s broke", self.name)
            self._become(ServerState.FAILED, f"internal fault: {type(error).__name__}")
        finally:
            self._scope = None
            if self._access is not None:
                await self._access.aclose()
            # The event loop cancels all tasks when a program ends without `shutdown`.
            if not self._stop.is_set() and self._state is not ServerState.FAILED:
                self._become(ServerState.FAILED, "was interrupted")
            self._settled.set()

    async def _await_login(self, access: Access, ending: Ending) -> None:
        """Wait for a login, from this process or another. Only the person who logs in can end this."""
        self._become(ServerState.WAITING_FOR_LOGIN, ending.reason)
        logger.warning("MCP server %s %s", self.name, ending.reason)
        await access.wait_changed()
        outcome = "has a new login" if access.has_login else "has no login any more"
        logger.info("MCP server %s %s; connecting", self.name, outcome)
        self._settled.clear()
        self._become(ServerState.STARTING)

    async def _live(self, restarts: Restarts, *, is_first: bool) -> Ending:
        """One connection, from opening it to its end."""
        started = time.monotonic()
        ending: Ending | None = None
        try:
            parameters = await self._resolve(self.config)
            self._access = self._client.access(parameters)
            async with (
                self._client.connect(parameters, self._tools.read) as connection,
                anyio.create_task_group() as helpers,
            ):
                connected = self._connected = ConnectedServer(
                    self.name,
                    connection,
                    self._tools,
                    show=self._show,
                    policy=self._policy,
                    redact=self._redact,
                    log_level=self.config.kept_level,
                )
                self._renews_session = False
                helpers.start_soon(connected.run)
                self._become(ServerState.READY)
                if not is_first:  # the log has why it was not
                    logger.info("MCP server %s is ready", self.name)
                reason = await self._until_the_end(connection.link)
                # From here on the server counts as gone: running calls get this reason, and the state changes before
                # the connection is closed, because closing may take seconds with a server that does not react.
                connection.link.lose(reason)
                ending = self._lost(connection.link, reason, restarts, time.monotonic() - started)
                if ending.demand is not None and not self._stop.is_set():
                    self._become(ServerState.WAITING_FOR_LOGIN, ending.reason)
                elif self._stop.is_set() or ending.pause is None:
                    self._become(ServerState.STOPPING, ending.reason)
                elif self._renews_session:
                    # The server rejects the calls that it has not begun, and they can be made again. It would not be
                    # known which ones these are if the connection were closed first.
                    await connected.finish_calls(FINISH_SECONDS)
                helpers.cancel_scope.cancel()
        except CannotStart as error:
            return Ending(self._redact(str(error), MAX_WORDS))
        except LoginNeeded as error:
            return Ending(self._asking(error.demand), demand=error.demand)
        except Exception as error:  # of the server or its transport: it ends this connection
            # Closing a connection may fail, too, when its server is gone. The reason is known by then, and an error of
            # the closing would only hide it.
            if ending is None:
                self._renews_session = False
                reason = str(error) if isinstance(error, ConnectionFailed) else explain(error)
                ending = self._end(reason, restarts.next(lasted=time.monotonic() - started))
        finally:
            self._forget()
        assert ending is not None
        return ending

    def _lost(self, link: Link, reason: str, restarts: Restarts, lasted: float) -> Ending:
        """How a connection ended that was open."""
        if link.demand is not None and link.demand.challenge.status == 401:
            self._forget()
            return Ending(self._asking(link.demand), demand=link.demand)
        self._renews_session = link.needs_session
        return self._end(reason, restarts.next(lasted))

    def _end(self, reason: str, pause: float | None) -> Ending:
        """The connection has ended: report it before it is closed."""
        # Forget first: `_become` makes the Computer write its list of tools again, and an Agent that reads the list
        # must not find tools that cannot be called.
        self._forget()
        ending = Ending(self._redact(reason, MAX_WORDS), pause)
        if pause is not None and not self._stop.is_set():
            self._restarts += 1
            self._become(ServerState.RESTARTING, ending.reason)
            logger.warning("MCP server %s %s; starting it again in %.1f s", self.name, ending.reason, pause)
        return ending

    async def _until_the_end(self, link: Link) -> str:
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((stop, link.lost), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        return link.lost.result() if link.lost.done() else self._stop_reason or "was stopped"

    def _forget(self) -> None:
        """Stop offering the tools and resources of a connection that has ended."""
        connected, self._connected = self._connected, None
        if connected is not None:
            connected.close()

    def _on_event(self, event: ServerEvent) -> None:
        """Pass on a change that the server announces."""
        # Before the server is ready, only its list of tools may have been read. Resources are listed afterwards, so a
        # change of them cannot be missed.
        if self._connected is not None:
            self._connected.on_event(event)
        elif isinstance(event, ToolsListChanged):
            self._tools.outdate()

    def _become(self, state: ServerState, reason: str | None = None) -> None:
        # Every state but `starting` is an outcome, also for callers that wait for a server that is being stopped.
        if state is not ServerState.STARTING:
            self._settled.set()
        if state is not self._state:
            self._since = datetime.now(UTC)
        # Also for the same state with another reason: a server that restarts again and again shows why each time.
        self._state, self._reason = state, reason
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        self._on_change(self)
