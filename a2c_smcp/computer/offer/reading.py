"""Requests that lead to one MCP server by an address: resources, templates and completion."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.offer.asking import SECONDS, Asking, ambiguous, incapable, unknown
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.error_details import presentable, presentable_text
from a2c_smcp.computer.offer.paging import Position, page_of
from a2c_smcp.computer.offer.prompting import Prompts
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
from a2c_smcp.smcp import (
    Completion,
    CompletionArgument,
    CompletionReference,
    ResourceContents,
    ResourceInfo,
    ResourceTemplate,
)
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, parse_dpe_uri
from a2c_smcp.utils.uri_completion import beginning_with, complete_inside, inside

logger = logging.getLogger(__name__)

COMPLETION_SECONDS = 3.0
"""Seconds for a completion: a person waits for it while typing."""
WATCH_SECONDS = 15.0
"""Seconds for a server to agree to announce the changes of a resource."""
COMPARED_TEMPLATES = 1_000
"""Templates of a server that are compared with an address that no server lists."""
RESOURCE_NOT_FOUND = -32002
FINDER_CODES = (
    DocumentNotFoundError.code,
    DocumentNotFoundError.code,
    PageOutOfRangeError.code,
    ElementNotFoundError.code,
)
"""The code for a resource that is not found, by the level of its address."""
_SPELLINGS = {"mimeType": "mime_type"}
_SPELLINGS_IN_ANNOTATIONS = {"lastModified": "last_modified"}


class Reader:
    """Finds the server for a request and asks it. `patience` limits the time for listing resources, in seconds."""

    def __init__(self, asking: Asking, prompts: Prompts, patience: float) -> None:
        self._asking = asking
        self._manager = asking.manager
        self._prompts = prompts
        self._redact = asking.redact
        self._patience = patience

    async def read(self, uri: str, mcp_server: str | None = None) -> list[ResourceContents]:
        """The contents of a resource.

        Raises:
            SMCPError: as `Computer.read_resource`.
        """
        server = await self._find(uri, mcp_server)
        session = self._asking.session(server)
        try:
            async with asyncio.timeout(SECONDS):
                return await session.read(uri)
        except TimeoutError:
            raise TimedOutError(f"MCP server {server} did not answer within {SECONDS:g} s") from None
        except MCPError as error:
            raise self._read_failure(uri, server, error) from None

    async def resources(self, mcp_server: str | None, cursor: str | None) -> tuple[list[ResourceInfo], str | None]:
        """A page of the resources of all servers, or of one; and the cursor of the next page.

        Raises:
            MCPServerNotFoundError: there is no such server, or it is not ready.
            CapabilityMissingError: that one server has no resources.
            MalformedRequestError: there is no such cursor.
            SMCPError: that one server failed.
        """
        at = Position.read(cursor) if cursor is not None else None
        if mcp_server is not None:
            view = self._asking.view(mcp_server)
            if not view.has_resources:
                raise incapable(mcp_server, "resources")
            views = [view]
        else:
            views = [view for view in self._manager.views if view.has_resources]
        if at is not None:
            names = [view.server for view in views]
            if at.server not in names:
                raise MalformedRequestError(f"cursor: MCP server {at.server} is not ready any more; begin again")
            views = views[names.index(at.server) :]
        # Each answer has resources of one server, so that a slow server delays only its own.
        for number, view in enumerate(views):
            start = (at.cursor, at.offset) if at is not None and number == 0 else (None, 0)
            following = Position(views[number + 1].server, None, 0) if number + 1 < len(views) else None
            try:
                listed, after = await self._asking.answer(view.server, view.resource_pages.page(*start))
            except SMCPError as error:
                if mcp_server is not None:
                    raise
                logger.warning("the resources of %s cannot be listed: %s", view.server, error.message)
                continue
            if after is not None:
                following = Position(view.server, *after)
            if listed or following is None or after is not None:
                return [_resource(view.server, data) for data in listed], following and following.to_cursor()
        return [], None

    async def watch(self, uri: str, mcp_server: str | None, caller: Caller) -> None:
        """Let an Agent watch a resource, until `unwatch`, or until its watches end.

        Raises:
            MCPServerNotFoundError, NotFoundError, MalformedRequestError: as `read`.
            CapabilityMissingError: the server announces no changes of resources.
            RateLimitedError: too many resources are watched.
            SMCPError: the server failed.
        """
        watches = self._manager.watches
        request = watches.request(caller, uri, mcp_server)
        try:
            server = await self._find(uri, mcp_server)
            view = self._asking.view(server)
            if not view.has_resources:
                raise incapable(server, "resources")
            watches.begin(request, server)
            if not request.is_over:
                await self._agree(view, uri)
                request.is_agreed = True
        except SMCPError:
            # Nobody waits for the answer of an Agent that left, and who ended the watch knows that there is none.
            if not request.is_over:
                raise
        finally:
            self._manager.end_watches(watches.settle(request))

    async def _agree(self, view: ResourceView, uri: str) -> None:
        """Have a server announce the changes of a resource."""
        server = view.server
        try:
            async with asyncio.timeout(WATCH_SECONDS):
                await view.want(uri)
        except TimeoutError:
            raise TimedOutError(f"MCP server {server} did not answer within {WATCH_SECONDS:g} s") from None
        except MCPError as error:
            if error.code == types.METHOD_NOT_FOUND:
                raise incapable(server, "resources.subscribe") from None
            raise self._read_failure(uri, server, error) from None
        except SubscriptionLost:
            raise InternalError(f"MCP server {server} ended the subscription at once") from None

    def unwatch(self, uri: str, mcp_server: str | None, caller: Caller) -> None:
        """An Agent does not watch a resource any more; nothing changes if it did not."""
        self._manager.end_watches(self._manager.watches.end(caller, uri, mcp_server))

    async def templates(self, mcp_server: str | None, cursor: str | None) -> tuple[list[ResourceTemplate], str | None]:
        """A page of the resource templates of all servers, or of one; and the cursor of the next page.

        Raises:
            NotFoundError: there is no such server, or it is not ready.
            MalformedRequestError: there is no such cursor.
            SMCPError: that one server failed.
        """
        # The cursor is a position in the list of all servers. If a server comes or goes between two pages, a template
        # may be missing or come twice. A cursor that names a server would need state for each Agent.
        if mcp_server is not None:
            view = self._manager.view(mcp_server)
            if view is None:
                raise _not_found(mcp_server)
            found = _described(view, await self._asking.answer(mcp_server, view.templates.listed()))
        else:
            views = self._manager.views
            listed = await asyncio.gather(*(self._templates_of(view) for view in views))
            found = [template for view, each in zip(views, listed, strict=True) for template in _described(view, each)]
        page, after = page_of(found, cursor)
        return list(page), after

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
        session = self._manager.session(server)
        if session is None:
            raise _not_found(server)
        return await self._asking.answer(server, session.suggest(ref, argument, context))

    async def complete_uri(self, start: str) -> list[str]:
        """Addresses that begin with `start`. If a server fails, the list is empty."""
        # A person is typing: suggestions that come late, or an error in their place, would only be in the way.
        wanted = inside(start)
        if wanted is None:
            return beginning_with(start, _known(self._manager.views))
        try:
            session = self._asking.session(server := self._server_of(wanted.document))
            view = self._asking.view(server)

            async def suggest(template: str, name: str, value: str, context: dict[str, str]) -> list[str]:
                ref = CompletionReference(type="ref/resource", uri=template)
                return (await session.suggest(ref, {"name": name, "value": value}, context))["values"]

            async with asyncio.timeout(COMPLETION_SECONDS):
                templates = [template["uriTemplate"] for template in await view.templates.listed()]
                return await complete_inside(wanted, templates, suggest)
        except (SMCPError, MCPError, TimeoutError) as error:
            logger.debug("no completion for %s: %s", start, error)
            return []

    # ----------------------------------------------------------------------------------------------- finding the server

    async def _find(self, uri: str, mcp_server: str | None) -> str:
        """The server to ask for a resource."""
        # A server that is named is asked for any address, as by a client that is connected to it directly. Otherwise
        # the server is the one that offers the address.
        if mcp_server is not None:
            self._asking.session(mcp_server)
            return mcp_server
        try:
            return self._server_of(uri)
        except (NotFoundError, DocumentNotFoundError):
            # A server that has just become ready may not have listed its resources yet. And a tool may have made this
            # resource a moment ago: its server has announced it, and the list is being read.
            await self._learn(uri)
        try:
            return self._server_of(uri)
        except NotFoundError:
            return await self._server_offering(uri)

    def _server_of(self, uri: str) -> str:
        """The server that lists a resource."""
        if uri.startswith("dpe://"):
            return self._manager.finder.server_of(parse_dpe_uri(uri))
        return _only(uri, [view.server for view in self._manager.views if view.holds(uri)])

    async def _server_offering(self, uri: str) -> str:
        """The server with a template for an address that nobody lists, or else with a tool that names the address."""
        views = self._manager.views
        listed = await asyncio.gather(*map(self._templates_of, views))
        offering = [view.server for view, each in zip(views, listed, strict=True) if _has_template(each, uri)]
        return _only(uri, offering or self._manager.servers_mentioning(uri))

    async def _learn(self, uri: str) -> None:
        """Have the servers list their resources, and for a document also the hosts in their templates."""
        views = self._manager.views
        deadline = asyncio.get_running_loop().time() + self._patience
        asked = [view.be_current(deadline) for view in views]
        if uri.startswith("dpe://"):
            asked += [view.learn_hosts(deadline) for view in views]
        await asyncio.gather(*asked)

    async def _server_with(self, kind: str, named: str) -> str:
        """The first server with this template or prompt; for a `dpe://` template, else the server of its host."""
        if kind == "ref/prompt":
            return (await self._prompts.servers_with(named))[0]
        views = self._manager.views
        for view, listed in zip(views, await asyncio.gather(*map(self._templates_of, views)), strict=True):
            if any(template["uriTemplate"] == named for template in listed):
                return view.server
        try:
            return self._server_of(named)
        except (NotFoundError, DocumentNotFoundError, InvalidDPEUriError):
            raise NotFoundError("no MCP server has this resource template", details={"uri": named}) from None

    # ----------------------------------------------------------------------------------------------------------- errors

    async def _templates_of(self, view: ResourceView) -> list[dict[str, Any]]:
        """The templates of a server; none if it fails."""
        try:
            return await view.templates.listed()
        except (MCPError, TimeoutError) as error:
            words = in_words(error, self._redact)
            logger.warning("the resource templates of %s cannot be listed: %s", view.server, words)
            return []

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
        item = self._asking.view(server).document_of(address)
        return item.filed.document["page_count"] if item is not None and item.filed is not None else None


def _known(views: list[ResourceView]) -> list[str]:
    found: list[str] = []
    for view in views:
        found += [*view.windows.items, *view.others]
        for uri in view.documents.items:
            found += [uri, f"{uri}/pages/", f"{uri}/elements/"]
    return found


def _described(view: ResourceView, templates: list[dict[str, Any]]) -> list[ResourceTemplate]:
    """Templates as MCP writes them, each with its server."""
    return [cast("ResourceTemplate", {**template, "mcp_server": view.server}) for template in templates]


def _resource(server: str, data: dict[str, Any]) -> ResourceInfo:
    """A resource in the spelling of the protocol, with its server."""
    found = {_SPELLINGS.get(key, key): value for key, value in data.items()}
    if isinstance(annotations := data.get("annotations"), dict):
        given = cast("dict[str, Any]", annotations)
        found["annotations"] = {_SPELLINGS_IN_ANNOTATIONS.get(key, key): value for key, value in given.items()}
    return cast("ResourceInfo", {**found, "mcp_server": server})


def _only(uri: str, servers: list[str]) -> str:
    """The one server that has a resource."""
    if not servers:
        raise NotFoundError("no MCP server lists this resource", details={"uri": uri})
    if len(servers) > 1:
        raise ambiguous(f"the resource {uri}", servers)
    return servers[0]


def _not_found(server: str) -> NotFoundError:
    # 404 and not 4014: templates and completion are older than that code.
    error = unknown(server)
    return NotFoundError(error.message, details=error.details)


def _has_template(templates: list[dict[str, Any]], uri: str) -> bool:
    for template in templates[:COMPARED_TEMPLATES]:
        written: str = template["uriTemplate"]
        # Most templates differ in their first characters, and need not be parsed.
        if not uri.startswith(written.partition("{")[0]):
            continue
        parsed = _parsed(written)
        if parsed is not None and parsed.match(uri) is not None:
            return True
    return False


@functools.lru_cache(maxsize=1_024)
def _parsed(template: str) -> UriTemplate | None:
    try:
        return UriTemplate.parse(template)
    except InvalidUriTemplate:
        return None
