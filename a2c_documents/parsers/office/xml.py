"""Safe access to XML from untrusted files: no entities, no network, bounded size and depth.

Names are matched without their namespace, because the strict and the transitional variant of Office files differ in
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Reversible
from functools import lru_cache
from typing import Any

from lxml import etree

Node = etree._Element  # pyright: ignore[reportPrivateUsage]
"""An element of a tree. lxml has no public name for its class."""
Nodes = Reversible[Node]
"""An element as the sequence of its children, or a list of elements."""
MAX_XML = 60_000_000
"""Limit for the bytes of one XML document."""
# The five entities that XML defines itself stay: they are escaped text, not declarations.
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z_:][A-Za-z0-9_:.-]{0,100};")


class DamagedPartError(Exception):
    """A part of a file that cannot be read. The message is shown to users."""


def parse_xml(raw: bytes, *, recover: bool = False) -> Node:
    """Parse a document; with `recover`, as much as possible of a document that is not well-formed.

    Raises:
        DamagedPartError: the XML is invalid or too large.
    """
    if len(raw) > MAX_XML:
        raise DamagedPartError(f"{len(raw) // 1_000_000} MB of XML exceed the limit of {MAX_XML // 1_000_000} MB")
    try:
        root = etree.fromstring(raw, _parser(recover))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DamagedPartError(f"invalid XML: {getattr(error, 'msg', error)}") from None
    if root is None:
        raise DamagedPartError("invalid XML: it is empty")
    # Only a document type can declare entities. Without one, there is nothing to search the tree for.
    if root.getroottree().docinfo.doctype:
        etree.strip_elements(root, etree.Entity, with_tail=False)
    return root


@lru_cache
def _parser(recover: bool) -> etree.XMLParser:
    # Without `huge_tree`, libxml2 limits the depth of the tree and the length of a text. Without `resolve_entities`,
    # references stay in the tree as nodes of their own, which `parse_xml` removes.
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True,
        recover=recover,
    )  # fmt: skip


def without_entities(raw: bytes) -> tuple[bytes, bool]:
    """A document without the entities that it declares, and whether it declares any. Office programs never do."""
    # A document type must precede the root element, so the first bytes are enough to find it. It is cut out before the
    # parser sees a declaration. The references to its entities must go as well: the parser rejects undeclared ones.
    start = raw[:2_000].find(b"<!DOCTYPE")
    if start < 0:
        return raw, False
    bracket, end = raw.find(b"[", start), raw.find(b">", start)
    if 0 <= bracket < end:
        end = raw.find(b"]>", bracket) + 1
    return (raw[:start] + _ENTITY.sub(b"", raw[end + 1 :]), True) if end > 0 else (raw, False)


def local(element: Node) -> str:
    """The name of an element without its namespace; empty for other nodes (entities, instructions)."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


_qualified: dict[tuple[Any, str], str] = {}


def attribute(element: Node | None, name: str, default: str = "") -> str:
    """An attribute, in any namespace."""
    if element is None:
        return default
    value = element.get(name)
    # Attributes have no namespace, or mostly that of their element: two lookups avoid the search in nearly all cases.
    if value is None:
        value = element.get(_beside(element.tag, name))
    if value is None:
        return next((known for key, known in element.items() if key.rpartition("}")[2] == name), default)
    return value


def _beside(tag: Any, name: str) -> str:
    """The name of an attribute in the namespace of its element."""
    found = _qualified.get((tag, name))
    if found is None:
        space, bracket, _ = tag.rpartition("}") if isinstance(tag, str) else ("", "", "")
        found = f"{space}{bracket}{name}"
        # The bound protects against files with invented names.
        if len(_qualified) < 10_000:
            _qualified[tag, name] = found
    return found


def found(element: Node | None, *names: str) -> Iterator[Node]:
    """All elements below an element with one of these names, in any namespace, except in fallbacks for older
    programs."""
    # `iter` of lxml cannot leave out a subtree, and a fallback repeats the content of its choice: texts and pictures
    # would appear twice.
    waiting = list(reversed(element)) if element is not None else []
    while waiting:
        one = waiting.pop()
        name = local(one)
        if name != "Fallback":
            if name in names:
                yield one
            waiting.extend(reversed(one))


def first(element: Node | None, *names: str) -> Node | None:
    """The first element below an element with one of these names."""
    return next(found(element, *names), None)


def words_of(element: Node | None) -> str:
    """The text of an element, with whitespace collapsed."""
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def number(value: Any, default: float = 0) -> float:
    """A number in an attribute; the default if it is not a number."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        return default
    # The comparison is false for NaN as well. Infinity and NaN would make `int` fail in `whole`; above 1e15, a float
    # does not hold every integer.
    return result if abs(result) < 1e15 else default


def whole(value: Any, default: int = 0) -> int:
    """An integer in an attribute; the default if it is not a number."""
    return int(number(value, default))


# -------------------------------------------------------------------------------------------------------------- lengths


_PIXEL = 9_525
"""English Metric Units, the unit of drawings."""
_POINTS = {"cm": 72 / 2.54, "mm": 72 / 25.4, "in": 72.0, "inch": 72.0, "pt": 1.0, "px": 0.75, "pc": 12.0}
_LENGTH = re.compile(r"(-?[\d.]{1,12})(cm|mm|inch|in|pt|px|pc)", re.IGNORECASE)


def points(length: str) -> float | None:
    """A length with its unit, such as "2.5cm", in points; None if it is not a length."""
    found = _LENGTH.fullmatch(length.strip())
    return number(found[1]) * _POINTS[found[2].lower()] if found else None


def pixels(length: str) -> int:
    """A length with its unit in pixels; 0 if it is not a length."""
    return round((points(length) or 0) * 96 / 72)


def drawn_pixels(units: Any) -> int:
    """A length in the units of drawings, in pixels."""
    return round(number(units) / _PIXEL)
