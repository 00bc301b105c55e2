"""A source that reads a page when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from a2c_documents.model import Facts, Page


@dataclass(frozen=True, slots=True)
class Later:
    """A page that is not read yet: its title, and how to read it."""

    title: str
    read: Callable[[], Page]


class LazySource:
    """Pages that were read to open the file, and pages that were not."""

    def __init__(self, facts: Facts, pages: Iterable[Page | Later], close: Callable[[], None]) -> None:
        self.facts = facts
        self._pages = list(pages) or [Page("")]
        self._close = close

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return [page.title for page in self._pages]

    def page(self, index: int) -> Page:
        """One page."""
        page = self._pages[index]
        return page.read() if isinstance(page, Later) else page

    def close(self) -> None:
        """Let go of the file."""
        self._close()
