"""OpenDocument texts, presentations and drawings (odt, odp, odg): opens the package; headers and footers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from a2c_documents.model import Element, Page, PagesSource, Source, UnreadableFileError, note
from a2c_documents.paging import paginate
from a2c_documents.parsers.office.facts import opendocument_facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.pages import Furniture, Step, cut, with_bars
from a2c_documents.parsers.office.story import deletions_remark
from a2c_documents.parsers.office.xml import (
    MAX_XML,
    DamagedPartError,
    Node,
    attribute,
    local,
    parse_xml,
    without_entities,
)
from a2c_documents.parsers.opendocument.body import OdfBody
from a2c_documents.parsers.opendocument.objects import Objects
from a2c_documents.parsers.opendocument.paragraphs import OdfReader
from a2c_documents.parsers.opendocument.slides import Slides, slide_size
from a2c_documents.parsers.opendocument.styles import OdfStyles

_ENTITIES = "This document declares XML entities, which no office program does; they are left out here."


def open_odt(path: Path) -> Source:
    """Open a text document.

    Raises:
        UnreadableFileError: it is damaged, encrypted or in another format.
    """
    return _open(path, "OpenDocument text", "text")


def open_odp(path: Path) -> Source:
    """Open a presentation.

    Raises:
        UnreadableFileError: it is damaged, encrypted or in another format.
    """
    return _open(path, "OpenDocument presentation", "presentation")


def open_odg(path: Path) -> Source:
    """Open a drawing. Its pages are read like slides.

    Raises:
        UnreadableFileError: it is damaged, encrypted or in another format.
    """
    return _open(path, "OpenDocument drawing", "drawing")


def _open(path: Path, what: str, kind: str) -> Source:
    package = Package(path, what)
    try:
        if package.is_encrypted:
            raise UnreadableFileError(f"this {what} is protected by a password")
        if package.size("content.xml") > MAX_XML:
            raise UnreadableFileError(f"this {what} is too large: its text has more than {MAX_XML // 1_000_000} MB")
        # As in Word files: office programs never declare entities, and files that do try to make the parser expand or
        # fetch something.
        raw, entities = without_entities(package.read("content.xml"))
        content = parse_xml(raw)
        body = content.find(f"{{*}}body/{{*}}{kind}")
        if body is None:
            raise UnreadableFileError(f"this file is not a valid {what}: it contains no {kind}")
        common = package.optional("styles.xml")
        styles = OdfStyles((common, content))
        reader = OdfReader(Objects(package), styles)
        is_text = kind == "text"
        pages = _text_pages(body, common, styles, reader) if is_text else Slides(reader, styles).read(body)
        if entities:
            pages[-1].elements.append(note("annotation", _ENTITIES))
        for reason in package.damaged.values():
            remark = f"Headings, lists and formats of this document may be missing: {reason}"
            pages[-1].elements.append(note("annotation", remark))
        facts = opendocument_facts(package)
        if not is_text:
            name = "slides" if kind == "presentation" else "drawings"
            facts.details = {name: len(pages), "size": slide_size(common)}
        return PagesSource(facts, paginate(pages))
    except DamagedPartError as error:
        raise UnreadableFileError(f"this {what} is damaged: {error}") from None
    finally:
        package.close()


def _text_pages(body: Node, common: Node | None, styles: OdfStyles, reader: OdfReader) -> list[Page]:
    text = OdfBody(reader, styles)
    text.read(body)
    steps = text.story.steps
    if not any(step.what == "section" for step in steps[:2]):
        # The first paragraph names no page style: the document starts with the default one, as a section before all
        # others.
        for step in steps:
            step.section += 1
        steps.insert(0, Step("section"))
        # This is the name in every language; only its display name is translated.
        text.masters.insert(0, "Standard")
    if text.deletions:
        text.story.put_beside(deletions_remark(text.deletions), is_note=True)
    return cut(steps, OdfMargins(common, text.masters, reader).of)


# -------------------------------------------------------------------------------------------------- headers and footers


class OdfMargins:
    """The headers and footers of each section."""

    def __init__(self, styles: Node | None, sections: list[str], reader: OdfReader) -> None:
        nodes = styles.iter("{*}master-page") if styles is not None else ()
        self._masters = {attribute(node, "name"): node for node in nodes}
        self._sections = sections
        """The page style that each section starts with."""
        self._reader = reader
        self._made: dict[str, Furniture] = {}

    def of(self, section: int) -> Furniture:
        """The headers and footers of a section."""
        name = self._sections[section]
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Furniture:
        """The headers and footers of a page style, and of the style that follows it after the first page."""
        master = self._masters.get(name)
        following = attribute(master, "next-style-name")
        # A page style for a title page names the style of the pages after it. A style that follows itself is the usual
        # case.
        after = self._masters.get(following) if following != name else None
        result = Furniture()
        for kind, element in self._elements(master, "first page" if after is not None else "all pages"):
            (result.first if kind == "first" else result.others).append(element)
        result.others.extend(element for _, element in self._elements(after, "all pages but the first"))
        return result

    def _elements(self, master: Node | None, usual: str) -> Iterator[tuple[str, Element]]:
        """Headers and footers of a page style; the flag marks those on its first page."""
        nodes = [node for node in master if attribute(node, "display") != "false"] if master is not None else []
        kinds = {local(node) for node in nodes}
        for node in nodes:
            category, _, variant = local(node).partition("-")
            words = with_bars(self._reader.plain(node)) if category in ("header", "footer") else ""
            if words:
                pages = {"first": "first page", "left": "even pages"}.get(variant, usual)
                if not variant and f"{category}-left" in kinds:
                    pages = "odd pages"
                elif not variant and f"{category}-first" in kinds:
                    pages = "all pages but the first"
                # Without a header for the first page, the usual one is on the first page too.
                is_first = variant == "first" or (not variant and f"{category}-first" not in kinds)
                yield "first" if is_first else "others", note(category, words, pages=pages)
