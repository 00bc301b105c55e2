"""The tools of one MCP server, kept current while it is connected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.model import BaseServerConfig
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.hosting.notes import Notes
from a2c_smcp.computer.mcp.conversation import is_closed
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.utils.backoff import Backoff


class ToolList:
    """`on_change` is called when a connected server has other tools than before."""

    def __init__(self, config: BaseServerConfig, policy: Policy, redact: Redact, on_change: Callable[[], None]) -> None:
        self._policy = policy
        self._on_change = on_change
        self._stale = asyncio.Event()
        self.tools: tuple[types.Tool, ...] = ()
        """The tools of the newest connection."""
        self.is_read = False
        """Whether the newest connection has listed its tools."""
        self.known: frozenset[str] = frozenset((*config.tool_meta, *config.forbidden_tools))
        """The names of the tools that the server last listed; before its first list, of those that are configured."""
        self.notes = Notes(config.name, redact)
        """What is wrong with the list."""

    def outdate(self) -> None:
        """The list may have changed."""
        self._stale.set()

    async def read(self, session: Session) -> frozenset[str]:
        """Read the list of a new connection, and give the names in it.

        Raises:
            MCPError: the connection is closed.
        """
        # Cleared before reading: a notification that arrives during the reading may be about a change that it missed.
        self._stale.clear()
        tools = await self._list(session)
        if tools is None:
            # A server whose tools cannot be listed is ready without tools: its windows and documents may work, and the
            # note in its status gives the reason. Its tools stay known, and `keep_current` reads the list again.
            self.tools, self.is_read = (), False
            self._stale.set()
        else:
            self._take(tools)
        return frozenset(tool.name for tool in self.tools)

    async def keep_current(self, session: Session) -> None:
        """Read the list again when the server announces a change, or when the last reading failed.

        A burst of notifications leads to one reading at a time: those that arrive during a reading, or in the pause
        after it, are answered together by the next one.
        """
        backoff = Backoff(self._policy.list_pause, self._policy.longest_delay)
        while True:
            await self._stale.wait()
            self._stale.clear()
            tools = None
            # A request that the server never answers must not end the updates of the list: it counts as failed, and is
            # sent again.
            with anyio.move_on_after(self._policy.start_timeout):
                tools = await self._list(session)
            if tools is None:  # keep the last good list, and try again
                self._stale.set()
            else:
                backoff.reset()
                if tools != self.tools or not self.is_read:
                    self._take(tools)
                    self._on_change()
            await anyio.sleep(backoff.next())

    def _take(self, tools: tuple[types.Tool, ...]) -> None:
        self.tools, self.is_read = tools, True
        self.known = frozenset(tool.name for tool in tools)

    async def _list(self, session: Session) -> tuple[types.Tool, ...] | None:
        """The tools; None when they cannot be listed. What is wrong with them becomes a note."""
        try:
            tools, problems = await session.all_tools()
        except MCPError as error:
            if is_closed(error):
                raise
            # A server without tools need not declare the capability, and then rejects the request. With the capability,
            # the same error is a failure: its tools exist and cannot be listed.
            capabilities = session.server_capabilities
            if error.code == types.METHOD_NOT_FOUND and (capabilities is None or capabilities.tools is None):
                return ()
            self.notes.replace([f"its tools cannot be listed: {error.message}"])
            return None
        self.notes.replace(problems)
        return tuple(tools)
