"""The HTTP client of the two HTTP transports. It reports failures to the owner of the connection."""

from __future__ import annotations

from typing import Any

import httpx2

from a2c_smcp.computer.mcp.link import Link

SESSION_HEADER = "mcp-session-id"


class WatchedClient(httpx2.AsyncClient):
    """Reports rejected requests, broken connections and expired sessions to the link."""

    def __init__(self, link: Link, headers: dict[str, Any] | None, timeout: float, read_timeout: float) -> None:
        super().__init__(
            headers={name: str(value) for name, value in (headers or {}).items()},
            timeout=httpx2.Timeout(timeout, read=read_timeout),
        )
        self._link = link

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request."""
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            self._link.doubt(f"the connection failed: {error}" if str(error) else "the connection failed")
            raise
        # 405 for GET is no failure: a server without an event stream of its own answers so.
        if response.status_code >= 400 and (request.method, response.status_code) != ("GET", 405):
            self._link.hint = f"HTTP {response.status_code} {response.reason_phrase}"
            # MCP: 404 for a request with a session id means that the session has expired, and a new one is needed.
            if response.status_code == 404 and SESSION_HEADER in request.headers:
                self._link.lose("ended the session")
        return response
