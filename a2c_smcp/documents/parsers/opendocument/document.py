"""OpenDocument text and slides (odt, odp): a package of XML, read as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from a2c_smcp.documents.model import Element, Facts, Page, PagesSource, Source, UnreadableFileError, note
from a2c_smcp.documents.paging import paginate
from a2c_smcp.documents.parsers.office.package import Package
from a2c_smcp.documents.parsers.office.xml import (
    MAX_XML,
    DamagedPartError,
    attribute,
    local,
    parse_xml,
    whole,
    words_of,
)
from a2c_smcp.documents.parsers.opendocument.body import Body
from a2c_smcp.documents.parsers.opendocument.objects import Objects
from a2c_smcp.documents.parsers.opendocument.slides import Slides
from a2c_smcp.documents.parsers.opendocument.styles import Styles
from a2c_smcp.documents.parsers.opendocument.text import Reader
from a2c_smcp.documents.parsers.word.pages import Furniture, Item, cut
from a2c_smcp.documents.parsers.word.xml import without_entities

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
        if _encrypted(package):
            raise UnreadableFileError(f"this {what} is protected by a password")
        if package.size("content.xml") > MAX_XML:
            raise UnreadableFileError(f"this {what} is too long to be read")
        raw, entities = without_entities(package.read("content.xml"))
        content = parse_xml(raw)
        body = content.find(f"{{*}}body/{{*}}{kind}")
        if body is None:
            raise UnreadableFileError(f"this is no {what}, or a damaged one: there is no {kind} in it")
        common = _optional(package, "styles.xml")
        styles = Styles((common, content))
        reader = Reader(Objects(package))
        if kind == "presentation":
            pages = Slides(reader, styles).read(body)
        else:
            pages = _text_pages(body, common, styles, reader)
        if entities:
            pages[-1].elements.append(note("annotation", _ENTITIES))
        return PagesSource(_facts(package), paginate(pages))
    except DamagedPartError as error:
        raise UnreadableFileError(f"this {what} is damaged: {error}") from None
    finally:
        package.close()


def _optional(package: Package, name: str) -> Any | None:
    try:
        return package.xml(name) if name in package else None
    except DamagedPartError:
        return None


def _encrypted(package: Package) -> bool:
    manifest = _optional(package, "META-INF/manifest.xml")
    return manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None


def _text_pages(body: Any, common: Any | None, styles: Styles, reader: Reader) -> list[Page]:
    text = Body(reader, styles)
    text.read(body)
    if not any(item.what == "section" for item in text.items[:2]):
        # The first paragraph names no page style: the document begins with the usual one.
        for item in text.items:
            item.section += 1
        text.items.insert(0, Item("section"))
        text.masters.insert(0, "Standard")
    if text.deletions:
        many = "1 deletion" if text.deletions == 1 else f"{text.deletions} deletions"
        remark = f"Changes are tracked in this document; {many} left out here."
        text.items.append(Item("note", note("annotation", remark)))
    masters = {attribute(node, "name"): node for node in common.iter("{*}master-page")} if common is not None else {}
    made: dict[int, Furniture] = {}

    def furniture(section: int) -> Furniture:
        if section not in made:
            repeated = section > 0 and text.masters[section] == text.masters[section - 1]
            made[section] = Furniture() if repeated else _furniture(masters, text.masters[section], reader)
        return made[section]

    return cut(text.items, furniture)


def _furniture(masters: dict[str, Any], name: str, reader: Reader) -> Furniture:
    """The headers and footers of a page style, and those of the style of the pages after the first."""
    master = masters.get(name)
    if master is None:
        return Furniture()
    result = Furniture()
    following = attribute(master, "next-style-name")
    after = masters.get(following) if following and following != name else None
    kinds = {local(node) for node in master}
    for node in master:
        category, _, variant = local(node).partition("-")
        if category not in ("header", "footer") or attribute(node, "display") == "false":
            continue
        pages = {"first": "first page", "left": "even pages"}.get(variant, "all pages")
        first = variant == "first" or (not variant and f"{category}-first" not in kinds)
        (result.first if first else result.others).extend(_margin(node, category, pages, reader))
    for node in after if after is not None else ():
        category = local(node)
        if category in ("header", "footer") and attribute(node, "display") != "false":
            result.others.extend(_margin(node, category, "all pages but the first", reader))
    return result


def _margin(node: Any, category: str, pages: str, reader: Reader) -> list[Element]:
    words = reader.plain(node)
    return [note(category, words, pages=pages)] if words else []


def _facts(package: Package) -> Facts:
    root = _optional(package, "meta.xml")
    known: dict[str, str] = {}
    keywords: list[str] = []
    details: dict[str, Any] = {}
    for node in root.iterfind(".//{*}meta/*") if root is not None else ():
        name = local(node)
        if name == "keyword":
            keywords.extend(filter(None, (word.strip() for word in words_of(node).split(","))))
        elif name == "document-statistic":
            counts = {"printed_pages": "page-count", "words": "word-count"}
            details = {key: count for key, told in counts.items() if (count := whole(attribute(node, told)))}
        else:
            known.setdefault(name, words_of(node))
    return Facts(
        title=known.get("title", ""),
        author=known.get("initial-creator", "") or known.get("creator", ""),
        keywords=keywords,
        summary=". ".join(filter(None, (known.get("subject", ""), known.get("description", "")))),
        created=known.get("creation-date", ""),
        details=details,
    )
