"""The gateway over standard input and output, for hosts that start a command (`a2c mcp`)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2

from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.agent.base import SETTLE_SECONDS
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import (
    ForbiddenError,
    MalformedRequestError,
    NotAuthenticatedError,
    NotConnectedError,
    NotFoundError,
    OfficeFullError,
    TimedOutError,
)
from a2c_smcp.gateway.bridge import Bridge
from a2c_smcp.gateway.mounting import AGENT_NAME
from a2c_smcp.gateway.office import Office
from a2c_smcp.gateway.patience import PatientClient
from a2c_smcp.gateway.pipes import host_streams
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
    query: Mapping[str, str | Sequence[str]] = field(default_factory=dict[str, Any])
    """Fields of a `Profile`."""
    api_key: str | None = field(default=None, repr=False)
    api_key_header: str = "x-api-key"
    ca_file: Path | None = None
    agent_name: str = AGENT_NAME

    @property
    def gateway_url(self) -> str:
        """Where the Server serves the office to hosts."""
        return gateway_url(self.url, self.office, self.profile, self.query)


def gateway_url(
    url: str, office: str, profile: str | None = None, query: Mapping[str, str | Sequence[str]] | None = None
) -> str:
    """Where a Server serves an office to hosts."""
    parts = urlsplit(url)
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    path = "/".join(quote(part, safe="") for part in (office, profile) if part)
    base = parts._replace(scheme=scheme, query="", fragment="").geturl()
    return f"{base.rstrip('/')}/mcp/{path}{f'?{urlencode(query, doseq=True)}' if query else ''}"


async def serve(to: Destination, stopped: asyncio.Event) -> None:
    """Serve an office to the host at the other end of standard input and output, until it closes them or `stopped` is
    set.

    Raises:
        NotConnectedError: the Server cannot be reached.
        NotAuthenticatedError, ForbiddenError: the Server requires another key.
        NotFoundError, MalformedRequestError: there is no such profile, or it cannot be combined with the query.
    """
    async with _http_client(to) as client:
        if await has_gateway(client, to.gateway_url):
            async with host_streams() as (from_host, to_host):
                await _until(stopped, Bridge(to.gateway_url, client).run(from_host, to_host))
            return
    if to.profile is not None:
        raise NotFoundError(f"{to.url} does not serve MCP hosts, so it has no profile {to.profile!r}")
    # This process takes the seat itself, and no other host can use the office meanwhile.
    logger.info("%s does not serve MCP hosts: taking the Agent's seat of %s", to.url, to.office)
    office = Office(to.office, lambda: _take_seat(to))
    view = View(office, Profile.of(to.query))
    try:
        async with office.seat.used():
            # Now, so that a wrong key is reported before the host waits for answers. A seat that another Agent has may
            # be free at the next request; until then, every answer says so.
            with contextlib.suppress(OfficeFullError):
                await office.seat.agent()
            async with host_streams() as (from_host, to_host):
                options = view.server.create_initialization_options()
                await _until(stopped, view.server.run(from_host, to_host, options))
    finally:
        await office.aclose()


async def has_gateway(client: httpx2.AsyncClient, url: str) -> bool:
    """Whether the Server serves offices to hosts.

    Raises:
        NotConnectedError: the Server cannot be reached.
        NotAuthenticatedError, ForbiddenError: the Server requires another key.
        NotFoundError: there is no such profile.
        MalformedRequestError: the profile cannot be combined with the query.
    """
    try:
        # A gateway answers that it needs another type: that of a stream.
        answer = await client.get(url, headers={"accept": "application/json"}, timeout=PROBE_SECONDS)
    except httpx2.HTTPError as error:
        raise NotConnectedError(f"cannot reach {_origin(url)}: {error or type(error).__name__}") from None
    status = answer.status_code
    if status == 401:
        raise NotAuthenticatedError(_reason(answer) or "it requires a key")
    if status == 403:
        raise ForbiddenError(_reason(answer) or "the key does not allow it")
    if status == 400 and (reason := _reason(answer)) is not None:
        raise MalformedRequestError(reason)
    if status == 404:
        if (reason := _reason(answer)) is not None:
            raise NotFoundError(reason)
        return False
    if answer.is_redirect:
        raise NotConnectedError(f"{_origin(url)} redirects to {answer.headers.get('location')}: use that address")
    if status >= 500 or status == 429:
        raise NotConnectedError(f"{_origin(url)} answered HTTP {status}: {_reason(answer) or answer.reason_phrase}")
    return True


def _reason(answer: httpx2.Response) -> str | None:
    """The message of an error of the gateway; None if another program answered."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(answer.json()["error"]["message"])
    return None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


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


def _http_client(to: Destination) -> PatientClient:
    headers = {to.api_key_header: to.api_key} if to.api_key else {}
    # A proxy of the environment cannot reach this machine.
    is_here = urlsplit(to.url).hostname in ("localhost", "127.0.0.1", "::1")
    return PatientClient(headers=headers, verify=trusting(to.ca_file), trust_env=not is_here)


async def _until(stopped: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do work until it ends, or until `stopped` is set."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, stopping):
            task.cancel()
        results = await asyncio.gather(working, stopping, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]
