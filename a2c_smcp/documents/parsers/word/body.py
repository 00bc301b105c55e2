"""The body of a Word document, from its first paragraph to its last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from a2c_smcp.documents.model import MAX_SUMMARY, Element, code, formula, heading, link, note, text
from a2c_smcp.documents.parsers.office.xml import attribute, whole
from a2c_smcp.documents.parsers.word.cells import PASSED_OVER, Cells
from a2c_smcp.documents.parsers.word.drawings import Box
from a2c_smcp.documents.parsers.word.equations import linear
from a2c_smcp.documents.parsers.word.inline import Aside, PageBreak, Part, Reader, Said
from a2c_smcp.documents.parsers.word.lists import CONTENTS, Items, Mark, Numbering
from a2c_smcp.documents.parsers.word.notes import Notes
from a2c_smcp.documents.parsers.word.pages import Item
from a2c_smcp.documents.parsers.word.styles import Look, Styles
from a2c_smcp.documents.parsers.word.tables import only_cell, read_table
from a2c_smcp.documents.parsers.word.xml import child, chosen, tag, value

MAX_LINKS = 200
_LONGEST_HEADING = 300
"""Characters of a paragraph that is a heading only because of its outline level."""


class Body:
    """Walks the blocks of a body, without recursion, and says what it meets."""

    def __init__(
        self, reader: Reader, styles: Styles, numbering: Numbering, notes: Notes, sections: Sequence[Any]
    ) -> None:
        self._reader = reader
        self._styles = styles
        self._numbering = numbering
        self._notes = notes
        self._cells = Cells(reader, styles, numbering)
        self._sections = sections
        self._section = 0
        self._items: list[Item] = [Item("section", section=0)]
        self._list: Items | None = None

    def read(self, body: Any) -> list[Item]:
        """Everything in the body, in order."""
        stack: list[Any] = list(reversed(body))
        while stack:
            node = stack.pop()
            name = tag(node)
            if name == "w:p":
                for box in reversed(self._paragraph(node)):
                    stack.extend(reversed(box.content))
            elif name == "w:tbl":
                frame = only_cell(node)
                if frame is not None:
                    stack.extend(reversed(frame))
                else:
                    self._table(node)
            elif name == "mc:AlternateContent":
                stack.extend(reversed(chosen(node)))
            elif name in ("m:oMath", "m:oMathPara"):
                self._put(formula(linear(node)))
            elif name == "w:altChunk":
                self._chunk(node)
            elif name not in PASSED_OVER:
                self._reader.passing(node)
                if name not in ("w:del", "w:moveFrom"):
                    stack.extend(reversed(node))
        self._end_list()
        return self._items

    # ------------------------------------------------------------------------------------------------------- paragraphs

    def _paragraph(self, element: Any) -> list[Box]:
        properties = child(element, "w:pPr")
        style_id = value(properties, "w:pStyle")
        look = self._styles.look(style_id)
        before = child(properties, "w:pageBreakBefore")
        if look.breaks_before if before is None else attribute(before, "val", "1") not in ("0", "false", "off"):
            self._break()
        said = self._reader.paragraph(element)
        self._say(said, self._look(look, properties, said), style_id, properties)
        if child(properties, "w:sectPr") is not None:
            self._next_section()
        return [part for part in said.parts if isinstance(part, Box)]

    def _look(self, look: Look, properties: Any, said: Said) -> Look:
        outline = value(properties, "w:outlineLvl")
        if look.kind or not outline or not 0 <= whole(outline, 9) < 9 or len(said.words()) > _LONGEST_HEADING:
            return look
        return Look(look.name, "heading", whole(outline) + 1, look.list_id, look.list_level)

    def _say(self, said: Said, look: Look, style_id: str, properties: Any) -> None:
        shown = said.words().strip()
        mark, depth = self._numbering.mark(properties, look, style_id) if shown else (None, 0)
        words: list[str] = []
        others: list[Part] = []
        for part in said.parts:
            if isinstance(part, str):
                words.append(part)
            elif isinstance(part, PageBreak):
                self._words("".join(words), said, look, mark, depth, others)
                self._break()
                words, others, mark = [], [], None
            elif isinstance(part, Element) and part.category == "formula":
                if mark is not None or look.kind:
                    words.append(f"${part.content['expression']}$")
                    continue
                self._words("".join(words), said, look, mark, depth, others)
                self._put(part)
                words, others = [], []
            else:
                others.append(part)
        self._words("".join(words), said, look, mark, depth, others)
        if not said.parts and child(properties, "w:pBdr") is not None:
            self._rule(child(properties, "w:pBdr"))

    def _words(self, words: str, said: Said, look: Look, mark: Mark | None, depth: int, others: list[Part]) -> None:
        """A paragraph, or as much of one as stands together, and then what was anchored in it."""
        shown = words.strip()
        if shown and look.kind in ("heading", "title", "subtitle"):
            label = f"{mark.label} " if mark is not None and mark.label else ""
            style = {"style": look.kind} if look.kind != "heading" else {}
            self._put(heading(" ".join(f"{label}{shown}".split()), look.level, **style))
        elif shown and mark is not None:
            self._item(shown, said, mark, depth)
        elif shown and look.kind == "continued" and self._list is not None:
            self._list.extend(shown)
        elif shown and not (look.kind == "caption" and self._is_caption(shown, others)):
            self._put_text(words, shown, said, look)
        if said.fields:
            self._form(shown, said)
        for other in others:
            self._put_other(other)

    def _put_text(self, words: str, shown: str, said: Said, look: Look) -> None:
        if look.kind == "code":
            self._code(words.rstrip())
        elif len(shown) > 2 and not shown.strip("-_*=—─ ") and len(set(shown)) == 1:
            self._put(note("separator", "---"))
        elif shown.startswith("$") and shown.endswith("$") and said.parts == [words] and shown.count("$") == 2:
            self._put(formula(shown.strip("$")))
        elif len(said.links) == 1 and said.links[0]["text"] == shown:
            self._put(link(shown, said.links[0]["url"]))
        elif not (said.fields and len(shown) <= MAX_SUMMARY):
            self._put(text(shown, **({"links": said.links[:MAX_LINKS]} if said.links else {})))

    def _item(self, words: str, said: Said, mark: Mark, depth: int) -> None:
        if self._list is not None and not self._list.takes(depth, mark):
            self._end_list()
        if self._list is None:
            self._list = Items()
        self._list.add(depth, words, mark)
        self._list.links.extend(said.links[: MAX_LINKS - len(self._list.links)] if mark is not CONTENTS else ())

    def _code(self, words: str) -> None:
        last = self._items[-1].element
        if self._list is None and last is not None and last.category == "code":
            last.content["code"] += f"\n{words}"
        else:
            self._put(code(words))

    def _is_caption(self, words: str, others: list[Part]) -> bool:
        """Give a picture its caption: the one in the same paragraph, else the one just above if it has none yet."""
        self._end_list()
        own = [other for other in others if isinstance(other, Element) and other.category == "image"]
        last = own[0] if own else self._items[-1].element
        if last is None or last.category != "image" or last.content["description"]:
            return False
        last.content["description"] = words
        return True

    def _form(self, words: str, said: Said) -> None:
        """The fields of a paragraph; the words around them are the form's own, unless they are many."""
        fields, said.fields = said.fields, []
        own = words if len(words) <= MAX_SUMMARY else ""
        self._put(note("form", own or "; ".join(_told(entry) for entry in fields), fields=fields))

    def _rule(self, borders: Any) -> None:
        if any(value(borders, side) not in ("", "none", "nil") for side in ("w:top", "w:bottom", "w:between")):
            self._put(note("separator", "---"))

    # ----------------------------------------------------------------------------------------------------------- tables

    def _table(self, element: Any) -> None:
        others: list[Part] = []
        fields: list[dict[str, Any]] = []
        shown = read_table(element, lambda cell: self._cells.words(cell, others, fields), self._deleted)
        if shown is not None:
            self._put(shown)
        if fields:
            self._put(note("form", "; ".join(_told(entry) for entry in fields), fields=fields))
        for other in others:
            self._put_other(other)

    def _deleted(self) -> None:
        self._reader.asides.deletions += 1

    # ----------------------------------------------------------------------------------------------------------- others

    def _put(self, element: Element) -> None:
        self._end_list()
        self._items.append(Item("flow", element))

    def _put_other(self, other: Part) -> None:
        """A picture, a note, a comment …: behind the list, if the paragraph is an item of one."""
        shown = self._notes.element(other) if isinstance(other, Aside) else other
        if not isinstance(shown, Element):
            return
        item = Item("note" if isinstance(other, Aside) and other.kind != "comment" else "flow", shown)
        if self._list is not None:
            self._list.after.append(item)
        else:
            self._items.append(item)

    def _end_list(self) -> None:
        if self._list is not None:
            ended, self._list = self._list, None
            self._items.append(Item("flow", ended.element()))
            self._items.extend(ended.after)

    def _break(self) -> None:
        self._end_list()
        self._items.append(Item("break"))

    def _next_section(self) -> None:
        """How a section begins is told by its own properties, which stand at its end."""
        self._end_list()
        self._section += 1
        following = self._sections[self._section] if self._section < len(self._sections) else None
        if value(following, "w:type") not in ("continuous", "nextColumn"):
            self._break()
        self._items.append(Item("section", section=self._section))

    def _chunk(self, node: Any) -> None:
        relation = self._reader.relations.get(attribute(node, "id"))
        target = relation.target if relation is not None else ""
        self._put(link(f"Inserted file {target.rpartition('/')[2]}", target))


def _told(entry: dict[str, Any]) -> str:
    shown = {True: "checked", False: "not checked"}.get(entry.get("value", ""), entry.get("value", ""))
    return f"{entry.get('name') or entry.get('type')}: {shown}"
