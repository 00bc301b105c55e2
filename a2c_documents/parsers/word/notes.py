"""Footnotes, endnotes and comments of a Word document: parts of the package that the text refers to."""

from __future__ import annotations

from a2c_documents.model import Element, note
from a2c_documents.parsers.office.comments import Comment, thread_elements, threads
from a2c_documents.parsers.office.ooxml import children, inside
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.story import Aside
from a2c_documents.parsers.office.xml import DamagedPartError, Node, attribute
from a2c_documents.parsers.word.paragraphs import Asides, WordReader

_PARTS = {"footnote": "footnotes", "endnote": "endnotes", "comment": "comments"}


class Notes:
    """Footnotes, endnotes and comments. Their parts are read when the text first refers to one."""

    def __init__(self, package: Package, main: str, asides: Asides) -> None:
        self._package = package
        self._main = main
        self._asides = asides
        self._read: dict[str, tuple[WordReader | None, dict[str, Node]]] = {}
        self._threads: dict[str, list[Comment]] | None = None

    def elements(self, aside: Aside) -> list[Element]:
        """The elements that a reference stands for. The first reference to a thread returns the comment with all its
        replies; a missing note returns nothing."""
        if aside.kind == "comment":
            if self._threads is None:
                # Every comment of a thread leads to it, because the first reference in the text need not be the one of
                # the comment that began it.
                self._threads = {one.id: thread for thread in threads(self._comments()) for one in thread}
            thread = self._threads.get(aside.id, [])
            for one in thread:
                # Word refers to a comment and to each of its replies. The thread is shown at the first reference.
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
        # Replies are linked in a second part: it names comments by the id of their last paragraph, not by their own id.
        extended = self._package.optional(self._package.related(self._main, "commentsExtended"))
        replies = {attribute(node, "paraId"): node for node in extended} if extended is not None else {}
        by_paragraph: dict[str, str] = {}
        found: list[tuple[Comment, Node | None]] = []
        for key, entry in entries.items():
            # A comment can have several paragraphs, each with an id.
            last = next((attribute(line, "paraId") for line in reversed(list(inside(entry, "w:p")))), "")
            by_paragraph[last] = key
            author, date = attribute(entry, "author"), attribute(entry, "date")
            found.append((Comment(key, reader.plain(entry), author, date), replies.get(last)))
        for comment, told in found:
            comment.parent = by_paragraph.get(attribute(told, "paraIdParent", "none"), "")
            comment.resolved = attribute(told, "done") in ("1", "true")
        return [comment for comment, _ in found]

    def _entries(self, kind: str) -> tuple[WordReader | None, dict[str, Node]]:
        if kind not in self._read:
            target = self._package.related(self._main, _PARTS[kind])
            try:
                root = self._package.xml(target)
                reader = WordReader(self._package, target, self._asides)
                self._read[kind] = reader, {attribute(entry, "id"): entry for entry in children(root, f"w:{kind}")}
            except DamagedPartError:
                self._read[kind] = None, {}
        return self._read[kind]
