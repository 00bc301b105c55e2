"""One MCP server and the task that owns it: connects, keeps its tools current, notices its end, connects again.

Everything that opens or closes a connection happens in the owner task; whoever calls a tool only borrows the session.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar, cast

import anyio
import mcp_types as types
from mcp.client.subscriptions import ResourcesListChanged, SubscriptionLost, ToolsListChanged, listen
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

import a2c_smcp
from a2c_smcp.computer.config.model import BaseServerConfig
from a2c_smcp.computer.hosting.policy import Policy, Restarts
from a2c_smcp.computer.hosting.watching import ResourceView
from a2c_smcp.computer.mcp.conversation import Conversation, is_closed
from a2c_smcp.computer.mcp.handshake import Handshake
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.processes import STDERR_LINES, Children
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.types import ServerState, ServerStatus
from a2c_smcp.errors import ToolFailedError
from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

PROGRESS_PAUSE = 1.0
"""Seconds between two lines about the progress of a call; the last one is always written."""
MAX_PROGRESS = 300
"""Characters of what a server says about it."""

Resolve: TypeAlias = Callable[[BaseServerConfig], Awaitable[dict[str, Any]]]
"""Fills the placeholders in a server's parameters."""

SHOWN_WIDTH = 500
"""Characters that are kept of a line that a server wrote."""
BUSY_GRACE = 1.0
"""Seconds after its last word within which a call must have begun to excuse a server's silence."""
RELIST_PAUSE = 0.1
"""Seconds between two readings of a tool list that keeps changing."""


class CannotStart(Exception):
    """The server cannot be started as configured: trying again will not help."""


ParametersT = TypeVar("ParametersT", bound=BaseModel)


def filled(model: type[ParametersT], parameters: dict[str, Any]) -> ParametersT:
    """Parameters whose placeholders have been filled in; a value from outside is text, whatever it stands for.

    Raises:
        CannotStart: a value is not what its field needs. Values are not in the message.
    """
    known = {key: value for key, value in parameters.items() if key in model.model_fields}
    if isinstance(args := known.get("args"), list):
        known["args"] = [str(arg) for arg in cast("list[Any]", args)]
    for field in ("env", "headers"):
        if isinstance(named := known.get(field), dict):
            known[field] = {name: str(value) for name, value in cast("dict[str, Any]", named).items()}
    try:
        return model.model_validate(known, strict=False)
    except ValidationError as error:
        fields = sorted({str(mistake["loc"][0]) for mistake in error.errors() if mistake["loc"]})
        raise CannotStart(f"its parameters do not fit: {', '.join(fields)}") from None


@dataclass(frozen=True)
class Ending:
    """How a life of a server ended."""

    reason: str
    pause: float | None
    """Seconds before the next; None if there is none."""


AGAIN = Ending("", 0)
"""Nothing is wrong with it: it is connected to again in another way."""


class ServerGone(ToolFailedError):
    """The MCP server ended, or is not there."""


class MCPClient(ABC):
    """A configured MCP server. `on_change` is told of every change of its state or its tools."""

    def __init__(
        self,
        config: BaseServerConfig,
        *,
        resolve: Resolve,
        redact: Callable[[str], str],
        on_change: Callable[[MCPClient], None],
        children: Children,
        policy: Policy,
        show: Callable[[str, Session], ResourceView],
    ) -> None:
        self.config = config
        self.name = config.name
        self._resolve = resolve
        self._redact = redact
        self._on_change = on_change
        self._children = children
        self._policy = policy
        self._show = show
        self._handshake = Handshake(config.name, policy.question_timeout)
        self._owner: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._stop = asyncio.Event()
        self._stop_reason: str | None = None
        self._settled = asyncio.Event()
        self._session: Session | None = None
        self._link: Link | None = None
        self._conversation: Conversation | None = None
        self._calls: dict[object, float] = {}
        self._stale = asyncio.Event()
        self._noisy = False
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._state = ServerState.DISABLED if config.disabled else ServerState.STOPPED
        self._since = datetime.now(UTC)
        self._reason: str | None = None
        self._restarts = 0
        self._notes: tuple[str, ...] = ()
        self.view: ResourceView | None = None
        """Its windows and documents, as long as it is ready."""
        self.tools: tuple[types.Tool, ...] = ()
        """What the server offers, as long as it is ready."""
        self.known: frozenset[str] = frozenset((*config.tool_meta, *config.forbidden_tools))
        """The names of what it offered when it was last ready; before that, of what is configured."""

    # ---------------------------------------------------------------------------------------------- what a manager does

    @property
    def session(self) -> Session | None:
        """The connection, as long as it is ready."""
        return self._session

    @property
    def state(self) -> ServerState:
        """Where it is in its life."""
        return self._state

    def start(self) -> None:
        """Start the owner; nothing if it runs already or the server is disabled."""
        if self.config.disabled or (self._owner is not None and not self._owner.done()):
            return
        self._stop.clear()
        self._settled.clear()
        self._become(ServerState.STARTING)
        self._owner = asyncio.create_task(self._own(), name=f"mcp-server {self.name}")

    async def wait_settled(self) -> None:
        """Wait until the first attempt to start has succeeded or failed."""
        if self._owner is not None:
            await self._settled.wait()

    async def stop(self, reason: str | None = None) -> None:
        """Stop it and everything it started; running calls end with an error."""
        owner = self._owner
        if owner is None:
            return
        self._stop_reason = reason
        self._stop.set()
        if self._session is None and self._scope is not None:
            self._become(ServerState.STOPPING, reason)
            self._scope.cancel()
        _, late = await asyncio.wait((owner,), timeout=self._policy.stop_timeout)
        if late and self._scope is not None:
            self._scope.cancel()
        await asyncio.wait((owner,))
        self._owner = None
        self._become(ServerState.STOPPED, reason)

    def status(self) -> ServerStatus:
        """What there is to know about it now."""
        session = self._session
        info = session.server_info if session is not None else None
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
            pid=self._link.pid if self._link is not None else None,
            stderr=tuple(self._stderr) if failing else (),
            windows=len(self.view.windows.items) if self.view is not None else 0,
            documents=len(self.view.documents.items) if self.view is not None else 0,
            notes=(*self._notes, *(self.view.problems() if self.view is not None else ())),
        )

    async def call_tool(self, tool: str, arguments: dict[str, Any], label: str) -> CallToolResult:
        """Call a tool. Cancelling this tells the server.

        Raises:
            ServerGone: the server is not ready, or ended during the call.
            ToolFailedError: it refused the call, or answered something that is no result; its own words are kept.
        """
        session, link = self._session, self._link
        if session is None or link is None:
            raise ServerGone(f"MCP server {self.name} {self.obstacle}")

        told_at = 0.0

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal told_at
            now = time.monotonic()
            if now - told_at < PROGRESS_PAUSE and progress != total:
                return
            told_at = now
            logger.info(
                "%s: progress %g%s%s",
                label,
                progress,
                f" of {total:g}" if total is not None else "",
                f": {one_line(self._redact(message), MAX_PROGRESS)}" if message else "",
            )

        call = object()
        self._calls[call] = time.monotonic()
        try:
            return await session.call(tool, arguments, on_progress)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:  # ours, or a code that the server has a use of its own for
                link.doubt()
                if is_closed(error) and (loss := await self._describe_loss(link)):
                    raise ServerGone(loss) from None
            raise ToolFailedError(self._redact(error.message), details={"mcp_code": error.code}) from None
        except ToolFailedError as error:
            raise ToolFailedError(self._redact(error.message)) from None
        finally:
            del self._calls[call]

    # ----------------------------------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _connect(self, parameters: dict[str, Any], link: Link) -> AbstractAsyncContextManager[Conversation]:
        """Open a connection. The transport reports its end, or a doubt, to `link`.

        Raises:
            CannotStart: trying again will not help.
        """

    def _on_stderr(self, line: str) -> None:
        line = self._redact(line)[:SHOWN_WIDTH]
        self._stderr.append(line)
        logger.debug("[%s] %s", self.name, line)

    def _on_noise(self, line: str) -> None:
        level = logging.DEBUG if self._noisy else logging.WARNING
        self._noisy = True
        shown = self._redact(line)[:SHOWN_WIDTH]
        logger.log(level, "[%s] writes to its standard output what is no MCP message: %s", self.name, shown)

    # ------------------------------------------------------------------------------------------------- the owner's life

    async def _own(self) -> None:
        """Connect, and connect again, until told to stop or until it is hopeless."""
        restarts = Restarts(self._policy)
        try:
            with anyio.CancelScope() as self._scope:
                while not self._stop.is_set():
                    ending = await self._live(restarts)
                    if self._stop.is_set():
                        break
                    if ending.pause is None:
                        self._become(ServerState.FAILED, ending.reason)
                        logger.error("MCP server %s failed: %s", self.name, ending.reason)
                        break
                    await anyio.sleep(ending.pause)
        except Exception as error:  # the last line of defence: whatever breaks here breaks one server
            logger.exception("the owner of MCP server %s broke", self.name)
            self._become(ServerState.FAILED, f"internal fault: {type(error).__name__}")
        finally:
            self._scope = None
            if not self._stop.is_set() and self._state is not ServerState.FAILED:
                self._become(ServerState.FAILED, "was interrupted")
            self._settled.set()

    async def _live(self, restarts: Restarts) -> Ending:
        """One life of the server, from connecting to the end."""
        started = time.monotonic()
        link = self._link = Link()
        self._stderr.clear()
        ending: Ending | None = None
        try:
            parameters = await self._resolve(self.config)
            async with self._connected(parameters, link) as session:
                if session is None:
                    return AGAIN
                async with anyio.create_task_group() as helpers:
                    self._session = session
                    self.view = self._show(self.name, session)
                    helpers.start_soon(self.view.run)
                    helpers.start_soon(self._keep_tools, session)
                    helpers.start_soon(self._check_health, session, link)
                    if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
                        helpers.start_soon(self._listen, session)
                    self._become(ServerState.READY)
                    reason = await self._until_the_end(link)
                    link.lose(reason)
                    ending = self._end(reason, restarts.next(lasted=time.monotonic() - started))
                    if self._stop.is_set() or ending.pause is None:
                        self._become(ServerState.STOPPING, ending.reason)
                    helpers.cancel_scope.cancel()
        except CannotStart as error:
            ending = Ending(self._redact(str(error)), None)
        except Exception as error:  # of any transport, handshake or server: it ends this life only
            if ending is None and self._session is None and self._handshake.fail():
                return AGAIN
            link.lose(self._explain(error, link))
        finally:
            link.lose("was stopped")
            link.pid = None
            self._forget()
        return ending or self._end(link.lost.result(), restarts.next(lasted=time.monotonic() - started))

    def _end(self, reason: str, pause: float | None) -> Ending:
        """The connection is of no more use to anybody; told at once, for closing it may take a while."""
        self._forget()
        ending = Ending(self._redact(reason), pause)
        if pause is not None and not self._stop.is_set():
            self._restarts += 1
            self._become(ServerState.RESTARTING, ending.reason)
            logger.warning("MCP server %s %s; starting it again in %.1f s", self.name, ending.reason, pause)
        return ending

    @asynccontextmanager
    async def _connected(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Session | None]:
        """A session with its handshake done and its tools read; None if the server is to be connected to again."""
        client_info = types.Implementation(name="a2c-stack", version=a2c_smcp.__version__)
        async with (
            self._connect(parameters, link) as conversation,
            Session(conversation, client_info) as session,
        ):
            self._conversation = conversation
            try:
                with anyio.fail_after(self._policy.start_timeout):
                    await self._handshake.shake(session)
                    self._stale.clear()
                    known = self.known
                    self._take(await self._list_tools(session) or ())
                is_settled = await self._handshake.is_settled(session, link, lacks_tools=not known <= self.known)
            except Exception as error:
                # Say why now: once we close the connection, that is what the transport would see.
                if isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED:
                    await asyncio.wait((link.lost,), timeout=1)
                if isinstance(error, TimeoutError):
                    link.lose(f"did not answer within {self._policy.start_timeout:g} s after its start")
                link.lose(self._explain(error, link))
                raise
            yield session if is_settled else None

    async def _until_the_end(self, link: Link) -> str:
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((stop, link.lost), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        return link.lost.result() if link.lost.done() else self._stop_reason or "was stopped"

    def _take(self, tools: tuple[types.Tool, ...]) -> None:
        self.tools = tools
        self.known = frozenset(tool.name for tool in tools)

    def _forget(self) -> None:
        """The connection is of no more use to anybody."""
        self._session = None
        self.tools = ()
        view, self.view = self.view, None
        if view is not None:
            view.close()

    # -------------------------------------------------------------------------------------------- while it is connected

    def _on_notice(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/tools/list_changed":
            self._stale.set()
        elif self.view is not None:
            self.view.on_notice(method, params.get("uri"))

    async def _keep_tools(self, session: Session) -> None:
        """Read the tool list again when the server says so; a storm of notices is one reading at a time."""
        backoff = Backoff(RELIST_PAUSE, self._policy.longest_delay)
        while True:
            await self._stale.wait()
            self._stale.clear()
            tools = None
            with anyio.move_on_after(self._policy.start_timeout):
                tools = await self._list_tools(session)
            if tools is None:  # what was known stays; try again, less and less often
                self._stale.set()
            else:
                backoff.reset()
                if self._session is session and tools != self.tools:
                    self._take(tools)
                    self._on_change(self)
            await anyio.sleep(backoff.next())

    async def _list_tools(self, session: Session) -> tuple[types.Tool, ...] | None:
        """Read the tool list; what is wrong with it becomes a note. None when it cannot be read."""
        try:
            tools, problems = await session.all_tools()
        except MCPError as error:
            if is_closed(error):
                raise
            capabilities = session.server_capabilities
            if error.code == types.METHOD_NOT_FOUND and (capabilities is None or capabilities.tools is None):
                return ()
            self._note([f"its tools cannot be listed: {error.message}"])
            return None
        self._note(problems)
        return tuple(tools)

    def _note(self, problems: list[str]) -> None:
        notes = tuple(self._redact(problem) for problem in problems)
        for note in notes:
            if note not in self._notes:
                logger.warning("MCP server %s: %s", self.name, note)
        self._notes = notes

    async def _check_health(self, session: Session, link: Link) -> None:
        """Ask now and then whether the server lives; at once when the transport has a doubt."""
        while True:
            with anyio.move_on_after(self._policy.ping_interval):
                await link.doubted.wait()
            doubted = link.doubted.is_set()
            link.doubted.clear()
            if not doubted and not self._is_suspicious():
                continue
            try:
                with anyio.fail_after(self._policy.ping_timeout):
                    await session.ping()
                link.hint = None  # it was no failure
            except TimeoutError:
                if doubted or self._is_suspicious():
                    link.lose(f"did not answer a ping within {self._policy.ping_timeout:g} s")
            except MCPError as error:
                if error.code == types.CONNECTION_CLOSED:
                    await asyncio.wait((link.lost,), timeout=1)  # its transport may know better
                    link.lose(link.hint or "closed the connection")

    def _is_suspicious(self) -> bool:
        """Whether the server has been silent for long, with no excuse.

        One that fell silent while it works on a call may be too busy to answer: the call's own time-out is its judge.
        Calls that began when it was silent already are no excuse.
        """
        heard_at = self._conversation.heard_at if self._conversation is not None else 0.0
        is_busy = any(started <= heard_at + BUSY_GRACE for started in self._calls.values())
        return not is_busy and time.monotonic() - heard_at >= self._policy.ping_interval

    async def _listen(self, session: Session) -> None:
        """A 2026-07-28 server tells of changes only those who listen."""
        backoff = Backoff(self._policy.first_delay, self._policy.longest_delay)
        while True:
            try:
                async with listen(session, tools_list_changed=True, resources_list_changed=True) as subscription:
                    self._on_gap()
                    async for event in subscription:
                        backoff.reset()
                        self._on_event(event)
            except SubscriptionLost as error:
                logger.debug("[%s] nobody tells of changes any more: %s", self.name, error)
            except (MCPError, TimeoutError) as error:
                logger.debug("[%s] it lets nobody listen: %s", self.name, error)
                if isinstance(error, MCPError) and error.code in (types.METHOD_NOT_FOUND, types.INVALID_PARAMS):
                    return
            await anyio.sleep(backoff.next())

    def _on_event(self, event: object) -> None:
        if isinstance(event, ToolsListChanged):
            self._stale.set()
        elif isinstance(event, ResourcesListChanged) and self.view is not None:
            self.view.list_changed()

    def _on_gap(self) -> None:
        """What changed while nobody listened was not told."""
        self._stale.set()
        if self.view is not None:
            self.view.list_changed()

    # ------------------------------------------------------------------------------------------------------------ words

    def _become(self, state: ServerState, reason: str | None = None) -> None:
        if state is not ServerState.STARTING:
            self._settled.set()
        if state is ServerState.READY:
            self._noisy = False
        if state is not self._state:
            self._since = datetime.now(UTC)
        self._state, self._reason = state, reason
        self._on_change(self)

    @property
    def obstacle(self) -> str | None:
        """Why its tools cannot be called now, in words that follow its name."""
        if self._session is not None:
            return None
        return f"is {self._state}" + (f": it {self._reason}" if self._reason else "")

    async def _describe_loss(self, link: Link) -> str | None:
        """Why a connection ended, if it did. The pipe may break a moment before the process is known to be gone."""
        await asyncio.wait((link.lost,), timeout=1)
        if not link.lost.done():
            return None
        return self._redact(f"MCP server {self.name} {link.lost.result()} during the call")

    def _explain(self, error: BaseException, link: Link) -> str:
        """A failure in words a person can use."""
        if link.lost.done():
            return link.lost.result()
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, MCPError):
            text = f"refused the handshake: {text}"
        elif isinstance(error, ValidationError):
            text = "answered the handshake with something that is no MCP"
        elif not isinstance(error, ConnectionError):
            text = f"cannot be reached: {text}"
        said = text.partition(": ")[2] or text
        return f"{text} ({link.hint})" if link.hint and said not in link.hint else text
