"""The gateway over streamable HTTP, an ASGI application: `/OFFICE` and `/OFFICE/PROFILE` below where it is mounted.

MCP's library speaks the protocol. This module decides which requests reach it: the Host and Origin of a request, its
credential, the limits of its principal, and the office and profile that its path names.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote

import orjson
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from a2c_smcp.errors import (
    ForbiddenError,
    MalformedRequestError,
    NotAuthenticatedError,
    NotConnectedError,
    NotFoundError,
    RateLimitedError,
    SMCPError,
)
from a2c_smcp.gateway.principals import Principals
from a2c_smcp.gateway.profile import InvalidProfile, Profile
from a2c_smcp.gateway.request_scope import GONE, PRINCIPAL, WRITTEN, Gone, Written
from a2c_smcp.gateway.seat import Connect
from a2c_smcp.gateway.settings import GatewaySettings
from a2c_smcp.gateway.views import Receive, Scope, Send, Views
from a2c_smcp.protocol.grants import Grant

logger = logging.getLogger(__name__)

Authenticate: TypeAlias = Callable[[Scope], Awaitable[Grant]]
"""What the credential of a request allows; raises `NotAuthenticatedError` or `ForbiddenError`."""
Challenge: TypeAlias = Callable[[Scope, str, SMCPError], str | None]
"""The `WWW-Authenticate` header for a request to an office that is rejected with an error."""

_STATUS = {400: 400, 401: 401, 403: 403, 404: 404, 413: 413, 429: 429, 503: 503}
_RETRY = frozenset((429, 503))


class Gateway:
    """All offices that MCP hosts use."""

    def __init__(
        self,
        connect: Callable[[str], Connect],
        authenticate: Authenticate,
        settings: GatewaySettings | None = None,
        challenge: Challenge | None = None,
    ) -> None:
        self._authenticate = authenticate
        self.settings = settings = settings or GatewaySettings()
        self._challenge = challenge
        self._principals = Principals(
            settings.requests_per_second, settings.request_burst, settings.requests_at_once, settings.streams_at_once
        )
        self._allowed_hosts = frozenset(host.lower() for host in settings.allowed_hosts)
        self.views = Views(connect, settings)
        self._is_closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; `scope["path"]` is `/OFFICE` or `/OFFICE/PROFILE`."""
        office_id = ""
        try:
            if self._is_closed:
                raise NotConnectedError("this Server is shutting down")
            self._check_headers(scope)
            office_id, name = _parts(scope)
            grant = await self._authenticate(scope)
            if "agent" not in grant.roles or not grant.covers(office_id):
                raise ForbiddenError(f"this credential does not allow an Agent in the office {office_id!r}")
            principal = _principal(grant, scope)
            with self._principals.serving(principal, is_stream=_is_stream(scope)):
                await self._serve(office_id, self._profile(name, scope), principal, grant, scope, receive, send)
        except SMCPError as error:
            await self._reject(scope, send, office_id, error)
        except InvalidProfile as problem:
            await self._reject(scope, send, office_id, MalformedRequestError(str(problem)))

    async def _serve(
        self,
        office_id: str,
        profile: Profile,
        principal: str,
        grant: Grant,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        most = self.settings.sessions_of_a_principal
        if _opens_session(scope) and self.views.sessions_of(principal) >= most:
            raise RateLimitedError(f"more than {most} sessions at the same time")
        gone = Gone()

        async def watched_receive() -> MutableMapping[str, Any]:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        written = Written()
        scope = {**scope, "user": _user(grant), PRINCIPAL: principal, GONE: gone, WRITTEN: written}
        await self.views.get(office_id, profile).answer(scope, watched_receive, _inserting(send, written))

    def _check_headers(self, scope: Scope) -> None:
        """Reject requests that a web page of another site makes a browser send.

        Raises:
            ForbiddenError: the Host or the Origin is not accepted.
        """
        host, origin = (_header(scope, b"host") or "").lower(), _header(scope, b"origin")
        name = _without_port(host)
        if self._allowed_hosts and name not in self._allowed_hosts:
            raise ForbiddenError(f"Host {host!r} is not served here")
        if origin is None or "*" in self.settings.allowed_origins or origin in self.settings.allowed_origins:
            return
        # A site can make its own name lead to this machine (DNS rebinding): its pages then have our Host as Origin. A
        # name that the operator set, and an address, cannot be such a site.
        is_ours = origin.lower().partition("://")[2] == host
        if not is_ours or not (name in self._allowed_hosts or _is_address(name)):
            raise ForbiddenError(f"Origin {origin!r} is not accepted")

    def _profile(self, name: str | None, scope: Scope) -> Profile:
        base = self.settings.profiles.get(name) if name is not None else Profile()
        if base is None:
            known = ", ".join(self.settings.profiles) or "none"
            raise NotFoundError(f"there is no profile {name!r}; the profiles are: {known}")
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        return base.refined(query) if query else base

    async def _reject(self, scope: Scope, send: Send, office_id: str, error: SMCPError) -> None:
        headers: list[tuple[bytes, bytes]] = [(b"content-type", b"application/json")]
        if isinstance(error, NotAuthenticatedError | ForbiddenError) and self._challenge is not None:
            challenge = self._challenge(scope, office_id, error)
            if challenge is not None:
                headers.append((b"www-authenticate", challenge.encode("latin-1", "replace")))
        status = _STATUS.get(error.code, 500)
        if status in _RETRY:
            headers.append((b"retry-after", b"1"))
        # JSON-RPC's form, without an id: the body of the request was not read.
        body = {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32000, "message": error.message, "data": {"code": error.code}},
        }
        await _respond(send, status, headers, orjson.dumps(body))

    async def aclose(self) -> None:
        """End all sessions, and release all seats."""
        self._is_closed = True
        await self.views.aclose()


def _parts(scope: Scope) -> tuple[str, str | None]:
    """The office and the profile in the path.

    Raises:
        NotFoundError: it has another form.
    """
    # From the path as it was sent: the names may have slashes and percent signs.
    raw = scope.get("raw_path")
    if isinstance(raw, bytes):
        above = len([part for part in scope.get("root_path", "").split("/") if part])
        parts = [unquote(part) for part in raw.decode("latin-1").strip("/").split("/")[above:]]
    else:
        parts = scope["path"].strip("/").split("/")
    match parts:
        case [office] if office:
            return office, None
        case [office, profile] if office and profile:
            return office, profile
        case _:
            raise NotFoundError("name an office: /mcp/OFFICE or /mcp/OFFICE/PROFILE")


def _header(scope: Scope, name: bytes) -> str | None:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return next((value.decode("latin-1") for key, value in headers if key == name), None)


def _is_stream(scope: Scope) -> bool:
    """Whether a request is for a stream of notifications, which stays open."""
    return scope["method"] == "GET" or _header(scope, b"mcp-method") == "subscriptions/listen"


def _opens_session(scope: Scope) -> bool:
    """Whether a request opens a session, as hosts before 2026-07-28 do."""
    return _header(scope, b"mcp-session-id") is None and _header(scope, b"mcp-method") is None


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _is_address(host: str) -> bool:
    """Whether a host is no name that somebody could make lead elsewhere."""
    if host == "localhost":
        return True
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _principal(grant: Grant, scope: Scope) -> str:
    """Whose limits a request counts against, and whose calls it makes."""
    if grant.subject:
        return grant.subject
    client = scope.get("client")
    return f"anonymous at {client[0]}" if client else "anonymous"


def _user(grant: Grant) -> AuthenticatedUser:
    """The principal, to which the library binds a session: a request with another credential does not find it."""
    subject = grant.subject or "anonymous"
    return AuthenticatedUser(AccessToken(token="", client_id=subject, scopes=[], subject=subject))


def _inserting(send: Send, written: Written) -> Send:
    """Sends a response, with JSON that is written already in its place."""
    held: MutableMapping[str, Any] | None = None

    async def insert(message: MutableMapping[str, Any]) -> None:
        nonlocal held
        if not written:
            await send(message)
        elif message["type"] == "http.response.start":
            held = message  # its length is known with the body
        else:
            body = written.insert(message.get("body", b""))
            if held is not None:
                length = [] if message.get("more_body") else [(b"content-length", str(len(body)).encode())]
                headers = [*(pair for pair in held["headers"] if pair[0] != b"content-length"), *length]
                await send({**held, "headers": headers})
                held = None
            await send({**message, "body": body})

    return insert


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
