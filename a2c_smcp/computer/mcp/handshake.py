"""Which of MCP's two handshakes a server gets.

Every server knows `initialize`, so that comes first: there are some that end, or never answer, if it does not. But a
server on version 2 of the Python SDK tells of changes of its resources only on a connection of 2026-07-28, and a
connection stays what it was opened as. So a server that lists windows or documents, and does not tell of their changes,
is asked whether it would on such a connection. If it would, it is connected to again, before anybody uses it.
"""

from __future__ import annotations

import logging
from enum import Enum, auto

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from a2c_smcp.computer.mcp.conversation import is_closed
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.listing import is_on_show
from a2c_smcp.computer.mcp.session import Session

logger = logging.getLogger(__name__)


class Way(Enum):
    """How a server is connected to."""

    INITIALIZE = auto()
    """As everybody knows it. It may know another way."""
    TRIAL = auto()
    """As of 2026-07-28, for the first time."""
    DISCOVER = auto()
    """As of 2026-07-28: that has worked."""
    INITIALIZE_ONLY = auto()
    """As everybody knows it. It was asked for another way, and there is none."""


class Handshake:
    """Opens the connections to one server, and remembers how, for as long as the server is configured as it is."""

    def __init__(self, server: str, patience: float) -> None:
        self._server = server
        self._patience = patience
        self._way = Way.INITIALIZE
        self._tools: frozenset[str] = frozenset()
        """The names of the tools that the last connection offered."""

    async def shake(self, session: Session) -> None:
        """Open a connection.

        Raises:
            MCPError: the server refused, or is gone.
        """
        if self._way in (Way.TRIAL, Way.DISCOVER):
            await session.discover()
            return
        try:
            await session.initialize()
        except MCPError as error:
            if error.code not in (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND):
                raise
            await session.discover()

    async def is_settled(self, session: Session, link: Link, tools: frozenset[str]) -> bool:
        """Whether an open connection, which offers these tools, is the one to be used; else the server shall be
        connected to again, at once."""
        lacks_tools, self._tools = not self._tools <= tools, tools
        tells = _tells_of_changes(session.server_capabilities)
        if self._way is Way.TRIAL and tells and not lacks_tools:
            self._way = Way.DISCOVER
        if self._way is Way.TRIAL or (self._way is Way.DISCOVER and not tells):
            self._give_up()
            return False
        if self._way is Way.INITIALIZE and not tells and _may_know_more(session):
            return await self._ask(session, link)
        return True

    def fail(self) -> bool:
        """A connection could not be opened; whether the server shall be connected to again, at once."""
        if self._way is Way.TRIAL:
            self._give_up()
            return True
        if self._way is Way.DISCOVER:
            self._way = Way.INITIALIZE  # what answers when it is back may be something else
        return False

    async def _ask(self, session: Session, link: Link) -> bool:
        """Find out whether there is a better way; whether this connection is the one to be used."""
        hint, has_ended = link.hint, False
        try:
            with anyio.fail_after(self._patience):
                if not await session.lists_any(is_on_show):
                    return True
                self._way = Way.INITIALIZE_ONLY  # whatever comes of it, it is asked once
                if await _would_tell(session):
                    self._way = Way.TRIAL
        except TimeoutError:
            self._way = Way.INITIALIZE_ONLY
            logger.info("MCP server %s does not say in time what it shows; it is not asked again", self._server)
        except MCPError as error:
            has_ended = is_closed(error)
            if has_ended and self._way is Way.INITIALIZE:
                raise  # before it was asked anything out of the ordinary
        link.hint = hint  # a refusal explains nothing that happens later
        if has_ended or link.lost.done():
            logger.warning("MCP server %s ends when it is asked about MCP 2026-07-28: never again", self._server)
            return False
        if self._way is Way.TRIAL:
            logger.info("MCP server %s may tell of changes by MCP 2026-07-28: connecting again", self._server)
            return False
        return True

    def _give_up(self) -> None:
        self._way = Way.INITIALIZE_ONLY
        logger.warning("MCP 2026-07-28 does not work for MCP server %s: connecting as before", self._server)


def _tells_of_changes(capabilities: types.ServerCapabilities | None) -> bool:
    return capabilities is not None and capabilities.resources is not None and bool(capabilities.resources.subscribe)


def _may_know_more(session: Session) -> bool:
    capabilities = session.server_capabilities
    has_resources = capabilities is not None and capabilities.resources is not None
    return has_resources and session.protocol_version not in MODERN_PROTOCOL_VERSIONS


async def _would_tell(session: Session) -> bool:
    """Whether a server would tell of changes on a connection of 2026-07-28, as far as it can be asked on another."""
    try:
        answer = types.DiscoverResult.model_validate(await session.send_discover(LATEST_MODERN_VERSION))
    except ValidationError:
        return False
    except MCPError as error:
        if is_closed(error):
            raise
        return error.code == types.INVALID_REQUEST and await session.refuses_mark()
    # Over HTTP the version of the last request counts as the connection's, and only with its own can it be ended.
    await session.ping()
    is_known = any(version in MODERN_PROTOCOL_VERSIONS for version in answer.supported_versions)
    return is_known and _tells_of_changes(answer.capabilities)
