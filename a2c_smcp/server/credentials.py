"""Verifiers of credentials: a shared secret and JSON Web Tokens. API keys in a file are in `key_file.py`.

A verifier turns the string that a client presents into a `Grant`, or into None. It never logs the string.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from dataclasses import replace
from functools import cached_property
from typing import Protocol, runtime_checkable

from a2c_smcp.protocol.grants import EVERYTHING, Grant

logger = logging.getLogger(__name__)

ADMIN_CLAIM = "a2c_admin"
"""The claim of a token that allows administration. Not `admin`, which providers use for purposes of their own."""


class Verifier(Protocol):
    """Checks one kind of credential."""

    def verify(self, credential: str) -> Grant | None:
        """The grant of a credential; None if it is not valid.

        Raises:
            NotAuthenticatedError: it was valid once; the client receives the message.
        """
        ...


@runtime_checkable
class LastingVerifier(Verifier, Protocol):
    """Checks credentials that are valid until somebody takes them back. A login that was made with one of them lasts as
    long, without the credential."""

    def reference(self, credential: str) -> str | None:
        """What identifies a valid credential later, and is of no use to anybody else; None if it is not valid.

        Raises:
            NotAuthenticatedError: it was valid once.
        """
        ...

    def grant_of(self, reference: str) -> Grant | None:
        """The grant of the credential with this reference now; None if it is not valid any more."""
        ...


@runtime_checkable
class AsyncVerifier(Protocol):
    """Checks one kind of credential, and may have to ask another server about it."""

    async def averify(self, credential: str, resource: str | None) -> Grant | None:
        """The grant of a credential; None if it is of another kind. `resource` is the URL that is requested, if the
        credential may be bound to one.

        Raises:
            NotAuthenticatedError, ForbiddenError: it is not valid, or allows nothing.
            NotConnectedError: it cannot be checked now.
        """
        ...


class SharedSecret:
    """One secret that allows everything, or what a grant says; for development and small installations."""

    def __init__(self, secret: str, grant: Grant = EVERYTHING) -> None:
        if not secret:
            raise ValueError("the secret is empty")
        self._grant = grant
        self._secret = secret.encode()

    def verify(self, credential: str) -> Grant | None:
        """Return what the secret allows; None if the credential differs from it."""
        # The comparison takes the same time wherever the two differ, so that the secret cannot be guessed letter by
        # letter. "surrogatepass", because a credential from JSON may contain lone surrogates, and must not raise.
        presented = credential.encode("utf-8", "surrogatepass")
        return self._grant if hmac.compare_digest(presented, self._secret) else None

    def reference(self, credential: str) -> str | None:
        """What identifies the secret later; see `LastingVerifier`."""
        return self._reference if self.verify(credential) is not None else None

    def grant_of(self, reference: str) -> Grant | None:
        """Return what the secret allows, if the reference is its own: the secret may have changed since."""
        return self._grant if hmac.compare_digest(reference.encode(), self._reference.encode()) else None

    @cached_property
    def _reference(self) -> str:
        # Slow on purpose. Unlike a key of `a2c keys`, the secret may be a word, which a plain hash would reveal.
        return "scrypt:" + hashlib.scrypt(self._secret, salt=b"a2c login", n=1 << 14, r=8, p=1).hex()


class JWTVerifier:
    """JSON Web Tokens. Claims: `offices` (globs, required), `roles`, `name`, `a2c_admin`, and `exp` (required).

    A PEM public key verifies RS256 and ES256, anything else is an HS256 secret of at least 32 bytes.
    """

    def __init__(
        self,
        key: str,
        *,
        audience: str | None = None,
        issuer: str | None = None,
        offices_claim: str = "offices",
        roles_claim: str = "roles",
        name_claim: str = "name",
        leeway: float = 10,
    ) -> None:
        self._key = key
        # Chosen by the key, never by the header of a token: an attacker could sign a token with the public key as the
        # HMAC secret, and name HS256 in its header.
        self._algorithms = [_algorithm_of(key)]
        self._audience, self._issuer, self._leeway = audience, issuer, leeway
        self._claims = (offices_claim, roles_claim, name_claim)

    def verify(self, credential: str) -> Grant | None:
        """Return what a token allows; None if its signature, times, audience or issuer are not valid."""
        # Imported here: only Servers that use tokens need it. An API key, which has no dots, is passed over without a
        # log line.
        import jwt

        if credential.count(".") != 2:
            return None
        try:
            claims = jwt.decode(
                credential,
                self._key,
                algorithms=self._algorithms,
                audience=self._audience,
                issuer=self._issuer,
                leeway=self._leeway,
                # PyJWT rejects a token that names an audience if none is configured; here, that means "not checked".
                options={"require": ["exp"], "verify_aud": self._audience is not None},
            )
            offices, roles, name = self._claims
            entry = {"offices": claims[offices], "roles": claims.get(roles), "name": claims.get(name)}
            entry["admin"] = claims.get(ADMIN_CLAIM)
            grant = Grant.of({k: v for k, v in entry.items() if v is not None}, claims.get("sub"))
            ends = claims["exp"] + self._leeway
            return replace(grant, holds=lambda: time.time() < ends)
        except (jwt.PyJWTError, KeyError, ValueError) as error:
            logger.info("a JWT was rejected: %s", type(error).__name__)
            return None


def _algorithm_of(key: str) -> str:
    """The one algorithm a key is for.

    Raises:
        ValueError: the key cannot be used.
    """
    # RFC 7518 (section 3.2) requires a key as long as the hash: a weak secret can be guessed offline, from one token.
    if "-----BEGIN" not in key:
        if len(key.encode()) < 32:
            raise ValueError("an HS256 secret needs at least 32 bytes")
        return "HS256"
    if "PRIVATE" in key:
        raise ValueError("the JWT key is a private key: the Server needs the public one")
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        loaded = load_pem_public_key(key.encode())
    except ValueError:
        raise ValueError("the JWT key is not a public key in PEM form") from None
    if isinstance(loaded, RSAPublicKey):
        return "RS256"
    if isinstance(loaded, EllipticCurvePublicKey) and loaded.curve.name == "secp256r1":
        return "ES256"
    raise ValueError("the JWT key is neither RSA nor on the curve P-256")
