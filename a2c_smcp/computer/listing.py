"""What an MCP server lists, sorted: windows, documents, the rest, and what cannot be shown. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import mcp_types as types

from a2c_smcp.utils.dpe_uri import ParsedDPEUri, parse_dpe_uri
from a2c_smcp.utils.window_uri import WindowURI


@dataclass(slots=True)
class Listing:
    """The resources of one server, in the order in which it lists them."""

    windows: list[types.Resource] = field(default_factory=list[types.Resource])
    documents: list[tuple[types.Resource, ParsedDPEUri]] = field(
        default_factory=list[tuple[types.Resource, ParsedDPEUri]]
    )
    others: set[str] = field(default_factory=set[str])
    """What can be read and is shown nowhere; pages and elements are found through their document."""
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    """Windows and documents with an invalid address, and what is wrong with it."""
    hosts: set[str] = field(default_factory=set[str])
    """The hosts of all `dpe://` addresses, in lower case."""


def sort_resources(resources: Iterable[types.Resource]) -> Listing:
    """Sort what a server lists."""
    listing = Listing()
    for resource in resources:
        try:
            _put(resource, listing)
        except ValueError as error:
            listing.skipped[resource.uri] = str(error)
            listing.others.add(resource.uri)
    return listing


def is_on_show(uri: str) -> bool:
    """Whether a resource is a window or a document."""
    listing = sort_resources([types.Resource(uri=uri, name="")])
    return bool(listing.windows or listing.documents)


def _put(resource: types.Resource, listing: Listing) -> None:
    uri = resource.uri
    if uri.startswith("window://"):
        WindowURI(uri)
        listing.windows.append(resource)
        return
    if uri.startswith("dpe://"):
        address = parse_dpe_uri(uri)
        listing.hosts.add(address.host.lower())
        if address.level == 1:
            listing.documents.append((resource, address))
            return
    listing.others.add(uri)
