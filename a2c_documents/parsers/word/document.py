"""Word documents: the body in reading order, on pages by its breaks or headings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from a2c_documents.model import Element, Facts, PagesSource, Source, UnreadableFileError, note
from a2c_documents.paging import paginate
from a2c_documents.parsers.office.facts import core_facts
from a2c_documents.parsers.office.ooxml import child, inside, is_on, tag
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.pages import cut
from a2c_documents.parsers.office.story import deletions_remark
from a2c_documents.parsers.office.xml import MAX_XML, DamagedPartError, parse_xml, whole, without_entities, words_of
from a2c_documents.parsers.word.body import Body
from a2c_documents.parsers.word.inline import Asides, Reader
from a2c_documents.parsers.word.notes import Margins, Notes
from a2c_documents.parsers.word.numbering import Numbering
from a2c_documents.parsers.word.styles import Styles

_WHAT = "Word document"
_COUNTS = {"printed_pages": "Pages", "words": "Words"}


def open_word(path: Path) -> Source:
    """Open a docx, docm or dotx.

    Raises:
        UnreadableFileError: it is damaged, encrypted or something else.
    """
    package = Package(path, _WHAT)
    try:
        main = package.main_part("word/document.xml")
        if main not in package:
            raise UnreadableFileError("this is no Word document, or a damaged one: there is no text in it")
        return PagesSource(_facts(package), paginate(_pages(package, main)))
    except DamagedPartError as error:
        raise UnreadableFileError(f"this Word document is damaged: {error}") from None
    finally:
        package.close()


def _pages(package: Package, main: str) -> list[Any]:
    if package.size(main) > MAX_XML:
        raise UnreadableFileError("this Word document is too long to be read")
    raw, entities = without_entities(package.read(main))
    root = parse_xml(raw)
    body = child(root, "w:body")
    if body is None:
        raise UnreadableFileError("this is no Word document, or a damaged one: there is no text in it")
    asides = Asides()
    styles = Styles(package.optional(package.related(main, "styles")))
    numbering = Numbering(package.optional(package.related(main, "numbering")), styles)
    sections = [node for node in inside(body, "w:sectPr") if tag(node.getparent()) in ("w:pPr", "w:body")]
    margins = Margins(
        package, main, asides, sections,
        even=is_on(package.optional(package.related(main, "settings")), "w:evenAndOddHeaders"),
    )  # fmt: skip
    reader = Reader(package, main, asides)
    story = Body(reader, styles, numbering, Notes(package, main, asides), sections).read(body)
    for remark in _remarks(package, asides, entities=entities):
        story.put_beside(remark, is_note=True)
    return cut(story.steps, margins.of)


def _remarks(package: Package, asides: Asides, *, entities: bool) -> Iterator[Element]:
    """What a reader should know about the document as a whole."""
    for reason in package.lost.values():
        yield note("annotation", f"Pictures and links of this document may be missing: {reason}")
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
