"""The gateway over streamable HTTP, an ASGI application: `/OFFICE` and `/OFFICE/PROFILE` below where it is mounted.

MCP's library implements the protocol. This module decides which requests reach it: it checks the Host and Origin of a
request, its credential and the limits of its principal, and reads the office and profile from its path. In a cluster,
it also finds the node that serves the office.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Protocol
from urllib.parse import parse_qs

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from a2c_smcp.errors import (
    ForbiddenError,
    MalformedRequestError,
    NotAuthenticatedError,
    NotConnectedError,
    NotFoundError,
    SMCPError,
)
from a2c_smcp.gateway.body import read_body, replaying
from a2c_smcp.gateway.head import (
    METHODS,
    Header,
    Scope,
    Sites,
    is_stream,
    office_and_profile,
    opens_session,
    preflight,
    principal_of_grant,
)
from a2c_smcp.gateway.nodes import Elsewhere, OtherNodes, Placing
from a2c_smcp.gateway.principals import Principals
from a2c_smcp.gateway.profile import InvalidProfile, Profile
from a2c_smcp.gateway.request_scope import GONE, OPENED, PRINCIPAL, WRITTEN, Written
from a2c_smcp.gateway.responses import Response
from a2c_smcp.gateway.seat import Connect
from a2c_smcp.gateway.settings import GatewaySettings
from a2c_smcp.gateway.views import Views
from a2c_smcp.gateway.visits import Answer, Message, Receive, Send, Visit, Visits
from a2c_smcp.protocol.grants import Grant

logger = logging.getLogger(__name__)

_STATUS = {400: 400, 401: 401, 403: 403, 404: 404, 408: 408, 413: 413, 429: 429, 503: 503}
_RETRY = frozenset((429, 503))
MOST_KEPT = 200
"""Queries and principals that are not read again."""
MOST_FIELDS = 200
"""Fields of a query."""


class Surroundings(Protocol):
    """What the gateway needs of the Server that it is part of."""

    @property
    def is_draining(self) -> bool:
        """Whether the Server shuts down."""
        ...

    @property
    def other_nodes(self) -> OtherNodes | None:
        """The other Servers of its cluster; None if it is alone."""
        ...

    def authenticate(self, scope: Scope, office_id: str, /) -> Awaitable[Grant]:
        """What the credential of a request for an office allows.

        Raises:
            NotAuthenticatedError, ForbiddenError: nothing. The Server has logged and counted that.
        """
        ...

    def challenge(self, scope: Scope, office_id: str, error: SMCPError, /) -> str | None:
        """The `WWW-Authenticate` header for a rejected request to an office."""
        ...

    def rejected(self, scope: Scope, error: SMCPError, principal: str | None, /) -> None:
        """A request was rejected for another reason."""
        ...

    def count(self, principal: str, method: str, outcome: str, /) -> None:
        """Count a request of a principal, for the metrics."""
        ...


class Gateway:
    """All offices that MCP hosts use."""

    def __init__(
        self,
        connect: Callable[[str], Connect],
        server: Surroundings,
        settings: GatewaySettings | None = None,
    ) -> None:
        self._server = server
        self.settings = settings = settings or GatewaySettings()
        self._sites = Sites.of(settings.allowed_hosts, settings.allowed_origins)
        self._principals = Principals(settings)
        self.views = Views(connect, settings, server.count)
        self._placing = Placing(self.views, lambda: server.other_nodes)
        self.visits = Visits()
        self._is_closed = False

    @property
    def streams(self) -> int:
        """The streams of notifications that are open."""
        return self._principals.streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; `scope["path"]` is `/OFFICE` or `/OFFICE/PROFILE`."""
        answer, office_id, principal = Answer(send), "", None
        try:
            if self._is_closed:
                raise NotConnectedError("this Server is shutting down")
            answer.headers = self._sites.check(scope)
            if scope["method"] not in METHODS:
                is_asking = scope["method"] == "OPTIONS"
                await answer.respond(204 if is_asking else 405, preflight(scope))
                return
            office_id, name = office_and_profile(scope)
            grant = await self._authenticate(scope, answer, office_id)
            if grant is None:
                return
            principal = principal_of_grant(grant, scope)
            if "agent" not in grant.roles or not grant.covers(office_id):
                raise ForbiddenError(f"this credential does not allow an Agent in the office {office_id!r}")
            await self._serve(office_id, self._profile(name, scope), principal, grant, scope, receive, answer)
        except SMCPError as error:
            await self._reject(scope, answer, office_id, principal, error)
        except InvalidProfile as problem:
            await self._reject(scope, answer, office_id, principal, MalformedRequestError(str(problem)))

    async def _authenticate(self, scope: Scope, answer: Answer, office_id: str) -> Grant | None:
        try:
            return await self._server.authenticate(scope, office_id)
        except SMCPError as error:
            await self._respond_error(scope, answer, office_id, error)
            return None

    async def _serve(
        self,
        office_id: str,
        profile: Profile,
        principal: str,
        grant: Grant,
        scope: Scope,
        receive: Receive,
        answer: Answer,
    ) -> None:
        visit = Visit(grant, is_stream=is_stream(scope))

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                visit.gone.set()
            return message

        with self._principals.serving(principal, is_stream=visit.is_stream), self.visits.open(visit):
            body = b""
            if scope["method"] == "POST":
                settings = self.settings
                body = await read_body(scope, receive, settings.body_bytes, settings.body_seconds)
            place = await self._placing.place(office_id, scope)
            if isinstance(place, Elsewhere):
                await place.forward(scope, body, watched, answer)
                return
            with contextlib.ExitStack() as stack:
                if opens_session(scope):
                    if self._server.is_draining:
                        raise NotConnectedError("this Server is shutting down")
                    counts = self.views.sessions_of(principal), self.views.sessions
                    opened = stack.enter_context(self._principals.opening(principal, *counts))
                    place.scope[OPENED] = opened
                written = Written()
                # Spaces around a value are no part of it, and the library compares some values with the body.
                headers = [(name, value.strip(b" \t")) for name, value in place.scope["headers"]]
                further = {
                    "headers": headers,
                    "user": _user(grant.subject or "anonymous"),
                    PRINCIPAL: principal,
                    GONE: visit.gone,
                }
                scope = {**place.scope, **further, WRITTEN: written}
                response = Response(place.naming(answer), written, is_post=scope["method"] == "POST")
                await self.views.get(office_id, profile, principal).answer(
                    scope, replaying(body, watched), response.send
                )

    def _profile(self, name: str | None, scope: Scope) -> Profile:
        base = self.settings.profiles.get(name) if name is not None else Profile()
        if base is None:
            known = ", ".join(self.settings.profiles) or "none"
            raise NotFoundError(f"there is no profile {name!r}; the profiles are: {known}")
        query = scope.get("query_string", b"")
        return _refined(base, query) if query else base

    async def _reject(
        self, scope: Scope, answer: Answer, office_id: str, principal: str | None, error: SMCPError
    ) -> None:
        if answer.status:  # it was served, until now
            logger.info("a request of %r in office %r was ended: %s", principal, office_id, error.message)
            await answer.complete()
            return
        self._server.rejected(scope, error, principal)
        await self._respond_error(scope, answer, office_id, error)

    async def _respond_error(self, scope: Scope, answer: Answer, office_id: str, error: SMCPError) -> None:
        headers: list[Header] = []
        if isinstance(error, NotAuthenticatedError | ForbiddenError):
            challenge = self._server.challenge(scope, office_id, error)
            if challenge is not None:
                headers.append((b"www-authenticate", challenge.encode("latin-1", "replace")))
        status = _STATUS.get(error.code, 500)
        if status in _RETRY:
            headers.append((b"retry-after", b"1"))
        await answer.respond_error(status, headers, error)

    async def aclose(self) -> None:
        """End all requests and sessions, and release all seats."""
        self._is_closed = True
        await self.visits.aclose()
        await self.views.aclose()


@lru_cache(maxsize=MOST_KEPT)
def _refined(base: Profile, query: bytes) -> Profile:
    """A profile with a query. Hosts send the same query with every request."""
    try:
        fields = parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise InvalidProfile(f"the URL has more than {MOST_FIELDS} fields") from None
    return base.refined(fields)


@lru_cache(maxsize=MOST_KEPT)
def _user(subject: str) -> AuthenticatedUser:
    """The principal, to which the library binds a session: a request with another credential does not find it."""
    return AuthenticatedUser(AccessToken(token="", client_id=subject, scopes=[], subject=subject))
