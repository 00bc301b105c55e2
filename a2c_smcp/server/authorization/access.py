"""How MCP hosts log in for the offices of a Server: at an OpenID provider, or at the Server itself with a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from a2c_smcp.errors import ForbiddenError, NotAuthenticatedError, SMCPError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.authorization.login import ACCESS_PREFIX
from a2c_smcp.server.authorization.logins import Logins
from a2c_smcp.server.openid import OpenIDVerifier
from a2c_smcp.server.public_url import PublicURL, metadata_url

SCOPE = "agent"
"""The only scope of logins at the Server itself: to act as the Agent of an office."""


class OfficeAccess:
    """Says which tokens open an office, and where to get them.

    With an OpenID provider, hosts log in there. Otherwise they do so at the Server, if there are `logins`.
    """

    def __init__(self, places: PublicURL, provider: OpenIDVerifier | None = None, logins: Logins | None = None) -> None:
        self.places = places
        self.provider = provider
        self.logins = logins if provider is None else None

    @property
    def has_logins(self) -> bool:
        """Whether hosts can log in, here or at a provider."""
        return self.provider is not None or self.logins is not None

    def resource(self, scope: Mapping[str, Any], root: str, office_id: str) -> str | None:
        """The URL to which tokens of an office are bound; None if it is not known."""
        base = self.places.base(scope, root)
        return self.places.office(base, office_id) if base is not None else None

    async def grant_of(self, scope: Mapping[str, Any], resource: str | None) -> Grant | None:
        """What a token of a login at this Server allows; None if the request has another credential.

        Raises:
            NotAuthenticatedError: the token is not valid for this URL.
        """
        token = _bearer(scope)
        if self.logins is None or token is None or not token.startswith(ACCESS_PREFIX):
            return None
        return await self.logins.grant_of(token, resource)

    def challenge(self, scope: Mapping[str, Any], root: str, path: str, error: SMCPError) -> str | None:
        """The `WWW-Authenticate` header for a rejected request; `path` is the one below that of all offices."""
        base = self.places.base(scope, root)
        has_login = self.has_logins and base is not None
        fields: dict[str, str] = {}
        if isinstance(error, ForbiddenError):
            # Only a token can be replaced by one that allows more. A host with a key has nothing else to send.
            if not has_login or _bearer(scope) is None:
                return None
            fields = {"error": "insufficient_scope", "error_description": error.message}
        elif not isinstance(error, NotAuthenticatedError):
            return None
        elif _bearer(scope) is not None:
            fields = {"error": "invalid_token", "error_description": error.message}
        if has_login and base is not None:
            if self.scopes:
                fields["scope"] = " ".join(self.scopes)
            fields["resource_metadata"] = metadata_url(base, self.places.place(base, path))
        return " ".join(["Bearer", ", ".join(f'{name}="{_quotable(value)}"' for name, value in fields.items())]).strip()

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that hosts should ask for."""
        return self.provider.scopes if self.provider is not None else (SCOPE,)


def _bearer(scope: Mapping[str, Any]) -> str | None:
    for name, value in scope["headers"]:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].decode("latin-1").strip()
    return None


def _quotable(text: str) -> str:
    # RFC 6750: neither quotes nor anything beyond ASCII.
    return re.sub(r"[^\x20\x21\x23-\x5b\x5d-\x7e]", "'", text)
