"""A minimal Engine.IO client: opens and closes sessions, to see whether a Server answers, how fast, and over what."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp

from a2c_smcp.cli.doctor.options import Address
from a2c_smcp.errors import VersionRefusedError
from a2c_smcp.protocol.terms import Terms
from a2c_smcp.utils.trust import trusting
from a2c_smcp.utils.url import with_parameters
from a2c_smcp.wire.session import CLOSE, read_handshake

PATH = "/socket.io"
"""Where every client of this package looks for Socket.IO."""
PAGE = b"A2C-SMCP Server"
"""The beginning of the text that an A2C Server sends for a page that it does not have."""
SECONDS = 10.0


@dataclass(frozen=True)
class Answer:
    """The answer to the first request of a session."""

    status: int
    sid: str | None
    """The id of the session; None if the answer is not Engine.IO."""
    upgrades: bool
    """Whether it offers WebSocket."""
    location: str | None
    """The target of a redirect."""
    software: str
    """The `Server` header."""
    demands: str | None
    """The version of A2C-SMCP that it demands of every client; None if it accepts this one."""
    clock: float | None
    """Seconds by which its clock is ahead of ours; None without a `Date` header."""


@dataclass(frozen=True)
class Line:
    """HTTP requests to one Server."""

    http: aiohttp.ClientSession
    origin: str
    query: str
    """The query of the Server's URL, which clients send with every request, and what they say of themselves."""

    @classmethod
    def to(cls, url: str, http: aiohttp.ClientSession, terms: Terms) -> Line:
        """Requests to the Server at a URL."""
        query = urlsplit(with_parameters(url, terms.query)).query
        return cls(http, Address.of(url).origin, f"{query}&" if query else "")

    def address(self, transport: str, sid: str | None = None) -> str:
        """The URL of a transport, and of a session in it."""
        return f"{self.origin}{PATH}/?{self.query}EIO=4&transport={transport}" + (f"&sid={sid}" if sid else "")

    async def greet(self) -> Answer:
        """Open a session over long-polling."""
        began = time.time()
        async with self.http.get(self.address("polling"), allow_redirects=False) as response:
            # The date was written some time between request and answer: the middle halves the error of a slow network.
            now = (began + time.time()) / 2
            words = (await response.content.read(10_000)).decode("utf-8", "replace")
            handshake = read_handshake(words) if response.status == 200 else None
            return Answer(
                status=response.status,
                sid=handshake.sid if handshake else None,
                upgrades=handshake.can_upgrade if handshake else False,
                demands=_demanded(words) if handshake is None else None,
                location=response.headers.get("Location"),
                software=response.headers.get("Server", ""),
                clock=_clock(response.headers.get("Date"), now),
            )

    async def part(self, sid: str) -> float:
        """Close the session; the seconds that the request took."""
        # This request is the one to time: `greet` also paid for TCP and TLS, which a running client pays once.
        began = time.monotonic()
        async with self.http.post(self.address("polling", sid), data=CLOSE) as response:
            await response.read()
        return time.monotonic() - began

    async def speak_websocket(self) -> None:
        """Open a session over WebSocket, and close it.

        Raises:
            aiohttp.ClientError, TimeoutError, ValueError: WebSocket does not work.
        """
        async with self.http.ws_connect(self.address("websocket")) as socket:
            words = await socket.receive_str(timeout=SECONDS)
            if read_handshake(words) is None:
                raise ValueError("the answer is not Socket.IO")
            await socket.send_str(CLOSE)

    async def is_ours(self) -> bool:
        """Whether it is an A2C Server, whatever the path of its Socket.IO."""
        async with self.http.get(f"{self.origin}/", allow_redirects=False) as response:
            return (await response.content.read(100)).startswith(PAGE)


def session(
    headers: dict[str, str] | None = None, seconds: float = SECONDS, ca_file: Path | None = None
) -> aiohttp.ClientSession:
    """HTTP requests with a time limit of `seconds` each."""
    connector = aiohttp.TCPConnector(ssl=trusting(ca_file))
    return aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=seconds), connector=connector)


def _demanded(words: str) -> str | None:
    """The version in the body with which a Server rejects another one."""
    try:
        body: Any = json.loads(words)
    except (ValueError, RecursionError):
        return None
    given = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    version = given.get("server_version") if given.get("code") == VersionRefusedError.code else None
    return version if isinstance(version, str) else None


def _clock(date: str | None, now: float) -> float | None:
    """Seconds by which the clock behind a `Date` header is ahead of ours."""
    # The header has whole seconds, rounded down: half a second more is right on average.
    try:
        return parsedate_to_datetime(date).timestamp() + 0.5 - now if date else None
    except ValueError:
        return None
