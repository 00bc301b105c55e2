"""What the Computers of an office offer, through the Agent's seat that the gateway shares among MCP hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, cast

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.console.hub.shapes import Offer, OfferedTool, Offers
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.errors import ForbiddenError, NotFoundError, SMCPError
from a2c_smcp.gateway.described import Described
from a2c_smcp.gateway.http import Gateway
from a2c_smcp.gateway.office import Office
from a2c_smcp.server.app import GATEWAY
from a2c_smcp.server.mounting import MountedApp

MOST_TOOLS = 2_000
"""Tools of a Computer in an answer."""
ASK_SECONDS = 10


class Siblings(Protocol):
    """The other applications of the Server."""

    async def load(self, module: str, /) -> MountedApp | None:
        """One of them; None if the Server does not have it."""
        ...


class OfficeRooms:
    """The offices as an Agent sees them. The gateway's own, so that hosts and the console share one seat."""

    def __init__(self, siblings: Siblings) -> None:
        self._siblings = siblings

    async def office(self, asked: Asked, office_id: str) -> Office:
        """An office, for somebody whose credential allows an Agent in it. Use its `seat` while it is needed.

        Raises:
            ForbiddenError: the credential does not allow that.
            NotFoundError: the Server has no gateway.
        """
        grant = asked.sender.grant
        if "agent" not in grant.roles or not grant.covers(office_id):
            raise ForbiddenError(f"your credential does not allow an Agent in the office {office_id!r}")
        gateway = await self._siblings.load(GATEWAY)
        if gateway is None:
            raise NotFoundError("this Server has no gateway (--no-mcp), through which the console looks into offices")
        return cast("Gateway", gateway).views.office(office_id)

    async def offers(self, asked: Asked) -> Offers:
        """What each Computer offers. Takes the Agent's seat if nobody has it."""
        office_id = asked.path["office"]
        office = await self.office(asked, office_id)
        async with office.seat.used():
            agent = await office.agent()
            async with office.building:
                described = await asyncio.to_thread(office.describe, dict(agent.tools))
            found = await asyncio.gather(
                *(_offer(agent, computer, described.get(computer, ())) for computer in sorted(agent.computers))
            )
        return {"office": office_id, "computers": list(found)}


async def _offer(agent: AsyncSMCPAgentClient, computer: str, described: Sequence[Described]) -> Offer:
    tools: list[OfferedTool] = [
        {
            "name": each.name,
            "description": str(each.listed.get("description") or each.listed.get("title") or "")[:1_000],
            "mcp_server": each.server,
            "tags": sorted(each.tags),
            "is_read_only": each.is_read_only,
        }
        for each in described[:MOST_TOOLS]
    ]
    windows, documents = await asyncio.gather(_windows(agent, computer), _documents(agent, computer))
    return {"computer": computer, "tools": tools, "windows": windows, "documents": documents}


async def _windows(agent: AsyncSMCPAgentClient, computer: str) -> int | None:
    try:
        return len((await agent.get_desktop_from_computer(computer, timeout=ASK_SECONDS))["desktops"])
    except SMCPError:
        return None


async def _documents(agent: AsyncSMCPAgentClient, computer: str) -> int | None:
    try:
        return (await agent.get_finder(computer, limit=1, timeout=ASK_SECONDS))["total_count"]
    except SMCPError:
        return None
