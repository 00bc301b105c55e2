"""The content of a Word paragraph: its words as a person reads them, and the fields, controls and notes among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from a2c_documents.inline import joined
from a2c_documents.model import Element, formula
from a2c_documents.parsers.office.equations import latex_of
from a2c_documents.parsers.office.lists import numeral
from a2c_documents.parsers.office.ooxml import child, children, chosen, inside, is_on, own_text, tag, value
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.story import MAX_ABOUT, MAX_DEPTH, Aside, PageBreak, Said
from a2c_documents.parsers.office.xml import Node, Nodes, attribute, whole
from a2c_documents.parsers.word.drawings import Drawings
from a2c_documents.parsers.word.styles import HIDDEN, marks_of

MAX_OPEN = 200
"""Limit for the comments that are open at the same time."""
MAX_FIELDS = 100
# `w:rt` is the reading above East Asian characters, which would repeat them. `w:moveFrom` is text at its former place;
# the same text is in `w:moveTo`.
_LEFT_OUT = frozenset((
    "w:pPr", "w:rPr", "w:sdtPr", "w:sdtEndPr", "w:moveFrom", "w:delText", "w:delInstrText", "w:rt", "w:fldData",
    "w:tblPr", "w:tcPr", "w:trPr", "w:tblGrid", "w:sectPr", "w:smartTagPr", "w:customXmlPr",
))  # fmt: skip
# A soft hyphen shows only at the end of a line, and the lines of a printed page are not those of the text. The page
# number is not known.
_SIGNS = {
    "w:tab": "\t", "w:ptab": "\t", "w:cr": "\n", "w:noBreakHyphen": "\u2011", "w:softHyphen": "", "w:pgNum": "#",
}  # fmt: skip


@dataclass(slots=True)
class _Close:
    """The end of an element in the walk through a paragraph."""

    act: Callable[[], None]


@dataclass(slots=True)
class Asides:
    """The marks of notes, counted over all parts of the document."""

    face: Callable[[str], str]
    """The formatting of a character style, by its id."""
    marks: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    deletions: int = 0

    def mark(self, kind: str, note_id: str, numeral: Callable[[int], str]) -> str:
        """The mark of a note; a second reference gets the same mark."""
        # Notes in headers and in other notes count too, so the counters belong to the document and not to the reader of
        # one part.
        if (kind, note_id) not in self.marks:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.marks[kind, note_id] = numeral(self.counts[kind])
        return self.marks[kind, note_id]


class WordReader:
    """Reads the paragraphs of one part in order. Fields and comments can span paragraphs."""

    def __init__(self, package: Package, part: str, asides: Asides) -> None:
        self.relations = package.relations(part)
        self.asides = asides
        self.drawings = Drawings(package, self.relations, self.plain)
        self._fields: list[Field] = []
        self._in_code = 0
        """Number of open fields whose result has not begun. Nothing is shown while it is above 0."""
        self._depth = 0
        self._comments: dict[str, str] = {}
        self._said = Said()
        self._pending: list[dict[str, Any]] = []
        self._stack: list[Any] = []
        self._marks: str = ""
        """The formatting of the run that is being read."""

    def paragraph(self, element: Node) -> Said:
        """Read a paragraph, without recursion."""
        self._said = said = Said(fields=self._pending)
        self._pending = []
        # The walk has a stack of its own. A tree can be 256 levels deep, the limit of the XML parser, and a recursive
        # walk would need several frames for each of them. The action for a node pushes its children or skips them. A
        # `_Close` below them on the stack runs when everything inside the node has been read.
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
        # A field can continue in the next paragraph. Its link ends here, because links belong to one paragraph. The
        # value of a form field goes on.
        for opened in self._fields:
            self._end_link(opened)
            if opened.entry is not None and not opened.in_code and len(opened.above) < MAX_VALUE:
                opened.above += said.words(opened.start) + "\n"
            opened.start = 0
        self._hear("\n")
        return said

    def passing(self, node: Node) -> None:
        """Read a node between paragraphs: the start of a comment, a deletion, or a control around paragraphs."""
        name = tag(node)
        if name == "w:commentRangeStart":
            self._start_comment(node)
        elif name == "w:sdt":
            self._pending.extend(controls(node))
        elif name == "w:del":
            self.asides.deletions += 1

    def plain(self, container: Nodes, others: list[Element] | None = None) -> str:
        """The text of a container of paragraphs, line by line; `others` collects the other elements."""
        if self._depth >= MAX_DEPTH:
            return ""
        self._depth += 1
        # `plain` runs in the middle of a paragraph, for the text of a box in it, so the state of the outer paragraph is
        # saved. An open field of it neither ends in the box nor contains its paragraphs.
        outer = self._said, self._stack, self._pending, self._fields, self._in_code, self._marks
        self._pending, self._fields, self._marks = [], [], ""
        lines: list[str] = []
        stack: list[Node] = list(reversed(container))
        while stack:
            node = stack.pop()
            name = tag(node)
            if name == "w:p":
                said = self.paragraph(node)
                lines.append(said.styled(said.words().strip()))
                stack.extend(part for box in reversed(said.boxes) for part in reversed(box.content))
                if others is not None:
                    others.extend(part for part in said.parts if isinstance(part, Element))
            elif name == "mc:AlternateContent":
                stack.extend(reversed(chosen(node)))
            elif name not in _LEFT_OUT and name != "w:del":
                stack.extend(reversed(node))
        self._said, self._stack, self._pending, self._fields, self._in_code, self._marks = outer
        self._depth -= 1
        return joined(filter(None, lines), "\n")

    # ------------------------------------------------------------------------------------------------------------ words

    def _say(self, words: str) -> None:
        if words and not self._in_code:
            # Words stay separate parts, because links and fields refer to them by number.
            self._said.parts.append(words)
            if self._marks:
                self._said.add_marks(self._marks)
            self._hear(words)

    def _hear(self, words: str) -> None:
        """Add words to the text of all open comments."""
        for known, about in self._comments.items():
            if len(about) < MAX_ABOUT:
                self._comments[known] = about + words

    def _run(self, node: Node) -> None:
        properties = child(node, "w:rPr")
        marks = marks_of(properties, self.asides.face) if properties is not None and len(properties) else ""
        if marks:
            # Hidden text is not shown in Word, and holds index entries and the like.
            if HIDDEN in marks:
                return
            self._stack.append(_Close(partial(self._set_marks, self._marks)))
            self._marks = marks
        self._stack.extend(reversed(node))

    def _set_marks(self, marks: str) -> None:
        self._marks = marks

    def _break(self, node: Node) -> None:
        if attribute(node, "type") == "page":
            self._said.parts.append(PageBreak())
        else:
            self._say("\n")

    def _turn(self, node: Node) -> None:
        if self._said.words().strip():
            self._said.turned_inside = True
        else:
            self._said.turned_before = True

    def _symbol(self, node: Node) -> None:
        self._say(symbol(attribute(node, "font"), attribute(node, "char")))

    def _deleted(self, node: Node) -> None:
        if len(node):
            self.asides.deletions += 1

    def _alternatives(self, node: Node) -> None:
        self._stack.extend(reversed(chosen(node)))

    def _link(self, node: Node) -> None:
        relation = self.relations.get(attribute(node, "id"))
        anchor = attribute(node, "anchor")
        url = (relation.target if relation is not None else "") + (f"#{anchor}" if anchor else "")
        start = len(self._said.parts)
        self._stack.append(_Close(partial(self._said.add_link, start, url)))
        self._stack.extend(reversed(node))

    # ------------------------------------------------------------------------------------------------- fields, controls

    def _field_mark(self, node: Node) -> None:
        kind = attribute(node, "fldCharType")
        # A field is begin, code, separate, result, end, each in a run of its own, and fields can be nested: a link in a
        # table of contents holds a page number. Words are text only if every open field is in its result. A field in
        # the code of another one is an argument of it.
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
                # The result of a legacy form field is the text that was entered. A check box has no result: its state
                # is in the field itself.
                words = "" if ended.in_code else (ended.above + self._said.words(ended.start)).strip()[:MAX_VALUE]
                if not words:
                    self._say(ended.shown)
                self._said.fields.append(ended.answered(words))

    def _end_link(self, opened: Field) -> None:
        if opened.url:
            self._said.add_link(opened.start, opened.url)
            opened.url = ""

    def _field_code(self, node: Node) -> None:
        if self._fields and self._fields[-1].in_code:
            self._fields[-1].code += own_text(node)

    def _simple_field(self, node: Node) -> None:
        start, url = len(self._said.parts), target_of(attribute(node, "instr"))
        self._stack.append(_Close(partial(self._said.add_link, start, url)))
        self._stack.extend(reversed(node))

    def _control(self, node: Node) -> None:
        # The text of a control is also part of the sentence around it.
        self._said.fields.extend(controls(node))
        self._stack.extend(reversed(node))

    # ---------------------------------------------------------------------------------------------- equations, drawings

    def _equation(self, node: Node) -> None:
        if words := latex_of(node):
            self._say(f"${words}$")

    def _display_equation(self, node: Node) -> None:
        for equation in node:
            if tag(equation) == "m:oMath" and (words := latex_of(equation)):
                self._said.parts.append(formula(words))

    def _drawing(self, node: Node) -> None:
        self._said.parts.extend(self.drawings.read(node))

    # -------------------------------------------------------------------------------------------------- notes, comments

    def _note(self, node: Node) -> None:
        kind = tag(node).removeprefix("w:").removesuffix("Reference")
        note_id = attribute(node, "id")
        # These are the default numerals of Word. Footnotes and endnotes count separately.
        self._say(f"[^{self.asides.mark(kind, note_id, str if kind == 'footnote' else _roman)}]")
        self._said.parts.append(Aside(kind, note_id))

    def _start_comment(self, node: Node) -> None:
        if len(self._comments) < MAX_OPEN:
            self._comments[attribute(node, "id")] = ""

    def _comment(self, node: Node) -> None:
        # Word puts the reference right after the end of the range, so that the range needs no end of its own here. A
        # comment without a range has no text that it refers to.
        about = self._comments.pop(attribute(node, "id"), "")
        self._said.parts.append(Aside("comment", attribute(node, "id"), " ".join(about.split())[:MAX_ABOUT]))

    _ACTS: ClassVar[dict[str, Callable[[WordReader, Node], None]]] = {
        "w:r": _run,
        "w:br": _break,
        "w:lastRenderedPageBreak": _turn,
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


# -------------------------------------------------------------------------------------------------- fields and controls


MAX_VALUE = 2_000
_CONTROLS = {
    "w14:checkbox": "checkbox", "w:dropDownList": "choice", "w:comboBox": "choice", "w:date": "date", "w:text": "text",
}  # fmt: skip
_LINK = re.compile(r'\s*HYPERLINK\s+(?:"([^"]*)"|([^\s"\\]\S*))?')
_ANCHOR = re.compile(r'\\l\s+"([^"]*)"')
_GREEK = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "αβχδεφγηιϕκλμνοπθρστυϖωξψζΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ",
        strict=True,
    )
)
"""The letters of the font Symbol. J and V are not the capitals of j and v."""
_WINGDINGS = {
    0xFC: "✓", 0xFB: "✗", 0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐", 0x78: "☒", 0xE0: "→", 0xDF: "←", 0xE8: "➔",
    0xD8: "➢", 0xA7: "▪", 0x6E: "■", 0x6C: "●", 0x4A: "☺", 0x4C: "☹", 0x28: "☎", 0x2A: "✉", 0x52: "☼",
}  # fmt: skip
_SYMBOLS = {
    0xB7: "•", 0xB1: "±", 0xB3: "≥", 0xA3: "≤", 0xB9: "≠", 0xB4: "×", 0xB0: "°", 0xAE: "→", 0xA5: "∞", 0xE5: "∑",
    0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2A: "∗", 0x2D: "−", 0x40: "≅", 0x5C: "∴", 0x5E: "⊥", 0x7E: "∼",
}  # fmt: skip


@dataclass(slots=True)
class Field:
    """An open field: its code, the start of its result, and the form entry that it defines."""

    entry: dict[str, Any] | None = None
    in_code: bool = True
    code: str = ""
    start: int = 0
    above: str = ""
    """The words of the result in earlier paragraphs."""
    url: str = ""

    @property
    def shown(self) -> str:
        """The text for an entry without a result."""
        entry = self.entry or {}
        if entry.get("type") == "checkbox":
            return "☒" if entry["value"] else "☐"
        return str(entry.get("value", ""))

    def answered(self, words: str) -> dict[str, Any]:
        """The entry with the value that was entered."""
        entry = self.entry or {}
        return entry if entry.get("type") == "checkbox" or not words else {**entry, "value": words}


def entry_of(data: Node | None) -> dict[str, Any] | None:
    """The form entry of a legacy form field."""
    if data is None:
        return None
    entry: dict[str, Any] = {"name": value(data, "w:name"), "type": "text", "value": ""}
    if (box := child(data, "w:checkBox")) is not None:
        # `w:checked` is absent until a person clicks the box.
        told = "w:checked" if child(box, "w:checked") is not None else "w:default"
        return {**entry, "type": "checkbox", "value": is_on(box, told)}
    if (drop := child(data, "w:ddList")) is not None:
        options = [attribute(option, "val") for option in children(drop, "w:listEntry")]
        picked = whole(value(drop, "w:result") or value(drop, "w:default"))
        shown = options[picked] if 0 <= picked < len(options) else ""
        return {**entry, "type": "choice", "value": shown, "options": options}
    return {**entry, "value": value(data, "w:textInput", "w:default")}


def controls(control: Node) -> Iterator[dict[str, Any]]:
    """The form entry of a content control. A control that repeats a document property is not an entry."""
    properties = child(control, "w:sdtPr")
    found = next((node for name in _CONTROLS for node in children(properties, name)), None)
    # The namespaces of document properties contain "Properties" or "properties".
    if found is None or "ropert" in _binding(properties):
        return
    name = value(properties, "w:alias") or value(properties, "w:tag")
    kind = next(kind for label, kind in _CONTROLS.items() if child(properties, label) is found)
    if kind == "checkbox":
        yield {"name": name, "type": kind, "value": is_on(found, "w14:checked")}
        return
    words = ""
    # A placeholder ("Click to enter text") is in the content like an answer.
    if not is_on(properties, "w:showingPlcHdr") and (content := child(control, "w:sdtContent")) is not None:
        words = "".join(own_text(node) for node in inside(content, "w:t"))[:MAX_VALUE]
    entry: dict[str, Any] = {"name": name, "type": kind, "value": words}
    options = [attribute(node, "displayText") or attribute(node, "value") for node in children(found, "w:listItem")]
    yield {**entry, "options": options} if options else entry


def _binding(properties: Node | None) -> str:
    node = child(properties, "w:dataBinding")
    return attribute(node, "prefixMappings") + attribute(node, "xpath") if node is not None else ""


def target_of(code: str) -> str:
    """The target of a field that is a link."""
    code = code[:4_000]
    if (found := _LINK.match(code)) is None:
        return ""
    anchor = _ANCHOR.search(code)
    return (found[1] or found[2] or "") + (f"#{anchor[1]}" if anchor else "")


def symbol(font: str, code: str) -> str:
    """The character for a code in a symbol font."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    # Symbol fonts have their characters in the private use area, at F000 plus the code in the font. Some programs write
    # the code itself.
    low = number & 0xFF if 0xF000 <= number <= 0xF0FF else number
    if font.lower().startswith("wingdings"):
        return _WINGDINGS.get(low, "•")
    if font.lower() == "symbol":
        letter = chr(low) if low < 0x80 else "•"
        return _GREEK.get(letter) or _SYMBOLS.get(low, letter)
    # Not a character: the private use area and invalid codes.
    return chr(number) if 0x20 <= number < 0xD800 or 0xF900 <= number <= 0x10FFFF else "•"
