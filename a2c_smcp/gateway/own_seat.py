"""A host that started `a2c mcp` for a Server without a gateway: the process takes the Agent's seat itself, and no other
host can use the office meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.agent.base import SETTLE_SECONDS
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import NotFoundError, OfficeFullError, TimedOutError
from a2c_smcp.gateway.nodes import AGENT_NAME
from a2c_smcp.gateway.office import Office
from a2c_smcp.gateway.pipes import host_streams, until
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.settings import GatewaySettings
from a2c_smcp.gateway.view import View

if TYPE_CHECKING:
    from a2c_smcp.gateway.stdio import Destination

logger = logging.getLogger(__name__)


async def serve_from_own_seat(to: Destination, stopped: asyncio.Event) -> None:
    """Serve an office to the host at the other end of standard input and output, until it closes them or `stopped` is
    set.

    Raises:
        NotConnectedError: the Server cannot be reached.
        NotAuthenticatedError, ForbiddenError: the Server requires another key.
        NotFoundError: the host wants a profile, which only a gateway has.
    """
    if to.profile is not None:
        raise NotFoundError(f"{to.url} has no gateway for MCP hosts (--no-mcp), and so no profile {to.profile!r}")
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
                await until(stopped, view.server.run(from_host, to_host, options))
    finally:
        await office.aclose()


async def _take_seat(to: Destination) -> AsyncSMCPAgentClient:
    auth = DefaultAgentAuthProvider(AGENT_NAME, to.office, to.api_key, to.api_key_header)
    most = GatewaySettings().restored_bytes
    agent = AsyncSMCPAgentClient(auth, ca_file=to.ca_file, max_restored_bytes=most)
    try:
        await agent.connect_to_server(to.url)
        await agent.join_office()
        with contextlib.suppress(TimedOutError):
            await agent.wait_for(timeout=SETTLE_SECONDS)
    except BaseException:
        await agent.disconnect()
        raise
    return agent
