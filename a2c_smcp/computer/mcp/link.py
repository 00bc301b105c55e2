"""What a transport notices about its connection: that it ended, or that something is wrong."""

from __future__ import annotations

import asyncio

from a2c_smcp.computer.mcp.oauth.demand import Demand


class Link:
    """Carries the end of a connection, or a doubt about it, from the transport to the owner.

    While no request is open, the session does not notice that its server died. The transport does.
    """

    def __init__(self) -> None:
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why the connection ended, as soon as that is known."""
        self.doubted = asyncio.Event()
        self.hint: str | None = None
        """A detail that explains a failure better than its error does, such as an HTTP status."""
        self.demand: Demand | None = None
        """The login that the server demands, if it rejected a request for the lack of one."""
        self.pid: int | None = None
        self.needs_session = False
        """Whether the connection ended because the server wants a new session. It does nothing in the old one."""

    def lose(self, reason: str) -> None:
        """The connection has ended; the first reason counts."""
        # The first reason is the cause; what follows (a broken pipe, a cancelled read) are its effects.
        if not self.lost.done():
            self.lost.set_result(reason)

    def doubt(self, hint: str | None = None) -> None:
        """Something failed that may be the end of the connection: have the owner ping the server."""
        self.hint = hint or self.hint
        self.doubted.set()
