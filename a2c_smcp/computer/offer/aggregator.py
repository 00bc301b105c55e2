"""The common base of the Desktop and the Finder, which combine the resources of all MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from a2c_smcp.computer.offer.view import ResourceView


class Aggregator:
    """`views` returns the views of the servers that are ready, in configuration order."""

    def __init__(self, views: Callable[[], Sequence[ResourceView]]) -> None:
        self._views = views
        self._uris: frozenset[str] = frozenset()

    def update_uri_cache(self, current_uris: Iterable[str]) -> bool:
        """Remember which resources are listed; whether these are others than before."""
        before, self._uris = self._uris, frozenset(current_uris)
        return self._uris != before
