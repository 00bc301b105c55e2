"""The text of an OpenDocument file, from its first paragraph to its last: also that of a box on a slide."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from a2c_smcp.documents.model import Element, code, heading, link, note, text
from a2c_smcp.documents.parsers.office.xml import attribute, local, whole
from a2c_smcp.documents.parsers.opendocument.styles import Styles
from a2c_smcp.documents.parsers.opendocument.tables import inner_cells, only_cell, read_table
from a2c_smcp.documents.parsers.opendocument.text import Box, Reader, Said
from a2c_smcp.documents.parsers.word.lists import CONTENTS, DEEPEST, Items, Mark
from a2c_smcp.documents.parsers.word.pages import Item

MAX_LINKS = 200
_SHAPES = ("frame", "custom-shape", "rect", "ellipse", "path", "polygon", "polyline", "line", "connector", "g", "a")
_DEPTH = re.compile(r"([1-9])\Z")


@dataclass(slots=True)
class _Entry:
    """An item of a list; its first paragraph begins it."""

    mark: Mark | None
    begun: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the document a node is: how deep in which list, or in the contents."""

    depth: int = -1
    style: str = ""
    entry: _Entry | None = None
    contents: bool = False


class Body:
    """Walks containers of paragraphs, without recursion, and says what it meets."""

    def __init__(self, reader: Reader, styles: Styles) -> None:
        self.items: list[Item] = []
        self.masters: list[str] = []
        """The page styles that sections of the document begin with, by the number of the section."""
        self.deletions = 0
        self._reader = reader
        self._styles = styles
        self._list: Items | None = None
        self._lists = 0
        self._numbers: dict[tuple[str, int], tuple[int, str]] = {}

    def read(self, container: Iterable[Any]) -> None:
        """Everything in a container, in order."""
        stack: list[tuple[Any, _Place]] = [(node, _Place()) for node in reversed(list(container))]
        while stack:
            node, place = stack.pop()
            name = local(node)
            if name in ("p", "h"):
                boxes = self._paragraph(node, name, place)
                stack.extend((part, _Place()) for box in reversed(boxes) for part in reversed(box.content))
            elif name == "list":
                stack.extend(reversed(self._entries(node, place)))
            elif name == "table":
                frame = only_cell(node)
                if frame is not None:
                    stack.extend((part, place) for part in reversed(frame))
                else:
                    self._table(node)
            elif name in _SHAPES or name == "annotation":
                boxes = self._shape(node)
                stack.extend((part, _Place()) for box in reversed(boxes) for part in reversed(box.content))
            elif name == "tracked-changes":
                self.deletions += sum(1 for _ in node.iterfind(".//{*}deletion"))
            elif name == "forms":
                self._form(node)
            elif name and not name.endswith(("-source", "-decls")):
                inner = replace(place, contents=True) if name == "table-of-content" else place
                stack.extend((part, inner) for part in reversed(node))
        self._end_list()

    # ------------------------------------------------------------------------------------------------------- paragraphs

    def _paragraph(self, node: Any, name: str, place: _Place) -> list[Box]:
        style = attribute(node, "style-name")
        before, after = self._styles.breaks(style)
        if before:
            self._break()
        if master := self._styles.master(style):
            self._end_list()
            self.items.append(Item("section", section=len(self.masters)))
            self.masters.append(master)
        said = self._reader.paragraph(node)
        if name == "h":
            self._heading(said.words(), whole(attribute(node, "outline-level") or 1, 1))
        else:
            self._say(said, style, place)
        for part in said.parts:
            if isinstance(part, Element) and part.category != "formula":
                self._put_other(Item("flow", part))
        for shown in said.notes:
            self._put_other(Item("note", shown))
        if after:
            self._break()
        return [part for part in said.parts if isinstance(part, Box)]

    def _heading(self, words: str, level: int, **metadata: Any) -> None:
        if words := " ".join(words.split()):
            self._put(heading(words, level, **metadata))

    def _say(self, said: Said, style: str, place: _Place) -> None:
        formulas = [part for part in said.parts if isinstance(part, Element) and part.category == "formula"]
        if formulas and not said.words().strip():
            for shown in formulas:
                self._put(shown)
            return
        words = "".join(
            part if isinstance(part, str) else f"${part.content['expression']}$"
            for part in said.parts
            if isinstance(part, str) or part in formulas
        )
        shown, kind = words.strip(), self._styles.kind(style)
        if not shown:
            if not said.parts and self._styles.has_rule(style):
                self._put(note("separator", "---"))
        elif kind in ("title", "subtitle"):
            self._heading(shown, 1 if kind == "title" else 2, style=kind)
        elif place.contents and "heading" in self._styles.shown_name(style).casefold():
            self._heading(shown, 1)
        elif place.contents:
            found = _DEPTH.search(self._styles.shown_name(style))
            self._item(shown, said, CONTENTS, int(found[1]) - 1 if found else 0)
        elif place.entry is not None and place.entry.mark is not None:
            self._in_list(shown, said, place.entry, place.depth)
        elif kind == "code":
            self._code(words.rstrip())
        elif not (kind == "caption" and self._is_caption(shown, said)):
            self._put_text(shown, said)

    def _put_text(self, shown: str, said: Said) -> None:
        if len(said.links) == 1 and said.links[0]["text"] == shown:
            self._put(link(shown, said.links[0]["url"]))
        else:
            self._put(text(shown, **({"links": said.links[:MAX_LINKS]} if said.links else {})))

    def _code(self, words: str) -> None:
        last = self.items[-1].element if self.items else None
        if self._list is None and last is not None and last.category == "code":
            last.content["code"] += f"\n{words}"
        else:
            self._put(code(words))

    def _is_caption(self, words: str, said: Said) -> bool:
        """Give a picture its caption: the one in the same paragraph, else the one just above."""
        self._end_list()
        own = [part for part in said.parts if isinstance(part, Element) and part.category == "image"]
        last = own[0] if own else self.items[-1].element if self.items else None
        if last is None or last.category != "image" or last.content["description"]:
            return False
        last.content["description"] = words
        return True

    # ------------------------------------------------------------------------------------------------------------ lists

    def _entries(self, node: Any, place: _Place) -> list[tuple[Any, _Place]]:
        """The items of a list with the numbers that they have."""
        style, depth = attribute(node, "style-name") or place.style, min(place.depth + 1, DEEPEST)
        ordered = self._styles.ordered(style, depth)
        self._lists += 1
        number, list_id = self._styles.start(style, depth) - 1, str(self._lists)
        continued = attribute(node, "continue-numbering") == "true" or attribute(node, "continue-list")
        if continued and (style, depth) in self._numbers:
            number, list_id = self._numbers[style, depth]
        entries: list[tuple[Any, _Place]] = []
        for item in node:
            if local(item) == "list-item":
                number = whole(attribute(item, "start-value") or number + 1, number + 1)
                mark = Mark(self._styles.label(style, depth, number) if ordered else "", number, ordered, list_id)
                entries.append((item, _Place(depth, style, _Entry(mark))))
            elif local(item) == "list-header":
                entries.append((item, _Place(depth, style, _Entry(None))))
        self._numbers[style, depth] = number, list_id
        return entries

    def _in_list(self, words: str, said: Said, entry: _Entry, depth: int) -> None:
        if entry.begun and self._list is not None:
            self._list.extend(words)
        elif entry.mark is not None:
            entry.begun = True
            self._item(words, said, entry.mark, depth)

    def _item(self, words: str, said: Said, mark: Mark, depth: int) -> None:
        if self._list is not None and not self._list.takes(depth, mark):
            self._end_list()
        if self._list is None:
            self._list = Items()
        self._list.add(depth, words, mark)
        self._list.links.extend(said.links[: MAX_LINKS - len(self._list.links)] if mark is not CONTENTS else ())

    # ----------------------------------------------------------------------------------------------------------- others

    def _table(self, node: Any) -> None:
        if self._styles.breaks(attribute(node, "style-name"))[0]:
            self._break()
        others: list[Item] = []
        shown = read_table(node, lambda cell: self._cell(cell, others))
        if shown is not None:
            self._put(shown)
        for item in others:
            self._put_other(item)

    def _cell(self, cell: Any, others: list[Item]) -> str:
        """The words of a cell, line by line; a table inside it is a line for each row."""
        lines: list[str] = []
        beside = False
        stack: list[Any] = list(reversed(cell))
        while stack:
            node = stack.pop()
            if isinstance(node, bool):
                beside = node and bool(lines)
                if beside:
                    lines[-1] += " | "
                continue
            name = local(node)
            if name in ("p", "h"):
                said = self._reader.paragraph(node)
                others.extend(Item("flow", part) for part in said.parts if isinstance(part, Element))
                others.extend(Item("note", shown) for shown in said.notes)
                stack.extend(part for box in said.parts if isinstance(box, Box) for part in reversed(box.content))
                words = said.words().strip()
                if words and beside:
                    lines[-1] += words
                    beside = False
                elif words:
                    lines.append(words)
            elif name == "table":
                inner = [part for first, found in inner_cells(node) for part in (not first, *found)]
                stack.append(False)
                stack.extend(reversed(inner))
            elif name:
                stack.extend(reversed(node))
        return "\n".join(stripped for line in lines if (stripped := line.rstrip(" |")))

    def _shape(self, node: Any) -> list[Box]:
        """A shape that stands by itself: as if it were in a paragraph."""
        said = self._reader.shape(node)
        for part in said.parts:
            if isinstance(part, Element):
                self._put(part)
        return [part for part in said.parts if isinstance(part, Box)]

    def _form(self, node: Any) -> None:
        fields: list[dict[str, Any]] = []
        for control in node.iterfind(".//{*}form/{*}*"):
            kind = local(control)
            if kind in ("properties", "form", "hidden", "button", "generic-control", "event-listeners"):
                continue
            shown = attribute(control, "current-state" if kind == "checkbox" else "current-value")
            value: Any = shown == "checked" if kind == "checkbox" else shown or attribute(control, "value")
            name = attribute(control, "label") or attribute(control, "name")
            options = [attribute(option, "label") for option in control if local(option) in ("option", "item")]
            fields.append({"name": name, "type": kind, "value": value} | ({"options": options} if options else {}))
        if fields:
            told = "; ".join(f"{entry['name']}: {entry['value']}" for entry in fields)
            self._put(note("form", told, fields=fields))

    def _put(self, element: Element) -> None:
        self._end_list()
        self.items.append(Item("flow", element))

    def _put_other(self, item: Item) -> None:
        """A picture, a note, a comment: behind the list, if the paragraph is an item of one."""
        if self._list is not None:
            self._list.after.append(item)
        else:
            self.items.append(item)

    def _end_list(self) -> None:
        if self._list is not None:
            ended, self._list = self._list, None
            self.items.append(Item("flow", ended.element()))
            self.items.extend(ended.after)

    def _break(self) -> None:
        self._end_list()
        self.items.append(Item("break"))
