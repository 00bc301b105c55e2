"""What stands beside the text of a Word document: notes, comments, headers, footers."""

from __future__ import annotations

from typing import Any

from a2c_documents.model import Element, note
from a2c_documents.parsers.office.comments import Comment, thread_elements, threads
from a2c_documents.parsers.office.ooxml import children, inside, is_on, tag
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.pages import Furniture, with_bars
from a2c_documents.parsers.office.story import Aside
from a2c_documents.parsers.office.xml import DamagedPartError, attribute
from a2c_documents.parsers.word.inline import Asides, Reader

_PARTS = {"footnote": "footnotes", "endnote": "endnotes", "comment": "comments"}


class Notes:
    """Footnotes, endnotes and comments. Their parts are read when the text first points into them."""

    def __init__(self, package: Package, main: str, asides: Asides) -> None:
        self._package = package
        self._main = main
        self._asides = asides
        self._read: dict[str, tuple[Reader | None, dict[str, Any]]] = {}
        self._threads: dict[str, list[Comment]] | None = None

    def elements(self, aside: Aside) -> list[Element]:
        """What the text points at. A comment comes with all replies to it, when the text first points at any of them;
        nothing comes of what is not in the file."""
        if aside.kind == "comment":
            if self._threads is None:
                self._threads = {one.id: thread for thread in threads(self._comments()) for one in thread}
            thread = self._threads.get(aside.id, [])
            for one in thread:
                del self._threads[one.id]
            return thread_elements(thread, about=aside.about) if thread else []
        reader, entries = self._entries(aside.kind)
        entry = entries.get(aside.id)
        if entry is None or reader is None:
            return []
        mark = self._asides.marks.get((aside.kind, aside.id), "")
        return [note("annotation", reader.plain(entry), kind=aside.kind, mark=mark)]

    def _comments(self) -> list[Comment]:
        reader, entries = self._entries("comment")
        if reader is None:
            return []
        extended = self._package.optional(self._package.related(self._main, "commentsExtended"))
        replies = {attribute(node, "paraId"): node for node in extended} if extended is not None else {}
        by_paragraph: dict[str, str] = {}
        found: list[tuple[Comment, Any]] = []
        for key, entry in entries.items():
            last = next((attribute(line, "paraId") for line in reversed(list(inside(entry, "w:p")))), "")
            by_paragraph[last] = key
            author, date = attribute(entry, "author"), attribute(entry, "date")
            found.append((Comment(key, reader.plain(entry), author, date), replies.get(last)))
        for comment, told in found:
            comment.parent = by_paragraph.get(attribute(told, "paraIdParent", "none"), "")
            comment.resolved = attribute(told, "done") in ("1", "true")
        return [comment for comment, _ in found]

    def _entries(self, kind: str) -> tuple[Reader | None, dict[str, Any]]:
        if kind not in self._read:
            target = self._package.related(self._main, _PARTS[kind])
            try:
                root = self._package.xml(target)
                reader = Reader(self._package, target, self._asides)
                self._read[kind] = reader, {attribute(entry, "id"): entry for entry in children(root, f"w:{kind}")}
            except DamagedPartError:
                self._read[kind] = None, {}
        return self._read[kind]


class Margins:
    """The headers and footers of the sections; not those that are only taken over from the section before."""

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
        words = with_bars(Reader(self._package, relation.target, self._asides).plain(root, others))
        shown = [note(category, words, pages=pages)] if words else []
        return shown + [element for element in others if element.category in ("image", "chart", "diagram", "formula")]
