"""PowerPoint presentations (pptx, pptm, ppsx): one page for each slide, read from the archive on request."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from a2c_documents.model import Element, Facts, Page, Source, UnreadableFileError, heading, link, note
from a2c_documents.paging import MAX_PAGE_BYTES, paginate
from a2c_documents.parsers.office.comments import Comment, speaker_notes, thread_elements, threads
from a2c_documents.parsers.office.facts import core_facts
from a2c_documents.parsers.office.lazy import Later, LazySource
from a2c_documents.parsers.office.package import Package, Relation
from a2c_documents.parsers.office.xml import DamagedPartError, Node, attribute, number, words_of
from a2c_documents.parsers.slides.objects import SlidePart, frame_elements, picture_elements
from a2c_documents.parsers.slides.paragraphs import paragraphs_of, plain, text_elements
from a2c_documents.parsers.slides.shapes import TITLES, Design, Shape, shapes_of
from a2c_documents.wording import shortened

MAX_SLIDES = 20_000
MAX_KEPT = 10_000_000
"""Limit for the bytes of slides that were parsed for their titles and are kept for their pages."""
_MAX_TITLE = 120
_FOOTERS = {"ftr": "footer", "dt": "footer", "hdr": "header"}


def open_slides(path: Path) -> Source:
    """Open a presentation.

    Raises:
        UnreadableFileError: it is damaged, encrypted or not a presentation.
    """
    package = Package(path, "presentation")
    try:
        deck = _Deck(package)
        pages = [page for number_, name in enumerate(deck.slides, 1) for page in deck.pages(number_, name)]
    except DamagedPartError as error:
        package.close()
        raise UnreadableFileError(f"this file is damaged or not a valid presentation: {error}") from None
    return LazySource(_facts(package, deck), pages, package.close)


def _facts(package: Package, deck: _Deck) -> Facts:
    facts = core_facts(package)
    facts.details = {"slides": len(deck.slides), "size": deck.size}
    return facts


class _Deck:
    """The state that all slides share: their order, their designs, the authors of comments."""

    def __init__(self, package: Package) -> None:
        self.package = package
        main = package.main_part("ppt/presentation.xml")
        root, self.relations = package.xml(main), package.relations(main)
        listed = [self.relations.get(_relation_id(one)) for one in root.iterfind("{*}sldIdLst/{*}sldId")]
        self.slides = [one.target if one is not None else "" for one in listed][:MAX_SLIDES]
        size = root.find("{*}sldSz")
        # Files measure in English Metric Units, 12,700 to a point.
        self.size = [number(size.get(key)) / 12_700 for key in ("cx", "cy")] if size is not None else []
        self._designs: dict[str, Design] = {}
        self._trees: dict[int, Node] = {}
        self._room = MAX_KEPT

    def pages(self, slide: int, name: str) -> list[Page | Later]:
        """The page of a slide. It is read later, unless it is so long that it may become several pages."""
        # The number of pages must be known on opening. A slide with less XML than that fits on one page, because the
        # XML of a shape is longer than its element.
        if self.package.size(name) > MAX_PAGE_BYTES:
            return list(paginate([self.page(slide, name)]))
        try:
            tree = self.package.xml(name)
        except DamagedPartError:
            # A damaged slide still gets its page, so that the numbers of the others stay right; the page gives the
            # reason.
            return [Later(f"Slide {slide}", partial(self.page, slide, name))]
        # The titles of all pages are needed on opening, so every slide is parsed once anyway. Keeping the trees of
        # ordinary presentations saves parsing them again; the bound limits the memory for large ones.
        if self._room > 0:
            self._room -= self.package.size(name)
            self._trees[slide] = tree
        shapes = shapes_of(tree, self._design(name))
        return [Later(_title(shapes, slide), partial(self.page, slide, name))]

    def page(self, slide: int, name: str) -> Page:
        """Read a slide."""
        try:
            # Each tree is used once: a page that was read is in the store, and its tree can go.
            tree = self._trees.pop(slide, None)
            tree = self.package.xml(name) if tree is None else tree
        except DamagedPartError as error:
            return Page(f"Slide {slide}", [note("annotation", f"This slide cannot be read: {error}")])
        part = SlidePart(self.package, self.package.relations(name))
        design = self._design(name)
        shapes = shapes_of(tree, design)
        elements: list[Element] = []
        if tree.get("show") in ("0", "false"):
            elements.append(note("annotation", "This slide is hidden.", kind="hidden"))
        if name in self.package.lost:
            reason = self.package.lost[name]
            elements.append(note("annotation", f"Pictures and links of this slide may be missing: {reason}"))
        for shape in shapes:
            if shape.placeholder not in _FOOTERS and shape.placeholder != "sldNum":
                elements.extend(_elements(shape, part, design, slide))
        # Footers are last wherever they are on the slide, and the number of the slide is left out: the page has it.
        elements.extend(element for shape in shapes for element in _footer(shape, slide))
        elements.extend(self._remarks(part))
        for element in elements:
            element.metadata.setdefault("slide", slide)
        return Page(_title(shapes, slide), elements)

    def _design(self, name: str) -> Design:
        layout = self.package.related(name, "slideLayout")
        # Hundreds of slides share a few layouts.
        if layout not in self._designs:
            self._designs[layout] = Design(self.package, layout)
        return self._designs[layout]

    def _remarks(self, part: SlidePart) -> list[Element]:
        """Speaker notes and comments of a slide."""
        remarks: list[Element] = []
        for relation in part.relations.values():
            if relation.kind == "notesSlide":
                remarks.extend(_notes(self.package, relation.target))
        for relation in part.relations.values():
            if relation.kind == "comments":
                remarks.extend(comments_of(self.package, relation.target, self.relations))
        return remarks


def _relation_id(entry: Node) -> str:
    """The id of the relation, not the plain `id` that an entry has too."""
    # An entry has `id="256"` and `r:id="rId2"`, and `attribute` would find the first.
    return next((str(value) for key, value in entry.items() if key.endswith("}id")), "")


def _notes(package: Package, name: str) -> list[Element]:
    try:
        root = package.xml(name)
    except DamagedPartError as error:
        return [note("annotation", f"The notes cannot be read: {error}")]
    found: list[str] = []
    for shape in root.iterfind(".//{*}sp"):
        mark = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
        # A notes page also has the picture of the slide, the date and the page number as placeholders.
        if mark is not None and attribute(mark, "type") == "body":
            found.append(plain(shape.find("{*}txBody")))
    words = "\n".join(filter(None, found))
    return [speaker_notes(words)] if words else []


def _title(shapes: list[Shape], slide: int) -> str:
    """The title of a slide, or else its first text, or else its number."""
    ordered = [shape for shape in shapes if shape.placeholder in TITLES] + shapes
    for shape in ordered:
        if shape.placeholder not in _FOOTERS and shape.placeholder != "sldNum" and shape.kind == "sp":
            words = plain(shape.element.find("{*}txBody"))
            # A title of two lines is one title. Of another text, the first line is enough to name the slide.
            words = " ".join((words if shape.placeholder in TITLES else words.partition("\n")[0]).split())
            if words:
                return shortened(words, _MAX_TITLE)
    return f"Slide {slide}"


def _metadata(shape: Shape, slide: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {"slide": slide, "shape": shape.name}
    if shape.box is not None:
        left, top, width, height = shape.box
        metadata["box"] = [left, top, round(left + width, 2), round(top + height, 2)]
    return metadata


def _footer(shape: Shape, slide: int) -> list[Element]:
    category = _FOOTERS.get(shape.placeholder or "")
    words = plain(shape.element.find("{*}txBody")) if category else ""
    if not category or not words:
        return []
    element = note(category, words)
    element.metadata = _metadata(shape, slide)
    return [element]


def _elements(shape: Shape, part: SlidePart, design: Design, slide: int) -> list[Element]:
    metadata = _metadata(shape, slide)
    elements: list[Element] = []
    if shape.kind == "graphicFrame":
        elements = frame_elements(shape, part, metadata)
    elif shape.kind == "pic" or shape.element.find("{*}spPr/{*}blipFill/{*}blip") is not None:
        elements = picture_elements(shape, part, metadata)
    body = shape.element.find("{*}txBody")
    if shape.placeholder in TITLES:
        words = " ".join(plain(body).split())
        elements += [heading(words, 1, **metadata)] if words else []
    elif body is not None:
        elements += text_elements(list(paragraphs_of(body, _styles(shape, design), part.relations)), metadata)
    mark = shape.element.find("{*}*/{*}cNvPr/{*}hlinkClick")
    target = part.relations.get(attribute(mark, "id")) if mark is not None else None
    # Internal links lead to another slide, such as the buttons “next” and “back”.
    if target is not None and target.external:
        elements.append(link(shape.alt or " ".join(plain(body).split()) or shape.name, target.target, **metadata))
    return elements


def _styles(shape: Shape, design: Design) -> list[Node]:
    inherited = design.placeholders(shape.placeholder, shape.index) if shape.placeholder is not None else []
    styles = [one.find("{*}txBody/{*}lstStyle") for one in inherited] + [design.styles(shape.placeholder)]
    return [style for style in styles if style is not None]


# ------------------------------------------------------------------------------------------------------------- comments


def comments_of(package: Package, name: str, relations: dict[str, Relation]) -> list[Element]:
    """The comments in a part; `relations` are those of the presentation, which lists the authors."""
    try:
        root = package.xml(name)
    except DamagedPartError as error:
        return [note("annotation", f"The comments cannot be read: {error}")]
    authors = _authors(package, relations)
    found = [comment for entry in root.iterfind(".//{*}cm") for comment in _comments(entry, authors) if comment.words]
    return [element for thread in threads(found) for element in thread_elements(thread)]


def _authors(package: Package, relations: dict[str, Relation]) -> dict[str, str]:
    names: dict[str, str] = {}
    for relation in relations.values():
        root = package.optional(relation.target) if relation.kind in ("commentAuthors", "authors") else None
        names.update({attribute(one, "id"): attribute(one, "name") for one in root} if root is not None else {})
    return names


def _comments(entry: Node, authors: dict[str, str]) -> Iterator[Comment]:
    """A comment and the replies inside it. Comments of the older kind have no id; author and number identify them."""
    own = attribute(entry, "id") or _older_id(entry)
    # The newer kind has replies inside the comment. The older kind has them beside it, and names the comment that a
    # reply answers in an extension.
    yield _comment(entry, own, _older_id(entry.find(".//{*}parentCm")), authors)
    for reply in entry.iterfind("{*}replyLst/{*}reply"):
        yield _comment(reply, attribute(reply, "id"), own, authors)


def _comment(entry: Node, own: str, parent: str, authors: dict[str, str]) -> Comment:
    words = plain(entry.find("{*}txBody")) or words_of(entry.find("{*}text"))
    date = attribute(entry, "created") or attribute(entry, "dt")
    resolved = attribute(entry, "status") in ("resolved", "closed")
    return Comment(own, words, authors.get(attribute(entry, "authorId"), ""), date, parent, resolved)


def _older_id(entry: Node | None) -> str:
    return f"{attribute(entry, 'authorId')}/{attribute(entry, 'idx')}" if entry is not None else ""
