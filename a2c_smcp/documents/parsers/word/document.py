"""Word documents: the body in reading order, on pages by its breaks or headings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from a2c_smcp.documents.model import Facts, PagesSource, Source, UnreadableFileError, note
from a2c_smcp.documents.paging import paginate
from a2c_smcp.documents.parsers.office.package import Package
from a2c_smcp.documents.parsers.office.xml import MAX_XML, DamagedPartError, parse_xml, whole, words_of
from a2c_smcp.documents.parsers.word.body import Body
from a2c_smcp.documents.parsers.word.inline import Asides, Reader
from a2c_smcp.documents.parsers.word.lists import Numbering
from a2c_smcp.documents.parsers.word.notes import Margins, Notes
from a2c_smcp.documents.parsers.word.pages import Item, cut
from a2c_smcp.documents.parsers.word.styles import Styles
from a2c_smcp.documents.parsers.word.xml import child, inside, is_on, tag, without_entities

_WHAT = "Word document"


def open_word(path: Path) -> Source:
    """Open a docx, docm or dotx.

    Raises:
        UnreadableFileError: it is damaged, encrypted or something else.
    """
    package = Package(path, _WHAT)
    try:
        main = next((found.target for found in package.relations("").values() if found.kind == "officeDocument"), "")
        if main not in package:
            main = "word/document.xml"
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
    parts = {relation.kind: relation.target for relation in package.relations(main).values()}
    styles = Styles(_optional(package, parts.get("styles", "")))
    numbering = Numbering(_optional(package, parts.get("numbering", "")), styles)
    sections = [node for node in inside(body, "w:sectPr") if tag(node.getparent()) in ("w:pPr", "w:body")]
    margins = Margins(
        package, main, asides, sections,
        even=is_on(_optional(package, parts.get("settings", "")), "w:evenAndOddHeaders"),
    )  # fmt: skip
    reader = Reader(package, main, asides)
    items = Body(reader, styles, numbering, Notes(package, main, asides), sections).read(body)
    items.extend(Item("note", note("annotation", words)) for words in _remarks(asides, entities=entities))
    return cut(items, margins.of)


def _optional(package: Package, name: str) -> Any | None:
    """A part that a document can do without."""
    try:
        return package.xml(name) if name in package else None
    except DamagedPartError:
        return None


def _remarks(asides: Asides, *, entities: bool) -> list[str]:
    """What a reader should know about the document as a whole."""
    remarks: list[str] = []
    if asides.deletions:
        many = "1 deletion" if asides.deletions == 1 else f"{asides.deletions} deletions"
        remarks.append(f"Changes are tracked in this document; {many} left out here.")
    if entities:
        remarks.append("This document declares XML entities, which Word does not do; they are left out here.")
    return remarks


def _facts(package: Package) -> Facts:
    parts = {relation.kind: relation.target for relation in package.relations("").values()}
    core = _optional(package, parts.get("core-properties", "docProps/core.xml"))
    known: dict[str, str] = {}
    for node in core if core is not None else ():
        name = node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
        known.setdefault(name, words_of(node))
    app = _optional(package, parts.get("extended-properties", "docProps/app.xml"))
    counts = {tag(node): whole(words_of(node)) for node in app} if app is not None else {}
    details: dict[str, Any] = {
        name: counts[key] for name, key in (("printed_pages", "Pages"), ("words", "Words")) if counts.get(key)
    }
    return Facts(
        title=known.get("title", ""),
        author=known.get("creator", ""),
        keywords=keywords_of(known.get("keywords", "")),
        summary=". ".join(filter(None, (known.get("subject", ""), known.get("description", "")))),
        created=known.get("created", ""),
        details=details,
    )


def keywords_of(words: str) -> list[str]:
    """Keywords as people separate them: by commas or semicolons, else not at all."""
    return [word.strip() for word in re.split(r"[,;，；、]", words) if word.strip()]
