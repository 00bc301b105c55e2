"""The content of an OpenDocument paragraph: its words, and the notes, comments, fields and frames among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from a2c_documents.inline import joined
from a2c_documents.model import Element, note
from a2c_documents.parsers.office.comments import Comment, thread_elements, threads
from a2c_documents.parsers.office.story import MAX_ABOUT, MAX_DEPTH, Box, Said
from a2c_documents.parsers.office.xml import Node, Nodes, attribute, found, local, whole, words_of
from a2c_documents.parsers.opendocument.objects import SHAPES, Objects
from a2c_documents.parsers.opendocument.styles import OdfStyles

MAX_BLANKS = 200
# A soft page break is where the last program happened to end a page, with its fonts and its printer. Ruby text is the
# reading above East Asian characters, which would repeat them.
_LEFT_OUT = frozenset((
    "tracked-changes", "change", "bookmark", "bookmark-start", "bookmark-end", "soft-page-break", "ruby-text",
    "sequence-decls", "forms", "event-listeners", "note-citation", "title", "desc", "fieldmark-separator", "label",
))  # fmt: skip


class OdfReader:
    """Reads paragraphs without recursion and counts the notes of the document."""

    def __init__(self, objects: Objects, styles: OdfStyles) -> None:
        self._objects = objects
        self._styles = styles
        self._remarks = Remarks()
        self._counts: dict[str, int] = {}
        self._marks: list[tuple[FormEntry | None, int]] = []
        """Open fields: the form entry of each, and the start of its text."""
        self._said = Said()
        self._stack: list[Any] = []
        self._depth = 0
        self._face: str = ""
        """The formatting of the words that are being read."""

    def paragraph(self, element: Node) -> Said:
        """Read a paragraph."""
        self._stack = []
        self._into(element)
        return self._walk()

    def shape(self, element: Node) -> Said:
        """Read a shape outside paragraphs."""
        self._stack = [element]
        return self._walk()

    def comments(self, nodes: Iterable[Node]) -> list[Element]:
        """Read comments outside paragraphs."""
        for place, node in enumerate(nodes):
            self._begin_comment(node, place)
        return self._remarks.take()

    def _walk(self) -> Said:
        self._said = said = Said()
        self._marks = []
        while self._stack:
            node = self._stack.pop()
            if isinstance(node, str):
                self._say(node)
            elif callable(node):
                node()
            else:
                name = local(node)
                act = self._ACTS.get(name)
                if act is not None:
                    act(self, node)
                elif name and name not in _LEFT_OUT:
                    self._into(node)
        self._remarks.hear("\n")
        # Comments follow their paragraph. A comment whose range is still open receives the text that it refers to when
        # the range ends.
        said.parts.extend(self._remarks.take())
        return said

    def plain(self, container: Nodes) -> str:
        """The text of a container of paragraphs, line by line."""
        if self._depth >= MAX_DEPTH:
            return ""
        self._depth += 1
        # `plain` runs in the middle of a paragraph, for a note or comment in it, so the state of the outer paragraph is
        # saved. A comment inside a note must not end up among those of the text.
        outer = self._said, self._stack, self._marks, self._remarks, self._face
        self._remarks, self._face = Remarks(), ""
        lines: list[str] = []
        stack: list[Node] = list(reversed(container))
        while stack:
            node = stack.pop()
            name = local(node)
            if name in ("p", "h"):
                said = self.paragraph(node)
                lines.append(said.styled(said.words().strip()))
                stack.extend(part for box in reversed(said.boxes) for part in reversed(box.content))
            elif name and name not in _LEFT_OUT:
                stack.extend(reversed(node))
        self._said, self._stack, self._marks, self._remarks, self._face = outer
        self._depth -= 1
        return joined(filter(None, lines), "\n")

    # ------------------------------------------------------------------------------------------------------------ words

    def _into(self, node: Node) -> None:
        """Push an element: its text, and each child with the text after it."""
        # Text is mixed content: pieces of it stand before, between and after the children. The stack holds elements,
        # texts, and functions that run when the elements above them are done. There is no recursion, because a tree can
        # be 256 levels deep, the limit of the XML parser, and each level would take several frames.
        steps: list[Node | str] = [_blanks_collapsed(node.text)] if node.text else []
        for part in node:
            steps.append(part)
            if part.tail:
                steps.append(_blanks_collapsed(part.tail))
        self._stack.extend(reversed(steps))

    def _say(self, words: str) -> None:
        self._said.parts.append(words)
        if self._face:
            self._said.add_marks(self._face)
        self._remarks.hear(words)

    def _span(self, node: Node) -> None:
        style = attribute(node, "style-name")
        if self._styles.is_hidden(style):
            return
        if marks := self._styles.marks(style):
            self._stack.append(partial(self._set_face, self._face))
            self._face = "".join(sorted({*self._face, *marks}))
        self._into(node)

    def _set_face(self, marks: str) -> None:
        self._face = marks

    def _blanks(self, node: Node) -> None:
        self._say(" " * max(1, min(MAX_BLANKS, whole(attribute(node, "c") or 1, 1))))

    def _tab(self, node: Node) -> None:
        self._say("\t")

    def _line(self, node: Node) -> None:
        self._say("\n")

    def _link(self, node: Node) -> None:
        start, url = len(self._said.parts), attribute(node, "href")
        self._stack.append(partial(self._said.add_link, start, url))
        self._into(node)

    # -------------------------------------------------------------------------------------------------- notes, comments

    def _note(self, node: Node) -> None:
        kind = attribute(node, "note-class") or "footnote"
        self._counts[kind] = self._counts.get(kind, 0) + 1
        # The file keeps the mark that was shown, also one that the author chose (*).
        mark = words_of(node.find("{*}note-citation")) or str(self._counts[kind])
        body = node.find("{*}note-body")
        self._say(f"[^{mark}]")
        if body is not None:
            self._said.notes.append(note("annotation", self.plain(body), kind=kind, mark=mark))

    def _comment(self, node: Node) -> None:
        self._begin_comment(node, len(self._said.words()))

    def _begin_comment(self, node: Node, place: int) -> None:
        # Author and date are elements beside the paragraphs of a comment, and not part of its text.
        words = self.plain([part for part in node if local(part) in ("p", "list")])
        author, date = (words_of(node.find(f"{{*}}{name}")) for name in ("creator", "date"))
        parent, resolved = attribute(node, "parent-name"), attribute(node, "resolved") == "true"
        comment = Comment(attribute(node, "name"), words, author, date.partition(".")[0], parent, resolved)
        if words:
            self._remarks.begin(comment, place)

    def _comment_end(self, node: Node) -> None:
        self._remarks.end(attribute(node, "name"))

    # ------------------------------------------------------------------------------------------------- fields, drawings

    def _drop_down(self, node: Node) -> None:
        self._said.fields.append(drop_down(node))
        self._into(node)

    def _mark(self, node: Node) -> None:
        """A field without a text of its own."""
        if (entry := field_mark(node)) is not None:
            self._say(entry_words(entry))
            self._said.fields.append(entry)

    def _mark_start(self, node: Node) -> None:
        # A field that is not a form is pushed too, as None: its end must not close another one.
        self._marks.append((field_mark(node), len(self._said.parts)))

    def _mark_end(self, node: Node) -> None:
        entry, start = self._marks.pop() if self._marks else (None, 0)
        if entry is not None:
            words = self._said.words(start).strip()
            self._said.fields.append(entry if entry["type"] == "checkbox" or not words else entry | {"value": words})

    def _control(self, node: Node) -> None:
        if (entry := control(node)) is not None:
            self._said.fields.append(entry)
        self._into(node)

    def _frame(self, node: Node) -> None:
        for held in self._objects.read(node):
            self._said.parts.append(held if isinstance(held, Element) else Box(held))

    _ACTS: ClassVar[dict[str, Callable[[OdfReader, Node], None]]] = {
        "span": _span,
        "s": _blanks,
        "tab": _tab,
        "line-break": _line,
        "a": _link,
        "note": _note,
        "annotation": _comment,
        "annotation-end": _comment_end,
        "drop-down": _drop_down,
        "fieldmark": _mark,
        "fieldmark-start": _mark_start,
        "fieldmark-end": _mark_end,
        "content-control": _control,
        **dict.fromkeys(SHAPES - {"a"}, _frame),
    }


def _blanks_collapsed(words: str) -> str:
    """Collapse whitespace to one space; the format has an element for more."""
    # The two letters keep a space at either end.
    return " ".join(("x" + words + "x").split())[1:-1]


# ------------------------------------------------------------------------------------------------------------- comments


MAX_OPEN = 200
"""Limit for the comments that are open at the same time."""


@dataclass(slots=True)
class _Remark:
    comment: Comment
    place: int
    about: str = ""
    element: Element | None = None

    def tell(self) -> str:
        return " ".join(self.about.split())[:MAX_ABOUT]


class Remarks:
    """The comments of a text. The comments that begin in a paragraph are returned at its end."""

    def __init__(self) -> None:
        self._open: dict[str, _Remark] = {}
        self.new: list[_Remark] = []

    def begin(self, comment: Comment, place: int) -> None:
        """Start a comment at a position in its paragraph."""
        self.new.append(_Remark(comment, place))
        # A comment without a name has no end: it refers to a point in the text.
        if comment.id and len(self._open) < MAX_OPEN:
            self._open[comment.id] = self.new[-1]

    def hear(self, words: str) -> None:
        """Add words to the text of all open comments."""
        for remark in self._open.values():
            if len(remark.about) < MAX_ABOUT:
                remark.about += words

    def end(self, name: str) -> None:
        """Close a comment and store the text that it refers to."""
        remark = self._open.pop(name, None)
        if remark is not None and remark.element is not None and (about := remark.tell()):
            remark.element.content["about"] = about

    def take(self) -> list[Element]:
        """The comments of a paragraph. Comments at the same position are sorted by date, because programs write the
        newest first."""
        taken, self.new = self.new, []
        taken.sort(key=lambda remark: (remark.place, remark.comment.date))
        by_comment = {id(remark.comment): remark for remark in taken}
        found: list[Element] = []
        for thread in threads([remark.comment for remark in taken]):
            first = by_comment[id(thread[0])]
            # A comment can refer to text in several paragraphs. Its element is already shown then, and receives the
            # text when the range ends.
            is_open = first.comment.id in self._open
            made = thread_elements(thread, about="" if is_open else first.tell())
            first.element = made[0]
            found.extend(made)
        return found


# --------------------------------------------------------------------------------------------------------------- fields


_KINDS = {"FORMCHECKBOX": "checkbox", "FORMDROPDOWN": "choice", "FORMDATE": "date", "FORMTEXT": "text"}
_CONTROLS = {"checkbox": "checkbox", "dropdown": "choice", "combobox": "choice", "date": "date", "plain-text": "text"}
FormEntry = dict[str, Any]


def drop_down(node: Node) -> FormEntry:
    """A drop-down field."""
    labels = [part for part in node if local(part) == "label"]
    chosen = next((part for part in labels if attribute(part, "current-selected") == "true"), None)
    options = [value for part in labels if (value := attribute(part, "value"))]
    return {"name": attribute(node, "name"), "type": "choice", "value": attribute(chosen, "value"), "options": options}


def field_mark(node: Node) -> FormEntry | None:
    """A form field imported from Word; None for a field that computes a value."""
    kind = _KINDS.get(attribute(node, "type").rpartition(".")[2])
    if kind is None:
        return None
    said = {attribute(part, "name"): attribute(part, "value") for part in node if local(part) == "param"}
    listed = [
        attribute(part, "value")
        for part in node
        if local(part) == "param" and attribute(part, "name").lower().startswith("dropdown_listentry")
    ]
    # LibreOffice gives this name to fields that had none in Word.
    name = "" if attribute(node, "name").startswith("__Fieldmark__") else attribute(node, "name")
    entry: FormEntry = {"name": name, "type": kind, "value": ""}
    if kind == "checkbox":
        entry["value"] = said.get("Checkbox_Checked", "").lower() == "true"
    elif kind == "choice":
        place = said.get("Dropdown_Selected", "")
        entry["value"] = listed[int(place)] if place.isdigit() and int(place) < len(listed) else ""
        entry["options"] = listed
    return entry


def control(node: Node) -> FormEntry | None:
    """A content control; None for one that only surrounds a text."""
    kind = next((kind for name, kind in _CONTROLS.items() if attribute(node, name) == "true"), None)
    if kind is None:
        return None
    value: Any = "" if attribute(node, "showing-place-holder") == "true" else words_of(node)
    if kind == "checkbox":
        value = attribute(node, "checked") == "true"
    options = [attribute(part, "display-text") or attribute(part, "value") for part in found(node, "list-item")]
    name = attribute(node, "alias") or attribute(node, "tag")
    return {"name": name, "type": kind, "value": value} | ({"options": options} if options else {})


def entry_words(entry: FormEntry) -> str:
    """The text for an entry without a text of its own."""
    if entry["type"] == "checkbox":
        return "☒" if entry["value"] else "☐"
    return str(entry["value"])
