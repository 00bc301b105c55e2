"""Drawings (SVG): title, description, size, and the words in them."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Any

from a2c_documents.model import (
    Element,
    Facts,
    Page,
    PagesSource,
    Source,
    UnreadableFileError,
    image,
    link,
    note,
    text,
)
from a2c_documents.paging import paginate
from a2c_documents.parsers.images.describing import described
from a2c_documents.parsers.office.xml import (
    MAX_XML,
    DamagedPartError,
    attribute,
    local,
    number,
    parse_xml,
    words_of,
)

MAX_SAID = 1_000
"""Characters of what a drawing says about itself."""
_NOT_SHOWN = frozenset({"defs", "metadata", "style", "script", "title", "desc"})
_UNITS = {"px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0, "em": 16.0, "": 1.0}


def open_svg(path: Path) -> Source:
    """Open an SVG file.

    Raises:
        UnreadableFileError: it is no SVG, or a damaged one.
    """
    if path.stat().st_size > MAX_XML:
        raise UnreadableFileError("this drawing is too large to read")
    raw = path.read_bytes()
    if not raw.strip():
        raise UnreadableFileError("the file is empty")
    damage = ""
    try:
        try:
            root = parse_xml(raw)
        except DamagedPartError as error:
            root, damage = parse_xml(raw, recover=True), str(error)
        if local(root) != "svg":
            raise DamagedPartError("it is XML of another kind")
    except DamagedPartError as error:
        raise UnreadableFileError(f"this is no SVG drawing, or a damaged one: {error}") from None
    title, about = words_of(root.find("{*}title"))[:MAX_SAID], words_of(root.find("{*}desc"))[:MAX_SAID]
    width, height = _size(root)
    size = f"SVG drawing, {width:g} × {height:g} pixels" if width and height else "SVG drawing"
    element = image(title or about, described(about if title else "", size), width=width, height=height)
    element.picture = partial(_read, path)
    remarks = [note("annotation", f"A part of this drawing cannot be read: {damage}")] if damage else []
    facts = Facts(title, _creator(root), [], about, details={"width": width, "height": height})
    return PagesSource(facts, paginate([Page(title, [element, *_words(root), *remarks])]))


def _read(path: Path) -> tuple[str, bytes]:
    try:
        return "image/svg+xml", path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"the drawing cannot be read: {error.strerror}") from None


def _size(root: Any) -> tuple[float, float]:
    """Width and height in pixels, else those of the view box; 0 if the drawing says nothing."""
    width, height = _length(attribute(root, "width")), _length(attribute(root, "height"))
    box = attribute(root, "viewBox").replace(",", " ").split()
    if (not width or not height) and len(box) == 4:
        width, height = number(box[2]), number(box[3])
    return round(width, 1), round(height, 1)


def _length(words: str) -> float:
    digits = words.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%")
    return number(digits) * _UNITS.get(words.strip()[len(digits) :].lower(), 0)


def _creator(root: Any) -> str:
    holder = root.find(".//{*}metadata//{*}creator")
    return words_of(holder)[:200]


def _words(root: Any) -> list[Element]:
    """All texts of a drawing as one, in the order of the file; then its links.

    Drawings are labels, and programs cut those to pieces, down to single letters: what stands on one line is one line.
    """
    lines: list[str] = []
    links: list[Element] = []
    level: float | None = None
    waiting = [root]
    while waiting:
        node = waiting.pop()
        name = local(node)
        if not name or name in _NOT_SHOWN:
            continue
        if name in ("text", "flowRoot", "foreignObject"):
            words, height = _lines(node), _height(node)
            if words and lines and height is not None and height == level:
                lines[-1] += f" {words}"
            elif words:
                lines.append(words)
            level = height
            continue
        if name == "a":
            url, words = attribute(node, "href"), words_of(node)
            if url and words and not url.startswith("#"):
                links.append(link(words, url))
        waiting.extend(reversed(node))
    return ([text("\n".join(lines))] if lines else []) + links


def _lines(node: Any) -> str:
    """The words of a text; a part that is placed on its own is a line of its own."""
    etree: Any = importlib.import_module("lxml.etree")
    lines = [""]
    for event, part in etree.iterwalk(node, events=("start", "end")):
        name = local(part)
        if event == "start":
            own_place = name == "tspan" and (part.get("y") is not None or part.get("dy", "0") != "0")
            if own_place or name in ("flowPara", "p", "div", "li", "br"):
                lines.append("")
            lines[-1] += (part.text or "") if name else ""
        elif part is not node:
            lines[-1] += part.tail or ""
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _height(node: Any) -> float | None:
    """Where a text stands, if it says so."""
    down = attribute(node, "y").split()
    return number(down[0]) if down else None
