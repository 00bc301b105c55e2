"""What an MCP server demands when it rejects a request: a login, or one with further rights."""

from __future__ import annotations

from dataclasses import dataclass

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth

MAX_HEADER = 2_000
"""Characters of a value in `WWW-Authenticate`; longer ones are ignored."""


@dataclass(frozen=True)
class Challenge:
    """What an MCP server demanded when it rejected a request."""

    status: int = 401
    scope: str | None = None
    resource_metadata: str | None = None

    @classmethod
    def of(cls, response: httpx2.Response) -> Challenge | None:
        """The challenge in an answer; None if no login could change the answer."""
        is_step_up = response.status_code == 403 and _field(response, "error") == "insufficient_scope"
        if response.status_code != 401 and not is_step_up:
            return None
        return cls(response.status_code, _field(response, "scope"), _field(response, "resource_metadata"))

    def response(self, request: httpx2.Request, scope: str | None) -> httpx2.Response:
        """The answer that asks a provider to log in. A configured `scope` replaces that of the server, unless the
        server demands more than was granted."""
        fields = {
            "error": "insufficient_scope" if self.status == 403 else None,
            "scope": self.scope if self.status == 403 else scope or self.scope,
            "resource_metadata": self.resource_metadata,
        }
        value = "Bearer " + ", ".join(f'{name}="{text}"' for name, text in fields.items() if text)
        return httpx2.Response(self.status, headers={"WWW-Authenticate": value}, request=request)


def _field(response: httpx2.Response, name: str) -> str | None:
    found = extract_field_from_www_auth(response, name)
    return found if found is None or (len(found) <= MAX_HEADER and found.isascii() and found.isprintable()) else None
