"""Completion of addresses: documents and resources of Computers, and pages and elements that MCP servers suggest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, cast

from a2c_smcp.cli.agent.session import Session
from a2c_smcp.errors import NotFoundError, SMCPError
from a2c_smcp.smcp import CompletionReference
from a2c_smcp.utils.uri_completion import Inside, beginning_with, complete_inside, inside

logger = logging.getLogger(__name__)

DOCUMENTS = 100
"""Documents of each Computer that are considered."""
PAGES = 50
"""Pages of a document that are suggested if its MCP server suggests none."""


async def addresses(session: Session, start: str, computers: Iterable[str], seconds: float) -> list[str]:
    """Addresses of these Computers that begin with `start`. A Computer that fails or times out has none."""
    wanted = inside(start)

    async def ask(computer: str) -> list[str]:
        try:
            async with asyncio.timeout(seconds):  # for all requests together: a person waits after Tab
                if wanted is not None:
                    return await _inside(session, computer, wanted, seconds)
                catalogue = await session.agent.get_finder(computer, limit=DOCUMENTS, timeout=seconds)
                documents = [entry["uri"] for entry in catalogue["documents"]]
                inner = (f"{uri}/{kind}/" for uri in documents for kind in ("pages", "elements"))
                return [*documents, *inner, *(await _resources(session, computer, start, seconds))]
        except (SMCPError, TimeoutError) as error:
            logger.debug("%s offers no addresses: %s", computer, error)
            return []

    found = await asyncio.gather(*map(ask, computers))
    return beginning_with(start, (uri for uris in found for uri in uris))


async def _resources(session: Session, computer: str, start: str, seconds: float) -> list[str]:
    """Resources of other schemes, from the first page of the list."""
    if start.startswith("dpe://"):
        return []
    try:
        listed = (await session.agent.get_resources(computer, timeout=seconds))["resources"]
    except SMCPError as error:  # the Computer may not know the request
        logger.debug("%s lists no resources: %s", computer, error)
        return []
    return [entry["uri"] for entry in listed if not entry["uri"].startswith("dpe://")]


async def _inside(session: Session, computer: str, wanted: Inside, seconds: float) -> list[str]:
    agent = session.agent
    listed = (await agent.list_resource_templates(computer, timeout=seconds))["templates"]

    async def suggest(template: str, name: str, value: str, context: dict[str, str]) -> list[str]:
        ref = CompletionReference(type="ref/resource", uri=template)
        answer = await agent.complete(
            computer,
            ref,
            {"name": name, "value": value},
            context=context,
            mcp_server=servers[template],
            timeout=seconds,
        )
        return answer["completion"]["values"]

    # Reversed, so that of two servers with the same template the first is asked.
    servers = {entry["uriTemplate"]: entry["mcp_server"] for entry in reversed(listed)}
    try:
        found = await complete_inside(wanted, [entry["uriTemplate"] for entry in listed], suggest)
    except NotFoundError:  # completion is optional for an MCP server
        found = []
    return found or await _by_index(session, computer, wanted, seconds)


async def _by_index(session: Session, computer: str, wanted: Inside, seconds: float) -> list[str]:
    """The pages that a document lists, for a server that suggests none."""
    if wanted.kind != "pages":
        return []
    answer = await session.agent.read_document_pages(computer, wanted.document, 0, PAGES, seconds)
    listed = answer.get("pages")
    pages = cast("list[Any]", listed) if isinstance(listed, list) else []
    return [f"{wanted.document}/pages/{index}" for index in range(len(pages))]
