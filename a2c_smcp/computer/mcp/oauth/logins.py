"""The logins of one Computer at its MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from a2c_smcp.computer.config.oauth import OAuthParameters
from a2c_smcp.computer.config.secrets import Secrets
from a2c_smcp.computer.mcp.oauth.access import Access
from a2c_smcp.computer.mcp.oauth.store import LoginStore


class Logins:
    """Makes the login of each server. The store is shared with other Computers."""

    def __init__(self, store: LoginStore, secrets: Secrets) -> None:
        self.store = store
        self._secrets = secrets

    def access(
        self, url: str, headers: Mapping[str, Any] | None, oauth: OAuthParameters | None, last: Access | None
    ) -> Access | None:
        """The login at a server: the last one, unless its configuration changed; None if the owner configured the
        credentials as a header."""
        if oauth is None and any(name.lower() == "authorization" for name in headers or ()):
            return None
        if last is not None and (last.url, last.settings) == (url, oauth or OAuthParameters()):
            return last
        for secret in (oauth.client_secret, oauth.private_key, oauth.identity_token) if oauth is not None else ():
            if secret is not None:
                self._secrets.add(secret)
        return Access(url, oauth, self.store, self._secrets)
