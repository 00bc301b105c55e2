"""The gateway over streamable HTTP, an ASGI application: `/OFFICE` and `/OFFICE/PROFILE` below where it is mounted.

MCP's library speaks the protocol. This module decides which requests reach it: the Host and Origin of a request, its
credential, the limits of its principal, and the office and profile that its path names.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote

import orjson
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from a2c_smcp.errors import (
    ForbiddenError,
    MalformedRequestError,
    NotAuthenticatedError,
    NotFoundError,
    RateLimitedError,
    SMCPError,
)
from a2c_smcp.gateway.office import Office
from a2c_smcp.gateway.principals import Principals
from a2c_smcp.gateway.profile import InvalidProfile, Profile
from a2c_smcp.gateway.seat import LINGER, Connect
from a2c_smcp.gateway.view import View
from a2c_smcp.protocol.grants import Grant

logger = logging.getLogger(__name__)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Authenticate: TypeAlias = Callable[[Scope], Awaitable[Grant]]
"""What the credential of a request allows; raises `NotAuthenticatedError` or `ForbiddenError`."""
Challenge: TypeAlias = Callable[[Scope, str, SMCPError], str | None]
"""The `WWW-Authenticate` header for a request to an office that is rejected with an error."""

GONE = "a2c.gone"
"""The key in a request's scope of the event that its host is gone."""

_STATUS = {400: 400, 401: 401, 403: 403, 404: 404, 413: 413, 429: 429}


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """What an operator may set."""

    profiles: Mapping[str, Profile] = field(default_factory=dict[str, Profile])
    """Profiles by name: `/OFFICE/NAME`."""
    allowed_hosts: tuple[str, ...] = ()
    """The values of `Host` that are accepted, without the port; empty for all."""
    allowed_origins: tuple[str, ...] = ()
    """The values of `Origin` that are accepted, beside that of the Server itself; `*` for all."""
    body_bytes: int = 10_000_000
    sessions: int = 1_000
    """Sessions of one office and profile."""
    offices: int = 1_000
    """Offices and profiles that are used at the same time."""
    idle_seconds: float = 1800.0
    """Seconds after which a session without requests ends."""
    linger: float = LINGER


class Gateway:
    """All offices that MCP hosts use."""

    def __init__(
        self,
        connect: Callable[[str], Connect],
        authenticate: Authenticate,
        settings: GatewaySettings | None = None,
        challenge: Challenge | None = None,
    ) -> None:
        self._connect = connect
        self._authenticate = authenticate
        self.settings = settings or GatewaySettings()
        self._challenge = challenge
        self.principals = Principals()
        self._offices: dict[str, Office] = {}
        self._served: dict[tuple[str, Profile], _ServedView] = {}
        self._is_closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; `scope["path"]` is `/OFFICE` or `/OFFICE/PROFILE`."""
        office_id = ""
        try:
            self._check_headers(scope)
            office_id, name = _parts(scope["path"])
            grant = await self._authenticate(scope)
            if "agent" not in grant.roles or not grant.covers(office_id):
                raise ForbiddenError(f"this credential does not allow an Agent in the office {office_id!r}")
            profile = self._profile(name, scope)
            with self.principals.serving(grant.subject or "anonymous"):
                served = self._serve(office_id, profile)
                scope["user"] = _user(grant)
                await served.answer(scope, receive, send)
        except SMCPError as error:
            await self._reject(scope, send, office_id, error)
        except InvalidProfile as problem:
            await self._reject(scope, send, office_id, MalformedRequestError(str(problem)))

    def _check_headers(self, scope: Scope) -> None:
        """Reject requests that a web page of another site makes a browser send.

        Raises:
            ForbiddenError: the Host or the Origin is not accepted.
        """
        host, origin = _header(scope, b"host") or "", _header(scope, b"origin")
        allowed = self.settings.allowed_hosts
        if allowed and _without_port(host) not in allowed:
            raise ForbiddenError(f"Host {host!r} is not served here")
        if origin is None or "*" in self.settings.allowed_origins or origin in self.settings.allowed_origins:
            return
        if origin.partition("://")[2] != host:
            raise ForbiddenError(f"Origin {origin!r} is not accepted")

    def _profile(self, name: str | None, scope: Scope) -> Profile:
        base = self.settings.profiles.get(name) if name is not None else Profile()
        if base is None:
            known = ", ".join(self.settings.profiles) or "none"
            raise NotFoundError(f"there is no profile {name!r}; the profiles are: {known}")
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        return base.refined(query) if query else base

    def _serve(self, office_id: str, profile: Profile) -> _ServedView:
        if self._is_closed:
            raise RateLimitedError("this Server is shutting down")
        served = self._served.get((office_id, profile))
        if served is None:
            if len(self._served) >= self.settings.offices:
                raise RateLimitedError("too many offices are used at the same time")
            office = self._offices.get(office_id)
            if office is None:
                office = Office(office_id, self._connect(office_id), linger=self.settings.linger)
                self._offices[office_id] = office
            served = _ServedView(View(office, profile), self.settings, self._ended)
            self._served[office_id, profile] = served
        return served

    def _ended(self, served: _ServedView) -> None:
        """Forget a view that no host uses."""
        office = served.view.office
        self._served.pop((office.id, served.view.profile), None)

    async def _reject(self, scope: Scope, send: Send, office_id: str, error: SMCPError) -> None:
        headers: list[tuple[bytes, bytes]] = [(b"content-type", b"application/json")]
        if isinstance(error, NotAuthenticatedError | ForbiddenError) and self._challenge is not None:
            challenge = self._challenge(scope, office_id, error)
            if challenge is not None:
                headers.append((b"www-authenticate", challenge.encode("latin-1", "replace")))
        if isinstance(error, RateLimitedError):
            headers.append((b"retry-after", b"1"))
        # JSON-RPC's form, without an id: the body of the request was not read.
        body = {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32000, "message": error.message, "data": {"code": error.code}},
        }
        await _respond(send, _STATUS.get(error.code, 500), headers, orjson.dumps(body))

    async def aclose(self) -> None:
        """End all sessions, and release all seats."""
        self._is_closed = True
        await asyncio.gather(*(served.aclose() for served in list(self._served.values())))
        await asyncio.gather(*(office.aclose() for office in self._offices.values()))


class _ServedView:
    """A view with MCP's session manager, whose task this owns."""

    def __init__(self, view: View, settings: GatewaySettings, on_end: Callable[[_ServedView], None]) -> None:
        self.view = view
        self._manager = StreamableHTTPSessionManager(
            view.server,
            session_idle_timeout=settings.idle_seconds,
            max_request_body_size=settings.body_bytes,
            max_sessions=settings.sessions,
        )
        self._on_end = on_end
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        # The manager's task group belongs to the task that entered it.
        self._task = asyncio.create_task(self._run(), name=f"gateway of {view.office.id}")

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._stop.wait()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. The seat is kept until it ends."""
        await self._ready.wait()
        gone = scope[GONE] = asyncio.Event()

        async def watched_receive() -> MutableMapping[str, Any]:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        async with self.view.office.seat.used():
            await self._manager.handle_request(scope, watched_receive, send)

    async def aclose(self) -> None:
        """End all sessions. Hosts that listen are told that the end is deliberate."""
        self.view.close()
        self._stop.set()
        with contextlib.suppress(Exception):
            await self._task


def _parts(path: str) -> tuple[str, str | None]:
    parts = [unquote(part) for part in path.strip("/").split("/")]
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


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _user(grant: Grant) -> AuthenticatedUser:
    """The principal, to which the library binds a session: a request with another credential does not find it."""
    subject = grant.subject or "anonymous"
    return AuthenticatedUser(AccessToken(token="", client_id=subject, scopes=[], subject=subject))


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
