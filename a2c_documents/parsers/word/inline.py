"""The inside of a paragraph: its words as a person reads them, and what stands among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from a2c_documents.model import Element, formula
from a2c_documents.parsers.office.equations import latex_of
from a2c_documents.parsers.office.lists import numeral
from a2c_documents.parsers.office.ooxml import child, chosen, is_on, own_text, tag
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.story import MAX_ABOUT, MAX_DEPTH, Aside, PageBreak, Said
from a2c_documents.parsers.office.xml import attribute
from a2c_documents.parsers.word.drawings import Drawings
from a2c_documents.parsers.word.fields import Field, controls, entry_of, symbol, target_of

MAX_OPEN = 200
"""Comments that are open at once."""
MAX_FIELDS = 100
_LEFT_OUT = frozenset((
    "w:pPr", "w:rPr", "w:sdtPr", "w:sdtEndPr", "w:moveFrom", "w:delText", "w:delInstrText", "w:rt", "w:fldData",
    "w:tblPr", "w:tcPr", "w:trPr", "w:tblGrid", "w:sectPr", "w:smartTagPr", "w:customXmlPr",
))  # fmt: skip
_SIGNS = {
    "w:tab": "\t", "w:ptab": "\t", "w:cr": "\n", "w:noBreakHyphen": "\u2011", "w:softHyphen": "", "w:pgNum": "#",
}  # fmt: skip


@dataclass(slots=True)
class _Close:
    """The end of an element on the way through a paragraph."""

    act: Callable[[], None]


@dataclass(slots=True)
class Asides:
    """How notes are counted, through the whole document and all its parts."""

    marks: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    deletions: int = 0

    def mark(self, kind: str, note_id: str, numeral: Callable[[int], str]) -> str:
        """The mark of a note; the same one if it is pointed at again."""
        if (kind, note_id) not in self.marks:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.marks[kind, note_id] = numeral(self.counts[kind])
        return self.marks[kind, note_id]


class Reader:
    """Reads the paragraphs of one part of the package, from the first to the last: fields and comments reach across."""

    def __init__(self, package: Package, part: str, asides: Asides) -> None:
        self.relations = package.relations(part)
        self.asides = asides
        self.drawings = Drawings(package, self.relations, self.plain)
        self._fields: list[Field] = []
        self._in_code = 0
        """Fields that have begun and not yet come to their result: nothing of them is shown."""
        self._depth = 0
        self._comments: dict[str, str] = {}
        self._said = Said()
        self._pending: list[dict[str, Any]] = []
        self._stack: list[Any] = []

    def paragraph(self, element: Any) -> Said:
        """What a paragraph says. Everything below it is walked without recursion."""
        self._said = said = Said(fields=self._pending)
        self._pending = []
        self._stack = list(reversed(element))
        while self._stack:
            node = self._stack.pop()
            if isinstance(node, _Close):
                node.act()
                continue
            name = tag(node)
            if name == "w:t":
                self._say(own_text(node))
            elif name in _SIGNS:
                self._say(_SIGNS[name])
            elif (act := self._ACTS.get(name)) is not None:
                act(self, node)
            elif name not in _LEFT_OUT:
                self._stack.extend(reversed(node))
        for opened in self._fields:
            self._end_link(opened)
        self._hear("\n")
        return said

    def passing(self, node: Any) -> None:
        """Something that stands between paragraphs: the start or the end of a comment, a control around paragraphs."""
        name = tag(node)
        if name == "w:commentRangeStart":
            self._start_comment(node)
        elif name == "w:sdt":
            self._pending.extend(controls(node))
        elif name == "w:del":
            self.asides.deletions += 1

    def plain(self, container: Any, others: list[Element] | None = None) -> str:
        """All words of a container of paragraphs, line by line; `others` takes the pictures and the like."""
        if self._depth >= MAX_DEPTH:
            return ""
        self._depth += 1
        outer = self._said, self._stack, self._pending
        self._pending = []
        lines: list[str] = []
        stack: list[Any] = list(reversed(container))
        while stack:
            node = stack.pop()
            name = tag(node)
            if name == "w:p":
                said = self.paragraph(node)
                lines.append(said.words().strip())
                stack.extend(box.content for box in reversed(said.boxes))
                if others is not None:
                    others.extend(part for part in said.parts if isinstance(part, Element))
            elif name == "mc:AlternateContent":
                stack.extend(reversed(chosen(node)))
            elif name not in _LEFT_OUT and name != "w:del":
                stack.extend(reversed(node))
        self._said, self._stack, self._pending = outer
        self._depth -= 1
        return "\n".join(line for line in lines if line)

    # ------------------------------------------------------------------------------------------------------------ words

    def _say(self, words: str) -> None:
        if words and not self._in_code:
            self._said.parts.append(words)
            self._hear(words)

    def _hear(self, words: str) -> None:
        """What comments are about that are open."""
        for known, about in self._comments.items():
            if len(about) < MAX_ABOUT:
                self._comments[known] = about + words

    def _run(self, node: Any) -> None:
        properties = child(node, "w:rPr")
        if properties is None or not is_on(properties, "w:vanish"):
            self._stack.extend(reversed(node))

    def _break(self, node: Any) -> None:
        if attribute(node, "type") == "page":
            self._said.parts.append(PageBreak())
        else:
            self._say("\n")

    def _symbol(self, node: Any) -> None:
        self._say(symbol(attribute(node, "font"), attribute(node, "char")))

    def _deleted(self, node: Any) -> None:
        if len(node):
            self.asides.deletions += 1

    def _alternatives(self, node: Any) -> None:
        self._stack.extend(reversed(chosen(node)))

    def _link(self, node: Any) -> None:
        relation = self.relations.get(attribute(node, "id"))
        anchor = attribute(node, "anchor")
        url = (relation.target if relation is not None else "") + (f"#{anchor}" if anchor else "")
        start = len(self._said.parts)
        self._stack.append(_Close(partial(self._said.add_link, start, url)))
        self._stack.extend(reversed(node))

    # ------------------------------------------------------------------------------------------------- fields, controls

    def _field_mark(self, node: Any) -> None:
        kind = attribute(node, "fldCharType")
        if kind == "begin" and len(self._fields) < MAX_FIELDS:
            self._fields.append(Field(entry=entry_of(child(node, "w:ffData"))))
            self._in_code += 1
        elif kind == "separate" and self._fields:
            self._in_code -= self._fields[-1].in_code
            self._fields[-1].in_code = False
            self._fields[-1].start = len(self._said.parts)
            self._fields[-1].url = target_of(self._fields[-1].code)
        elif kind == "end" and self._fields:
            ended = self._fields.pop()
            self._in_code -= ended.in_code
            self._end_link(ended)
            if ended.entry is not None:
                words = "" if ended.in_code else self._said.words(ended.start).strip()
                if not words:
                    self._say(ended.shown)
                self._said.fields.append(ended.answered(words))

    def _end_link(self, opened: Field) -> None:
        if opened.url:
            self._said.add_link(opened.start, opened.url)
            opened.url = ""

    def _field_code(self, node: Any) -> None:
        if self._fields and self._fields[-1].in_code:
            self._fields[-1].code += own_text(node)

    def _simple_field(self, node: Any) -> None:
        start, url = len(self._said.parts), target_of(attribute(node, "instr"))
        self._stack.append(_Close(partial(self._said.add_link, start, url)))
        self._stack.extend(reversed(node))

    def _control(self, node: Any) -> None:
        self._said.fields.extend(controls(node))
        self._stack.extend(reversed(node))

    # ---------------------------------------------------------------------------------------------- equations, drawings

    def _equation(self, node: Any) -> None:
        if words := latex_of(node):
            self._say(f"${words}$")

    def _display_equation(self, node: Any) -> None:
        for equation in node:
            if tag(equation) == "m:oMath" and (words := latex_of(equation)):
                self._said.parts.append(formula(words))

    def _drawing(self, node: Any) -> None:
        self._said.parts.extend(self.drawings.read(node))

    # -------------------------------------------------------------------------------------------------- notes, comments

    def _note(self, node: Any) -> None:
        kind = tag(node).removeprefix("w:").removesuffix("Reference")
        note_id = attribute(node, "id")
        self._say(f"[^{self.asides.mark(kind, note_id, str if kind == 'footnote' else _roman)}]")
        self._said.parts.append(Aside(kind, note_id))

    def _start_comment(self, node: Any) -> None:
        if len(self._comments) < MAX_OPEN:
            self._comments[attribute(node, "id")] = ""

    def _comment(self, node: Any) -> None:
        about = self._comments.pop(attribute(node, "id"), "")
        self._said.parts.append(Aside("comment", attribute(node, "id"), " ".join(about.split())[:MAX_ABOUT]))

    _ACTS: ClassVar[dict[str, Callable[[Reader, Any], None]]] = {
        "w:r": _run,
        "w:br": _break,
        "w:sym": _symbol,
        "w:del": _deleted,
        "mc:AlternateContent": _alternatives,
        "w:hyperlink": _link,
        "w:fldChar": _field_mark,
        "w:instrText": _field_code,
        "w:fldSimple": _simple_field,
        "w:sdt": _control,
        "m:oMath": _equation,
        "m:oMathPara": _display_equation,
        "w:drawing": _drawing,
        "w:pict": _drawing,
        "w:object": _drawing,
        "w:footnoteReference": _note,
        "w:endnoteReference": _note,
        "w:commentRangeStart": _start_comment,
        "w:commentReference": _comment,
    }


def _roman(number: int) -> str:
    return numeral(number, "lowerRoman")
