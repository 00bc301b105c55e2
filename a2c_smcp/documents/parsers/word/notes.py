"""What stands beside the text of a Word document: notes, comments, headers, footers."""

from __future__ import annotations

from typing import Any

from a2c_smcp.documents.model import Element, note
from a2c_smcp.documents.parsers.office.package import Package
from a2c_smcp.documents.parsers.office.xml import DamagedPartError, attribute
from a2c_smcp.documents.parsers.word.inline import Aside, Asides, Reader
from a2c_smcp.documents.parsers.word.pages import Furniture
from a2c_smcp.documents.parsers.word.xml import children, is_on, tag

_PARTS = {"footnote": "footnotes", "endnote": "endnotes", "comment": "comments"}


class Notes:
    """Footnotes, endnotes and comments. Their parts are read when the text first points into them."""

    def __init__(self, package: Package, main: str, asides: Asides) -> None:
        self._package = package
        self._targets = {relation.kind: relation.target for relation in package.relations(main).values()}
        self._asides = asides
        self._read: dict[str, tuple[Reader | None, dict[str, Any]]] = {}

    def element(self, aside: Aside) -> Element | None:
        """The annotation that the text points at; None if it is not in the file."""
        reader, entries = self._entries(aside.kind)
        entry = entries.get(aside.id)
        if entry is None or reader is None:
            return None
        words = reader.plain(entry)
        if aside.kind == "comment":
            about = {"about": aside.about} if aside.about else {}
            when = {"date": attribute(entry, "date")} if attribute(entry, "date") else {}
            return note("annotation", words, kind="comment", author=attribute(entry, "author"), **about, **when)
        return note("annotation", words, kind=aside.kind, mark=self._asides.marks.get((aside.kind, aside.id), ""))

    def _entries(self, kind: str) -> tuple[Reader | None, dict[str, Any]]:
        if kind not in self._read:
            target = self._targets.get(_PARTS[kind], "")
            try:
                root = self._package.xml(target)
                reader = Reader(self._package, target, self._asides)
                self._read[kind] = reader, {attribute(entry, "id"): entry for entry in children(root, f"w:{kind}")}
            except DamagedPartError:
                self._read[kind] = None, {}
        return self._read[kind]


class Margins:
    """The headers and footers of the sections. One that is only taken over from the section before is not repeated."""

    def __init__(self, package: Package, main: str, asides: Asides, sections: list[Any], *, even: bool) -> None:
        self._package = package
        self._relations = package.relations(main)
        self._asides = asides
        self._sections = sections
        self._even = even
        self._made: dict[int, Furniture] = {}

    def of(self, section: int) -> Furniture:
        """What a section has above and below its pages."""
        if section not in self._made:
            self._made[section] = self._make(self._sections[section]) if section < len(self._sections) else Furniture()
        return self._made[section]

    def _make(self, properties: Any) -> Furniture:
        references = {
            (tag(node).removeprefix("w:").removesuffix("Reference"), attribute(node, "type", "default")): node
            for node in properties
            if tag(node) in ("w:headerReference", "w:footerReference")
        }
        result = Furniture()
        different_first = is_on(properties, "w:titlePg")
        for (category, kind), node in sorted(references.items(), key=lambda entry: entry[0], reverse=True):
            if (kind == "first" and not different_first) or (kind == "even" and not self._even):
                continue
            pages = {"first": "first page", "even": "even pages"}.get(kind, "odd pages" if self._even else "all pages")
            if kind == "default" and different_first and not self._even:
                pages = "all pages but the first"
            goes_first = kind == "first" or (kind == "default" and not different_first)
            (result.first if goes_first else result.others).extend(self._elements(node, category, pages))
        return result

    def _elements(self, node: Any, category: str, pages: str) -> list[Element]:
        relation = self._relations.get(attribute(node, "id"))
        if relation is None or relation.external:
            return []
        try:
            root = self._package.xml(relation.target)
        except DamagedPartError as error:
            return [note("annotation", f"A {category} cannot be read: {error}")]
        others: list[Element] = []
        words = Reader(self._package, relation.target, self._asides).plain(root, others)
        shown = [note(category, words, pages=pages)] if words else []
        return shown + [element for element in others if element.category in ("image", "chart", "diagram", "formula")]
