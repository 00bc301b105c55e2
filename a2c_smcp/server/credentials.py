"""Checking credentials, without I/O on the wire: a shared secret, hashed API keys in a file, JSON Web Tokens.

A verifier turns the string a client presents into a `Grant`, or into None. It never logs what it was given.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import secrets
import time
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from a2c_smcp.protocol.grants import EVERYTHING, ROLES, Grant
from a2c_smcp.types import Role

logger = logging.getLogger(__name__)

KEY_PREFIX = "a2c_"
LOOK_SECONDS = 1.0
"""A file is looked at this often for the sake of connections that are open."""
_KEY_FIELDS = {"id", "hash", "offices", "roles", "name"}


class Verifier(Protocol):
    """Knows one kind of credential."""

    def verify(self, credential: str) -> Grant | None:
        """What the credential allows, or None if it is not valid."""
        ...


class SharedSecret:
    """One secret that allows everything; for development and small installations."""

    def __init__(self, secret: str) -> None:
        if not secret:
            raise ValueError("the secret is empty")
        self._secret = secret.encode()

    def verify(self, credential: str) -> Grant | None:
        """Return what the secret allows; None if it is another."""
        presented = credential.encode("utf-8", "surrogatepass")
        return EVERYTHING if hmac.compare_digest(presented, self._secret) else None


class KeyFile:
    """API keys in a TOML file, stored as hashes; see `a2c keys`. The file is read again when it changes."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._stamp: tuple[int, int] | None = None
        self._grants: dict[str, Grant] = {}
        self._looked_at = 0.0
        self._load(self._read_stamp())

    def verify(self, credential: str) -> Grant | None:
        """Return what a key allows; None if it is unknown."""
        self._refresh()
        hashed = hash_key(credential)
        grant = self._grants.get(hashed)
        return replace(grant, holds=partial(self._is, hashed, grant)) if grant is not None else None

    def _is(self, hashed: str, grant: Grant) -> bool:
        """Whether a key is there, and allows the same."""
        if time.monotonic() - self._looked_at > LOOK_SECONDS:
            self._refresh()
        return self._grants.get(hashed) == grant

    def _read_stamp(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_mtime_ns, status.st_size

    def _refresh(self) -> None:
        self._looked_at = time.monotonic()
        try:
            stamp = self._read_stamp()
            if stamp != self._stamp:
                self._load(stamp)
        except (OSError, ValueError) as error:
            # A file that is being edited must not lock everybody out, nor let anybody new in.
            logger.error("key file %s: %s; the keys read before stay in force", self._path, error)

    def _load(self, stamp: tuple[int, int]) -> None:
        self._grants = {key["hash"]: _grant_from(key, key.get("id")) for key in read_keys(self._path)}
        self._stamp = stamp
        logger.info("key file %s: %d keys", self._path, len(self._grants))


class JWTVerifier:
    """JSON Web Tokens. Claims: `offices` (globs, required), `roles`, `name`, and `exp` (required).

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
        # By the key, never by the token's header: a public key must not be taken for an HMAC secret.
        self._algorithms = [_algorithm_of(key)]
        self._audience, self._issuer, self._leeway = audience, issuer, leeway
        self._claims = (offices_claim, roles_claim, name_claim)

    def verify(self, credential: str) -> Grant | None:
        """Return what a token allows; None if its signature, times, audience or issuer are not valid."""
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
                options={"require": ["exp"], "verify_aud": self._audience is not None},
            )
            offices, roles, name = self._claims
            entry = {"offices": claims[offices], "roles": claims.get(roles), "name": claims.get(name)}
            grant = _grant_from({k: v for k, v in entry.items() if v is not None}, claims.get("sub"))
            ends = claims["exp"] + self._leeway
            return replace(grant, holds=lambda: time.time() < ends)
        except (jwt.PyJWTError, KeyError, ValueError) as error:
            logger.info("a JWT was refused: %s", type(error).__name__)
            return None


def _algorithm_of(key: str) -> str:
    """The one algorithm a key is for.

    Raises:
        ValueError: the key cannot be used.
    """
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


def hash_key(key: str) -> str:
    """The stored form of an API key. Keys are 256 random bits, so a plain hash is enough."""
    return "sha256:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def mint_key() -> str:
    """A new random API key."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def read_keys(path: Path) -> list[dict[str, Any]]:
    """The entries of a key file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a valid key file; the message says where.
    """
    entries: object = tomllib.loads(path.read_text("utf-8")).get("keys", [])
    if not isinstance(entries, list):
        raise ValueError("[[keys]] tables are expected")
    keys: list[dict[str, Any]] = []
    for number, entry in enumerate(cast("list[Any]", entries), 1):
        if not isinstance(entry, dict) or not str(cast("Any", entry).get("hash", "")).startswith("sha256:"):
            raise ValueError(f'keys[{number}]: a table with hash = "sha256:…" is expected')
        key = cast("dict[str, Any]", entry)
        if unknown := set(key) - _KEY_FIELDS:
            raise ValueError(f"keys[{number}]: unknown field {min(unknown)!r}")
        try:
            _grant_from(key, key.get("id"))
        except ValueError as error:
            raise ValueError(f"keys[{number}]: {error}") from None
        keys.append(key)
    return keys


def write_keys(path: Path, keys: Sequence[dict[str, Any]]) -> None:
    """Write a key file whole, readable by its owner only."""
    blocks = ["# API keys of an A2C Server, as hashes. Made by `a2c keys`; the Server reads changes by itself.\n"]
    for key in keys:  # JSON strings and lists of strings are valid TOML
        lines = [f"{field} = {json.dumps(value, ensure_ascii=False)}" for field, value in key.items()]
        blocks.append("[[keys]]\n" + "\n".join(lines) + "\n")
    partial = path.with_name(path.name + ".new")
    partial.unlink(missing_ok=True)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write("\n".join(blocks))
    partial.replace(path)


def _grant_from(entry: dict[str, Any], subject: object) -> Grant:
    """A grant from a key file's entry or a token's claims.

    Raises:
        ValueError: a field has the wrong form.
    """
    name = entry.get("name")
    if name is not None and not isinstance(name, str):
        raise ValueError("name: a string is expected")
    roles = set(_strings(entry, "roles")) if "roles" in entry else set[str](ROLES)
    if not roles <= ROLES:
        raise ValueError("roles: agent and computer are the roles")
    return Grant(
        offices=tuple(_strings(entry, "offices")),
        roles=frozenset(cast("set[Role]", roles)),
        name=name,
        subject=str(subject) if subject is not None else None,
    )


def _strings(entry: dict[str, Any], field: str) -> list[str]:
    value: object = entry.get(field)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise ValueError(f"{field}: a list of strings is expected")
    return cast("list[str]", value)
