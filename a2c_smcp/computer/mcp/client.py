"""Connections to one MCP server: a transport, a session, a handshake and the first list of tools.

An `MCPClient` opens a connection and closes it. When that happens, and what follows when it fails, is decided by its
owner (`hosting.owner`).
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import anyio
import mcp_types as types
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

import a2c_smcp
from a2c_smcp.computer.config.model import LogLevel
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.mcp.conversation import Conversation
from a2c_smcp.computer.mcp.failures import CannotStart, ConnectionFailed, LoginNeeded, explain
from a2c_smcp.computer.mcp.handshake import Handshake
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.messages import MessageLog
from a2c_smcp.computer.mcp.oauth.access import Access
from a2c_smcp.computer.mcp.oauth.logins import Logins
from a2c_smcp.computer.mcp.processes import STDERR_LINES, Children
from a2c_smcp.computer.mcp.session import Session

logger = logging.getLogger(__name__)

SHOWN_WIDTH = 500
"""Characters that are kept of a line that a server wrote."""
MAX_SESSIONS = 3
"""Attempts at a handshake whose session the server ends. A login that another process replaces ends one each time."""

ReadTools: TypeAlias = Callable[[Session], Awaitable[frozenset[str]]]
"""Reads the tools of a new connection and returns their names."""
ParametersT = TypeVar("ParametersT", bound=BaseModel)


@dataclass(frozen=True)
class Connection:
    """An open connection, ready for use."""

    session: Session
    link: Link


class MCPClient(ABC):
    """Opens connections to one configured MCP server; each transport is a subclass.

    `on_event` is called with every change that the server announces by a notification. It must not wait.
    """

    def __init__(
        self,
        name: str,
        *,
        children: Children,
        redact: Redact,
        on_event: Callable[[ServerEvent], None],
        policy: Policy,
        logins: Logins,
        log_level: LogLevel | None = None,
    ) -> None:
        self.name = name
        self.log = MessageLog(log_level, redact)
        """Its last log messages."""
        self.stderr: deque[str] = deque(maxlen=STDERR_LINES)
        """The last lines that a server which this Computer started wrote to its standard error."""
        self._children = children
        self._redact = redact
        self._on_event = on_event
        self._policy = policy
        self._logins = logins
        self._handshake = Handshake(name, policy.question_timeout)
        self._link: Link | None = None
        self._is_noisy = False

    @property
    def pid(self) -> int | None:
        """The process of a server that this Computer started, while there is a connection to it."""
        return self._link.pid if self._link is not None else None

    @asynccontextmanager
    async def connect(self, parameters: dict[str, Any], read_tools: ReadTools) -> AsyncGenerator[Connection]:
        """Open a connection for as long as the block runs, with its handshake done and its tools read.

        The handshake may end a connection and ask for another of a different version, and the server may end the
        session of a handshake; another one is opened here, and the block sees only the last one.

        Raises:
            CannotStart: another attempt would fail too.
            LoginNeeded: another attempt would fail too, until somebody logs in.
            ConnectionFailed: the connection could not be opened, or broke while the block ran.
        """
        # The block runs inside this generator, at `yield`, so its exceptions arrive here too. `is_open` tells them from
        # failures to connect: only the latter may lead to another attempt, and the block must never run twice.
        is_open, sessions = False, 0
        while not is_open:
            sessions += 1
            link = self._link = Link()
            # The lines explain a failure, so those of an earlier attempt must not appear beside its reason.
            self.stderr.clear()
            try:
                async with self._session(parameters, link) as session:
                    is_settled = await self._is_settled(session, link, read_tools)
                    if link.demand is not None:
                        raise LoginNeeded(link.demand)
                    if is_settled:
                        is_open, self._is_noisy = True, False
                        yield Connection(session, link)
            except CannotStart:
                raise
            except Exception as error:  # of any transport, handshake or server
                if not is_open and link.demand is not None:
                    raise LoginNeeded(link.demand) from None
                is_outdated = link.needs_session and sessions < MAX_SESSIONS
                if is_open or not (is_outdated or self._handshake.fail()):
                    raise ConnectionFailed(explain(error, link)) from error
            finally:
                # A task that still waits for the end of this connection gets one. If there is a reason already, it
                # stays.
                link.lose("was stopped")
                self._link = None

    def access(self, parameters: dict[str, Any]) -> Access | None:
        """The login at this server; None if it has none, such as a server that is started here.

        Raises:
            CannotStart: the parameters are invalid.
        """
        return None

    @abstractmethod
    def _open(self, parameters: dict[str, Any], link: Link) -> AbstractAsyncContextManager[Conversation]:
        """Open a transport, which reports the end of the connection, or a doubt about it, to `link`.

        Raises:
            CannotStart: another attempt would fail too.
        """

    @asynccontextmanager
    async def _session(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Session]:
        client_info = types.Implementation(name="a2c-stack", version=a2c_smcp.__version__)
        async with self._open(parameters, link) as conversation, Session(conversation, client_info) as session:
            yield session

    async def _is_settled(self, session: Session, link: Link, read_tools: ReadTools) -> bool:
        """Perform the handshake and read the tools; whether this connection is to be used."""
        try:
            with anyio.fail_after(self._policy.start_timeout):
                await self._handshake.shake(session)
                tools = await read_tools(session)
            if link.lost.done():  # a list that cannot be read is no failure, but the reason for it may be one
                raise ConnectionFailed(link.lost.result())
            return await self._handshake.is_settled(session, link, tools)
        except Exception as error:
            # The reason must be known before the connection is closed: from then on, the transport would report the
            # closing instead. A transport may learn a moment later than the session why its server is gone.
            if isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED:
                await asyncio.wait((link.lost,), timeout=1)
            if isinstance(error, TimeoutError):
                link.lose(f"did not answer within {self._policy.start_timeout:g} s after its start")
            link.lose(explain(error, link))
            raise

    # --------------------------------------------------------------------------------------- what a transport passes on

    def _on_notice(self, method: str, params: Mapping[str, Any]) -> None:
        """A notification, as the event that a connection of 2026-07-28 would deliver."""
        # One kind of event for both versions of MCP, so that everything above this line has one path for a change.
        match method, params.get("uri"):
            case "notifications/tools/list_changed", _:
                self._on_event(ToolsListChanged())
            case "notifications/prompts/list_changed", _:
                self._on_event(PromptsListChanged())
            case "notifications/message", _:
                self.log.take(params)
            case "notifications/resources/list_changed", _:
                self._on_event(ResourcesListChanged())
            case "notifications/resources/updated", str(uri):
                self._on_event(ResourceUpdated(uri=uri))
            case _:
                pass

    def _on_stderr(self, line: str) -> None:
        line = self._redact(line, SHOWN_WIDTH)
        self.stderr.append(line)
        logger.debug("[%s] %s", self.name, line)

    def _on_noise(self, line: str) -> None:
        # A server that prints its log to standard output does so all the time: one warning for each connection is
        # enough.
        level = logging.DEBUG if self._is_noisy else logging.WARNING
        self._is_noisy = True
        shown = self._redact(line, SHOWN_WIDTH)
        logger.log(level, "[%s] writes to its standard output what is no MCP message: %s", self.name, shown)


def filled(model: type[ParametersT], parameters: dict[str, Any]) -> ParametersT:
    """The model of parameters whose placeholders have been filled in. A value of an input is text, also for a number.

    Raises:
        CannotStart: a value is invalid for its field. The message names the field, not the value: it may be a secret.
    """
    # The models are strict, so that a file with `"args": [1]` is rejected when it is read. Here the values come from
    # inputs: a number that a person typed, or a default that is one, is meant as text.
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
