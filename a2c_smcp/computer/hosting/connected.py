"""An MCP server while it is connected: calls of its tools, and what is kept current beside them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import anyio
import mcp_types as types
import orjson
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.model import LogLevel
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.hosting.health import Health
from a2c_smcp.computer.hosting.kept_list import KeptList
from a2c_smcp.computer.hosting.listening import Wanted, keep_listening
from a2c_smcp.computer.hosting.notes import Notes
from a2c_smcp.computer.hosting.subscriptions import Audience
from a2c_smcp.computer.hosting.tool_list import ToolList
from a2c_smcp.computer.hosting.watching import ResourceWatch
from a2c_smcp.computer.mcp.client import Connection
from a2c_smcp.computer.mcp.conversation import OnProgress, is_closed
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.questions import Asker
from a2c_smcp.computer.mcp.transports.watched_http import is_demand, is_without_session
from a2c_smcp.errors import ToolFailedError
from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

PROGRESS_PAUSE = 1.0
"""Seconds between two log lines about the progress of a call; the last one is always written."""
MAX_MESSAGE = MAX_DATA = 20_000
"""Characters of an error of a server that are passed on."""
MAX_PROGRESS = 300
"""Characters that are logged of a server's message about the progress."""

AudienceT = TypeVar("AudienceT", bound=Audience)


class ServerGone(ToolFailedError):
    """The MCP server ended, or is not ready."""


class SessionEnded(ServerGone):
    """The MCP server does not know the session any more: it rejected the call, and nothing was executed."""


class ConnectedServer(Generic[AudienceT]):
    """One connection, from ready to lost. `show` makes the view of its windows and documents."""

    def __init__(
        self,
        name: str,
        connection: Connection,
        tools: ToolList,
        *,
        show: Callable[[ResourceWatch], AudienceT],
        policy: Policy,
        redact: Redact,
        log_level: LogLevel | None = None,
    ) -> None:
        self.session = connection.session
        self._name = name
        self._link = connection.link
        self._tools = tools
        self._policy = policy
        self._redact = redact
        self._health = Health(connection, policy)
        self._watch = ResourceWatch(name, self.session, policy, redact)
        self.view = show(self._watch)
        capabilities = self.session.server_capabilities
        prompts = capabilities.prompts if capabilities is not None else None
        self.prompts = KeptList(
            "prompts",
            lambda: self.session.all_prompts(policy.list_timeout),
            Notes(name, redact),
            is_offered=prompts is not None,
            is_told=prompts is not None and bool(prompts.list_changed),
        )
        """The prompts as the server wrote them."""
        self._log_level: LogLevel | None = log_level
        self._has_new_level = asyncio.Event()

    async def run(self) -> None:
        """Keep tools and resources current and check that the server lives, until this is cancelled."""
        if self.prompts.is_offered:
            self.view.prompts_changed()
        async with anyio.create_task_group() as tasks:
            # Siblings in one group: if one of them breaks, all end, and with them the connection. A server whose tools
            # are not kept current, or whose health is not checked, must not look ready.
            tasks.start_soon(self._watch.run, self.view)
            tasks.start_soon(self._tools.keep_current, self.session)
            tasks.start_soon(self._health.watch)
            tasks.start_soon(self._keep_log_level)
            if self.session.is_modern:
                tasks.start_soon(self._listen)

    def on_event(self, event: ServerEvent) -> None:
        """The server announces a change."""
        match event:
            case ToolsListChanged():
                self._tools.outdate()
            case PromptsListChanged():
                self._outdate_prompts()
            case ResourcesListChanged():
                self._watch.outdate()
            case ResourceUpdated(uri):
                self.view.updated(uri)
            case _:
                pass

    def set_log_level(self, level: LogLevel | None) -> None:
        """Ask the server for log messages of this level and above."""
        self._log_level = level
        self._has_new_level.set()

    async def finish_calls(self, patience: float) -> None:
        """Wait until no call is running, for so many seconds."""
        with anyio.move_on_after(patience):
            await self._health.is_idle.wait()

    def close(self) -> None:
        """The connection has ended."""
        self._watch.close()
        self.view.close()
        if self.prompts.is_offered:
            self.view.prompts_changed()

    async def call_tool(
        self,
        tool: str,
        arguments: dict[str, Any],
        label: str,
        on_progress: OnProgress | None = None,
        asker: Asker | None = None,
    ) -> CallToolResult:
        """Call a tool. If this is cancelled, the call on the server is cancelled too.

        Its progress goes to the log and to `on_progress`, questions of the server to `asker`.

        Raises:
            SessionEnded: the server needs a new session for the call.
            ServerGone: the server ended during the call.
            LoginNeededError, LoginRefusedError: the call needs a login, or another one.
            ToolFailedError: the server rejected the call, or answered something that is no result; its words are kept.
        """
        # A key of its own for each call: the same tool may run several times at once.
        call = object()
        self._health.call_begins(call)
        try:
            return await self.session.call(tool, arguments, self._log_progress(label, on_progress), asker)
        except MCPError as error:
            demand = self._link.demand
            is_lost = self._link.lost.done() and demand is not None and demand.challenge.status == 401
            if demand is not None and (is_lost or is_demand(error)):
                raise demand.error(self._name) from None
            if is_without_session(error):
                raise SessionEnded(f"MCP server {self._name} ended the session before the call") from None
            # Servers use the code of `CONNECTION_CLOSED` for errors of their own, so it may mean nothing. A ping finds
            # out; only if the connection did end, the call fails with that reason.
            if error.code == types.CONNECTION_CLOSED:
                self._link.doubt()
                if is_closed(error) and (loss := await self._describe_loss()):
                    raise ServerGone(loss) from None
            message = self._redact(error.message, MAX_MESSAGE)
            raise ToolFailedError(message, details={"mcp_error": self._shown(error, message)}) from None
        # The session writes these messages itself, but with parts of the server's answer, which may contain a secret.
        except ToolFailedError as error:
            raise ToolFailedError(self._redact(error.message, MAX_MESSAGE)) from None
        finally:
            self._health.call_ends(call)

    # -------------------------------------------------------------------------------------------------------- internals

    def _shown(self, error: MCPError, message: str) -> dict[str, Any]:
        """An error of the server without secrets. Data that is long, or has a secret, is left out."""
        shown: dict[str, Any] = {"code": error.code, "message": message}
        try:
            data = orjson.dumps(error.error.data).decode()
        except TypeError:  # nested too deeply, or a number that JSON does not have
            return shown
        if error.error.data is not None and self._redact(data, MAX_DATA) == data:
            shown["data"] = error.error.data
        return shown

    def _outdate_prompts(self) -> None:
        if self.prompts.outdate():
            self.view.prompts_changed()

    async def _listen(self) -> None:
        """Listen for changes of the lists, as of 2026-07-28, unless the server does not know that."""
        is_rejected = False

        def wanted() -> Wanted | None:
            if is_rejected:
                return None
            return {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}

        # What changed before the subscription was open, or in a gap, was not announced: read the lists again.
        def on_open(_: types.SubscriptionFilter) -> None:
            self._tools.outdate()
            self._outdate_prompts()
            self._watch.outdate()

        def on_end(problem: Exception | None) -> None:
            nonlocal is_rejected
            if problem is not None:
                words = in_words(problem, self._redact)
                logger.debug("[%s] does not announce changes of its lists: %s", self._name, words)
            # A server that does not know the request will not learn it during this connection. Any other failure may
            # pass, and the subscription is opened again.
            codes = types.METHOD_NOT_FOUND, types.INVALID_PARAMS
            is_rejected = isinstance(problem, MCPError) and problem.code in codes

        backoff = Backoff(self._policy.first_delay, self._policy.longest_delay)
        await keep_listening(self.session, backoff, wanted, on_open=on_open, on_event=self.on_event, on_end=on_end)

    async def _keep_log_level(self) -> None:
        """Ask for log messages now, and again whenever the level changes."""
        while True:
            self._has_new_level.clear()
            try:
                with anyio.fail_after(self._policy.question_timeout):
                    await self.session.set_log_level(self._log_level)
            except (MCPError, TimeoutError) as error:  # the server works without it
                words = in_words(error, self._redact)
                logger.debug("[%s] does not accept the log level %s: %s", self._name, self._log_level, words)
            await self._has_new_level.wait()

    # Some tools report every percent, or every file, so the log gets one line a second, and the last one.
    def _log_progress(self, label: str, tell: OnProgress | None) -> OnProgress:
        told_at = 0.0

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal told_at
            if tell is not None:
                tell(progress, total, message)
            now = time.monotonic()
            if now - told_at < PROGRESS_PAUSE and progress != total:
                return
            told_at = now
            logger.info(
                "%s: progress %g%s%s",
                label,
                progress,
                f" of {total:g}" if total is not None else "",
                f": {one_line(self._redact(message, MAX_PROGRESS))}" if message else "",
            )

        return on_progress

    async def _describe_loss(self) -> str | None:
        """Why the connection ended; None if it did not."""
        # The pipe may break a moment before the system reports the end of the process, and with it the exit code.
        await asyncio.wait((self._link.lost,), timeout=1)
        if not self._link.lost.done():
            return None
        return self._redact(f"MCP server {self._name} {self._link.lost.result()} during the call")
