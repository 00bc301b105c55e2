"""One login of an MCP host, as it is stored. Codes and tokens are in it as hashes only."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass
from typing import Any

from a2c_smcp.protocol.grants import Grant

ACCESS_PREFIX = "a2c_access_"
REFRESH_PREFIX = "a2c_refresh_"
CODE_PREFIX = "a2c_code_"
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Login:
    """What a person allowed a client to do, with the code or the tokens by which the client does it."""

    id: str
    client: str
    """The id of the client, as a hash: it can be long."""
    client_name: str
    resource: str
    """The URL of the office, to which the tokens are bound."""
    office: str
    key: str
    """The reference of the key that the person entered; see `LastingVerifier`."""
    allowed: str
    """What the key allowed, see `fingerprint`. The login ends when that changes."""
    challenge: str
    redirect_uri: str
    has_redirect_uri: bool
    """Whether the client named the redirect URI, and must name it again."""
    code: str
    is_redeemed: bool
    refresh: str
    access: tuple[tuple[str, float], ...]
    """The hash of each access token, and when it expires. An older one stays valid for requests that are running."""
    ends: float
    """When it ends unless its tokens are renewed."""

    def text(self) -> str:
        """The login as JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def read(cls, text: str | bytes) -> Login:
        """The login in a JSON text.

        Raises:
            ValueError, TypeError, KeyError: there is none.
        """
        fields: dict[str, Any] = json.loads(text)
        access = tuple((str(hashed), float(ends)) for hashed, ends in fields.pop("access"))
        return cls(access=access, **fields)


def mint(prefix: str, login_id: str) -> str:
    """A new code or token of a login."""
    return f"{prefix}{login_id}.{secrets.token_urlsafe(32)}"


def login_of(prefix: str, token: str) -> str | None:
    """The id of the login that a code or token belongs to; None if it has another form."""
    found, dot, _ = token.removeprefix(prefix).partition(".")
    return found if token.startswith(prefix) and dot and found and len(token) < _LONGEST else None


def hashed(text: str) -> str:
    """The stored form of a code or token, which is 256 random bits: a plain hash is enough."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(grant: Grant) -> str:
    """What a grant allows, as a text to compare."""
    return json.dumps([sorted(grant.offices), sorted(grant.roles), grant.name, grant.subject])
