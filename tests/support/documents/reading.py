"""What a test sees of a file that a parser opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from a2c_documents.model import Element, Facts, Parser


@dataclass
class Read:
    """A file, read to its end."""

    facts: Facts
    titles: list[str]
    pages: list[list[Element]]

    @property
    def elements(self) -> list[Element]:
        """Of all pages."""
        return [element for page in self.pages for element in page]

    @property
    def shapes(self) -> list[tuple[str, dict[str, Any], dict[str, Any], str]]:
        """What two readings of one file have in common."""
        return [(one.category, one.content, one.metadata, one.summary) for one in self.elements]

    def of(self, category: str) -> list[dict[str, Any]]:
        """The contents of all elements of a category."""
        return [element.content for element in self.elements if element.category == category]

    @property
    def brief(self) -> list[tuple[str, str]]:
        """Categories and words, for those that have words."""
        return [(one.category, str(one.content.get("text", one.content.get("code", "")))) for one in self.elements]


def read(opener: Parser, path: Path, content: str | bytes | None = None) -> Read:
    """Open a file, written before if its content is given, and read every page twice: both must be the same."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = _read(opener, path)
    again = _read(opener, path)
    assert found.shapes == again.shapes
    assert (found.facts, found.titles) == (again.facts, again.titles)
    return found


def _read(opener: Parser, path: Path) -> Read:
    source = opener(path)
    try:
        titles = list(source.page_titles)
        pages = [source.page(index) for index in range(len(titles))]
        assert [page.title for page in pages] == titles
        return Read(source.facts, titles, [page.elements for page in pages])
    finally:
        source.close()
