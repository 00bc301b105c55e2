"""The rules of logins: how a code becomes tokens, how tokens are renewed, and when all of them end."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from a2c_smcp.errors import NotAuthenticatedError, NotConnectedError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.authorization.login import (
    ACCESS_PREFIX,
    CODE_PREFIX,
    REFRESH_PREFIX,
    Login,
    fingerprint,
    hashed,
    login_of,
    mint,
)
from a2c_smcp.server.authorization.store import Store
from a2c_smcp.server.credentials import LastingVerifier

logger = logging.getLogger(__name__)

CODE_SECONDS = 60.0
ACCESS_SECONDS = 3600.0
REFRESH_SECONDS = 30 * 24 * 3600.0
"""A host that does not use its login for so long has to log in again."""
MOST_ACCESS = 4
"""Access tokens of one login that are valid at the same time."""
MOST_ENDED = 10_000
"""Logins that are known to have ended, and whose streams may still be open."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks a person for."""

    client: str
    client_name: str
    redirect_uri: str
    has_redirect_uri: bool
    challenge: str
    resource: str
    office: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a login, as the client gets them."""

    access: str
    refresh: str
    seconds: int


class TokenExpired(NotAuthenticatedError):
    """An access token that was valid: its host renews it now."""


class KeyRejected(Exception):
    """The key that a person entered cannot be used. `office` is the one that it does not allow."""

    def __init__(self, message: str = "", office: str | None = None) -> None:
        super().__init__(message)
        self.office = office


class Logins:
    """All logins at a Server, with the keys of these verifiers."""

    def __init__(self, store: Store, verifiers: Sequence[LastingVerifier]) -> None:
        self.store = store
        self._verifiers = verifiers
        self._ended: dict[str, None] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}

    async def begin(self, request: Request, key: str) -> str:
        """A person entered a key: a code for the client.

        Raises:
            KeyRejected: the key is not valid, has expired, or does not allow an Agent in the office.
        """
        reference, grant = self._read(key)
        if "agent" not in grant.roles or not grant.covers(request.office):
            raise KeyRejected(office=request.office)
        login_id = secrets.token_hex(16)
        code = mint(CODE_PREFIX, login_id)
        login = Login(
            id=login_id,
            client=request.client,
            client_name=request.client_name,
            resource=request.resource,
            office=request.office,
            key=reference,
            allowed=fingerprint(grant),
            challenge=request.challenge,
            redirect_uri=request.redirect_uri,
            has_redirect_uri=request.has_redirect_uri,
            code=hashed(code),
            is_redeemed=False,
            refresh="",
            access=(),
            ends=time.time() + CODE_SECONDS,
        )
        await self.store.add(login)
        logger.info(
            "login: %s may use the office %r with the key %s", request.client_name, request.office, grant.subject
        )
        return code

    def _read(self, key: str) -> tuple[str, Grant]:
        """The reference and the grant of a key.

        Raises:
            KeyRejected: it is not valid.
        """
        problem = ""
        for verifier in self._verifiers:
            try:
                reference = verifier.reference(key)
            except NotAuthenticatedError as error:  # it was valid once
                problem = error.message
                continue
            grant = verifier.grant_of(reference) if reference is not None else None
            if reference is not None and grant is not None:
                return reference, grant
        raise KeyRejected(problem)

    async def find_code(self, client: str, code: str) -> Login | None:
        """The login of a code that the client may redeem. A code that comes again ends its login: somebody else may
        have it."""
        login = await self._find(CODE_PREFIX, code, client)
        if login is None or not _same(login.code, code):
            return None
        if login.is_redeemed:
            await self._end(login, "its code was used twice", logging.WARNING)
            return None
        return login

    async def redeem(self, login: Login) -> Tokens | None:
        """The first tokens of a login; None if the code is not valid any more."""
        return await self._issue(login) if self._grant(login) is not None else None

    async def find_refresh(self, client: str, token: str) -> Login | None:
        """The login whose tokens a client may renew. A token that was used before ends the login: either the client or
        a thief has it, and the Server cannot know who."""
        login = await self._find(REFRESH_PREFIX, token, client)
        if login is None:
            return None
        if not _same(login.refresh, token):
            await self._end(login, "a token was used for renewal twice", logging.WARNING)
            return None
        return login

    async def renew(self, login: Login) -> Tokens | None:
        """New tokens in place of the old; None if the login has ended, or another request was earlier."""
        if self._grant(login) is None:
            await self._end(login, "its key was removed or changed, or has expired")
            return None
        tokens = await self._issue(login)
        if tokens is None:
            await self._end(login, "a token was used for renewal twice", logging.WARNING)
        return tokens

    async def _issue(self, login: Login) -> Tokens | None:
        now = time.time()
        tokens = Tokens(mint(ACCESS_PREFIX, login.id), mint(REFRESH_PREFIX, login.id), int(ACCESS_SECONDS))
        running = [each for each in login.access if each[1] > now][-MOST_ACCESS + 1 :]
        renewed = replace(
            login,
            is_redeemed=True,
            refresh=hashed(tokens.refresh),
            access=(*running, (hashed(tokens.access), now + ACCESS_SECONDS)),
            ends=now + REFRESH_SECONDS,
        )
        return tokens if await self.store.replace(login, renewed) else None

    async def grant_of(self, token: str, resource: str | None) -> Grant:
        """What an access token allows at the URL of an office.

        Raises:
            NotAuthenticatedError: it is not valid there.
        """
        login = await self._find(ACCESS_PREFIX, token)
        now, digest = time.time(), hashed(token)
        ends = (
            next((ends for known, ends in login.access if hmac.compare_digest(known, digest)), None) if login else None
        )
        if login is None or ends is None:
            raise NotAuthenticatedError("the token is not valid: log in again")
        if ends < now:
            raise TokenExpired("the token has expired")
        if login.resource != resource:
            raise NotAuthenticatedError(f"the token is for {login.resource}, not for this office")
        grant = self._grant(login)
        if grant is None:
            raise NotAuthenticatedError("the key with which you logged in was removed or changed, or has expired")
        holds, login_id = grant.holds, login.id
        return Grant(
            # The office alone, as a pattern that matches nothing else.
            offices=(re.sub(r"([*?[])", r"[\1]", login.office),),
            roles=frozenset(("agent",)),
            name=grant.name,
            subject=grant.subject,
            holds=lambda: time.time() < ends and self._is_valid(login_id) and (holds is None or holds()),
        )

    async def revoke(self, client: str, token: str) -> None:
        """End the login that a token of a client belongs to; an unknown token is ignored."""
        for prefix in (ACCESS_PREFIX, REFRESH_PREFIX):
            login = await self._find(prefix, token, client)
            if login is not None:
                await self._end(login, "the host logged out")

    async def _end(self, login: Login, reason: str, level: int = logging.INFO) -> None:
        logger.log(level, "the login of %s in the office %r ends: %s", login.client_name, login.office, reason)
        self._note_end(login.id)
        await self.store.remove(login.id)

    def _note_end(self, login_id: str) -> None:
        self._ended[login_id] = None
        if len(self._ended) > MOST_ENDED:
            del self._ended[next(iter(self._ended))]

    def _is_valid(self, login_id: str) -> bool:
        """Whether a login has not ended, as far as this process knows. For the next time, it looks into the store: in a
        cluster, another node may end a login whose streams are here."""
        if login_id not in self._ended and login_id not in self._looking:
            self._looking[login_id] = asyncio.create_task(self._look(login_id), name="login: look into the store")
        return login_id not in self._ended

    async def _look(self, login_id: str) -> None:
        try:
            with contextlib.suppress(NotConnectedError):  # without Redis, nothing new is known
                if await self.store.get(login_id) is None:
                    self._note_end(login_id)
        finally:
            del self._looking[login_id]

    async def _find(self, prefix: str, token: str, client: str | None = None) -> Login | None:
        login_id = login_of(prefix, token)
        login = await self.store.get(login_id) if login_id is not None else None
        return login if login is not None and client in (None, login.client) else None

    def _grant(self, login: Login) -> Grant | None:
        """What the key of a login allows, if it is the same as when the person entered it."""
        found = (verifier.grant_of(login.key) for verifier in self._verifiers)
        grant = next((each for each in found if each is not None), None)
        return grant if grant is not None and fingerprint(grant) == login.allowed else None


def _same(known: str, token: str) -> bool:
    return hmac.compare_digest(known, hashed(token))
