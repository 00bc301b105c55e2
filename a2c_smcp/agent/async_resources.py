"""What both Agents read from the MCP servers of Computers: documents, resources of any scheme, templates and prompts.

This is the form for programs with an event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from a2c_smcp.agent.async_binaries import AsyncBinaries
from a2c_smcp.agent.blob_files import SaveTo
from a2c_smcp.agent.calling import REQUEST_SECONDS
from a2c_smcp.protocol import documents, requests, resource_requests
from a2c_smcp.protocol.questions import Asked, Continuation
from a2c_smcp.smcp import (
    CompleteRet,
    DPEDocumentSummary,
    GetFinderRet,
    GetPromptRet,
    GetResourcesRet,
    ListPromptsRet,
    ListResourceTemplatesRet,
    Prompt,
    ReadResourceRet,
    ResourceInfo,
)
from a2c_smcp.utils.dpe_uri import extend_dpe_uri


class AsyncResources(AsyncBinaries):
    """The requests of an Agent that lead to one MCP server of a Computer."""

    # -------------------------------------------------------------------------------------------------------- documents

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

    async def read_contents(
        self,
        computer: str,
        uri: str,
        timeout: float = REQUEST_SECONDS,
        *,
        mcp_server: str | None = None,
        save_to: SaveTo | None = None,
    ) -> ReadResourceRet:
        """Read any resource of a Computer; return the answer of its MCP server unchanged.

        `mcp_server` is needed where several MCP servers have the address, and for an address that none of them lists.
        `save_to` writes binaries to files, as for `emit_tool_call`.

        Raises:
            MalformedRequestError: several MCP servers have the address.
            NotFoundError: there is no such Computer in the office.
            DocumentNotFoundError, PageOutOfRangeError, ElementNotFoundError: a `dpe://` address has no target.
            InvalidDPEUriError: a `dpe://` address is invalid.
            TimedOutError: there is no answer within `timeout` seconds.
            TooLargeError: its binaries are larger than `max_restored_bytes`, and `save_to` is not given.
            OSError: `save_to` cannot be written; `FileExistsError`: the file exists.
            SMCPError: the request fails for another reason, or a binary cannot be fetched.
        """
        return await self._run(self._reading(computer, uri, timeout, mcp_server, save_to))

    async def read_resource(
        self,
        computer: str,
        uri: str,
        timeout: float = REQUEST_SECONDS,
        *,
        mcp_server: str | None = None,
        save_to: SaveTo | None = None,
    ) -> dict[str, Any]:
        """Read the document, page or element at a `dpe://` address as an object; for other addresses, the MCP answer.

        It raises what `read_contents` raises.
        """
        return documents.read_body(
            uri, await self.read_contents(computer, uri, timeout, mcp_server=mcp_server, save_to=save_to)
        )

    async def read_document_metadata(self, computer: str, uri: str, timeout: float = REQUEST_SECONDS) -> dict[str, Any]:
        """Read the title, type, number of pages and other metadata of a document."""
        return await self.read_resource(computer, extend_dpe_uri(uri), timeout)

    async def read_document_pages(
        self, computer: str, uri: str, offset: int = 0, limit: int = 20, timeout: float = REQUEST_SECONDS
    ) -> dict[str, Any]:
        """Read the metadata of a document with a part of its list of pages: `limit` of them from `offset`."""
        return await self.read_resource(computer, documents.pages_uri(uri, offset, limit), timeout)

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
        return await self.read_resource(computer, documents.page_uri(uri, page_index, format, categories), timeout)

    async def read_element(
        self, computer: str, uri: str, element_id: str, format: str = "json", timeout: float = REQUEST_SECONDS
    ) -> dict[str, Any]:
        """Read one element of a document in full. `format` is `json`, `markdown` or `text`."""
        return await self.read_resource(computer, documents.element_uri(uri, element_id, format), timeout)

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
        for index in range(documents.page_count(document)):
            yield await self.read_page(computer, uri, index, format, categories)

    # -------------------------------------------------------------------------------------------------------- resources

    async def resources(
        self, computer: str, mcp_server: str | None = None, timeout: float = REQUEST_SECONDS
    ) -> list[ResourceInfo]:
        """Fetch the resources of a Computer's MCP servers, or of one of them, of all schemes.

        `timeout` is for each page of the list. `get_resources` fetches a single page.

        Raises:
            MCPServerNotFoundError: there is no such MCP server.
            CapabilityMissingError: the MCP server has no resources.
            NotFoundError: there is no such Computer in the office.
            SMCPError: the request fails for another reason, or the list has more than 100,000 resources.
        """
        return await self._run(resource_requests.all_resources(self.name, computer, mcp_server, timeout))

    async def get_resources(
        self,
        computer: str,
        *,
        mcp_server: str | None = None,
        cursor: str | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> GetResourcesRet:
        """Fetch a page of the resources of a Computer's MCP servers, or of one of them.

        An answer with `next_cursor` has more pages: pass it as `cursor`. It raises what `resources` raises.
        """
        return await self._run(resource_requests.get_resources(self.name, computer, mcp_server, cursor, timeout))

    async def watch_resource(
        self,
        computer: str,
        uri: str,
        *,
        mcp_server: str | None = None,
        watch: bool = True,
        timeout: float = REQUEST_SECONDS,
    ) -> None:
        """Watch a resource: each change is reported by `changes()` and to the event handler (`on_update_resource`).

        The resource stays watched until `watch=False`, or until this Agent leaves the office. If this Agent or the
        Computer loses the connection and returns, the client watches it again, and reports it as changed.

        Raises:
            CapabilityMissingError: the MCP server announces no changes of resources.
            RateLimitedError: too many resources are watched.
            SMCPError: the request fails for another reason, such as those of `read_contents`.
        """
        await self._run(self._watching(computer, uri, mcp_server, watch, timeout))

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

    # ---------------------------------------------------------------------------------------------------------- prompts

    async def prompts(
        self, computer: str, mcp_server: str | None = None, timeout: float = REQUEST_SECONDS
    ) -> list[Prompt]:
        """Fetch the prompts of a Computer's MCP servers, or of one of them.

        `timeout` is for each page of the list. `list_prompts` fetches a single page.

        Raises:
            MCPServerNotFoundError: there is no such MCP server.
            CapabilityMissingError: the MCP server has no prompts.
            NotFoundError: there is no such Computer in the office.
            SMCPError: the request fails for another reason.
        """
        return await self._run(resource_requests.all_prompts(self.name, computer, mcp_server, timeout))

    async def list_prompts(
        self,
        computer: str,
        *,
        mcp_server: str | None = None,
        cursor: str | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> ListPromptsRet:
        """Fetch a page of the prompts of a Computer's MCP servers, or of one of them.

        An answer with `next_cursor` has more pages: pass it as `cursor`. It raises what `prompts` raises.
        """
        return await self._run(resource_requests.list_prompts(self.name, computer, mcp_server, cursor, timeout))

    async def prompt(
        self,
        computer: str,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        mcp_server: str | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> GetPromptRet:
        """Fetch the messages of a prompt, filled in with `arguments`, as its MCP server writes them.

        Raises:
            NotFoundError: no MCP server has the prompt, or there is no such Computer in the office.
            MalformedRequestError: several MCP servers have it, and `mcp_server` names none; or an argument is invalid.
            SMCPError: the request fails for another reason.
        """
        flow = resource_requests.get_prompt(self.name, computer, name, arguments, mcp_server, timeout)
        return await self._run(flow)

    async def prompt_once(
        self,
        computer: str,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        mcp_server: str | None = None,
        continuation: Continuation | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> GetPromptRet | Asked:
        """Fetch the messages of a prompt, or return the questions that its MCP server asks before.

        If the outcome is `Asked`, call again with the same arguments and `continuation=asked.answered(replies)`. It
        raises what `prompt` raises.
        """
        flow = resource_requests.get_prompt_once(
            self.name, computer, name, arguments, mcp_server, continuation, timeout
        )
        return await self._run(flow)
