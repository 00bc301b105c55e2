"""The logins of one Computer at its MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from a2c_smcp.computer.config.oauth import OAuthParameters
from a2c_smcp.computer.config.secrets import Secrets
from a2c_smcp.computer.mcp.oauth.access import Access
from a2c_smcp.computer.mcp.oauth.store import LoginStore

LOGIN_COMMAND = "a2c computer login"


class Logins:
    """Makes the login of each server. The store is shared with other Computers; `command`, followed by the name of a
    server, is what the owner types to log in."""

    def __init__(self, store: LoginStore, secrets: Secrets, command: str = LOGIN_COMMAND) -> None:
        self.store = store
        self.command = command
        self._secrets = secrets

    def access(
        self, url: str, headers: Mapping[str, Any] | None, oauth: OAuthParameters | None, last: Access | None
    ) -> Access | None:
        """The login at a server: the last one, unless its configuration changed; None if the owner configured the
        credentials as a header, or in the address."""
        has_header = any(name.lower() == "authorization" for name in headers or ())
        if oauth is None and (has_header or "@" in urlsplit(url).netloc):
            return None
        if last is not None and (last.url, last.settings) == (url, oauth or OAuthParameters()):
            return last
        for secret in (oauth.client_secret, oauth.private_key, oauth.identity_token) if oauth is not None else ():
            if secret is not None:
                self._secrets.add(secret)
        return Access(url, oauth, self.store, self._secrets)
