"""Templates for the documents of MCP servers that offer none, with completion.

All MCP servers write the addresses of documents, pages and elements in the same way (`dpe://`), so the gateway can
offer the templates in their place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import InvalidDPEUriError, SMCPError
from a2c_smcp.gateway.addresses import Address
from a2c_smcp.protocol.documents import page_count
from a2c_smcp.protocol.requests import LARGEST_LIMIT
from a2c_smcp.utils.dpe_uri import build_dpe_uri, is_dpe_uri, parse_dpe_uri

MOST_VALUES = 100
"""Values in one completion: the limit of MCP."""
MOST_LOOKED_AT = 1_000
"""Documents that are looked through for one completion."""
MOST_PAGES = 10
"""Pages that are read for one completion."""

DOCUMENT, PAGE, ELEMENT = "doc_ref", "page_index", "element_id"
_FORMS = {
    "document": f"{{{DOCUMENT}}}",
    "page": f"{{{DOCUMENT}}}/pages/{{{PAGE}}}",
    "element": f"{{{DOCUMENT}}}/elements/{{{ELEMENT}}}",
}


@dataclass(frozen=True, slots=True)
class Shelf:
    """The documents of an MCP server on a Computer. The server is empty where the Computer finds it."""

    computer: str
    server: str
    host: str
    """The host in the addresses of its documents."""

    def templates(self, listed: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The templates that its MCP server does not list itself, as a Computer would list them."""
        own = {_kind(item["uriTemplate"]) for item in listed if item["mcp_server"] == self.server}
        return [
            {"name": name, "uriTemplate": f"dpe://{self.host}/{form}", "mcp_server": self.server}
            for name, form in _FORMS.items()
            if name not in own
        ]


async def shelves(agent: AsyncSMCPAgentClient, computer: str) -> list[Shelf]:
    """The MCP servers of a Computer that have documents."""
    try:
        page = await agent.get_finder(computer, limit=LARGEST_LIMIT)
    except SMCPError:  # it left, or is of an older version
        return []
    found: dict[Shelf, None] = {}
    for document in page["documents"]:
        host = _host(document["uri"])
        if host is not None:
            found[Shelf(computer, document["server"], host)] = None
    return list(found)


def _kind(template: str) -> str | None:
    """What a template of an MCP server leads to, whatever its variables are called."""
    path = template.removeprefix("dpe://").split("/")[1:]
    if not template.startswith("dpe://") or not path:
        return None
    if len(path) == 1:
        return "document"
    return {"pages": "page", "elements": "element"}.get(path[1])


def shelf_of(address: Address) -> Shelf | None:
    """The documents that a template is for; None if it has another form than ours."""
    prefix, _, rest = address.uri.removeprefix("dpe://").partition("/")
    if not address.uri.startswith("dpe://") or rest not in _FORMS.values():
        return None
    return Shelf(address.computer, address.server, prefix)


async def complete(
    agent: AsyncSMCPAgentClient, shelf: Shelf, argument: Mapping[str, Any], context: Mapping[str, str] | None
) -> dict[str, Any]:
    """The result of `completion/complete` for one of our templates."""
    values: list[str] = []
    try:
        async for value in _values(agent, shelf, argument["name"], (context or {}).get(DOCUMENT)):
            if value.startswith(argument["value"]):
                values.append(value)
                if len(values) > MOST_VALUES:
                    break
    except SMCPError:  # there is no such document, or the Computer left: then there is nothing to suggest
        pass
    return {"completion": {"values": values[:MOST_VALUES], "hasMore": len(values) > MOST_VALUES}}


async def _values(agent: AsyncSMCPAgentClient, shelf: Shelf, name: str, ref: str | None) -> AsyncIterator[str]:
    if name == DOCUMENT:
        async for value in _references(agent, shelf):
            yield value
    elif ref is not None and name in (PAGE, ELEMENT):
        pages = page_count(await _read(agent, shelf, ref))
        if name == PAGE:
            for number in range(pages):
                yield str(number)
            return
        for number in range(min(pages, MOST_PAGES)):
            page = await _read(agent, shelf, ref, f"pages/{number}")
            for element in cast("list[Any]", page.get("elements") or []):
                if isinstance(element, dict) and isinstance(id := cast("dict[str, Any]", element).get(ELEMENT), str):
                    yield id


async def _references(agent: AsyncSMCPAgentClient, shelf: Shelf) -> AsyncIterator[str]:
    seen = 0
    async for document in agent.iter_documents(shelf.computer):
        seen += 1
        if seen > MOST_LOOKED_AT:
            return
        if shelf.server in ("", document["server"]) and _host(document["uri"]) == shelf.host:
            yield document["doc_ref"]


async def _read(agent: AsyncSMCPAgentClient, shelf: Shelf, ref: str, path: str | None = None) -> dict[str, Any]:
    uri = build_dpe_uri(shelf.host, ref, path)
    return await agent.read_resource(shelf.computer, uri, mcp_server=shelf.server or None)


def _host(uri: str) -> str | None:
    if not is_dpe_uri(uri):
        return None
    try:
        return parse_dpe_uri(uri).host
    except InvalidDPEUriError:
        return None
