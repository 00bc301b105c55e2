"""Requests to one MCP server on behalf of an Agent: its errors become errors of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.offer.error_details import presentable, presentable_text
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.view import ResourceView
from a2c_smcp.errors import (
    CapabilityMissingError,
    InternalError,
    MalformedRequestError,
    MCPServerNotFoundError,
    NotFoundError,
    TimedOutError,
)

SECONDS = 50.0
"""Seconds for one request: less than the Server waits for this Computer."""

T = TypeVar("T")


class Asking:
    """Finds the connection of a server, and reads its answers."""

    def __init__(self, manager: MCPServerManager, redact: Redact) -> None:
        self.manager = manager
        self.redact = redact

    def session(self, server: str) -> Session:
        """The connection to a server.

        Raises:
            MCPServerNotFoundError: there is no such server, or it is not ready.
        """
        session = self.manager.session(server)
        if session is None:
            raise unknown(server)
        return session

    def view(self, server: str) -> ResourceView:
        """The resources of a server.

        Raises:
            MCPServerNotFoundError: there is no such server, or it is not ready.
        """
        view = self.manager.view(server)
        if view is None:
            raise unknown(server)
        return view

    async def answer(self, server: str, asked: Awaitable[T]) -> T:
        """The answer of a server.

        Raises:
            TimedOutError: it did not answer in time.
            NotFoundError: it does not offer this.
            MalformedRequestError: it rejects the parameters.
            InternalError: it failed.
        """
        try:
            async with asyncio.timeout(SECONDS):
                return await asked
        except TimeoutError as error:
            words = str(error) or f"it did not answer within {SECONDS:g} s"  # a list has a limit of its own
            raise TimedOutError(f"MCP server {server}: {words}", details={"mcp_server": server}) from None
        except MCPError as error:
            words = presentable_text(error.message, self.redact)
            details = {**presentable(error.data, self.redact), "mcp_server": server}
            match error.code:
                case types.METHOD_NOT_FOUND:
                    raise NotFoundError(f"MCP server {server} does not offer this: {words}", details=details) from None
                case types.INVALID_PARAMS:
                    raise MalformedRequestError(words, details=details) from None
                case _:
                    raise InternalError(words, details=details) from None


def unknown(server: str) -> MCPServerNotFoundError:
    """The error for a server that does not exist, or is not ready."""
    return MCPServerNotFoundError(f"MCP server {server} does not exist or is not ready", details={"mcp_server": server})


def incapable(server: str, capability: str) -> CapabilityMissingError:
    """The error for a server that does not offer something."""
    details = {"mcp_server": server, "capability": capability}
    return CapabilityMissingError(f"MCP server {server} does not offer {capability}", details=details)


def ambiguous(what: str, servers: Sequence[str]) -> MalformedRequestError:
    """The error for something that several servers have."""
    names = ", ".join(servers)
    return MalformedRequestError(
        f"several MCP servers have {what}: {names}; name one of them as mcp_server",
        details={"mcp_servers": list(servers)},
    )
