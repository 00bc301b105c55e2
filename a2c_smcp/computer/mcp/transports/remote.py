"""What the clients of both HTTP transports have in common: a login."""

from __future__ import annotations

from typing import Any, ClassVar

from a2c_smcp.computer.config.model import SseParameters, StreamableHttpParameters
from a2c_smcp.computer.mcp.client import MCPClient, filled
from a2c_smcp.computer.mcp.oauth.access import Access


class RemoteClient(MCPClient):
    """A server that is reached over HTTP."""

    parameters: ClassVar[type[StreamableHttpParameters | SseParameters]]
    _access: Access | None = None

    def access(self, parameters: dict[str, Any]) -> Access | None:
        """The login at this server; None if the owner configured its credentials as a header.

        Raises:
            CannotStart: the parameters are invalid.
        """
        wanted = filled(self.parameters, parameters)
        self._access = self._logins.access(wanted.url, wanted.headers, wanted.oauth, self._access)
        return self._access
