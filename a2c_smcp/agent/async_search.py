"""How both Agents search the documents of all Computers.

This is the form for programs with an event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial

from a2c_smcp.agent.arrivals import arriving_async
from a2c_smcp.agent.async_resources import AsyncResources
from a2c_smcp.errors import NotInOfficeError
from a2c_smcp.protocol.document_ranking import Found, rank
from a2c_smcp.protocol.document_search import DocumentSearch
from a2c_smcp.protocol.search_requests import Search, search_computer

SEARCH_SECONDS = 5.0
"""The default time limit of a search."""
INDEX_SECONDS = 0.5
"""How long a search waits by default for files that are not indexed."""
FOUND = 10
"""How many documents a search finds by default."""


class AsyncDocumentSearch(AsyncResources):
    """Full-text search over the document servers of an office."""

    async def search_documents(
        self,
        query: str,
        computers: Sequence[str] | None = None,
        *,
        limit: int = FOUND,
        timeout: float = SEARCH_SECONDS,
        wait: float = INDEX_SECONDS,
        on_found: Callable[[DocumentSearch], None] | None = None,
        allows: Callable[[str, str], bool] | None = None,
    ) -> DocumentSearch:
        """Search the full text of the documents of all Computers, or of some; return the best `limit` documents.

        A Computer that does not answer within `timeout` seconds, or fails, is among the `failures` of the result.
        A document server that reads a folder for the first time answers with what it has indexed; the result says how
        much that is (`indexed_count` of `document_count`). `wait` is how many seconds it may wait for the rest.

        `on_found` is called with the result so far whenever a Computer has answered, and must not wait. `allows` is
        called with a Computer and an MCP server, and says whether it may be searched.

        Raises:
            MalformedRequestError: the query is empty, or a number is out of range.
            NotInOfficeError: this Agent is in no office.
        """
        found = DocumentSearch(query)
        searching = self.iter_search_documents(query, computers, limit=limit, timeout=timeout, wait=wait, allows=allows)
        async with aclosing(searching):
            async for found in searching:
                if on_found is not None:
                    on_found(found)
        return found

    async def iter_search_documents(
        self,
        query: str,
        computers: Sequence[str] | None = None,
        *,
        limit: int = FOUND,
        timeout: float = SEARCH_SECONDS,
        wait: float = INDEX_SECONDS,
        allows: Callable[[str, str], bool] | None = None,
    ) -> AsyncGenerator[DocumentSearch]:
        """Search as `search_documents` does, and iterate over the result so far: one more whenever a Computer has
        answered, ranked anew. The last one is the whole result.
        """
        search = Search.of(query, limit, timeout, wait)
        if self._seat is None:
            raise NotInOfficeError("this Agent is in no office")
        chosen = self.computers if computers is None else [computers] if isinstance(computers, str) else computers
        waiting = list(dict.fromkeys(chosen))
        work = [partial(self._search_computer, computer, search, allows) for computer in waiting]
        answers: list[Found] = []
        async with aclosing(arriving_async(work)) as outcomes:
            async for computer, found in outcomes:
                answers += found
                waiting.remove(computer)
                yield rank(query, answers, limit, waiting)

    async def _search_computer(
        self, computer: str, search: Search, allows: Callable[[str, str], bool] | None
    ) -> tuple[str, list[Found]]:
        flow = search_computer(self.name, computer, search, self.tools.get(computer, ()), allows)
        return computer, await self._run(flow)
