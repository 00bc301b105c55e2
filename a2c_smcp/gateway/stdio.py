"""The gateway over standard input and output, for hosts that start a command (`a2c mcp`)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from a2c_smcp.errors import (
    ForbiddenError,
    MalformedRequestError,
    NotAuthenticatedError,
    NotConnectedError,
    NotFoundError,
)
from a2c_smcp.gateway.bridge import Bridge
from a2c_smcp.gateway.patience import PatientClient
from a2c_smcp.gateway.pipes import host_streams, until
from a2c_smcp.utils.trust import trusting
from a2c_smcp.utils.unreachable import why_unreachable
from a2c_smcp.utils.url import gateway_url

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

    @property
    def gateway_url(self) -> str:
        """Where the Server serves the office to hosts."""
        return gateway_url(self.url, self.office, self.profile, self.query)


async def serve(to: Destination, stopped: asyncio.Event) -> None:
    """Serve an office to the host at the other end of standard input and output, until it closes them or `stopped` is
    set.

    Raises:
        NotConnectedError: the Server cannot be reached.
        NotAuthenticatedError, ForbiddenError: the Server requires another key.
        NotFoundError, MalformedRequestError: there is no such profile, or it cannot be combined with the query.
    """
    async with _http_client(to) as client:
        if await has_gateway(client, to.gateway_url, to.ca_file):
            async with host_streams() as (from_host, to_host):
                await until(stopped, Bridge(to.gateway_url, client).run(from_host, to_host))
            return
    from a2c_smcp.gateway.own_seat import serve_from_own_seat  # most Servers have a gateway

    await serve_from_own_seat(to, stopped)


async def has_gateway(client: httpx2.AsyncClient, url: str, ca_file: Path | None = None) -> bool:
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
        raise NotConnectedError(f"cannot reach {_origin(url)}: {why_unreachable([error], ca_file)[0]}") from None
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


def _http_client(to: Destination) -> PatientClient:
    headers = {to.api_key_header: to.api_key} if to.api_key else {}
    # A proxy of the environment cannot reach this machine.
    is_here = urlsplit(to.url).hostname in ("localhost", "127.0.0.1", "::1")
    return PatientClient(headers=headers, verify=trusting(to.ca_file), trust_env=not is_here)
