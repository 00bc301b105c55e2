"""The resources of an office: lists, reads and templates of all Computers, and completion."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import MalformedRequestError, NotFoundError, SMCPError
from a2c_smcp.gateway.addresses import Address, parse
from a2c_smcp.gateway.paging import page
from a2c_smcp.gateway.profile import Profile


class Resources:
    """Reads resources for the hosts of one profile.

    With `keeps_addresses`, an office with one Computer shows the addresses of its MCP servers as they are.
    """

    def __init__(self, profile: Profile, *, keeps_addresses: bool) -> None:
        self._profile = profile
        self._keeps_addresses = keeps_addresses

    def computers(self, agent: AsyncSMCPAgentClient) -> list[str]:
        """The Computers that hosts see."""
        return sorted(computer for computer in agent.computers if self._profile.allows_computer(computer))

    async def list(self, agent: AsyncSMCPAgentClient, cursor: str | None) -> dict[str, Any]:
        """The result of `resources/list`."""

        async def fetch(computer: str, theirs: str | None) -> tuple[list[dict[str, Any]], str | None]:
            answer = await agent.get_resources(computer, cursor=theirs)
            return self._shown(agent, computer, answer["resources"], "uri"), answer.get("next_cursor")

        return _listed("resources", *await page(self.computers(agent), cursor, fetch))

    async def templates(self, agent: AsyncSMCPAgentClient, cursor: str | None) -> dict[str, Any]:
        """The result of `resources/templates/list`."""

        async def fetch(computer: str, theirs: str | None) -> tuple[list[dict[str, Any]], str | None]:
            answer = await agent.list_resource_templates(computer, cursor=theirs)
            return self._shown(agent, computer, answer["templates"], "uriTemplate"), answer.get("next_cursor")

        return _listed("resourceTemplates", *await page(self.computers(agent), cursor, fetch))

    def _shown(self, agent: AsyncSMCPAgentClient, computer: str, items: Any, key: str) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        for item in cast("list[dict[str, Any]]", items):
            server = item.get("mcp_server")
            if not self._profile.allows_server(server):
                continue
            described = {name: value for name, value in item.items() if name != "mcp_server"}
            described[key] = self.address(agent, computer, server, item[key])
            shown.append(described)
        return shown

    def address(self, agent: AsyncSMCPAgentClient, computer: str, server: str | None, uri: str) -> str:
        """The address under which hosts see a resource."""
        if self._keeps_addresses and len(self.computers(agent)) == 1:
            return uri
        return str(Address(computer, server or "", uri))

    async def find(self, agent: AsyncSMCPAgentClient, uri: str) -> Address:
        """The resource at an address: ours, or that of an MCP server where one Computer has it.

        Raises:
            NotFoundError: hosts see no such Computer.
            MalformedRequestError: several Computers may have it.
        """
        computers = self.computers(agent)
        address = parse(uri)
        if address is not None:
            if address.computer not in computers:
                raise NotFoundError(f"there is no Computer {address.computer!r} in this office")
            if address.server and not self._profile.allows_server(address.server):
                raise NotFoundError(f"there is no MCP server {address.server!r} on {address.computer!r}")
            return address
        if not computers:
            raise NotFoundError("there is no Computer in this office")
        if len(computers) == 1:
            return Address(computers[0], "", uri)
        owners = await self._owners(agent, computers, uri)
        if len(owners) == 1:
            return owners[0]
        if not owners:
            raise NotFoundError(f"no Computer lists {uri}; resources/list has the addresses")
        names = ", ".join(str(owner) for owner in owners)
        raise MalformedRequestError(f"several Computers have {uri}: use one of {names}")

    async def _owners(self, agent: AsyncSMCPAgentClient, computers: list[str], uri: str) -> list[Address]:
        """The Computers that list a resource."""
        outcomes = await asyncio.gather(*(agent.resources(computer) for computer in computers), return_exceptions=True)
        owners: list[Address] = []
        for computer, outcome in zip(computers, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                if not isinstance(outcome, SMCPError):
                    raise outcome
                continue
            found = {item.get("mcp_server") or "" for item in outcome if item["uri"] == uri}
            owners += [Address(computer, server, uri) for server in sorted(found)]
        return owners

    async def read(self, agent: AsyncSMCPAgentClient, uri: str) -> dict[str, Any]:
        """The result of `resources/read`."""
        address = await self.find(agent, uri)
        answer = await agent.read_contents(address.computer, address.uri, mcp_server=address.server or None)
        contents = [dict(part) for part in answer["contents"]]
        for part in contents:
            # The host asked for this address. A part of another resource keeps the address that its server gave it,
            # written as ours.
            part["uri"] = (
                uri
                if part.get("uri") == address.uri
                else self.address(agent, address.computer, address.server, str(part.get("uri", "")))
            )
        further = {key: value for key, value in answer.items() if key not in ("contents", "req_id")}
        return {**further, "contents": contents}

    async def complete(
        self,
        agent: AsyncSMCPAgentClient,
        ref: Mapping[str, Any],
        address: Address,
        argument: Mapping[str, Any],
        context: Mapping[str, str] | None,
    ) -> dict[str, Any]:
        """The result of `completion/complete` for a template or a prompt of one MCP server."""
        answer = await agent.complete(
            address.computer, ref, argument, context=context, mcp_server=address.server or None
        )
        return {"completion": answer["completion"]}


def _listed(key: str, items: list[dict[str, Any]], cursor: str | None) -> dict[str, Any]:
    return {key: items} if cursor is None else {key: items, "nextCursor": cursor}
