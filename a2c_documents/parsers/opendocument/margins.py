"""The headers and footers of an OpenDocument text, which belong to its page styles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from a2c_documents.model import Element, note
from a2c_documents.parsers.office.pages import Furniture, with_bars
from a2c_documents.parsers.office.xml import attribute, local
from a2c_documents.parsers.opendocument.text import Reader


class Margins:
    """What stands above and below the pages of each section."""

    def __init__(self, styles: Any | None, sections: list[str], reader: Reader) -> None:
        nodes = styles.iter("{*}master-page") if styles is not None else ()
        self._masters = {attribute(node, "name"): node for node in nodes}
        self._sections = sections
        """The page style that each section begins with."""
        self._reader = reader
        self._made: dict[str, Furniture] = {}

    def of(self, section: int) -> Furniture:
        """What a section has above and below its pages."""
        name = self._sections[section]
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Furniture:
        """The headers and footers of a page style, and those of the style of the pages after the first."""
        master = self._masters.get(name)
        following = attribute(master, "next-style-name")
        after = self._masters.get(following) if following != name else None
        result = Furniture()
        for kind, element in self._elements(master, "first page" if after is not None else "all pages"):
            (result.first if kind == "first" else result.others).append(element)
        result.others.extend(element for _, element in self._elements(after, "all pages but the first"))
        return result

    def _elements(self, master: Any | None, usual: str) -> Iterator[tuple[str, Element]]:
        """Headers and footers of a page style, and whether they are on its first page."""
        nodes = [node for node in master if attribute(node, "display") != "false"] if master is not None else []
        kinds = {local(node) for node in nodes}
        for node in nodes:
            category, _, variant = local(node).partition("-")
            words = with_bars(self._reader.plain(node)) if category in ("header", "footer") else ""
            if words:
                pages = {"first": "first page", "left": "even pages"}.get(variant, usual)
                if not variant and f"{category}-left" in kinds:
                    pages = "odd pages"
                elif not variant and f"{category}-first" in kinds:
                    pages = "all pages but the first"
                is_first = variant == "first" or (not variant and f"{category}-first" not in kinds)
                yield "first" if is_first else "others", note(category, words, pages=pages)
