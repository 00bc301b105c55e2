"""Tokens of an OpenID provider, checked with the keys that it publishes.

Only a token that names the provider as its issuer makes the Server ask it for its keys, and only the client with that
token waits for the answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from a2c_smcp.errors import ForbiddenError, NotAuthenticatedError, NotConnectedError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.credentials import ADMIN_CLAIM
from a2c_smcp.server.fetching import FetchError, fetch_json
from a2c_smcp.server.public_url import is_loopback

if TYPE_CHECKING:
    from jwt import PyJWK

logger = logging.getLogger(__name__)

# With a public key each. A token with an HMAC would be checked with a key that everybody knows.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
FETCH_SECONDS = 4.0
"""Two documents are fetched within the time that a Server has to authenticate a client."""
MOST_BYTES = 500_000
FRESH_SECONDS = 3600.0
"""After this time, the keys are fetched again with the next token."""
KEEP_SECONDS = 24 * 3600.0
"""Keys of a provider that does not answer are used for so long."""
RETRY_SECONDS = 10.0
"""Seconds between two attempts to fetch keys, also for tokens with unknown keys."""
LEEWAY = 30.0
"""Seconds by which clocks may differ."""
MOST_TOKEN = 16_000


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """What tokens with a claim allow. `claim` may lead into objects: `realm_access.roles`."""

    claim: str
    value: str
    """A pattern such as `a2c-*`. A claim with a list matches if one of its items does."""
    grant: Grant

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> ClaimRule:
        """A rule from an entry of a file.

        Raises:
            ValueError: a field has the wrong form.
        """
        if unknown := set(entry) - {"claim", "value", "offices", "roles", "name", "admin"}:
            raise ValueError(f"unknown field {min(unknown)!r}")
        claim, value = entry.get("claim"), entry.get("value", "*")
        if not isinstance(claim, str) or not isinstance(value, str):
            raise ValueError("claim and value: strings are expected")
        return cls(claim, value, Grant.of(entry, None))

    def matches(self, claims: Mapping[str, Any]) -> bool:
        """Whether a token with these claims has what the rule asks for."""
        found = _claim(claims, self.claim)
        items = cast("list[object]", found) if isinstance(found, list) else [found]
        return any(isinstance(item, str | int) and fnmatchcase(str(item), self.value) for item in items)


class OpenIDVerifier:
    """An `AsyncVerifier` of the tokens of one provider.

    The first of the `rules` that matches decides what a token allows. Without rules, the claims `offices`, `roles`,
    `agent_name` and `a2c_admin` do; `name` is the name of a person in OpenID. A token is for `audience`, or for the
    office that is requested.

    Raises:
        ValueError: the issuer is not the URL of a provider.
    """

    def __init__(
        self, issuer: str, audience: str, *, rules: Sequence[ClaimRule] = (), scopes: Sequence[str] = ()
    ) -> None:
        url = urlsplit(issuer)
        if not url.hostname or not (url.scheme == "https" or (url.scheme == "http" and is_loopback(url.hostname))):
            raise ValueError(f"oidc_issuer: {issuer!r} is not a URL such as https://login.example.com")
        self.issuer = issuer
        self.scopes = tuple(scopes)
        """The scopes that hosts should ask for."""
        self._audience = audience
        self._rules = tuple(rules)
        self._keys = ProviderKeys(issuer)

    async def averify(self, credential: str, resource: str | None) -> Grant | None:
        """Return what a token allows; None if it is not one of this provider. See `AsyncVerifier`."""
        # Imported here: only Servers that use tokens need it.
        import jwt

        if credential.count(".") != 2 or len(credential) > MOST_TOKEN:
            return None
        try:
            header: Mapping[str, Any] = jwt.get_unverified_header(credential)
            unchecked: Mapping[str, Any] = jwt.decode(credential, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError, RecursionError):
            return None
        algorithm, kid = header.get("alg"), header.get("kid")
        if unchecked.get("iss") != self.issuer:
            return None
        if algorithm not in ALGORITHMS:
            raise NotAuthenticatedError(f"tokens with the algorithm {algorithm!r} are not accepted")
        key = await self._keys.get(kid if isinstance(kid, str) else None)
        if key is None:
            raise NotAuthenticatedError("the token is signed with a key that its provider does not publish")
        try:
            claims: dict[str, Any] = jwt.decode(
                credential,
                key,
                algorithms=[algorithm],
                issuer=self.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"], "verify_aud": False},
            )
        except jwt.ExpiredSignatureError:
            raise NotAuthenticatedError("the token has expired: log in again") from None
        except (jwt.PyJWTError, ValueError) as error:
            logger.info("a token of %s was rejected: %s", self.issuer, type(error).__name__)
            raise NotAuthenticatedError("the token is not valid") from None
        self._check_audience(claims["aud"], resource)
        ends = float(claims["exp"]) + LEEWAY
        return replace(self._grant(claims), subject=str(claims["sub"]), holds=lambda: time.time() < ends)

    def _check_audience(self, given: object, resource: str | None) -> None:
        """Check for whom a token is.

        Raises:
            NotAuthenticatedError: not for this Server, or for another office.
        """
        audiences = cast("list[object]", given) if isinstance(given, list) else [given]
        for audience in audiences:
            # A host may ask for a token for a profile of an office.
            is_ours = resource is not None and f"{audience}/".startswith(f"{resource}/")
            if audience == self._audience or is_ours:
                return
        raise NotAuthenticatedError(f"the token is for {', '.join(map(str, audiences))}, not for this office or Server")

    def _grant(self, claims: Mapping[str, Any]) -> Grant:
        """What a token allows.

        Raises:
            ForbiddenError: nothing.
        """
        if self._rules:
            rule = next((rule for rule in self._rules if rule.matches(claims)), None)
            if rule is None:
                raise ForbiddenError("the claims of this token match no rule of this Server")
            return rule.grant
        entry = {"offices": claims.get("offices"), "roles": claims.get("roles"), "name": claims.get("agent_name")}
        entry["admin"] = claims.get(ADMIN_CLAIM)
        try:
            return Grant.of({name: value for name, value in entry.items() if value is not None}, None)
        except ValueError as error:
            raise ForbiddenError(f"the claims of this token allow nothing: {error}") from None


class ProviderKeys:
    """The keys that a provider publishes. They are fetched when they are needed, and not too often."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._keys: dict[str | None, PyJWK] = {}
        self._fetched: float | None = None
        self._tried: float | None = None
        self._problem = ""
        self._lock = asyncio.Lock()

    async def get(self, kid: str | None) -> PyJWK | None:
        """The key with an id, or the only one; None if the provider has no such key.

        Raises:
            NotConnectedError: the provider does not answer.
        """
        now = time.monotonic()
        key = self._keys.get(kid)
        age = now - self._fetched if self._fetched is not None else KEEP_SECONDS
        # While one client waits for new keys, the others use those that are there.
        if key is not None and (age < FRESH_SECONDS or (age < KEEP_SECONDS and self._lock.locked())):
            return key
        async with self._lock:
            if self._tried is None or time.monotonic() - self._tried > RETRY_SECONDS:
                # If this client hangs up, the next one in the line fetches the keys.
                self._tried = None
                await self._fetch()
                self._tried = time.monotonic()
        key = self._keys.get(kid)
        if key is not None and (not self._problem or age < KEEP_SECONDS):
            return key
        if self._problem:
            raise NotConnectedError(f"the token cannot be checked now: {self._problem}")
        return None

    async def _fetch(self) -> None:
        from jwt import PyJWKSet, PyJWTError

        try:
            found = await fetch_json(
                f"{self._issuer.rstrip('/')}/.well-known/openid-configuration", seconds=FETCH_SECONDS, most=MOST_BYTES
            )
            if found.get("issuer") != self._issuer:
                raise FetchError(f"the provider at {self._issuer} names another issuer: {found.get('issuer')!r}")
            address = str(found.get("jwks_uri"))
            published = await fetch_json(address, seconds=FETCH_SECONDS, most=MOST_BYTES)
            keys = PyJWKSet.from_dict(dict(published)).keys
        except (FetchError, PyJWTError) as error:
            self._problem = str(error)
            logger.warning("no keys of the OpenID provider: %s", error)
            return
        usable = [key for key in keys if key.public_key_use in (None, "sig") and key.key_type != "oct"]
        self._keys = {key.key_id: key for key in usable}
        if len(usable) == 1:
            self._keys[None] = usable[0]
        self._fetched, self._problem = time.monotonic(), ""


def _claim(claims: Mapping[str, Any], path: str) -> object:
    """A claim by its name, or else by a path of names."""
    if path in claims:
        return claims[path]
    found: object = claims
    for name in path.split("."):
        found = cast("Mapping[str, object]", found).get(name) if isinstance(found, Mapping) else None
    return found
