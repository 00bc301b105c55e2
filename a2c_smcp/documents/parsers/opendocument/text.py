"""The inside of an OpenDocument paragraph: its words, and what stands among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from a2c_smcp.documents.model import Element, note
from a2c_smcp.documents.parsers.office.xml import attribute, local, whole, words_of
from a2c_smcp.documents.parsers.opendocument.objects import Objects

MAX_BLANKS = 200
MAX_ABOUT = 300
MAX_DEPTH = 20
"""Notes in notes: only files that nobody wrote have more."""
_LEFT_OUT = frozenset((
    "tracked-changes", "change", "bookmark", "bookmark-start", "bookmark-end", "soft-page-break", "ruby-text",
    "sequence-decls", "forms", "event-listeners", "note-citation", "annotation-end", "title", "desc",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Box:
    """A text box, or a table in a frame: what is in it follows the paragraph that holds it."""

    content: Any
    shape: str = ""


Part = str | Element | Box


@dataclass(slots=True)
class Said:
    """What a paragraph says: words and other things in order, the links in it, and the notes that it points at."""

    parts: list[Part] = field(default_factory=list[Part])
    links: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    notes: list[Element] = field(default_factory=list[Element])

    def words(self, start: int = 0) -> str:
        """The words from a part on."""
        return "".join(part for part in self.parts[start:] if isinstance(part, str))


class Reader:
    """Reads paragraphs, without recursion, and counts the notes of the document."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._counts: dict[str, int] = {}
        self._comments: dict[str, int] = {}
        self._said = Said()
        self._stack: list[Any] = []
        self._depth = 0

    def paragraph(self, element: Any) -> Said:
        """What a paragraph says."""
        self._stack = []
        self._into(element)
        return self._walk()

    def shape(self, element: Any) -> Said:
        """What a shape holds that stands in no paragraph."""
        self._stack = [element]
        return self._walk()

    def _walk(self) -> Said:
        self._said = said = Said()
        self._comments = {}
        while self._stack:
            node = self._stack.pop()
            if isinstance(node, str):
                said.parts.append(node)
            elif callable(node):
                node()
            else:
                name = local(node)
                act = self._ACTS.get(name)
                if act is not None:
                    act(self, node)
                elif name and name not in _LEFT_OUT:
                    self._into(node)
        return said

    def plain(self, container: Any) -> str:
        """All words of a container of paragraphs, line by line."""
        if self._depth >= MAX_DEPTH:
            return ""
        self._depth += 1
        outer = self._said, self._stack, self._comments
        lines: list[str] = []
        stack: list[Any] = list(reversed(container))
        while stack:
            node = stack.pop()
            name = local(node)
            if name in ("p", "h"):
                said = self.paragraph(node)
                lines.append(said.words().strip())
                boxes = [part for part in said.parts if isinstance(part, Box)]
                stack.extend(part for box in reversed(boxes) for part in reversed(box.content))
            elif name and name not in _LEFT_OUT:
                stack.extend(reversed(node))
        self._said, self._stack, self._comments = outer
        self._depth -= 1
        return "\n".join(line for line in lines if line)

    def _into(self, node: Any) -> None:
        """Walk through an element: its text, and each child with the text behind it."""
        steps: list[Any] = [_blanks_collapsed(node.text)] if node.text else []
        for part in node:
            steps.append(part)
            if part.tail:
                steps.append(_blanks_collapsed(part.tail))
        self._stack.extend(reversed(steps))

    def _say(self, words: str) -> None:
        self._said.parts.append(words)

    def _blanks(self, node: Any) -> None:
        self._say(" " * max(1, min(MAX_BLANKS, whole(attribute(node, "c") or 1, 1))))

    def _tab(self, node: Any) -> None:
        self._say("\t")

    def _line(self, node: Any) -> None:
        self._say("\n")

    def _link(self, node: Any) -> None:
        start, url = len(self._said.parts), attribute(node, "href")
        self._stack.append(lambda: self._add_link(start, url))
        self._into(node)

    def _add_link(self, start: int, url: str) -> None:
        words = self._said.words(start).strip()
        if words and url:
            self._said.links.append({"text": words, "url": url})

    def _note(self, node: Any) -> None:
        kind = attribute(node, "note-class") or "footnote"
        self._counts[kind] = self._counts.get(kind, 0) + 1
        mark = words_of(node.find("{*}note-citation")) or str(self._counts[kind])
        body = node.find("{*}note-body")
        self._say(f"[^{mark}]")
        if body is not None:
            self._said.notes.append(note("annotation", self.plain(body), kind=kind, mark=mark))

    def _comment(self, node: Any) -> None:
        """A comment; what it is about is known where its end is marked in the same paragraph."""
        author, date = words_of(node.find("{*}creator")), words_of(node.find("{*}date"))
        words = self.plain([part for part in node if local(part) in ("p", "list")])
        shown = note("annotation", words, kind="comment", author=author, **({"date": date} if date else {}))
        if name := attribute(node, "name"):
            self._comments[name] = len(self._said.parts)
        self._said.parts.append(shown)

    def _comment_end(self, node: Any) -> None:
        start = self._comments.pop(attribute(node, "name"), None)
        shown = self._said.parts[start] if start is not None else None
        if start is not None and isinstance(shown, Element):
            shown.content["about"] = " ".join(self._said.words(start).split())[:MAX_ABOUT]

    def _frame(self, node: Any) -> None:
        for found in self._objects.read(node):
            self._said.parts.append(found if isinstance(found, Element) else Box(found, attribute(node, "name")))

    _ACTS: ClassVar[dict[str, Callable[[Reader, Any], None]]] = {
        "s": _blanks,
        "tab": _tab,
        "line-break": _line,
        "a": _link,
        "note": _note,
        "annotation": _comment,
        "annotation-end": _comment_end,
        "frame": _frame,
        "custom-shape": _frame,
        "rect": _frame,
        "ellipse": _frame,
        "line": _frame,
        "connector": _frame,
        "path": _frame,
        "polygon": _frame,
        "polyline": _frame,
        "g": _frame,
    }


def _blanks_collapsed(words: str) -> str:
    """Blanks in the file are one blank on the page; more of them are written in another way."""
    return " ".join(("x" + words + "x").split())[1:-1]
