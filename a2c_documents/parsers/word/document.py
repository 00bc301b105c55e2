"""Word documents (docx, docm, dotx): the body in reading order, on pages by its breaks or headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from a2c_documents.inline import joined
from a2c_documents.model import (
    MAX_SUMMARY,
    Element,
    Facts,
    Page,
    PagesSource,
    Source,
    UnreadableFileError,
    formula,
    heading,
    link,
    note,
)
from a2c_documents.paging import paginate
from a2c_documents.parsers.office.equations import latex_of
from a2c_documents.parsers.office.facts import core_facts
from a2c_documents.parsers.office.lists import Mark
from a2c_documents.parsers.office.ooxml import child, chosen, inside, is_on, tag, value
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.pages import Furniture, cut, with_bars
from a2c_documents.parsers.office.story import (
    Aside,
    Box,
    PageBreak,
    Said,
    Story,
    deletions_remark,
    in_words,
    is_formula,
)
from a2c_documents.parsers.office.xml import (
    MAX_XML,
    DamagedPartError,
    Node,
    attribute,
    parse_xml,
    whole,
    without_entities,
    words_of,
)
from a2c_documents.parsers.word.notes import Notes
from a2c_documents.parsers.word.numbering import WordNumbering
from a2c_documents.parsers.word.paragraphs import Asides, WordReader
from a2c_documents.parsers.word.styles import Look, WordStyles
from a2c_documents.parsers.word.tables import PASSED_OVER, WordCells, only_cell, read_table

_WHAT = "Word document"
_COUNTS = {"printed_pages": "Pages", "words": "Words"}


def open_word(path: Path) -> Source:
    """Open a docx, docm or dotx.

    Raises:
        UnreadableFileError: it is damaged, encrypted or not a Word document.
    """
    package = Package(path, _WHAT)
    try:
        main = package.main_part("word/document.xml")
        if main not in package:
            raise UnreadableFileError("this file is not a valid Word document: its main part is missing")
        # All pages are read on opening: numbers of lists and notes, and open fields and comments, run through the whole
        # text, so that no page can be read without those before it.
        return PagesSource(_facts(package), paginate(_pages(package, main)))
    except DamagedPartError as error:
        raise UnreadableFileError(f"this Word document is damaged: {error}") from None
    finally:
        package.close()


def _pages(package: Package, main: str) -> list[Page]:
    if package.size(main) > MAX_XML:
        raise UnreadableFileError(f"this Word document is too large: its text has more than {MAX_XML // 1_000_000} MB")
    # Entities are removed before parsing. Word never writes them, and files that declare them try to make the parser
    # expand or fetch something.
    raw, entities = without_entities(package.read(main))
    root = parse_xml(raw)
    body = child(root, "w:body")
    if body is None:
        raise UnreadableFileError("this file is not a valid Word document: it has no body")
    styles = WordStyles(package.optional(package.related(main, "styles")))
    asides = Asides(styles.face)
    numbering = WordNumbering(package.optional(package.related(main, "numbering")), styles)
    sections = [node for node in inside(body, "w:sectPr") if _begins_section(node)]
    margins = WordMargins(
        package, main, asides, sections,
        even=is_on(package.optional(package.related(main, "settings")), "w:evenAndOddHeaders"),
    )  # fmt: skip
    reader = WordReader(package, main, asides)
    story = WordBody(reader, styles, numbering, Notes(package, main, asides), sections).read(body)
    for remark in _remarks(package, asides, entities=entities):
        story.put_beside(remark, is_note=True)
    return cut(story.steps, margins.of)


def _begins_section(properties: Node) -> bool:
    """Whether section properties are in force: tracked changes keep a copy of the former ones deeper in the tree."""
    parent = properties.getparent()
    return parent is not None and tag(parent) in ("w:pPr", "w:body")


def _remarks(package: Package, asides: Asides, *, entities: bool) -> Iterator[Element]:
    """Remarks about the document as a whole."""
    for reason in package.lost.values():
        yield note("annotation", f"Pictures and links of this document may be missing: {reason}")
    for reason in package.damaged.values():
        yield note("annotation", f"Headings, lists and formats of this document may be missing: {reason}")
    if asides.deletions:
        yield deletions_remark(asides.deletions)
    if entities:
        yield note("annotation", "This document declares XML entities, which Word does not do; they are left out here.")


def _facts(package: Package) -> Facts:
    facts = core_facts(package)
    app = package.optional(package.related("", "extended-properties") or "docProps/app.xml")
    counts = {tag(node): whole(words_of(node)) for node in app} if app is not None else {}
    facts.details = {name: counts[key] for name, key in _COUNTS.items() if counts.get(key)}
    return facts


# ----------------------------------------------------------------------------------------------------------------- body


_LONGEST_HEADING = 300
"""Limit for the characters of a paragraph that is a heading only by its outline level."""


class WordBody:
    """Walks the blocks of the body without recursion and adds their elements to a story."""

    def __init__(
        self, reader: WordReader, styles: WordStyles, numbering: WordNumbering, notes: Notes, sections: Sequence[Node]
    ) -> None:
        self._reader = reader
        self._styles = styles
        self._numbering = numbering
        self._notes = notes
        self._sections = sections
        self._section = 0
        self._story = Story()

    def read(self, body: Node) -> Story:
        """Read the whole body."""
        self._story.begin_section(0)
        # Content of boxes and frames is pushed onto the same stack: it follows its paragraph, and no depth of nesting
        # leads to recursion.
        stack: list[Node] = list(reversed(body))
        while stack:
            node = stack.pop()
            name = tag(node)
            if name == "w:p":
                stack.extend(part for box in reversed(self._paragraph(node)) for part in reversed(box.content))
            elif name == "w:tbl":
                # A table with a single cell is a frame around a text: its content is read as paragraphs, so that
                # headings and lists in it stay headings and lists.
                frame = only_cell(node)
                if frame is not None:
                    stack.extend(reversed(frame))
                else:
                    self._table(node)
            elif name == "mc:AlternateContent":
                stack.extend(reversed(chosen(node)))
            elif name in ("m:oMath", "m:oMathPara"):
                self._story.put(formula(latex_of(node)))
            elif name == "w:altChunk":
                self._chunk(node)
            elif name not in PASSED_OVER:
                self._reader.passing(node)
                if name not in ("w:del", "w:moveFrom"):
                    stack.extend(reversed(node))
        self._story.end_list()
        return self._story

    # ------------------------------------------------------------------------------------------------------- paragraphs

    def _paragraph(self, element: Node) -> list[Box]:
        properties = child(element, "w:pPr")
        style_id = value(properties, "w:pStyle")
        look = self._styles.look(style_id)
        # The paragraph decides before its style: it can turn off the break of a heading style.
        before = child(properties, "w:pageBreakBefore")
        if look.breaks_before if before is None else attribute(before, "val", "1") not in ("0", "false", "off"):
            self._story.break_page()
        said = self._reader.paragraph(element)
        if said.turned_before:
            self._story.turn_page()
        self._say(said, self._look(look, properties, said), style_id, properties)
        # The properties of a section are in its last paragraph, which is still part of it.
        if child(properties, "w:sectPr") is not None:
            self._next_section()
        # A page that begins inside the paragraph begins after it here: paragraphs are not divided.
        if said.turned_inside:
            self._story.turn_page()
        return said.boxes

    def _look(self, look: Look, properties: Node | None, said: Said) -> Look:
        outline = value(properties, "w:outlineLvl")
        # An outline level on a long paragraph is for the navigation pane of Word. Readers see a text.
        if look.kind or not outline or not 0 <= whole(outline, 9) < 9 or len(said.words()) > _LONGEST_HEADING:
            return look
        return Look(look.name, "heading", whole(outline) + 1, look.list_id, look.list_level)

    def _say(self, said: Said, look: Look, style_id: str, properties: Node | None) -> None:
        shown = said.words().strip()
        mark, depth = self._numbering.mark(properties, look, style_id) if shown else (None, 0)
        words: list[str] = []
        others: list[Element | Aside] = []
        for part in said.parts:
            if isinstance(part, str):
                words.append(part)
            elif isinstance(part, PageBreak):
                # The rest of the paragraph is on the next page. It has no mark of its own: the item was counted above.
                self._words("".join(words), said, look, mark, depth, others)
                self._story.break_page()
                words, others, mark = [], [], None
            elif is_formula(part):
                # A formula of its own line divides the paragraph. In a heading or list item it stays in the text,
                # because these are one element.
                if mark is not None or look.kind:
                    words.append(in_words(part))
                    continue
                self._words("".join(words), said, look, mark, depth, others)
                self._story.put(part)
                words, others = [], []
            elif not isinstance(part, Box):
                others.append(part)
        self._words("".join(words), said, look, mark, depth, others)
        if not said.parts:
            self._rule(child(properties, "w:pBdr"))

    def _words(
        self, words: str, said: Said, look: Look, mark: Mark | None, depth: int, others: list[Element | Aside]
    ) -> None:
        """Add a paragraph, or the part of one between breaks and formulas, and then the elements anchored in it."""
        shown = words.strip()
        if shown and look.kind in ("heading", "title", "subtitle"):
            label = f"{mark.label} " if mark is not None and mark.label else ""
            style = {"style": look.kind} if look.kind != "heading" else {}
            # A heading is bold by itself.
            line = said.styled(" ".join(shown.split()), links_only=True)
            self._story.put(
                heading(joined((" ".join(label.split()), " ", line)) if label else line, look.level, **style)
            )
        elif shown and mark is not None:
            self._story.put_item(said.styled(shown), said.links, mark, depth)
        elif shown and not (look.kind == "continued" and self._story.extends_item(said.styled(shown))):
            # The picture of this paragraph is not in the story yet: it follows the words.
            own = next((one for one in others if isinstance(one, Element) and one.category == "image"), None)
            if not (look.kind == "caption" and self._story.is_caption(shown, own)):
                self._put_text(words, shown, said, look)
        if said.fields:
            # A break or formula divides a paragraph into parts, and each part passes here. Only the first one adds the
            # form.
            fields, said.fields = said.fields, []
            self._story.put_form(shown, fields)
        for other in others:
            self._put_beside(other)

    def _put_text(self, words: str, shown: str, said: Said, look: Look) -> None:
        if look.kind == "code":
            self._story.put_code(words.rstrip())
        elif len(shown) > 2 and not shown.strip("-_*=—─ ") and len(set(shown)) == 1:
            # A line drawn with characters.
            self._story.put_rule()
        elif shown.startswith("$") and shown.endswith("$") and said.parts == [words] and shown.count("$") == 2:
            # Some authors type LaTeX instead of inserting an equation.
            self._story.put(formula(shown.strip("$")))
        # The form that follows has this text as its own, unless the text is long.
        elif not (said.fields and len(shown) <= MAX_SUMMARY):
            self._story.put_text(said.styled(shown), said.links)

    def _rule(self, borders: Node | None) -> None:
        if any(value(borders, side) not in ("", "none", "nil") for side in ("w:top", "w:bottom", "w:between")):
            self._story.put_rule()

    # ----------------------------------------------------------------------------------------------------------- others

    def _table(self, element: Node) -> None:
        cells = WordCells(self._reader, self._styles, self._numbering)
        shown = read_table(element, cells.words, self._deleted)
        if shown is not None:
            self._story.put(shown)
        if cells.fields:
            self._story.put_form("", cells.fields)
        for other in cells.others:
            self._put_beside(other)
        if cells.is_turned:
            self._story.turn_page()

    def _deleted(self) -> None:
        self._reader.asides.deletions += 1

    def _put_beside(self, other: Element | Aside) -> None:
        for shown in self._notes.elements(other) if isinstance(other, Aside) else [other]:
            # Notes go to the end of the page, as in print. A comment follows the paragraph that it is about.
            self._story.put_beside(shown, is_note=isinstance(other, Aside) and other.kind != "comment")

    def _next_section(self) -> None:
        """Start the next section. The properties of a section are at its end, so its kind is looked up there."""
        self._section += 1
        following = self._sections[self._section] if self._section < len(self._sections) else None
        if value(following, "w:type") not in ("continuous", "nextColumn"):
            self._story.break_page()
        self._story.begin_section(self._section)

    def _chunk(self, node: Node) -> None:
        relation = self._reader.relations.get(attribute(node, "id"))
        target = relation.target if relation is not None else ""
        self._story.put(link(f"Inserted file {target.rpartition('/')[2]}", target))


# -------------------------------------------------------------------------------------------------- headers and footers


class WordMargins:
    """The headers and footers of each section, without those that a section inherits from the section before."""

    def __init__(self, package: Package, main: str, asides: Asides, sections: list[Node], *, even: bool) -> None:
        self._package = package
        self._relations = package.relations(main)
        self._asides = asides
        self._sections = sections
        self._even = even
        self._made: dict[int, Furniture] = {}

    def of(self, section: int) -> Furniture:
        """The headers and footers of a section."""
        if section not in self._made:
            self._made[section] = self._make(self._sections[section]) if section < len(self._sections) else Furniture()
        return self._made[section]

    def _make(self, properties: Node) -> Furniture:
        references = {
            (tag(node).removeprefix("w:").removesuffix("Reference"), attribute(node, "type", "default")): node
            for node in properties
            if tag(node) in ("w:headerReference", "w:footerReference")
        }
        result = Furniture()
        different_first = is_on(properties, "w:titlePg")
        # In reversed alphabetical order, headers come before footers, and the first page before the others.
        for (category, kind), node in sorted(references.items(), key=lambda entry: entry[0], reverse=True):
            # Word keeps these headers in the file when their switch is turned off, and does not show them.
            if (kind == "first" and not different_first) or (kind == "even" and not self._even):
                continue
            pages = {"first": "first page", "even": "even pages"}.get(kind, "odd pages" if self._even else "all pages")
            if kind == "default" and different_first and not self._even:
                pages = "all pages but the first"
            # Without a different first page, the default header is the one of the first page too.
            goes_first = kind == "first" or (kind == "default" and not different_first)
            (result.first if goes_first else result.others).extend(self._elements(node, category, pages))
        return result

    def _elements(self, node: Node, category: str, pages: str) -> list[Element]:
        relation = self._relations.get(attribute(node, "id"))
        if relation is None or relation.external:
            return []
        try:
            root = self._package.xml(relation.target)
        except DamagedPartError as error:
            return [note("annotation", f"A {category} cannot be read: {error}")]
        others: list[Element] = []
        words = with_bars(WordReader(self._package, relation.target, self._asides).plain(root, others))
        shown = [note(category, words, pages=pages)] if words else []
        return shown + [element for element in others if element.category in ("image", "chart", "diagram", "formula")]
