"""Whether a connected MCP server still answers."""

from __future__ import annotations

import asyncio
import time

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.mcp.client import Connection

BUSY_GRACE = 1.0
"""Seconds after its last message within which a call must have begun to excuse a server's silence."""


class Health:
    """Pings a silent server, and ends the connection if no answer comes."""

    def __init__(self, connection: Connection, policy: Policy) -> None:
        self._session = connection.session
        self._link = connection.link
        self._policy = policy
        self._calls: dict[object, float] = {}
        self.is_idle = asyncio.Event()
        """Set while no call is running."""
        self.is_idle.set()

    def call_begins(self, call: object) -> None:
        """The server works on a call, and may be too busy to answer a ping."""
        self._calls[call] = time.monotonic()
        self.is_idle.clear()

    def call_ends(self, call: object) -> None:
        """The call has ended."""
        del self._calls[call]
        if not self._calls:
            self.is_idle.set()

    async def watch(self) -> None:
        """Ping the server when it has been silent for long; at once when the transport has a doubt."""
        link, policy = self._link, self._policy
        while True:
            with anyio.move_on_after(policy.ping_interval):
                await link.doubted.wait()
            doubted = link.doubted.is_set()
            link.doubted.clear()
            if not doubted and not self._is_suspicious():
                continue
            try:
                with anyio.fail_after(policy.ping_timeout):
                    await self._session.ping()
                link.hint = None  # the server answers: what the transport reported was no failure
            except TimeoutError:
                # Checked again: a call may have begun, or the server may have sent something else, during the ping.
                # After a doubt of the transport neither is an excuse: the connection has probably ended.
                if doubted or self._is_suspicious():
                    link.lose(f"did not answer a ping within {policy.ping_timeout:g} s")
            except MCPError as error:
                if error.code == types.CONNECTION_CLOSED:
                    await asyncio.wait((link.lost,), timeout=1)  # the transport may report a better reason
                    link.lose(link.hint or "closed the connection")

    def _is_suspicious(self) -> bool:
        """Whether the server has been silent for too long, and is not working on a call."""
        heard_at = self._session.heard_at
        # A single-threaded server answers no ping while it works on a call, so the timeout of the call decides. But a
        # call that began long after the last message does not count: a server that hangs would otherwise stay
        # undetected for as long as Agents keep calling it. The grace covers a call that was sent just after that
        # message.
        is_busy = any(started <= heard_at + BUSY_GRACE for started in self._calls.values())
        return not is_busy and time.monotonic() - heard_at >= self._policy.ping_interval
