"""The Agent for programs with an event loop."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from a2c_smcp.agent.auth import AgentAuthProvider, DefaultAgentAuthProvider
from a2c_smcp.agent.background import AsyncBackground
from a2c_smcp.agent.base import CALL_SECONDS, REQUEST_SECONDS, SETTLE_SECONDS, AgentBase, typed
from a2c_smcp.agent.change_queue import ChangeQueue
from a2c_smcp.agent.types import AgentEventHandler, AsyncAgentEventHandler
from a2c_smcp.agent.waiting import AsyncCondition
from a2c_smcp.errors import OfficeRefusedError, TimedOutError
from a2c_smcp.protocol import requests
from a2c_smcp.protocol.seat import check_seconds
from a2c_smcp.protocol.upkeep import Change, Kind
from a2c_smcp.smcp import (
    SMCP_NAMESPACE,
    CompleteRet,
    DPEDocumentSummary,
    GetComputerConfigRet,
    GetDeskTopRet,
    GetFinderRet,
    GetToolsRet,
    ListResourceTemplatesRet,
    ReadResourceRet,
    SessionInfo,
)
from a2c_smcp.transport.async_client import AsyncOfficeClient
from a2c_smcp.utils.dpe_uri import extend_dpe_uri

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)


class AsyncSMCPAgentClient(AgentBase, AsyncOfficeClient):
    """An Agent: a Socket.IO client that uses what the Computers of its office offer.

    `keep` names what is fetched whenever it changes, beside the tools: "config", "desktop", "finder". The latter two
    are also kept if the event handler has a method for them. Further options are those of python-socketio's client.
    """

    def __init__(
        self,
        auth_provider: AgentAuthProvider,
        event_handler: AsyncAgentEventHandler | AgentEventHandler | Any = None,
        *,
        keep: Iterable[Kind] = (),
        **socketio_kwargs: Any,
    ) -> None:
        super().__init__(**socketio_kwargs)
        self._initialize_agent(auth_provider, event_handler, keep)
        self._progress = AsyncCondition()
        self._background = AsyncBackground()
        self._handled: Changes | None = None
        """The changes for the event handler."""

    # ------------------------------------------------------------------------------------------- connecting and joining

    @classmethod
    @asynccontextmanager
    async def in_office(
        cls,
        url: str,
        office_id: str,
        name: str,
        *,
        api_key: str | None = None,
        event_handler: AsyncAgentEventHandler | AgentEventHandler | Any = None,
        **options: Any,
    ) -> AsyncGenerator[Self]:
        """Connect to a Server and join an office for as long as the block runs.

        When the block begins, the tools of all Computers in the office are known. `options` are those of the class.

        Raises:
            NotConnectedError: the Server cannot be reached.
            NotAuthenticatedError, ForbiddenError: the Server requires another key.
            OfficeFullError: the office already has an Agent.
            SMCPError: the Server rejects the connection or the join for another reason.
        """
        client = cls(DefaultAgentAuthProvider(name, office_id, api_key), event_handler, **options)
        try:
            await client.connect_to_server(url)
            await client.join_office()
            # A Computer that does not answer must not keep the program from all others.
            with contextlib.suppress(TimedOutError):
                await client.wait_for(timeout=SETTLE_SECONDS)
            yield client
        finally:
            await client.disconnect()

    async def connect_to_server(self, url: str, namespace: str = SMCP_NAMESPACE, **kwargs: Any) -> None:
        """Connect to a Server. Further options are those of `socketio.AsyncClient.connect`.

        Raises:
            NotAuthenticatedError, ForbiddenError: the Server requires another key.
            NotConnectedError: the Server cannot be reached.
        """
        self.namespace = namespace
        await self.reach(url, **self._connect_options(kwargs))

    async def join_office(
        self, office_id: str | None = None, agent_name: str | None = None, namespace: str | None = None
    ) -> None:
        """Join an office, and join it again after every reconnection. The defaults are those of the auth provider.

        `namespace` is accepted for compatibility, and ignored.

        Raises:
            OfficeFullError: the office already has an Agent.
            SMCPError: the Server rejects the join for another reason, or does not answer.
        """
        office, name = self._seat_for(office_id, agent_name)
        try:
            await self._join(office, name)
        except OfficeRefusedError as error:
            raise typed(error) from None
        self.name = name  # every request carries it, so it changes only after the Server has accepted it
        await self._run(self._looking_around(office))

    async def leave_office(self, office_id: str | None = None, namespace: str | None = None) -> None:
        """Leave the office. The Agent is outside afterwards, even if the Server answers an error.

        Raises:
            NotInOfficeError: the Agent is in no office.
            CrossOfficeError: the Agent is in another office than `office_id`.
            SMCPError: the Server answers another error.
        """
        office = self._office_to_leave(office_id)
        try:
            await self._leave(office)
        except OfficeRefusedError as error:
            raise typed(error) from None
        finally:
            # In any case the Agent is outside. Callers of `wait_for` wake up and get an error, instead of waiting for a
            # Computer that cannot appear.
            with self._progress:
                self._upkeep.leave()
                self._progress.notify_all()

    async def disconnect(self) -> None:
        """Disconnect from the Server and do not reconnect. Requests that wait for an answer fail."""
        # Forget the office first: a fetch that starts while the connection closes then finds that it is not wanted.
        with self._progress:
            self._upkeep.leave()
        await super().disconnect()
        # The hook runs at the end of a connection. A client that is reconnecting, or never connected, has none, but
        # iterators over its changes have to end all the same.
        self._on_given_up()
        await self._background.stop()

    async def wait_for(
        self, computer: str | None = None, tool: str | None = None, timeout: float = CALL_SECONDS
    ) -> None:
        """Wait until a Computer is in the office, and has a tool if one is named. Without a Computer, wait until the
        tools of all Computers in the office are known.

        A Computer joins before all its MCP servers have started; this waits for the one that is needed.

        Raises:
            TimedOutError: the Computer or tool is not there after `timeout` seconds.
            NotInOfficeError: this Agent is in no office.
        """
        seconds = check_seconds(timeout)
        with self._progress:
            if not await self._progress.wait_for(partial(self._is_there, computer, tool), seconds):
                raise self._missing(computer, tool, timeout)

    # --------------------------------------------------------------------------------------------------------- requests

    async def emit_tool_call(
        self, computer: str, tool_name: str, params: Mapping[str, Any], timeout: float
    ) -> CallToolResult:
        """Call a tool, and wait at most `timeout` seconds for its result.

        A call that reaches the Computer returns a result, even if the tool is unknown, forbidden, not confirmed, fails
        or takes too long: `is_error` and `error_code` of the result say so. A call that takes longer than `timeout` is
        cancelled where it runs, and so is one whose caller is cancelled or interrupted.

        Raises:
            MalformedRequestError: `params` is not a JSON object, or `timeout` is not a number of seconds.
            NotFoundError: there is no such Computer in the office, or it left during the call.
            NotConnectedError: there is no connection to the Server, or it broke during the call.
            TooLargeError, RateLimitedError: the Server does not accept the request.
            SMCPError: the Server rejects the request for another reason, or the answer cannot be read.
        """
        return await self._run(requests.call_tool(self.name, computer, tool_name, params, timeout))

    async def call_tool(
        self, computer: str, tool: str, params: Mapping[str, Any] | None = None, timeout: float = CALL_SECONDS
    ) -> CallToolResult:
        """Call a tool: `emit_tool_call` with defaults. It returns and raises the same."""
        return await self.emit_tool_call(computer, tool, params or {}, timeout)

    async def get_tools_from_computer(self, computer: str, timeout: float = REQUEST_SECONDS) -> GetToolsRet:
        """Fetch the tools of a Computer. `tools` has the ones that are known already.

        Raises:
            NotFoundError: there is no such Computer in the office.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return await self._run(requests.get_tools(self.name, computer, timeout))

    async def get_config_from_computer(self, computer: str, timeout: float = REQUEST_SECONDS) -> GetComputerConfigRet:
        """Fetch the configuration of a Computer, without its secrets.

        Raises:
            NotFoundError: there is no such Computer in the office.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return await self._run(requests.get_config(self.name, computer, timeout))

    async def get_desktop_from_computer(
        self, computer: str, *, size: int | None = None, window: str | None = None, timeout: float = REQUEST_SECONDS
    ) -> GetDeskTopRet:
        """Fetch the windows of a Computer: all of them, at most `size`, or the one at the address `window`.

        Raises:
            NotFoundError: there is no such Computer in the office.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return await self._run(requests.get_desktop(self.name, computer, size, window, timeout))

    async def get_computers_in_office(self, office_id: str, timeout: float = REQUEST_SECONDS) -> list[SessionInfo]:
        """Fetch the Computers in this Agent's office. `computers` has the names that are known already.

        Raises:
            CrossOfficeError: `office_id` is another office.
            SMCPError: the request fails for another reason.
        """
        return await self._run(requests.list_computers(self.name, office_id, timeout))

    async def get_finder(
        self,
        computer: str,
        keywords: Sequence[str] | None = None,
        file_type: str | None = None,
        offset: int = 0,
        limit: int = requests.DEFAULT_LIMIT,
        timeout: float = REQUEST_SECONDS,
    ) -> GetFinderRet:
        """Fetch a page of a Computer's documents: `limit` of them from `offset`, and how many match in all.

        A document matches if any keyword does.

        Raises:
            NotFoundError: there is no such Computer in the office.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return await self._run(requests.get_finder(self.name, computer, keywords, file_type, offset, limit, timeout))

    # -------------------------------------------------------------------------------------------------------- documents

    async def read_contents(self, computer: str, uri: str, timeout: float = REQUEST_SECONDS) -> ReadResourceRet:
        """Read any resource of a Computer; return the answer of its MCP server unchanged.

        Raises:
            NotFoundError: there is no such Computer in the office.
            DocumentNotFoundError, PageOutOfRangeError, ElementNotFoundError: a `dpe://` address has no target.
            InvalidDPEUriError: a `dpe://` address is invalid.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return await self._run(requests.read_resource_contents(self.name, computer, uri, timeout))

    async def read_resource(self, computer: str, uri: str, timeout: float = REQUEST_SECONDS) -> dict[str, Any]:
        """Read the document, page or element at a `dpe://` address as an object; for other addresses, the MCP answer.

        It raises what `read_contents` raises.
        """
        return await self._run(requests.read_resource(self.name, computer, uri, timeout))

    async def list_resource_templates(
        self,
        computer: str,
        *,
        mcp_server: str | None = None,
        cursor: str | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> ListResourceTemplatesRet:
        """Fetch the resource templates of a Computer's MCP servers, or of one of them.

        An answer with `next_cursor` has more pages: pass it as `cursor`.
        """
        return await self._run(requests.list_resource_templates(self.name, computer, mcp_server, cursor, timeout))

    async def complete(
        self,
        computer: str,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        *,
        context: Mapping[str, str] | None = None,
        mcp_server: str | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> CompleteRet:
        """Fetch the values that an MCP server suggests for one argument of a resource template or a prompt.

        `ref` and `argument` are those of MCP: `{"type": "ref/resource", "uri": template}` and
        `{"name": "page_index", "value": "1"}`; `context` holds the arguments that have been chosen.
        """
        return await self._run(requests.complete(self.name, computer, ref, argument, context, mcp_server, timeout))

    async def read_document_metadata(self, computer: str, uri: str, timeout: float = REQUEST_SECONDS) -> dict[str, Any]:
        """Read the title, type, number of pages and other metadata of a document."""
        return await self.read_resource(computer, extend_dpe_uri(uri), timeout)

    async def read_document_pages(
        self, computer: str, uri: str, offset: int = 0, limit: int = 20, timeout: float = REQUEST_SECONDS
    ) -> dict[str, Any]:
        """Read the metadata of a document with a part of its list of pages: `limit` of them from `offset`."""
        return await self.read_resource(computer, requests.pages_uri(uri, offset, limit), timeout)

    async def read_page(
        self,
        computer: str,
        uri: str,
        page_index: int,
        format: str = "json",
        categories: Sequence[str] | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> dict[str, Any]:
        """Read a page of a document with its elements. Pages count from 0.

        `format` is `json`, `markdown` or `text`; `categories` selects elements of these types.
        """
        return await self.read_resource(computer, requests.page_uri(uri, page_index, format, categories), timeout)

    async def read_element(
        self, computer: str, uri: str, element_id: str, format: str = "json", timeout: float = REQUEST_SECONDS
    ) -> dict[str, Any]:
        """Read one element of a document in full. `format` is `json`, `markdown` or `text`."""
        return await self.read_resource(computer, requests.element_uri(uri, element_id, format), timeout)

    async def iter_documents(
        self, computer: str, keywords: Sequence[str] | None = None, file_type: str | None = None
    ) -> AsyncIterator[DPEDocumentSummary]:
        """Iterate over all documents that match; fetch them page by page."""
        offset = 0
        while True:
            page = await self.get_finder(computer, keywords, file_type, offset, requests.LARGEST_LIMIT)
            for document in page["documents"]:
                yield document
            # A page may have fewer documents than were requested. An empty one ends the iteration: documents may have
            # been removed since the total was counted.
            offset += len(page["documents"])
            if not page["documents"] or offset >= page["total_count"]:
                return

    async def iter_pages(
        self, computer: str, uri: str, format: str = "json", categories: Sequence[str] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Iterate over all pages of a document; read each when its turn comes."""
        document = await self.read_document_metadata(computer, uri)
        for index in range(requests.page_count(document)):
            yield await self.read_page(computer, uri, index, format, categories)

    # ---------------------------------------------------------------------------------------------------------- changes

    def changes(self) -> Changes:
        """Iterate over the changes from now until this Agent disconnects: `async for change in agent.changes()`."""
        listener = Changes()
        with self._progress:
            self._listeners.add(listener)
        return listener

    async def _tell_handler_all(self, changes: Changes) -> None:
        """Call the program's handler for one change after another."""
        # Not where the change is noticed, in the task or thread that reads the connection: a handler may call a tool,
        # and its answer could then not be read. And not several at once: a handler relies on the order of changes.
        async for change in changes:
            try:
                await self._background.finish(self._tell_handler(change))
            except Exception:
                logger.exception("the event handler failed at %s", change.kind)

    def _on_admitted(self) -> None:
        # Started here, and not by the constructor, which may run before there is an event loop. A client that has
        # disconnected and connects again needs a new iterator. It exists before the seat is taken: the first
        # notifications may precede the ack of the join.
        if self._handled is None or self._handled.is_closed:
            self._handled = self.changes()
            self._background.keep_running(partial(self._tell_handler_all, self._handled))
        super()._on_admitted()


class Changes:
    """An iterator over the changes of an office. `close` ends it after the changes that are in the queue.

    The Agent holds it weakly: a program that drops it does not have to close it.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self._queue = ChangeQueue()
        self._news = AsyncCondition()

    def put(self, change: Change) -> None:
        """Add a change."""
        with self._news:
            self._queue.put(change)
            self._news.notify_all()

    def close(self) -> None:
        """End the iteration after the changes that are in the queue."""
        with self._news:
            self.is_closed = True
            self._news.notify_all()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        with self._news:
            await self._news.wait_for(lambda: len(self._queue) or self.is_closed)
            change = self._queue.take()
        if change is None:
            raise StopAsyncIteration
        return change
