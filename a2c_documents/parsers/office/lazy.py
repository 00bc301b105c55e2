"""A source that reads a page when it is requested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from a2c_documents.model import Facts, Page


@dataclass(frozen=True, slots=True)
class Later:
    """A page that is not read yet: its title, and the function that reads it."""

    title: str
    read: Callable[[], Page]


class LazySource:
    """A source with pages that were read on opening, and pages that are read on request."""

    def __init__(self, facts: Facts, pages: Iterable[Page | Later], close: Callable[[], None]) -> None:
        self.facts = facts
        # A document always has a page, so that a client that reads page 1 of an empty presentation gets an answer.
        self._pages = list(pages) or [Page("")]
        self._close = close

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return [page.title for page in self._pages]

    def page(self, index: int) -> Page:
        """Read one page."""
        page = self._pages[index]
        # The page is not kept here: the store keeps pages, and a worker has several files open.
        return page.read() if isinstance(page, Later) else page

    def close(self) -> None:
        """Close the file."""
        self._close()
