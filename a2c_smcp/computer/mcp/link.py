"""One connection to an MCP server: what its transport notices about it."""

from __future__ import annotations

import asyncio


class Link:
    """Carries the end of a connection, or a doubt about it, from the transport to the owner, at once."""

    def __init__(self) -> None:
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why the connection ended, as soon as that is known."""
        self.doubted = asyncio.Event()
        self.hint: str | None = None
        """What a transport saw that explains a failure better than the failure itself."""
        self.pid: int | None = None

    def lose(self, reason: str) -> None:
        """The connection has ended; the first reason counts."""
        if not self.lost.done():
            self.lost.set_result(reason)

    def doubt(self, hint: str | None = None) -> None:
        """Something went wrong that may be the end: ask the server whether it lives."""
        self.hint = hint or self.hint
        self.doubted.set()
