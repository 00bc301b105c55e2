"""OpenDocument text and slides (odt, odp): a package of XML, read as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from a2c_documents.model import Page, PagesSource, Source, UnreadableFileError, note
from a2c_documents.paging import paginate
from a2c_documents.parsers.office.facts import opendocument_facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.pages import Step, cut
from a2c_documents.parsers.office.story import deletions_remark
from a2c_documents.parsers.office.xml import MAX_XML, DamagedPartError, parse_xml, without_entities
from a2c_documents.parsers.opendocument.body import Body
from a2c_documents.parsers.opendocument.margins import Margins
from a2c_documents.parsers.opendocument.objects import Objects
from a2c_documents.parsers.opendocument.slides import Slides, slide_size
from a2c_documents.parsers.opendocument.styles import Styles
from a2c_documents.parsers.opendocument.text import Reader

_ENTITIES = "This document declares XML entities, which no office program does; they are left out here."


def open_odt(path: Path) -> Source:
    """Open a text document.

    Raises:
        UnreadableFileError: it is damaged, encrypted or something else.
    """
    return _open(path, "OpenDocument text", "text")


def open_odp(path: Path) -> Source:
    """Open a presentation.

    Raises:
        UnreadableFileError: it is damaged, encrypted or something else.
    """
    return _open(path, "OpenDocument presentation", "presentation")


def _open(path: Path, what: str, kind: str) -> Source:
    package = Package(path, what)
    try:
        if package.is_encrypted:
            raise UnreadableFileError(f"this {what} is protected by a password")
        if package.size("content.xml") > MAX_XML:
            raise UnreadableFileError(f"this {what} is too long to be read")
        raw, entities = without_entities(package.read("content.xml"))
        content = parse_xml(raw)
        body = content.find(f"{{*}}body/{{*}}{kind}")
        if body is None:
            raise UnreadableFileError(f"this is no {what}, or a damaged one: there is no {kind} in it")
        common = package.optional("styles.xml")
        styles = Styles((common, content))
        reader = Reader(Objects(package), styles)
        if kind == "presentation":
            pages = Slides(reader, styles).read(body)
        else:
            pages = _text_pages(body, common, styles, reader)
        if entities:
            pages[-1].elements.append(note("annotation", _ENTITIES))
        facts = opendocument_facts(package)
        if kind == "presentation":
            facts.details = {"slides": len(pages), "size": slide_size(common)}
        return PagesSource(facts, paginate(pages))
    except DamagedPartError as error:
        raise UnreadableFileError(f"this {what} is damaged: {error}") from None
    finally:
        package.close()


def _text_pages(body: Any, common: Any | None, styles: Styles, reader: Reader) -> list[Page]:
    text = Body(reader, styles)
    text.read(body)
    steps = text.story.steps
    if not any(step.what == "section" for step in steps[:2]):
        # The first paragraph names no page style: the document begins with the usual one.
        for step in steps:
            step.section += 1
        steps.insert(0, Step("section"))
        text.masters.insert(0, "Standard")
    if text.deletions:
        text.story.put_beside(deletions_remark(text.deletions), is_note=True)
    return cut(steps, Margins(common, text.masters, reader).of)
