"""The Finder of a Computer: the documents of all MCP servers, and the server that an address leads to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from a2c_smcp.computer.offer.aggregator import Aggregator
from a2c_smcp.computer.offer.finder.index import ALL, Search
from a2c_smcp.computer.offer.finder.organize import DEFAULT_LIMIT, browse
from a2c_smcp.computer.offer.server_order import UsedServers
from a2c_smcp.computer.offer.view import ResourceView
from a2c_smcp.errors import DocumentNotFoundError
from a2c_smcp.smcp import DPEDocumentSummary
from a2c_smcp.utils.dpe_uri import ParsedDPEUri

logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that a request waits for windows and documents that must be read. What arrives later is announced."""


class FinderAggregator(Aggregator):
    """Finds documents in the indexes of all servers."""

    def __init__(self, views: Callable[[], Sequence[ResourceView]]) -> None:
        super().__init__(views)
        self._warned: set[str] = set()

    async def find(
        self,
        keywords: Iterable[str] | None,
        file_type: str | None,
        history: UsedServers | None,
        offset: int = 0,
        limit: int = DEFAULT_LIMIT,
        *,
        patience: float,
    ) -> tuple[list[DPEDocumentSummary], int]:
        """One page of what matches, and how many match in all.

        Raises:
            MalformedRequestError: `offset` or `limit` is negative.
        """
        search = Search.of(keywords, file_type)
        await self._refresh(patience)
        indexes = {view.server: view.documents.index for view in self._views() if view.documents.items}
        # A large index is searched in pieces here, so that `browse` finds the results ready. `browse` does not wait:
        # its page and its total come from the same moment.
        for index in indexes.values():
            await index.search(search)
        return browse(indexes, search, history, offset, limit)

    async def collect_documents(self, patience: float = PATIENCE) -> list[DPEDocumentSummary]:
        """The summaries of all documents, server by server."""
        await self._refresh(patience)
        indexes = [view.documents.index for view in self._views()]
        return [filed.document for index in indexes for filed in index.matching(ALL)]

    @property
    def left_out(self) -> int:
        """The number of documents that are not in the index, because it is full."""
        return sum(view.documents.left_out for view in self._views())

    def server_of(self, address: ParsedDPEUri) -> str:
        """The server for an address: the one that lists its document, else the first one with its host.

        Raises:
            DocumentNotFoundError: no server has this host.
        """
        host = address.host.lower()
        candidates = [view for view in self._views() if host in view.hosts]
        if not candidates:
            details = {"doc_ref": address.doc_ref} if address.doc_ref is not None else None
            raise DocumentNotFoundError(f"no MCP server has documents at {address.host}", details=details)
        # Two servers may have the same host by mistake. Each document still leads to the server that lists it.
        if len(candidates) > 1 and host not in self._warned:
            self._warned.add(host)
            names = ", ".join(view.server for view in candidates)
            logger.warning("several MCP servers have documents at %s: %s", address.host, names)
        owner = next((view for view in candidates if view.document_of(address) is not None), candidates[0])
        return owner.server

    async def _refresh(self, patience: float) -> None:
        deadline = asyncio.get_running_loop().time() + patience

        async def one(view: ResourceView) -> None:
            await view.be_listed(deadline)
            await view.documents.refresh(deadline)

        await asyncio.gather(*map(one, self._views()))
