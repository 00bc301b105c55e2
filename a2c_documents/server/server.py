"""The library as an MCP server: resources, and tools for hosts that do not support resources."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterable
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

import a2c_smcp
from a2c_documents.library.library import Library, News
from a2c_documents.server.addresses import Answer, complete, read
from a2c_documents.server.searching import LIMIT, SEARCH, WAIT
from a2c_documents.server.tools import TOOLS, call
from a2c_smcp.errors import SMCPError
from a2c_smcp.utils.audience import Audience
from a2c_smcp.utils.dpe_uri import parse_dpe_uri

T = TypeVar("T")

LISTED_AT_ONCE = 1_000
"""Resources in one page of `resources/list`."""
INVALID_PARAMS = -32602


class DocumentServer:
    """An MCP server over a library. Connected clients are notified of changes."""

    def __init__(self, library: Library, name: str) -> None:
        self.library = library
        self._audience = Audience()
        self.server: Server[Any] = _Server(
            name,
            version=a2c_smcp.__version__,
            instructions="Documents of a folder. Read dpe:// resources, or use list_documents, search_documents and "
            "read_document.",
            on_list_resources=self._list,
            on_list_resource_templates=self._templates,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._audience.listener,
            on_completion=self._complete,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def announce(self, news: News) -> None:
        """Notify the connected clients of changes."""
        if news.is_list_changed:
            await self._audience.tell_list_changed()
        for ref in sorted(news.updated):
            await self._audience.tell_updated(self.library.address(ref), ref)

    # -------------------------------------------------------------------------------------------------------- resources

    async def _list(self, context: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        # Every handler reports its client, because the audience notifies only the clients that it has met.
        self._audience.meet(context)
        start = _cursor(params)
        # Nothing is read for a list: titles and summaries appear as they are read in the background.
        documents = list(self.library.documents.values())
        resources = [
            types.Resource(
                uri=self.library.address(document.ref),
                name=document.title,
                description=(document.facts or {}).get("summary") or None,
                mime_type="application/json",
            )
            for document in documents[start : start + LISTED_AT_ONCE]
        ]
        after = start + LISTED_AT_ONCE
        return types.ListResourcesResult(
            resources=resources, next_cursor=str(after) if after < len(documents) else None
        )

    async def _templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        self._audience.meet(context)
        host = self.library.address()
        page, element = f"{host}/{{doc_ref}}/pages/{{page_index}}", f"{host}/{{doc_ref}}/elements/{{element_id}}"
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=f"{host}/{{doc_ref}}", name="document"),
                types.ResourceTemplate(uri_template=page, name="page"),
                types.ResourceTemplate(uri_template=element, name="element"),
                # An Agent recognises a document server that searches by the variable of this template.
                types.ResourceTemplate(uri_template=f"{host}{{?{SEARCH},{LIMIT},{WAIT}}}", name="search"),
            ]
        )

    async def _read(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        self._audience.meet(context)
        uri = str(params.uri)
        return types.ReadResourceResult(contents=[_contents(uri, await _or_error(read(self.library, uri)))])

    async def _subscribe(self, context: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        # By document, whatever the address: a change of the file may affect each of its pages and elements.
        self._audience.meet(context).add(_document_of(str(params.uri)))
        return types.EmptyResult()

    async def _unsubscribe(self, context: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._audience.meet(context).discard(_document_of(str(params.uri)))
        return types.EmptyResult()

    async def _complete(self, context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        self._audience.meet(context)
        chosen = dict(params.context.arguments or {}) if params.context is not None else {}
        found = await _or_error(complete(self.library, params.argument.name, params.argument.value, chosen))
        # The total is not known if the search stopped early.
        total = len(found.values) if found.is_all else None
        completion = types.Completion(values=found.values, total=total, has_more=not found.is_all)
        return types.CompleteResult(completion=completion)

    # ------------------------------------------------------------------------------------------------------------ tools

    async def _list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        self._audience.meet(context)
        return types.ListToolsResult(tools=[types.Tool(**tool) for tool in TOOLS])

    async def _call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        self._audience.meet(context)
        try:
            answers = await call(self.library, params.name, params.arguments or {})
        # An error of a tool is a result: a model sees results, while protocol errors go to the host program.
        except (SMCPError, ValueError) as error:
            code = f" (error {error.code})" if isinstance(error, SMCPError) else ""
            return types.CallToolResult(content=[types.TextContent(text=f"{error}{code}")], is_error=True)
        return types.CallToolResult(content=list(_parts(answers)))


class _Server(Server[Any]):
    """Declares `resources.listChanged`: the transports of mcp ask for options without it."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **options: Any
    ) -> InitializationOptions:
        wanted = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(wanted, *args, **options)


def _document_of(uri: str) -> str:
    """The reference of the document in an address; empty if the address is invalid."""
    try:
        return parse_dpe_uri(uri).doc_ref or ""
    except SMCPError:
        return ""


async def _or_error(work: Awaitable[T]) -> T:
    """The result of `work`, with our errors as MCP errors."""
    try:
        return await work
    except SMCPError as error:
        raise MCPError(error.code, error.message, error.details) from None


def _cursor(params: types.PaginatedRequestParams | None) -> int:
    cursor = params.cursor if params is not None else None
    if cursor is None:
        return 0
    # Cursors come back from clients, which may send anything.
    if not cursor.isdecimal() or len(cursor) > 9:
        raise MCPError(INVALID_PARAMS, "there is no such cursor")
    return int(cursor)


def _contents(uri: str, answer: Answer) -> types.TextResourceContents | types.BlobResourceContents:
    if answer.blob is not None:
        return types.BlobResourceContents(uri=uri, mime_type=answer.mime_type, blob=answer.blob)
    text = json.dumps(answer.body, ensure_ascii=False)
    return types.TextResourceContents(uri=uri, mime_type="application/json", text=text)


def _parts(answers: Iterable[Answer]) -> Iterable[types.TextContent | types.ImageContent | types.EmbeddedResource]:
    for answer in answers:
        # MCP has a content type for pictures. Other files are embedded as resources.
        if answer.blob is not None and not answer.mime_type.startswith("image/"):
            yield types.EmbeddedResource(resource=_contents(answer.uri, answer))
        elif answer.blob is not None:
            yield types.ImageContent(data=answer.blob, mime_type=answer.mime_type)
        elif isinstance(answer.body, str):
            yield types.TextContent(text=answer.body)
        else:
            yield types.TextContent(text=json.dumps(answer.body, ensure_ascii=False, indent=1))
