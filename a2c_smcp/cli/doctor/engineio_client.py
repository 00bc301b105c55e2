"""The first words of Engine.IO, which Socket.IO speaks: whether a Server is there, how fast, and what passes to it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from a2c_smcp.cli.doctor.options import Address
from a2c_smcp.utils.trust import trusting
from a2c_smcp.wire.session import CLOSE, read_handshake

PATH = "/socket.io"
"""Where every client of this package looks for Socket.IO."""
PAGE = b"A2C-SMCP Server"
"""What an A2C Server says to those who want a page that it does not have begins so."""
SECONDS = 10.0


@dataclass(frozen=True)
class Answer:
    """What was said to the first words."""

    status: int
    sid: str | None
    """The session that was opened, if that was Socket.IO."""
    upgrades: bool
    """Whether it offers WebSocket."""
    location: str | None
    """Where else one shall look."""
    software: str
    """What it says that it is."""
    clock: float | None
    """Seconds by which its clock is ahead of ours; None if it does not say."""


@dataclass(frozen=True)
class Line:
    """A way to a Server for HTTP requests."""

    http: aiohttp.ClientSession
    origin: str
    query: str
    """What the address itself asks for, and clients send along."""

    @classmethod
    def to(cls, url: str, http: aiohttp.ClientSession) -> Line:
        """The way to the Server at an address."""
        query = urlsplit(url).query
        return cls(http, Address.of(url).origin, f"{query}&" if query else "")

    def address(self, transport: str, sid: str | None = None) -> str:
        """Where a transport is spoken."""
        return f"{self.origin}{PATH}/?{self.query}EIO=4&transport={transport}" + (f"&sid={sid}" if sid else "")

    async def greet(self) -> Answer:
        """Open a session over long-polling."""
        began = time.time()
        async with self.http.get(self.address("polling"), allow_redirects=False) as response:
            now = (began + time.time()) / 2
            words = (await response.content.read(10_000)).decode("utf-8", "replace")
            handshake = read_handshake(words) if response.status == 200 else None
            return Answer(
                status=response.status,
                sid=handshake.sid if handshake else None,
                upgrades=handshake.can_upgrade if handshake else False,
                location=response.headers.get("Location"),
                software=response.headers.get("Server", ""),
                clock=_clock(response.headers.get("Date"), now),
            )

    async def part(self, sid: str) -> float:
        """Close the session again; the seconds that this took, over a connection that was there already."""
        began = time.monotonic()
        async with self.http.post(self.address("polling", sid), data=CLOSE) as response:
            await response.read()
        return time.monotonic() - began

    async def speak_websocket(self) -> None:
        """Open a session over WebSocket, and close it.

        Raises:
            aiohttp.ClientError, TimeoutError, ValueError: that does not work.
        """
        async with self.http.ws_connect(self.address("websocket")) as socket:
            words = await socket.receive_str(timeout=SECONDS)
            if read_handshake(words) is None:
                raise ValueError("what answers does not speak Socket.IO")
            await socket.send_str(CLOSE)

    async def is_ours(self) -> bool:
        """Whether it is an A2C Server, wherever its Socket.IO is."""
        async with self.http.get(f"{self.origin}/", allow_redirects=False) as response:
            return (await response.content.read(100)).startswith(PAGE)


def session(
    headers: dict[str, str] | None = None, seconds: float = SECONDS, ca_file: Path | None = None
) -> aiohttp.ClientSession:
    """For requests that get so many seconds each."""
    connector = aiohttp.TCPConnector(ssl=trusting(ca_file))
    return aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=seconds), connector=connector)


def _clock(date: str | None, now: float) -> float | None:
    """How far the clock of who wrote this date is ahead; it has no fractions of a second."""
    try:
        return parsedate_to_datetime(date).timestamp() + 0.5 - now if date else None
    except ValueError:
        return None
