"""Web pages. The content is read, the furniture around it is not; sections under headings are pages."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from a2c_documents.model import Element, Facts, PagesSource, Source, UnreadableFileError
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.pictures import beside
from a2c_documents.parsers.common.reading import check_text, clean, decode_as, read_bytes
from a2c_documents.parsers.common.sections import by_heading, title_of
from a2c_documents.parsers.html.furniture import attribute, main_content, measure
from a2c_documents.parsers.html.parts import text_of
from a2c_documents.parsers.html.walk import Walk

_CHARSET = re.compile(
    rb"<(?:meta\b[^>]{0,200}?\bcharset|\?xml\b[^>]{0,100}?\bencoding)\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.I
)
_XHTML = re.compile(r"<\?xml\b|xmlns\s*=\s*[\"']http://www\.w3\.org/1999/xhtml")
_EMPTY = re.compile(r"<([A-Za-z][\w:-]*+)((?:\s[^<>]*)?)/>")
_VOID = frozenset(
    ("br", "hr", "img", "input", "meta", "link", "base", "col", "source", "track", "area", "embed", "wbr")
)
_AUTHORS = ("author", "dc.creator", "article:author")
_DATES = ("article:published_time", "date", "dc.date", "dcterms.created", "datepublished", "created")


def open_html(path: Path) -> Source:
    """A web page.

    Raises:
        UnreadableFileError: it is empty, too large, or no web page.
    """
    raw = read_bytes(path, "web page")
    check_text(raw, "web page")
    declared = _CHARSET.search(raw[:4_096])
    markup, encoding = decode_as(raw, declared[1].decode("ascii", "replace") if declared else "")
    tree = _parse(markup)
    facts = _facts(tree, encoding)
    elements = _elements(tree)
    for element in elements:
        if element.category == "image" and element.picture is None:
            element.picture = beside(path.parent, element.content["url"])
    if not elements:
        raise UnreadableFileError("this web page has no text: it is empty, or made by a script when it is opened")
    facts.title = facts.title or title_of(elements)
    return PagesSource(facts, paginate(by_heading(elements, facts.title)))


def html_elements(markup: str) -> list[Element]:
    """The elements of a page or a piece of one, in reading order. Addresses stay as they are written."""
    return _elements(_parse(markup))


def _parse(markup: str) -> Any:
    lexbor: Any = importlib.import_module("selectolax.lexbor")
    if _XHTML.search(markup[:2_000]):
        # In XML `<script/>` is empty; in HTML it would swallow the rest of the page.
        markup = _EMPTY.sub(_closed, markup)
    try:
        return lexbor.LexborHTMLParser(clean(markup))
    except (lexbor.SelectolaxError, ValueError, RuntimeError) as error:
        raise UnreadableFileError(f"this web page cannot be read: {error}") from None


def _closed(found: re.Match[str]) -> str:
    return found[0] if found[1].lower() in _VOID else f"<{found[1]}{found[2]}></{found[1]}>"


def _elements(tree: Any) -> list[Element]:
    body = tree.body if tree.body is not None else tree.root
    if body is None:
        return []
    base = tree.css_first("base[href]")
    base_url = attribute(base, "href") if base is not None else ""
    measures = measure(body)
    found = Walk(measures, base_url).elements(main_content(body, measures))
    # A page of nothing but navigation is an index, and that is what it has to say.
    return found or Walk(measures, base_url, everything=True).elements(body)


def _facts(tree: Any, encoding: str) -> Facts:
    named: dict[str, str] = {}
    for meta in tree.css("meta"):
        name = (attribute(meta, "name") or attribute(meta, "property") or attribute(meta, "itemprop")).lower()
        if name and (value := attribute(meta, "content").strip()):
            named.setdefault(name, value)
    title = tree.css_first("head title")
    language = attribute(tree.root, "lang") if tree.root is not None else ""
    return Facts(
        title=(text_of(title) if title is not None else "") or named.get("og:title", ""),
        author=next((name for key in _AUTHORS if (name := named.get(key, "")) and "://" not in name), ""),
        keywords=[word for part in re.split(r"[,;]", named.get("keywords", "")) if (word := part.strip())][:50],
        summary=named.get("description") or named.get("og:description", ""),
        created=next((named[name] for name in _DATES if name in named), ""),
        details={"encoding": encoding} | ({"language": language} if language else {}),
    )
