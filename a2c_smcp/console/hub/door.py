"""Who may use the Server's console: credentials whose grant says `admin`."""

from __future__ import annotations

import asyncio
from typing import Protocol
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import Scope

from a2c_smcp.console.web.users import User
from a2c_smcp.errors import ForbiddenError, NotAuthenticatedError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.administration import Administration
from a2c_smcp.server.one_time import OneTimeToken
from a2c_smcp.server.public_url import is_loopback

ONE_TIME = "one-time"
"""The reference of somebody who logged in with the token that the process printed."""
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


class Keys(Protocol):
    """How the Server knows its keys."""

    administration: Administration

    async def identify(self, scope: Scope, /) -> Grant:
        """What the key of a request allows."""
        ...

    def has_credential(self, scope: Scope, /) -> bool:
        """Whether a request has a key."""
        ...

    def reference(self, key: str, /) -> str | None:
        """What identifies a valid key later."""
        ...

    def restore(self, reference: str, /) -> Grant | None:
        """What a key allows now."""
        ...


class ServerDoor:
    """See `Door`. `has_token` says whether somebody may have logged in with a one-time token."""

    def __init__(self, keys: Keys, *, has_token: bool) -> None:
        self._keys = keys
        self._has_token = has_token

    def has_credential(self, request: Request) -> bool:
        """See `Door`."""
        return not self._is_open and self._keys.has_credential(request.scope)

    async def recognise(self, request: Request) -> User | None:
        """See `Door`. A Server without authentication on loopback lets everybody of its machine in, here as well."""
        if self._is_open:
            return User("this machine", Grant(admin=True)) if _is_of_this_machine(request) else None
        if not self._keys.has_credential(request.scope):
            return None
        return _admin(await self._keys.identify(request.scope))

    async def admit(self, request: Request, key: str) -> User:
        """See `Door`."""
        if self._is_open:
            raise NotAuthenticatedError("this Server has no keys: open its console on its own machine")
        header = (b"authorization", b"Bearer " + key.encode("latin-1", "replace"))
        user = _admin(await self._keys.identify({**request.scope, "headers": [header]}))
        # In a thread: for a shared secret, it takes a while on purpose.
        return User(user.name, user.grant, await asyncio.to_thread(self._keys.reference, key))

    def restore(self, reference: str) -> User | None:
        """See `Door`."""
        if reference == ONE_TIME:
            return one_time_user() if self._has_token else None
        grant = self._keys.restore(reference)
        return _named(grant, reference) if grant is not None and grant.admin else None

    @property
    def _is_open(self) -> bool:
        return self._keys.administration.is_open


class PrintedTokens:
    """The token that the process printed, as the login knows it."""

    def __init__(self, one_time: OneTimeToken) -> None:
        self._one_time = one_time

    def take(self, token: str) -> User | None:
        """See `Tokens`."""
        return one_time_user() if self._one_time.take(token) else None


def one_time_user() -> User:
    """Somebody with that token: the owner of the process."""
    return User("owner", Grant(admin=True), ONE_TIME)


def _admin(grant: Grant) -> User:
    if not grant.admin:
        raise ForbiddenError(
            "this key does not allow administration: create one with `a2c keys add NAME --admin`, or set --admin-key"
        )
    return _named(grant)


def _named(grant: Grant, reference: str | None = None) -> User:
    return User(grant.subject or "admin", grant, reference)


def _is_of_this_machine(request: Request) -> bool:
    """Whether a request comes from a program or a page of this machine, and not through a proxy on it.

    The name of the host is checked, too: a page of another site may have a name that leads to this machine.
    """
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    if is_forwarded(request) or not is_loopback(host):
        return False
    return request.client is None or is_loopback(request.client.host)


def is_forwarded(request: Request) -> bool:
    """Whether a proxy has passed on a request."""
    return any(name in request.headers for name in _FORWARDED)
