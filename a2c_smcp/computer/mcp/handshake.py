"""Which of MCP's two handshakes opens a connection: `initialize`, or `discover` of 2026-07-28.

Almost every server knows `initialize`, so it comes first: some servers exit, or never answer, if the first message is
another. But a server that is built with version 2 of the Python SDK announces changes of its resources only on a
connection of 2026-07-28, and the version of a connection cannot change after it was opened. So a server that lists
windows or documents, and does not announce their changes, is asked whether it would do so on such a connection. If it
would, this connection is closed and another one is opened, before the first one is used.
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
    """Which handshake the next connection uses."""

    INITIALIZE = auto()
    """`initialize`; the server has not been asked whether it knows 2026-07-28."""
    TRIAL = auto()
    """`discover`, for the first time."""
    DISCOVER = auto()
    """`discover`, which has worked before."""
    INITIALIZE_ONLY = auto()
    """`initialize`; the server does not know 2026-07-28, or offers less with it."""


class Handshake:
    """Opens the connections to one server, and remembers which handshake works, until its configuration changes."""

    def __init__(self, server: str, patience: float) -> None:
        self._server = server
        self._patience = patience
        self._way = Way.INITIALIZE
        self._tools: frozenset[str] = frozenset()
        """The names of the tools that the last connection offered."""

    async def shake(self, session: Session) -> None:
        """Perform the handshake of a new connection.

        Raises:
            MCPError: the server rejected it, or the connection is closed.
        """
        if self._way in (Way.TRIAL, Way.DISCOVER):
            await session.discover()
            return
        try:
            await session.initialize()
        except MCPError as error:
            # A server that knows only 2026-07-28 rejects `initialize` with one of these codes.
            if error.code not in (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND):
                raise
            await session.discover()

    async def is_settled(self, session: Session, link: Link, tools: frozenset[str]) -> bool:
        """Whether this connection, which offers these tools, is to be used. If not, open another one at once."""
        # A server may offer fewer tools on a connection of 2026-07-28 than on the one before. Tools matter more than
        # notifications, so such a connection is not kept.
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
        """A connection could not be opened; whether to open another one at once, with the other handshake."""
        if self._way is Way.TRIAL:
            self._give_up()
            return True
        if self._way is Way.DISCOVER:
            self._way = Way.INITIALIZE  # after a restart, a different version of the server may answer
        return False

    async def _ask(self, session: Session, link: Link) -> bool:
        """Find out whether a connection of 2026-07-28 would be better; whether this one is to be used."""
        hint, has_ended = link.hint, False
        try:
            with anyio.fail_after(self._patience):
                if not await session.lists_any(is_on_show):
                    return True
                # Set before the question: a server that exits because of it must not be asked again.
                self._way = Way.INITIALIZE_ONLY
                if await _would_tell(session):
                    self._way = Way.TRIAL
        except TimeoutError:
            self._way = Way.INITIALIZE_ONLY
            logger.info("MCP server %s does not list its resources in time; it is not asked again", self._server)
        except MCPError as error:
            has_ended = is_closed(error) or link.lost.done()
            if has_ended and self._way is Way.INITIALIZE:
                raise  # it ended while it listed its resources: not because of the question
        link.hint = hint  # the transport took the rejected question for a failure: it explains no later one
        if has_ended or link.lost.done():
            logger.warning(
                "MCP server %s disconnects when asked about MCP 2026-07-28; it is not asked again", self._server
            )
            return False
        if self._way is Way.TRIAL:
            logger.info("MCP server %s announces changes with MCP 2026-07-28; connecting again", self._server)
            return False
        return True

    def _give_up(self) -> None:
        self._way = Way.INITIALIZE_ONLY
        logger.warning("MCP 2026-07-28 does not work with MCP server %s; connecting with initialize", self._server)


def _tells_of_changes(capabilities: types.ServerCapabilities | None) -> bool:
    return capabilities is not None and capabilities.resources is not None and bool(capabilities.resources.subscribe)


def _may_know_more(session: Session) -> bool:
    capabilities = session.server_capabilities
    has_resources = capabilities is not None and capabilities.resources is not None
    return has_resources and session.protocol_version not in MODERN_PROTOCOL_VERSIONS


async def _would_tell(session: Session) -> bool:
    """Whether a server would announce changes on a connection of 2026-07-28, as far as an older one can tell."""
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
