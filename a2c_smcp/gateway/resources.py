"""The resources of an office: lists, reads and templates of all Computers, and completion."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, cast

import orjson
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import InvalidDPEUriError, MalformedRequestError, NotFoundError, SMCPError
from a2c_smcp.gateway import documents
from a2c_smcp.gateway.addresses import Address, parse
from a2c_smcp.gateway.paging import page
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.utils.dpe_uri import build_dpe_uri, is_dpe_uri, parse_dpe_uri

MOST_COMPARED = 2_000
"""Resources and templates whose list is compared with an earlier one. A longer list counts as changed."""

OWNERS_SECONDS = 10.0
"""Seconds for which the MCP server of an address is known without asking again."""
MOST_OWNERS = 256

# The protocol writes these keys of a listed resource in another way than MCP.
_SPELLINGS = {"mime_type": "mimeType"}
_SPELLINGS_IN_ANNOTATIONS = {"last_modified": "lastModified"}


class Resources:
    """Reads resources for the hosts of one profile.

    With `keeps_addresses`, an office with one Computer shows the addresses of its MCP servers as they are.
    """

    def __init__(self, profile: Profile, *, keeps_addresses: bool) -> None:
        self._profile = profile
        self._keeps_addresses = keeps_addresses
        self._known: dict[tuple[tuple[str, ...], str], tuple[float, Sequence[tuple[str, str]]]] = {}
        """Who has a resource or document, of the Computers that are there, and until when that is believed."""

    def computers(self, agent: AsyncSMCPAgentClient) -> list[str]:
        """The Computers that hosts see."""
        return sorted(computer for computer in agent.computers if self._profile.allows_computer(computer))

    # ------------------------------------------------------------------------------------------------------------ lists

    async def list(self, agent: AsyncSMCPAgentClient, cursor: str | None) -> dict[str, Any]:
        """The result of `resources/list`."""
        return _listed("resources", *await page(self.computers(agent), cursor, partial(self._resources, agent)))

    async def templates(self, agent: AsyncSMCPAgentClient, cursor: str | None) -> dict[str, Any]:
        """The result of `resources/templates/list`."""
        return _listed("resourceTemplates", *await page(self.computers(agent), cursor, partial(self._templates, agent)))

    async def digest(self, agent: AsyncSMCPAgentClient) -> str | None:
        """A hash of both lists; None if they are too long to be compared."""
        computers = self.computers(agent)
        found: list[Any] = []
        for fetch in (self._resources, self._templates):
            cursor: str | None = None
            while True:
                try:
                    items, cursor = await page(computers, cursor, partial(fetch, agent))
                except SMCPError:  # the Computer will be there again with another change
                    break
                found += items
                if len(found) > MOST_COMPARED:
                    return None
                if cursor is None:
                    break
        return sha256(orjson.dumps(found)).hexdigest()

    async def _resources(
        self, agent: AsyncSMCPAgentClient, computer: str, cursor: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        answer = await agent.get_resources(computer, cursor=cursor)
        items = [_as_mcp(cast("dict[str, Any]", item)) for item in answer["resources"]]
        return self._shown(agent, computer, items, "uri"), answer.get("next_cursor")

    async def _templates(
        self, agent: AsyncSMCPAgentClient, computer: str, cursor: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        answer = await agent.list_resource_templates(computer, cursor=cursor)
        items, following = cast("list[dict[str, Any]]", answer["templates"]), answer.get("next_cursor")
        # In the direct mode, an MCP server behind an office looks as it does without one.
        if following is None and self._profile.mode != "direct":
            offered = items if cursor is None else [item async for item in _every_template(agent, computer)]
            for shelf in await documents.shelves(agent, computer):
                items = [*items, *shelf.templates(offered)]
        return self._shown(agent, computer, items, "uriTemplate"), following

    def _shown(
        self, agent: AsyncSMCPAgentClient, computer: str, items: list[dict[str, Any]], key: str
    ) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        for item in items:
            server = item.get("mcp_server")
            if self._profile.allows_server(server):
                described = {name: value for name, value in item.items() if name != "mcp_server"}
                described[key] = self._address(agent, computer, server, item[key])
                shown.append(described)
        return shown

    def _address(self, agent: AsyncSMCPAgentClient, computer: str, server: str | None, uri: str) -> str:
        """The address under which hosts see a resource."""
        if self._keeps_addresses and len(self.computers(agent)) == 1:
            return uri
        return str(Address(computer, server or "", uri))

    # ---------------------------------------------------------------------------------------------------------- finding

    async def find(self, agent: AsyncSMCPAgentClient, uri: str) -> Address:
        """The resource or template at an address: ours, or that of an MCP server where one Computer has it.

        Raises:
            NotFoundError: hosts see no such Computer, MCP server or resource.
            MalformedRequestError: several Computers have it.
        """
        computers = self.computers(agent)
        address = parse(uri)
        if address is not None:
            if address.computer not in computers:
                raise NotFoundError(f"there is no Computer {address.computer!r} in this office")
            if address.server and not self._profile.allows_server(address.server):
                raise NotFoundError(f"there is no MCP server {address.server!r} on {address.computer!r}")
            if address.server or not self._profile.names_servers:
                return address
            computers, uri = [address.computer], address.uri
        if not computers:
            raise NotFoundError("there is no Computer in this office")
        # The Computer finds the MCP server. Where some servers are not shown, it must not be one of them.
        if len(computers) == 1 and not self._profile.names_servers:
            return Address(computers[0], "", uri)
        owners = [Address(*owner, uri) for owner in await self._owners(agent, tuple(computers), uri)]
        if len(owners) == 1:
            return owners[0]
        if not owners:
            raise NotFoundError(f"no Computer has {uri}; resources/list has the addresses")
        names = ", ".join(str(owner) for owner in owners)
        raise MalformedRequestError(f"several MCP servers have {uri}: use one of {names}")

    async def visible(self, agent: AsyncSMCPAgentClient, computer: str) -> set[str]:
        """The addresses that the shown MCP servers of a Computer list."""
        listed = await agent.resources(computer)
        return {item["uri"] for item in listed if self._profile.allows_server(item["mcp_server"])}

    async def _owners(
        self, agent: AsyncSMCPAgentClient, computers: tuple[str, ...], uri: str
    ) -> Sequence[tuple[str, str]]:
        """The Computers and shown MCP servers that list a resource, or else have a template for it."""
        # To find out takes all lists of all Computers, and a host that reads a document asks for page after page.
        key, now = (computers, _document_of(uri)), time.monotonic()
        until, owners = self._known.get(key, (now, []))
        if now < until:
            return owners
        owners = await self._look_up(agent, computers, uri)
        self._known.pop(key, None)
        if owners:
            self._known[key] = now + OWNERS_SECONDS, owners
            while len(self._known) > MOST_OWNERS:
                del self._known[next(iter(self._known))]
        return owners

    async def _look_up(self, agent: AsyncSMCPAgentClient, computers: Sequence[str], uri: str) -> list[tuple[str, str]]:
        for servers_with in (_listing, _offering):
            outcomes = await asyncio.gather(
                *(servers_with(agent, computer, uri) for computer in computers), return_exceptions=True
            )
            owners: list[tuple[str, str]] = []
            for computer, outcome in zip(computers, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    if not isinstance(outcome, SMCPError):
                        raise outcome
                    continue
                shown = sorted(server for server in outcome if self._profile.allows_server(server))
                owners += [(computer, server) for server in shown]
            if owners:
                return owners
        return []

    # ---------------------------------------------------------------------------------------------------------- reading

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
                else self._address(agent, address.computer, address.server, str(part.get("uri", "")))
            )
        return {**further(cast("dict[str, Any]", answer), "contents"), "contents": contents}

    async def complete(
        self,
        agent: AsyncSMCPAgentClient,
        ref: Mapping[str, Any],
        address: Address,
        argument: Mapping[str, Any],
        context: Mapping[str, str] | None,
    ) -> dict[str, Any]:
        """The result of `completion/complete` for a template or a prompt of one MCP server."""
        shelf = documents.shelf_of(address) if ref["type"] == "ref/resource" else None
        server = address.server or None
        try:
            answer = await agent.complete(address.computer, ref, argument, context=context, mcp_server=server)
        except SMCPError:
            # The MCP server does not have this template of ours, or completes nothing.
            if shelf is None:
                raise
            return await documents.complete(agent, shelf, argument, context)
        return {**further(cast("dict[str, Any]", answer), "completion"), "completion": answer["completion"]}


def further(answer: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """What else an answer has, as MCP writes it."""
    found = {key: value for key, value in answer.items() if key not in ("req_id", *known)}
    # The protocol writes metadata without the underscore.
    return {**found, "_meta": found.pop("meta")} if "meta" in found else found


def _listed(key: str, items: list[dict[str, Any]], cursor: str | None) -> dict[str, Any]:
    return {key: items} if cursor is None else {key: items, "nextCursor": cursor}


def _as_mcp(resource: dict[str, Any]) -> dict[str, Any]:
    """A listed resource as MCP writes it."""
    found = {_SPELLINGS.get(key, key): value for key, value in resource.items()}
    if isinstance(annotations := resource.get("annotations"), dict):
        given = cast("dict[str, Any]", annotations)
        found["annotations"] = {_SPELLINGS_IN_ANNOTATIONS.get(key, key): value for key, value in given.items()}
    return found


async def _listing(agent: AsyncSMCPAgentClient, computer: str, uri: str) -> set[str]:
    """The MCP servers of a Computer that list a resource; of a page or an element, those that list its document."""
    wanted = {uri, _document_of(uri)}
    return {item["mcp_server"] for item in await agent.resources(computer) if item["uri"] in wanted}


async def _offering(agent: AsyncSMCPAgentClient, computer: str, uri: str) -> set[str]:
    """The MCP servers of a Computer that have a template, or one that leads to an address."""
    found: set[str] = set()
    async for item in _every_template(agent, computer):
        template = item["uriTemplate"]
        if template == uri or ((parsed := _parsed(template)) is not None and parsed.match(uri) is not None):
            found.add(item["mcp_server"])
    return found


async def _every_template(agent: AsyncSMCPAgentClient, computer: str) -> AsyncIterator[dict[str, Any]]:
    """The templates of a Computer's MCP servers, on all pages."""
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        answer = await agent.list_resource_templates(computer, cursor=cursor)
        for item in answer["templates"]:
            yield cast("dict[str, Any]", item)
        cursor = answer.get("next_cursor")
        if cursor is None or cursor in seen:
            return
        seen.add(cursor)


def _document_of(uri: str) -> str:
    """The address of the document that a page or an element is in; any other address unchanged."""
    if not is_dpe_uri(uri):
        return uri
    try:
        address = parse_dpe_uri(uri)
        return build_dpe_uri(address.host, address.doc_ref)
    except InvalidDPEUriError:
        return uri


@lru_cache(maxsize=1_024)
def _parsed(template: str) -> UriTemplate | None:
    try:
        return UriTemplate.parse(template)
    except InvalidUriTemplate:
        return None
