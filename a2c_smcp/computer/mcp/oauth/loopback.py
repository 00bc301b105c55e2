"""Where the browser returns to after a login: a listener on this machine, for one request."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

from a2c_smcp.utils.text import one_line

HOST, PATH = "127.0.0.1", "/callback"
MAX_REQUEST = 16_384
REQUEST_SECONDS = 10.0
MAX_CONNECTIONS = 16
"""At a time. Browsers open a few; other programs on this machine have no reason to."""
SHOWN = 200

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<body><h1>{title}</h1><p>{text}</p></body></html>"""
_HEADERS = (
    "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n"
)


class LoginDenied(Exception):
    """The authorization server, or the person at the browser, rejected the login."""


class Listener:
    """Waits for the browser at `url`. Only a request with the state of this login counts."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._path = urlsplit(url).path or "/"
        self._state: str | None = None
        self._outcome: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._writers: set[asyncio.StreamWriter] = set()

    def expect(self, authorization_url: str) -> None:
        """Accept the answer to this authorization request."""
        # The last one: the query of the authorization server's own address comes first.
        self._state = parse_qs(urlsplit(authorization_url).query).get("state", [None])[-1]

    async def wait(self) -> AuthorizationCodeResult:
        """The answer of the authorization server.

        Raises:
            LoginDenied: the login was rejected.
        """
        return await self._outcome

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        self._writers.add(writer)
        try:
            if len(self._writers) <= MAX_CONNECTIONS:
                async with asyncio.timeout(REQUEST_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._answer(head))
                    await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # whoever connects decides what it sends: a connection without a request is no problem of the login
        finally:
            self._writers.discard(writer)
            writer.close()

    def close(self) -> None:
        """Close all connections: browsers keep some open without a request."""
        for writer in self._writers:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.decode("latin-1").partition(" ")
        # Not `urlsplit`, which takes `//x` for a host, and rejects some targets.
        path, _, query_text = rest.partition(" ")[0].partition("?")
        if method != "GET" or path != self._path:
            return _page("404 Not Found", "Not found", "This is not the address of a login.")
        query = {name: values[0] for name, values in parse_qs(query_text).items()}
        # Every page in the browser can send a request to this address. One without the state must not end the login.
        state = query.get("state", "")
        if self._state is None or not secrets.compare_digest(state.encode(), self._state.encode()):
            return _page("400 Bad Request", "Not accepted", "This is not the login that the Computer waits for.")
        if "error" in query:
            self._fail(query["error"], query.get("error_description", ""))
            return _page("200 OK", "Not logged in", "The login was rejected. The Computer shows the reason.")
        if not query.get("code"):
            return _page("400 Bad Request", "Not accepted", "The authorization code is missing.")
        if not self._outcome.done():
            self._outcome.set_result(AuthorizationCodeResult(code=query["code"], state=state, iss=query.get("iss")))
        return _page("200 OK", "Login received", "The Computer completes the login. You can close this window.")

    def _fail(self, error: str, description: str) -> None:
        if not self._outcome.done():
            why = one_line(f"{error}: {description}" if description else error, SHOWN)
            self._outcome.set_exception(LoginDenied(f"the authorization server rejected the login: {why}"))
            self._outcome.exception()  # retrieved here: a login that was cancelled meanwhile does not


@asynccontextmanager
async def listening(wanted: str | None) -> AsyncGenerator[Listener]:
    """Listen at the wanted address; by default on a free port of 127.0.0.1.

    Raises:
        OSError: the wanted address is in use, or cannot be listened at.
    """
    parts = urlsplit(wanted or f"http://{HOST}:0{PATH}")
    listener: Listener | None = None

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if listener is not None:
            await listener.take(reader, writer)

    port = parts.port if parts.port is not None else 80
    server = await asyncio.start_server(take, parts.hostname, port, limit=MAX_REQUEST)
    found = server.sockets[0].getsockname()[1]
    listener = Listener(wanted or f"http://{HOST}:{found}{PATH}")
    try:
        yield listener
    finally:
        server.close()
        listener.close()


def _page(status: str, title: str, text: str) -> bytes:
    body = _PAGE.format(title=title, text=text).encode()
    return f"HTTP/1.1 {status}\r\n{_HEADERS}Content-Length: {len(body)}\r\n\r\n".encode() + body
