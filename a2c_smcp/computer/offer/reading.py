"""Requests that lead to one MCP server by an address: resources, templates and completion."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.offer.error_details import presentable, presentable_text
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.view import ResourceView
from a2c_smcp.errors import (
    DocumentNotFoundError,
    ElementNotFoundError,
    InternalError,
    InvalidDPEUriError,
    MalformedRequestError,
    NotFoundError,
    PageOutOfRangeError,
    SMCPError,
    TimedOutError,
    error_for,
)
from a2c_smcp.smcp import Completion, CompletionArgument, CompletionReference, ResourceContents, ResourceTemplate
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, parse_dpe_uri
from a2c_smcp.utils.uri_completion import beginning_with, complete_inside, inside

logger = logging.getLogger(__name__)

READ_TIMEOUT = 50.0
"""Seconds for one resource: less than the Server waits for this Computer."""
COMPLETION_SECONDS = 3.0
"""Seconds for a completion: a person waits for it while typing."""
TEMPLATES_AT_ONCE = 500
"""Templates in one answer."""
RESOURCE_NOT_FOUND = -32002
FINDER_CODES = (
    DocumentNotFoundError.code,
    DocumentNotFoundError.code,
    PageOutOfRangeError.code,
    ElementNotFoundError.code,
)
"""The code for a resource that is not found, by the level of its address."""


class Reader:
    """Finds the server for a request and asks it. `patience` limits the time for listing resources, in seconds."""

    def __init__(self, manager: MCPServerManager, redact: Callable[[str], str], patience: float) -> None:
        self._manager = manager
        self._redact = redact
        self._patience = patience

    async def read(self, uri: str) -> list[ResourceContents]:
        """The contents of a resource.

        Raises:
            SMCPError: as `Computer.read_resource`.
        """
        try:
            server = self._server_of(uri)
        except (NotFoundError, DocumentNotFoundError):
            await self._learn(uri)  # a server that has just become ready may not have listed its resources yet
            server = self._server_of(uri)
        session = self._session(server)
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                return await session.read(uri)
        except TimeoutError:
            raise TimedOutError(f"MCP server {server} did not answer within {READ_TIMEOUT:g} s") from None
        except MCPError as error:
            raise self._read_failure(uri, server, error) from None

    async def templates(self, mcp_server: str | None, cursor: str | None) -> tuple[list[ResourceTemplate], str | None]:
        """A page of the resource templates of all servers, or of one; and the cursor of the next page.

        Raises:
            NotFoundError: there is no such server, or it is not ready.
            MalformedRequestError: there is no such cursor.
            SMCPError: that one server failed.
        """
        start = _position(cursor)
        # The cursor is a position in the list of all servers. If a server comes or goes between two pages, a template
        # may be missing or come twice. A cursor that names a server would need state for each Agent.
        if mcp_server is not None:
            view = self._view(mcp_server)
            found = _described(view, await self._of_server(mcp_server, view.templates.listed()))
        else:
            views = self._manager.views
            listed = await asyncio.gather(*(self._templates_of(view) for view in views))
            found = [template for view, each in zip(views, listed, strict=True) for template in _described(view, each)]
        after = start + TEMPLATES_AT_ONCE
        return found[start:after], str(after) if after < len(found) else None

    async def complete(
        self,
        ref: CompletionReference,
        argument: CompletionArgument,
        context: Mapping[str, str] | None,
        mcp_server: str | None,
    ) -> Completion:
        """What a server suggests for an argument of one of its resource templates or prompts.

        Raises:
            NotFoundError: no server has it, or the server suggests nothing at all.
            MalformedRequestError: the server does not know this argument, or `ref` does not say what is completed.
            SMCPError: the server failed.
        """
        named = ref.get("uri" if ref["type"] == "ref/resource" else "name")
        if not named:
            raise MalformedRequestError("ref: the uri of a resource template, or the name of a prompt, is expected")
        server = mcp_server if mcp_server is not None else await self._server_with(ref["type"], named)
        session = self._session(server)
        return await self._of_server(server, session.suggest(ref, argument, context))

    async def complete_uri(self, start: str) -> list[str]:
        """Addresses that begin with `start`. If a server fails, the list is empty."""
        # A person is typing: suggestions that come late, or an error in their place, would only be in the way.
        wanted = inside(start)
        if wanted is None:
            return beginning_with(start, _known(self._manager.views))
        try:
            session = self._session(server := self._server_of(wanted.document))
            view = self._view(server)

            async def suggest(template: str, name: str, value: str, context: dict[str, str]) -> list[str]:
                ref = CompletionReference(type="ref/resource", uri=template)
                return (await session.suggest(ref, {"name": name, "value": value}, context))["values"]

            async with asyncio.timeout(COMPLETION_SECONDS):
                templates = [template.uri_template for template in await view.templates.listed()]
                return await complete_inside(wanted, templates, suggest)
        except (SMCPError, MCPError, TimeoutError) as error:
            logger.debug("no completion for %s: %s", start, error)
            return []

    # ----------------------------------------------------------------------------------------------- finding the server

    def _server_of(self, uri: str) -> str:
        if uri.startswith("dpe://"):
            return self._manager.finder.server_of(parse_dpe_uri(uri))
        owner = next((view for view in self._manager.views if view.holds(uri)), None)
        if owner is None:
            raise NotFoundError("no MCP server lists this resource", details={"uri": uri})
        return owner.server

    async def _learn(self, uri: str) -> None:
        """Have the servers list their resources, and for a document also the hosts in their templates."""
        views = self._manager.views
        deadline = asyncio.get_running_loop().time() + self._patience
        asked = [view.be_listed(deadline) for view in views]
        if uri.startswith("dpe://"):
            asked += [view.learn_hosts(deadline) for view in views]
        await asyncio.gather(*asked)

    async def _server_with(self, kind: str, named: str) -> str:
        """The first server with this template or prompt; for a `dpe://` template, else the server of its host."""
        views = self._manager.views
        if kind == "ref/prompt":
            for server, session in self._manager.sessions.items():
                if await self._of_server(server, session.has_prompt(named)):
                    return server
            raise NotFoundError(f"no MCP server has the prompt {named!r}")
        for view, listed in zip(views, await asyncio.gather(*map(self._templates_of, views)), strict=True):
            if any(template.uri_template == named for template in listed):
                return view.server
        try:
            return self._server_of(named)
        except (NotFoundError, DocumentNotFoundError, InvalidDPEUriError):
            raise NotFoundError("no MCP server has this resource template", details={"uri": named}) from None

    def _session(self, server: str) -> Session:
        session = self._manager.session(server)
        if session is None:
            raise NotFoundError(f"MCP server {server} does not exist or is not ready", details={"mcp_server": server})
        return session

    def _view(self, server: str) -> ResourceView:
        view = next((view for view in self._manager.views if view.server == server), None)
        if view is None:
            raise NotFoundError(f"MCP server {server} does not exist or is not ready", details={"mcp_server": server})
        return view

    # ----------------------------------------------------------------------------------------------------------- errors

    async def _templates_of(self, view: ResourceView) -> list[types.ResourceTemplate]:
        """The templates of a server; none if it fails."""
        try:
            return await view.templates.listed()
        except (MCPError, TimeoutError) as error:
            words = in_words(error, self._redact)
            logger.warning("the resource templates of %s cannot be listed: %s", view.server, words)
            return []

    async def _of_server(self, server: str, asked: Any) -> Any:
        """The answer of a server; its errors become errors of the protocol."""
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                return await asked
        except TimeoutError:
            raise TimedOutError(f"MCP server {server} did not answer within {READ_TIMEOUT:g} s") from None
        except MCPError as error:
            words = presentable_text(error.message, self._redact)
            details = {**presentable(error.data, self._redact), "mcp_server": server}
            match error.code:
                case types.METHOD_NOT_FOUND:
                    raise NotFoundError(f"MCP server {server} does not offer this: {words}", details=details) from None
                case types.INVALID_PARAMS:
                    raise MalformedRequestError(words, details=details) from None
                case _:
                    raise InternalError(words, details=details) from None

    def _read_failure(self, uri: str, server: str, error: MCPError) -> SMCPError:
        """The protocol's error for the error of an MCP server, with its details."""
        words, given = presentable_text(error.message, self._redact), presentable(error.data, self._redact)
        if not uri.startswith("dpe://"):
            if error.code == RESOURCE_NOT_FOUND:
                return NotFoundError(words, details={"uri": uri, **given})
            return InternalError(words, details=given)
        address = parse_dpe_uri(uri)
        # A server may use the Finder's codes itself. One that only knows MCP says "not found", and the address tells
        # what.
        code = FINDER_CODES[address.level] if error.code == RESOURCE_NOT_FOUND else error.code
        if code not in FINDER_CODES:
            return InternalError(words, details=given)
        known: dict[str, Any] = {"doc_ref": address.doc_ref}
        if code == PageOutOfRangeError.code:
            known = {"page_index": address.page_index, "page_count": self._page_count(server, address)}
        elif code == ElementNotFoundError.code:
            known = {"element_id": address.element_id}
        return error_for(code, words, {key: value for key, value in known.items() if value is not None} | given)

    def _page_count(self, server: str, address: ParsedDPEUri) -> int | None:
        item = self._view(server).document_of(address)
        return item.filed.document["page_count"] if item is not None and item.filed is not None else None


def _known(views: list[ResourceView]) -> list[str]:
    found: list[str] = []
    for view in views:
        found += [*view.windows.items, *view.others]
        for uri in view.documents.items:
            found += [uri, f"{uri}/pages/", f"{uri}/elements/"]
    return found


def _described(view: ResourceView, templates: list[types.ResourceTemplate]) -> list[ResourceTemplate]:
    """Templates as MCP writes them, each with its server."""
    return [
        cast(
            "ResourceTemplate",
            {**template.model_dump(mode="json", by_alias=True, exclude_none=True), "mcp_server": view.server},
        )
        for template in templates
    ]


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    # `isdigit` alone accepts digits such as ², which `int` rejects. The length bounds the work for a number that an
    # Agent makes up.
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 9):
        raise MalformedRequestError("cursor: there is no such page")
    return int(cursor)
