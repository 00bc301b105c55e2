"""The gateway over standard input and output, for hosts that start a command (`a2c mcp`)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
from mcp.server.stdio import stdio_server

from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.agent.base import SETTLE_SECONDS
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import ForbiddenError, NotAuthenticatedError, NotConnectedError, TimedOutError
from a2c_smcp.gateway.bridge import Bridge
from a2c_smcp.gateway.mounting import AGENT_NAME
from a2c_smcp.gateway.office import Office
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.view import View
from a2c_smcp.utils.trust import trusting

logger = logging.getLogger(__name__)

PROBE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Destination:
    """The office that a host uses, and how to reach it."""

    url: str
    office: str
    profile: str | None = None
    """A profile that the Server's operator defined."""
    query: Mapping[str, Any] | None = None
    """Fields of a `Profile`."""
    api_key: str | None = None
    api_key_header: str = "x-api-key"
    ca_file: Path | None = None
    agent_name: str = AGENT_NAME

    @property
    def gateway_url(self) -> str:
        """Where the Server serves the office to hosts."""
        path = "/".join(quote(part, safe="") for part in (self.office, self.profile) if part)
        query = f"?{urlencode(self.query, doseq=True)}" if self.query else ""
        return f"{self.url.rstrip('/')}/mcp/{path}{query}"


async def serve(to: Destination) -> None:
    """Serve an office to the host at the other end of standard input and output, until it closes them.

    Raises:
        NotConnectedError: the Server cannot be reached.
        NotAuthenticatedError, ForbiddenError: the Server requires another key.
    """
    async with _http_client(to) as client:
        if await has_gateway(client, to.gateway_url):
            async with stdio_server() as (host_read, host_write):
                await Bridge(to.gateway_url, client).run(host_read, host_write)
            return
    # A Server without a gateway: this process takes the seat itself, and no other host can use the office meanwhile.
    logger.info("%s has no gateway: taking the Agent's seat of %s", to.url, to.office)
    office = Office(to.office, lambda: _take_seat(to))
    view = View(office, Profile.of(to.query or {}))
    try:
        async with office.seat.used(), stdio_server() as (host_read, host_write):
            await view.server.run(host_read, host_write, view.server.create_initialization_options())
    finally:
        await office.aclose()


async def has_gateway(client: httpx2.AsyncClient, url: str) -> bool:
    """Whether the Server serves offices to hosts.

    Raises:
        NotConnectedError: the Server cannot be reached.
        NotAuthenticatedError, ForbiddenError: the Server requires another key.
    """
    try:
        answer = await client.request("HEAD", url, timeout=PROBE_SECONDS)
    except httpx2.HTTPError as error:
        raise NotConnectedError(f"cannot reach {url}: {error or type(error).__name__}") from None
    if answer.status_code == 401:
        raise NotAuthenticatedError(f"{url} requires a key: set A2C_API_KEY")
    if answer.status_code == 403:
        raise ForbiddenError(f"the key does not allow {url}")
    return answer.status_code != 404


async def _take_seat(to: Destination) -> AsyncSMCPAgentClient:
    auth = DefaultAgentAuthProvider(to.agent_name, to.office, to.api_key, to.api_key_header)
    agent = AsyncSMCPAgentClient(auth, ca_file=to.ca_file)
    try:
        await agent.connect_to_server(to.url)
        await agent.join_office()
        with contextlib.suppress(TimedOutError):
            await agent.wait_for(timeout=SETTLE_SECONDS)
    except BaseException:
        await agent.disconnect()
        raise
    return agent


def _http_client(to: Destination) -> httpx2.AsyncClient:
    headers = {to.api_key_header: to.api_key} if to.api_key else {}
    verify: Any = trusting(to.ca_file) if to.ca_file is not None else True
    # No read timeout: a call may take as long as the host waits for it.
    return httpx2.AsyncClient(headers=headers, verify=verify, timeout=httpx2.Timeout(30.0, read=None))
