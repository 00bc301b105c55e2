"""Office XML by short names such as `w:p`, the same for the strict and the transitional variant."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from a2c_documents.parsers.office.xml import Node, attribute

_OFFICE = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_MICROSOFT = "http://schemas.microsoft.com/office/"
_PREFIXES = {
    f"{_OFFICE}wordprocessingml/2006/main": "w",
    f"{_STRICT}wordprocessingml/main": "w",
    f"{_OFFICE}drawingml/2006/wordprocessingDrawing": "wp",
    f"{_STRICT}drawingml/wordprocessingDrawing": "wp",
    f"{_OFFICE}drawingml/2006/main": "a",
    f"{_STRICT}drawingml/main": "a",
    f"{_OFFICE}drawingml/2006/picture": "pic",
    f"{_STRICT}drawingml/picture": "pic",
    f"{_OFFICE}drawingml/2006/chart": "c",
    f"{_STRICT}drawingml/chart": "c",
    f"{_OFFICE}drawingml/2006/diagram": "dgm",
    f"{_STRICT}drawingml/diagram": "dgm",
    f"{_OFFICE}officeDocument/2006/math": "m",
    f"{_STRICT}officeDocument/math": "m",
    f"{_OFFICE}markup-compatibility/2006": "mc",
    f"{_MICROSOFT}word/2010/wordml": "w14",
    f"{_MICROSOFT}word/2010/wordprocessingShape": "wps",
    f"{_MICROSOFT}word/2010/wordprocessingGroup": "wpg",
    f"{_MICROSOFT}word/2010/wordprocessingCanvas": "wpc",
    f"{_MICROSOFT}drawing/2014/chartex": "cx",
    "urn:schemas-microsoft-com:vml": "v",
    "urn:schemas-microsoft-com:office:office": "o",
}
_short: dict[str, str] = {}


def tag(element: Node) -> str:
    """The short name of an element; without a prefix for other namespaces, empty for a node that is not an element."""
    name = element.tag
    if not isinstance(name, str):
        return ""
    # Names repeat thousands of times in a document: a dictionary lookup is faster than splitting the name. The bound
    # protects against files with invented names.
    short = _short.get(name)
    if short is None:
        space, _, last = name.rpartition("}")
        prefix = _PREFIXES.get(space[1:])
        short = f"{prefix}:{last}" if prefix else last
        if len(_short) < 5_000:
            _short[name] = short
    return short


def children(element: Node | None, name: str) -> Iterator[Node]:
    """The children of an element with a name."""
    for node in element if element is not None else ():
        if tag(node) == name:
            yield node


def child(element: Node | None, *path: str) -> Node | None:
    """The element at a path of names, taking the first child of each name."""
    for name in path:
        if element is None:
            return None
        for node in element:
            if tag(node) == name:
                element = node
                break
        else:
            return None
    return element


def inside(element: Node, *names: str) -> Iterator[Node]:
    """All elements below an element with one of the names, in document order."""
    # lxml compares the full names, which is many times faster than a loop over all elements of a document.
    return element.iter(*(full for name in names for full in _full(name)))


@lru_cache(maxsize=1_000)
def _full(name: str) -> tuple[str, ...]:
    """The names with namespaces that `tag` makes a name with a prefix from."""
    prefix, _, last = name.partition(":")
    return tuple(f"{{{space}}}{last}" for space, known in _PREFIXES.items() if known == prefix)


def value(element: Node | None, *path: str) -> str:
    """The `val` attribute of the element at a path; empty if there is none."""
    node = child(element, *path)
    return attribute(node, "val") if node is not None else ""


def is_on(element: Node | None, *path: str) -> bool:
    """Whether a switch is present and not turned off."""
    node = child(element, *path)
    # `<w:b/>` without a value turns a switch on. `<w:b w:val="0"/>` turns off what a style turned on.
    return node is not None and attribute(node, "val", "1").lower() not in ("0", "false", "off")


def own_text(element: Node) -> str:
    """The text of an element, without entity references."""
    if not len(element):
        return element.text or ""
    # References to entities are nodes among the text, and the text behind them is their tail.
    return (element.text or "") + "".join(node.tail or "" for node in element)


def chosen(alternatives: Node) -> list[Node]:
    """The content of an `mc:AlternateContent`: its first choice. The fallback repeats it for older programs."""
    first = child(alternatives, "mc:Choice")
    # A choice holds more than the fallback: a shape instead of VML, an equation instead of its picture.
    if first is None:
        first = child(alternatives, "mc:Fallback")
    return list(first) if first is not None else []
